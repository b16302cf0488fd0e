//! Where GitHub is and who we are to it.

use std::time::Duration;

use merge_train_core::ids::InstallationId;
use url::{Host, Url};

use crate::governor::Limits;
use merge_train_core::secret::Secret;

/// What a client is made of.
#[derive(Debug, Clone)]
pub struct Config {
    /// `https://api.github.com`, or `https://HOST/api/v3` for GitHub Enterprise Server.
    pub api_url: String,
    /// `https://api.github.com/graphql`, or `https://HOST/api/graphql`.
    pub graphql_url: String,
    pub auth: Auth,
    /// GitHub refuses calls without one.
    pub user_agent: String,
    pub timeouts: Timeouts,
    pub limits: Limits,
    /// The memory that answers kept for `If-None-Match` may take.
    pub etag_cache_bytes: usize,
}

/// Who we are.
#[derive(Debug, Clone)]
pub enum Auth {
    /// A GitHub App. Without an installation id, it is looked up for each repository.
    App { app_id: u64, private_key_pem: Secret, installation_id: Option<InstallationId> },
    /// A personal access token, for trying out.
    Token(Secret),
}

/// How long to wait for GitHub in one try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    /// From the request to the last byte of the answer. GitHub gives up on its side after ten seconds.
    pub request: Duration,
}

impl Config {
    /// For github.com.
    pub fn new(auth: Auth) -> Self {
        Self {
            api_url: "https://api.github.com".to_owned(),
            graphql_url: "https://api.github.com/graphql".to_owned(),
            auth,
            user_agent: concat!("merge-train/", env!("CARGO_PKG_VERSION")).to_owned(),
            timeouts: Timeouts::default(),
            limits: Limits::default(),
            etag_cache_bytes: 32 << 20,
        }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), request: Duration::from_secs(20) }
    }
}

/// Why a client cannot be made of a configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{name} is {url:?}, which is not an http or https address")]
    Url { name: &'static str, url: String },
    #[error("the app's private key is not an RSA key in PEM form: give the file that GitHub let you download")]
    PrivateKey,
    #[error("the token is empty or has characters that no token of GitHub's has")]
    Token,
    #[error("the user agent {0:?} cannot be sent in a header")]
    UserAgent(String),
    #[error("could not create an HTTP client")]
    Http(#[source] reqwest::Error),
}

/// The two addresses, checked; neither ends in a slash.
#[derive(Debug, Clone)]
pub(crate) struct Urls {
    pub api: Url,
    pub graphql: Url,
}

impl Urls {
    pub(crate) fn new(config: &Config) -> Result<Self, ConfigError> {
        Ok(Self { api: checked("api_url", &config.api_url)?, graphql: checked("graphql_url", &config.graphql_url)? })
    }

    /// The address of a path, each part of it taken as it is: a slash in it does not make two.
    pub(crate) fn path<'a>(&self, segments: impl IntoIterator<Item = &'a str>) -> Url {
        let mut url = self.api.clone();
        url.path_segments_mut().expect("an http address has a path").pop_if_empty().extend(segments);
        url
    }
}

fn checked(name: &'static str, text: &str) -> Result<Url, ConfigError> {
    let invalid = || ConfigError::Url { name, url: text.to_owned() };
    let url = Url::parse(text.trim().trim_end_matches('/')).map_err(|_| invalid())?;
    let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    let http = matches!(url.scheme(), "http" | "https") && url.has_host();
    if http && plain { Ok(url) } else { Err(invalid()) }
}

/// Whether nothing that is sent there leaves this machine.
pub fn is_this_machine(host: Host<&str>) -> bool {
    match host {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(ip) => ip.is_loopback(),
        Host::Ipv6(ip) => ip.is_loopback(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(api: &str) -> Result<Urls, ConfigError> {
        let mut config = Config::new(Auth::Token(Secret::new("t")));
        config.api_url = api.to_owned();
        Urls::new(&config)
    }

    #[test]
    fn paths_are_put_under_the_address_with_and_without_a_slash() {
        for (api, expected) in [
            ("https://api.github.com", "https://api.github.com/repos/a/b"),
            ("https://api.github.com/", "https://api.github.com/repos/a/b"),
            ("https://ghes.example/api/v3", "https://ghes.example/api/v3/repos/a/b"),
            ("http://127.0.0.1:8930/api/v3//", "http://127.0.0.1:8930/api/v3/repos/a/b"),
        ] {
            assert_eq!(urls(api).unwrap().path(["repos", "a", "b"]).as_str(), expected);
        }
    }

    #[test]
    fn a_part_of_a_path_stays_one_part() {
        let url = urls("https://api.github.com").unwrap().path(["branches", "feature/../x?y", "protection"]);
        assert_eq!(url.path(), "/branches/feature%2F..%2Fx%3Fy/protection");
    }

    #[test]
    fn addresses_that_are_none_are_refused() {
        for api in ["", "api.github.com", "ftp://api.github.com", "https://user:pw@api.github.com", "https://x/?a=b"] {
            assert!(urls(api).is_err(), "{api}");
        }
    }
}
