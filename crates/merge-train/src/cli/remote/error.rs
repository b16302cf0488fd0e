//! What can go wrong between a command and the daemon, in words that say what to do.

use serde::Deserialize;

/// Why the daemon did not do or tell what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "no API key: set MERGE_TRAIN_API_KEY or use --key KEY; [[api_keys]] in the daemon's configuration has the \
         SHA-256 of each valid key"
    )]
    NoKey,
    #[error("{url:?} is not a valid daemon address: write http://HOST:PORT or https://HOST")]
    BadAddress { url: String },
    #[error(
        "cannot reach the daemon at {url}: is `merge-train serve` running there? Use --server or MERGE_TRAIN_SERVER \
         for another address"
    )]
    Unreachable { url: String, source: reqwest::Error },
    #[error("the server at {url} is not this version of merge-train: check the address")]
    NoDaemon { url: String },
    #[error("cannot reach the daemon at {url}: a proxy in front of it answered {status}")]
    Behind { url: String, status: u16 },
    #[error("the daemon at {url} refused the API key ({detail}): check MERGE_TRAIN_API_KEY or --key")]
    KeyRefused { url: String, detail: String },
    /// The name of the problem is for programs; the sentence is for people.
    #[error("{detail}")]
    Refused { code: String, detail: String },
}

/// The members of `application/problem+json` that are read here.
#[derive(Deserialize)]
struct Problem {
    code: String,
    detail: String,
}

impl Error {
    pub(super) fn refused(url: &str, status: u16, body: &[u8]) -> Self {
        let url = url.to_owned();
        match serde_json::from_slice::<Problem>(body) {
            Ok(Problem { detail, .. }) if status == 401 => Self::KeyRefused { url, detail },
            Ok(Problem { code, detail }) => Self::Refused { code, detail },
            // What a proxy says while the daemon starts.
            Err(_) if (502..=504).contains(&status) => Self::Behind { url, status },
            Err(_) => Self::NoDaemon { url },
        }
    }

    /// Whether the daemon knows no such train.
    pub fn is_no_such_train(&self) -> bool {
        self.is_called("NO_SUCH_TRAIN")
    }

    /// Whether the daemon knows no such run.
    pub fn is_no_such_run(&self) -> bool {
        self.is_called("NO_SUCH_RUN")
    }

    /// Whether the daemon knows no such repository or pull request.
    pub fn is_not_found(&self) -> bool {
        self.is_called("NOT_FOUND")
    }

    /// Whether the daemon knows no such session, or not any more.
    pub fn is_no_such_session(&self) -> bool {
        self.is_called("NO_SUCH_SESSION")
    }

    /// Whether the same may succeed later, without anybody doing anything about it here.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Behind { .. }) || self.is_called("UNAVAILABLE")
    }

    fn is_called(&self, name: &str) -> bool {
        matches!(self, Self::Refused { code, .. } if code == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_told_from_what_somebody_has_to_mend() {
        let problem = |code: &str| format!(r#"{{"code": "{code}", "detail": "some words"}}"#);
        for (status, body, passes) in [
            (502, "<html>Bad Gateway</html>".to_owned(), true),
            (503, "no healthy upstream".to_owned(), true),
            (503, problem("UNAVAILABLE"), true),
            (500, problem("INTERNAL"), false),
            (500, "<html>".to_owned(), false),
            (401, problem("UNAUTHORIZED"), false),
            (404, problem("NO_SUCH_RUN"), false),
        ] {
            let error = Error::refused("http://x", status, body.as_bytes());
            assert_eq!(error.may_pass(), passes, "{status} {body}: {error}");
        }
        assert!(Error::refused("http://x", 404, problem("NO_SUCH_RUN").as_bytes()).is_no_such_run());
    }
}
