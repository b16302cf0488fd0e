//! What is said after the answer: posted to the address that came with the request, and to no other.

use std::time::Duration;

use merge_train_core::backoff::ExponentialBackoff;
use reqwest::StatusCode;
use reqwest::redirect::Policy;
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use github::is_this_machine;

/// So long and so often Slack takes replies to one request.
const VALID_FOR: Duration = Duration::from_mins(30);
const USES: u32 = 5;
/// Slack answers in a moment, or something is wrong.
const TIMEOUT: Duration = Duration::from_secs(10);
const RETRY: ExponentialBackoff = ExponentialBackoff::doubling(Duration::from_millis(500), Duration::from_secs(60));

/// Whoever sends replies.
pub struct ReplyClient {
    http: reqwest::Client,
    /// What the addresses begin with that are Slack's.
    prefix: Url,
    stopping: CancellationToken,
}

/// Where the replies to one request go.
pub struct ReplyAddress {
    /// Whoever knows it can post: it is not for the log.
    url: Url,
    until: Instant,
    uses_left: u32,
}

/// What became of one attempt.
enum ReplyAttempt {
    Done,
    /// It may work later.
    Failed(String),
    /// It will not.
    Refused(String),
}

impl ReplyClient {
    pub fn new(prefix: &str, stopping: CancellationToken) -> anyhow::Result<Self> {
        let prefix = Url::parse(prefix)?;
        // What is meant for Slack is for nobody that Slack would send it on to.
        let mut http = reqwest::Client::builder()
            .timeout(TIMEOUT)
            .redirect(Policy::none())
            .user_agent(concat!("merge-train/", env!("CARGO_PKG_VERSION")));
        if prefix.host().is_some_and(is_this_machine) {
            // No proxy can reach it.
            http = http.no_proxy();
        }
        Ok(Self { http: http.build()?, prefix, stopping })
    }

    /// The address that came with a request; none if it is not Slack's.
    pub fn address(&self, url: &str) -> Option<ReplyAddress> {
        let url = Url::parse(url).ok()?;
        let folder = format!("{}/", self.prefix.path().trim_end_matches('/'));
        let is_plain = url.username().is_empty() && url.password().is_none();
        let is_slacks = url.origin() == self.prefix.origin() && url.path().starts_with(&folder) && is_plain;
        is_slacks.then(|| ReplyAddress { url, until: Instant::now() + VALID_FOR, uses_left: USES })
    }

    /// Says something, and tries again for as long as Slack would take it. What cannot be said is in the log.
    pub async fn send(&self, to: &mut ReplyAddress, message: &Value) {
        let mut failures = 0;
        let why = loop {
            let wait = RETRY.delay(failures);
            if to.uses_left == 0 {
                break "the address was used as often as Slack allows".to_owned();
            }
            match self.attempt(to, message).await {
                ReplyAttempt::Done => return tracing::info!(event = "slack_reply", "a reply was posted to Slack"),
                ReplyAttempt::Refused(why) => break why,
                ReplyAttempt::Failed(why) if Instant::now() + wait >= to.until => break why,
                ReplyAttempt::Failed(why) => {
                    tracing::info!(event = "slack_reply_retry", why, "a reply is posted again");
                }
            }
            tokio::select! {
                () = self.stopping.cancelled() => break "the daemon stops".to_owned(),
                () = tokio::time::sleep(wait) => {}
            }
            failures += 1;
        };
        tracing::warn!(event = "slack_reply_failed", why, "a reply could not be posted to Slack");
    }

    async fn attempt(&self, to: &mut ReplyAddress, message: &Value) -> ReplyAttempt {
        match self.http.post(to.url.clone()).json(message).send().await {
            // Nothing has reached Slack.
            Err(error) if error.is_connect() => ReplyAttempt::Failed(told(error)),
            Err(error) => {
                to.uses_left -= 1;
                ReplyAttempt::Failed(told(error))
            }
            Ok(response) => {
                to.uses_left -= 1;
                let status = response.status();
                match status {
                    _ if status.is_success() => ReplyAttempt::Done,
                    _ if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                        ReplyAttempt::Failed(format!("Slack answered {status}"))
                    }
                    _ => ReplyAttempt::Refused(format!("Slack answered {status}")),
                }
            }
        }
    }
}

/// What went wrong, with its causes and without the address.
fn told(error: reqwest::Error) -> String {
    let error = anyhow::Error::new(error.without_url());
    format!("{error:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(prefix: &str, url: &str) -> bool {
        ReplyClient::new(prefix, CancellationToken::new()).unwrap().address(url).is_some()
    }

    #[test]
    fn replies_go_to_slack_and_to_nobody_else() {
        let slack = "https://hooks.slack.com";
        assert!(takes(slack, "https://hooks.slack.com/commands/T1/2/3"));
        assert!(takes(slack, "https://hooks.slack.com:443/actions/T1/2/3"));
        for url in [
            "",
            "commands/T1/2/3",
            "http://hooks.slack.com/commands/T1/2/3",
            "https://hooks.slack.com.example.com/commands/T1/2/3",
            "https://hooks.slack.com@example.com/commands/T1/2/3",
            "https://user@hooks.slack.com/commands/T1/2/3",
            "https://hooks.slack.com:8443/commands/T1/2/3",
            "https://example.com/?https://hooks.slack.com/",
            "file:///etc/passwd",
        ] {
            assert!(!takes(slack, url), "{url}");
        }
        let trial = "http://127.0.0.1:9/hooks";
        assert!(takes(trial, "http://127.0.0.1:9/hooks/1"));
        for url in ["http://127.0.0.1:9/other", "http://127.0.0.1:9/hooksome", "http://127.0.0.1:9/hooks/../other"] {
            assert!(!takes(trial, url), "{url}");
        }
    }
}
