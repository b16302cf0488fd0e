//! GitHub: whether it answers, and as whom; what time it is there.

use std::fs::File;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use github::{Client, Error};
use merge_train_core::ids::RepoId;

use super::{Finding, configuration};
use crate::config::{Config, Credentials};
use crate::daemon::account;

/// The client waits and tries again; whoever asked waits for an answer.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// Half a minute apart and a session that lives is taken for dead; a few seconds are the way that the answer took.
const TOLERABLE_SKEW_SECS: u64 = 10;

/// GitHub, as one who answered.
pub struct GithubConnection {
    pub client: Client,
    /// None with a personal token.
    pub app: Option<github::App>,
}

pub async fn answers(config: &Config) -> (Finding, Option<GithubConnection>) {
    const CHECK: &str = "github";
    let credentials = match config.credentials() {
        Ok(credentials) => credentials,
        Err(error) => {
            let is_denied =
                |key: &&PathBuf| File::open(key).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
            let fix = match config.github.private_key_path.as_ref().filter(is_denied) {
                Some(key) => configuration::to_be_let_in(key),
                None => "`merge-train app create` creates an app and saves its key; if the key of an app is lost, \
                         generate another in the app's settings on GitHub and point github.private_key_path at it"
                    .to_owned(),
            };
            return (Finding::failed(CHECK, error.to_string(), fix), None);
        }
    };
    let api = &config.github.api_url;
    let failed = |found: String, fix: &str| (Finding::failed(CHECK, found, fix), None);
    let unreachable = "check github.api_url, the proxy and the firewall";
    let client = match account::client(config, &credentials) {
        Ok(client) => client,
        Err(error) => return failed(format!("{error:#}"), unreachable),
    };
    match tokio::time::timeout(PATIENCE, who(&client)).await {
        Ok(Ok((who, app))) => (Finding::ok(CHECK, format!("{api}, as {who}")), Some(GithubConnection { client, app })),
        Ok(Err(error)) => failed(format!("{api}: {error}"), remedy(&error, &credentials).unwrap_or(unreachable)),
        Err(_) => failed(format!("{api} did not answer within {} s", PATIENCE.as_secs()), unreachable),
    }
}

async fn who(client: &Client) -> Result<(String, Option<github::App>), Error> {
    if let Some(app) = client.app().await? {
        return Ok((format!("the app {} (id {})", app.slug, app.id), Some(app)));
    }
    // A personal token is the same for every repository, whether that exists or not.
    let any = RepoId::new("merge-train", "merge-train").expect("it is a name");
    Ok((format!("{}, with a token", client.whoami(&any).await?.login), None))
}

/// What to do where GitHub answers, and refuses; none where it is something else.
fn remedy(error: &Error, credentials: &Credentials) -> Option<&'static str> {
    match (error, credentials) {
        (Error::Unauthorized { .. } | Error::NotFound { .. }, Credentials::App { .. }) => Some(
            "check that github.app_id is the App ID in the app's settings on GitHub, that github.private_key_path is a \
             key of that app, and that github.api_url is the right GitHub",
        ),
        (Error::Unauthorized { .. }, Credentials::Token(_)) => {
            Some("create a new token on GitHub (Settings, Developer settings) and set github.token to it")
        }
        _ => None,
    }
}

/// How far the clocks are apart.
pub fn clock(client: &Client) -> Finding {
    const CHECK: &str = "clock";
    let ahead = client.clock_ahead_secs();
    let apart = ahead.unsigned_abs();
    if apart <= TOLERABLE_SKEW_SECS {
        return Finding::ok(CHECK, format!("within {TOLERABLE_SKEW_SECS} s of GitHub's"));
    }
    let direction = if ahead > 0 { "behind" } else { "ahead of" };
    let found = format!("{apart} s {direction} GitHub's: schedules, timeouts and displayed times are off");
    Finding::warning(CHECK, found, "set the clock with NTP: `timedatectl set-ntp true`, or chrony")
}
