//! `X-Slack-Signature`: proof that Slack sent the body, and that it did just now.

use std::fmt;

use aws_lc_rs::hmac;
use jiff::{SignedDuration, Timestamp};

use crate::config::Secret;

const VERSION: &str = "v0";
/// SHA-256 has 32 bytes.
const DIGEST_LEN: usize = 32;
/// What is older was kept by somebody, or comes from a clock that is wrong. It is what Slack advises.
const MOST_APART: SignedDuration = SignedDuration::from_mins(5);

/// The secret that Slack signs with.
pub struct SigningSecret(hmac::Key);

/// Why a request is not believed to come from Slack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("the request is not signed: X-Slack-Signature and X-Slack-Request-Timestamp are needed")]
    Unsigned,
    #[error("X-Slack-Request-Timestamp is not a number of seconds")]
    MalformedTimestamp,
    #[error("the signature is not of the form v0=<64 hexadecimal digits>")]
    MalformedSignature,
    #[error("the request was signed more than five minutes ago, or in the future: check this machine's clock")]
    Stale,
    #[error("the signature does not match: check that slack.signing_secret is the Slack app's signing secret")]
    Mismatch,
}

impl SigningSecret {
    pub fn new(secret: &Secret) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes()))
    }

    /// Checks a body against what its headers say. The comparison takes the same time wherever the difference is.
    pub fn check(
        &self,
        body: &[u8],
        timestamp: Option<&str>,
        signature: Option<&str>,
        now: Timestamp,
    ) -> Result<(), SignatureError> {
        let (timestamp, signature) = timestamp.zip(signature).ok_or(SignatureError::Unsigned)?;
        let second: i64 = timestamp.parse().map_err(|_| SignatureError::MalformedTimestamp)?;
        let signed_at = Timestamp::from_second(second).map_err(|_| SignatureError::MalformedTimestamp)?;
        if now.duration_since(signed_at).abs() > MOST_APART {
            return Err(SignatureError::Stale);
        }
        let hex = signature.strip_prefix(VERSION).and_then(|rest| rest.strip_prefix('='));
        let mut digest = [0; DIGEST_LEN];
        hex::decode_to_slice(hex.unwrap_or_default(), &mut digest).map_err(|_| SignatureError::MalformedSignature)?;
        // The timestamp as it was written: that is what was signed.
        let signed = [format!("{VERSION}:{timestamp}:").as_bytes(), body].concat();
        hmac::verify(&self.0, &signed, &digest).map_err(|_| SignatureError::Mismatch)
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The example of Slack's own documentation.
    const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";
    const BODY: &str = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&\
                        channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&\
                        response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F\
                        96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    const AT: i64 = 1_531_420_618;
    const SIGNATURE: &str = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";

    fn check(secret: &str, body: &str, at: &str, signature: &str, now: i64) -> Result<(), SignatureError> {
        let now = Timestamp::from_second(now).unwrap();
        SigningSecret::new(&Secret::new(secret)).check(body.as_bytes(), Some(at), Some(signature), now)
    }

    #[test]
    fn the_example_of_the_documentation_verifies() {
        assert_eq!(check(SECRET, BODY, &AT.to_string(), SIGNATURE, AT), Ok(()));
    }

    #[test]
    fn another_body_another_secret_and_another_time_are_refused() {
        let at = AT.to_string();
        assert_eq!(
            check(SECRET, &BODY.replace("U2CERLKJA", "U2CERLKJB"), &at, SIGNATURE, AT),
            Err(SignatureError::Mismatch)
        );
        assert_eq!(check("another", BODY, &at, SIGNATURE, AT), Err(SignatureError::Mismatch));
        assert_eq!(
            check(SECRET, BODY, &(AT + 1).to_string(), SIGNATURE, AT),
            Err(SignatureError::Mismatch),
            "it is signed, too"
        );
        assert_eq!(check(SECRET, BODY, &format!("+{at}"), SIGNATURE, AT), Err(SignatureError::Mismatch));
    }

    #[test]
    fn what_was_signed_too_long_ago_or_ahead_of_time_is_refused() {
        for apart in [-300, 300] {
            assert_eq!(check(SECRET, BODY, &AT.to_string(), SIGNATURE, AT + apart), Ok(()), "{apart}");
        }
        for apart in [-301, 301, 86_400] {
            assert_eq!(
                check(SECRET, BODY, &AT.to_string(), SIGNATURE, AT + apart),
                Err(SignatureError::Stale),
                "{apart}"
            );
        }
    }

    #[test]
    fn what_is_missing_or_garbled_is_told_from_what_is_wrong() {
        let (secret, now) = (SigningSecret::new(&Secret::new(SECRET)), Timestamp::from_second(AT).unwrap());
        let at = AT.to_string();
        for (timestamp, signature) in [(None, None), (Some(at.as_str()), None), (None, Some(SIGNATURE))] {
            assert_eq!(secret.check(b"", timestamp, signature, now), Err(SignatureError::Unsigned));
        }
        for timestamp in ["", "soon", "1531420618.5", "99999999999999999999", "999999999999999999"] {
            assert_eq!(
                check(SECRET, BODY, timestamp, SIGNATURE, AT),
                Err(SignatureError::MalformedTimestamp),
                "{timestamp:?}"
            );
        }
        let v1 = SIGNATURE.replace("v0", "v1");
        for signature in ["", "v0=", "v0=abc", &v1, &format!("v0={}", "zz".repeat(32)), "v0=ä"] {
            assert_eq!(
                check(SECRET, BODY, &at, signature, AT),
                Err(SignatureError::MalformedSignature),
                "{signature:?}"
            );
        }
    }

    #[test]
    fn the_secret_is_not_printed() {
        assert!(!format!("{:?}", SigningSecret::new(&Secret::new("hunter2"))).contains("hunter2"));
    }
}
