//! Who looks at the dashboard: a cookie that tells which API key was signed in with, and a token without which nothing is done.
//!
//! Nothing is stored: a cookie is sealed with the key that it stands for, and is good for nothing once that key is not configured
//! any more. The token comes with each page, and no other site can read it.

use aws_lc_rs::rand;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};

use crate::clock;
use crate::config::{ApiKey, is_same};

/// Where a request of a page shows that it comes from one.
pub const TOKEN: HeaderName = HeaderName::from_static("x-csrf-token");
/// How long it is before somebody has to sign in again.
const LASTS: SignedDuration = SignedDuration::from_hours(12);
const PLAIN_NAME: &str = "merge_train_session";
/// A browser takes a cookie of such a name only over HTTPS, and only from the host itself.
const SECURE_NAME: &str = "__Host-merge_train_session";

/// Somebody who has signed in.
#[derive(Debug, Clone)]
pub struct DashboardSession<'a> {
    pub key: &'a ApiKey,
    sealed: String,
}

impl<'a> DashboardSession<'a> {
    /// Begins one.
    pub fn open(key: &'a ApiKey) -> Self {
        let until = (clock::now() + LASTS).as_second();
        let claim = format!("{}.{until}.{}", URL_SAFE_NO_PAD.encode(&key.name), nonce());
        Self { key, sealed: format!("{claim}.{}", seal(key, "session", &claim)) }
    }

    /// The session that a cookie of the request tells of, if it is one and not over.
    pub fn of(keys: &'a [ApiKey], headers: &HeaderMap) -> Option<Self> {
        let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let mut sealed = pairs.filter(|(name, _)| [PLAIN_NAME, SECURE_NAME].contains(name)).map(|(_, value)| value);
        sealed.find_map(|sealed| Self::read(keys, sealed, clock::now()))
    }

    fn read(keys: &'a [ApiKey], sealed: &str, now: Timestamp) -> Option<Self> {
        let (claim, mark) = sealed.rsplit_once('.')?;
        let mut parts = claim.split('.');
        let (name, until, _) = (parts.next()?, parts.next()?, parts.next()?);
        let name = String::from_utf8(URL_SAFE_NO_PAD.decode(name).ok()?).ok()?;
        let until = Timestamp::from_second(until.parse().ok()?).ok()?;
        let key = keys.iter().find(|key| key.name == name)?;
        let is_genuine = is_same(mark, &seal(key, "session", claim));
        (is_genuine && now < until).then(|| Self { key, sealed: sealed.to_owned() })
    }

    /// What its pages have in them, and nobody else knows.
    pub fn token(&self) -> String {
        seal(self.key, "token", &self.sealed)
    }

    pub fn has_token(&self, presented: &str) -> bool {
        is_same(presented, &self.token())
    }

    /// What makes a browser remember it.
    pub fn cookie(&self, is_secure: bool) -> HeaderValue {
        cookie(&self.sealed, LASTS.as_secs(), is_secure)
    }

    /// The headers of a request in its name, for what asks the API from inside.
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let visible = |text: String| HeaderValue::from_str(&text).expect("it is made of letters and digits");
        headers.insert(header::COOKIE, visible(format!("{PLAIN_NAME}={}", self.sealed)));
        headers.insert(TOKEN, visible(self.token()));
        headers
    }
}

/// What makes a browser forget.
pub fn no_cookie(is_secure: bool) -> HeaderValue {
    cookie("", 0, is_secure)
}

fn cookie(value: &str, seconds: i64, is_secure: bool) -> HeaderValue {
    let (name, secure) = if is_secure { (SECURE_NAME, "; Secure") } else { (PLAIN_NAME, "") };
    let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
    HeaderValue::from_str(&text).expect("it is made of letters and digits")
}

fn nonce() -> String {
    let mut bytes = [0; 16];
    rand::fill(&mut bytes).expect("the system has random numbers");
    hex::encode(bytes)
}

fn seal(key: &ApiKey, purpose: &str, text: &str) -> String {
    key.seal(&format!("{purpose}\n{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Role;

    fn keys() -> Vec<ApiKey> {
        [Role::Viewer, Role::Operator].map(|role| ApiKey::of_nobody(role.as_str(), role)).into()
    }

    #[test]
    fn a_cookie_stands_for_the_key_that_it_was_made_with() {
        let keys = keys();
        let session = DashboardSession::open(&keys[1]);
        let found = DashboardSession::of(&keys, &session.headers()).expect("it is genuine");
        assert_eq!(found.key.name, "operator");
        assert!(found.has_token(&session.token()));
        assert!(!found.has_token(&DashboardSession::open(&keys[1]).token()), "each has its own");
        assert!(DashboardSession::of(&keys[..1], &session.headers()).is_none(), "the key is gone");
    }

    #[test]
    fn a_cookie_that_was_changed_or_is_over_is_none() {
        let keys = keys();
        let session = DashboardSession::open(&keys[0]);
        let now = clock::now();
        assert!(DashboardSession::read(&keys, &session.sealed, now).is_some());
        assert!(DashboardSession::read(&keys, &session.sealed, now + SignedDuration::from_hours(13)).is_none());
        let other = session.sealed.replacen(&URL_SAFE_NO_PAD.encode("viewer"), &URL_SAFE_NO_PAD.encode("operator"), 1);
        assert_ne!(other, session.sealed);
        for forged in [other.as_str(), "", ".", "a.b.c.d", &session.sealed[1..], &format!("{}0", session.sealed)] {
            assert!(DashboardSession::read(&keys, forged, now).is_none(), "{forged}");
        }
    }

    #[test]
    fn over_https_a_cookie_stays_there() {
        let keys = keys();
        let cookie = |is_secure| DashboardSession::open(&keys[0]).cookie(is_secure).to_str().expect("text").to_owned();
        assert!(cookie(true).starts_with("__Host-") && cookie(true).ends_with("; Secure"));
        assert!(!cookie(false).contains("Secure"));
        assert!(cookie(false).contains("HttpOnly; SameSite=Lax"));
    }
}
