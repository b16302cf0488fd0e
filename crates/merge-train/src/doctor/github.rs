//! GitHub: whether it answers, and as whom.

use std::time::Duration;

use merge_train_core::ids::RepoId;

use super::Finding;
use crate::account;
use crate::config::{Config, Credentials};

/// The client waits and tries again; whoever asked waits for an answer.
const PATIENCE: Duration = Duration::from_secs(20);

pub async fn answers(config: &Config) -> Finding {
    const CHECK: &str = "github";
    let credentials = match config.credentials() {
        Ok(credentials) => credentials,
        Err(error) => {
            let fix = "docs/operating.md, \"Setting it up\", says how to make an app and where its key goes";
            return Finding::failed(CHECK, error.to_string(), fix);
        }
    };
    let api = &config.github.api_url;
    let fix = "check github.api_url, the proxy and the firewall; if GitHub answers and refuses, check the app's id and key or \
               the token, and that this machine's clock is right";
    match tokio::time::timeout(PATIENCE, ask(config, &credentials)).await {
        Ok(Ok(who)) => Finding::ok(CHECK, format!("{api}, as {who}")),
        Ok(Err(error)) => Finding::failed(CHECK, format!("{api}: {error:#}"), fix),
        Err(_) => Finding::failed(CHECK, format!("{api} did not answer within {} s", PATIENCE.as_secs()), fix),
    }
}

async fn ask(config: &Config, credentials: &Credentials) -> anyhow::Result<String> {
    let client = account::client(config, credentials)?;
    if let Some(app) = client.app().await? {
        return Ok(format!("the app {} (id {})", app.slug, app.id));
    }
    // A personal token is the same for every repository, whether that exists or not.
    let any = RepoId::new("merge-train", "merge-train").expect("it is a name");
    Ok(format!("{}, with a token", client.whoami(&any).await?.login))
}
