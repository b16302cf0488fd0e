//! The app: where it is installed, what it may do, and whether what GitHub tells it arrives.

use std::collections::BTreeSet;
use std::time::Duration;

use github::{App, Client, Grant, HookConfig, HookDelivery, Installation, Need};
use tokio::net::TcpStream;
use url::Url;

use super::github::{GithubConnection, PATIENCE};
use super::{Finding, database};
use crate::config::Config;
use crate::{clock, terminal};

/// On this machine, which is where the daemon is.
const KNOCK: Duration = Duration::from_secs(1);
/// Where the daemon takes webhooks in.
pub const WEBHOOK_PATH: &str = "/webhook";

/// Where the app is installed, and what is granted there.
pub async fn installed(contact: &GithubConnection) -> Vec<Finding> {
    const CHECK: &str = "installations";
    let Some(app) = &contact.app else { return Vec::new() };
    let all = match patiently(contact.client.installations()).await {
        Ok(all) => all,
        Err(error) => return vec![Finding::failed(CHECK, error, "run it again when GitHub answers")],
    };
    let (asleep, awake): (Vec<_>, Vec<_>) = all.iter().partition(|found| found.suspended_at.is_some());
    let installations = match awake.as_slice() {
        [] if asleep.is_empty() => {
            let fix = format!("install it on your repositories: {}", app.install_url());
            Finding::failed(CHECK, format!("{} is installed nowhere", app.slug), fix)
        }
        [] => {
            let fix = format!("unsuspend it, or have its owner do that: {}", asleep[0].html_url);
            Finding::failed(CHECK, format!("{} is suspended in every installation", app.slug), fix)
        }
        some => Finding::ok(CHECK, some.iter().map(|found| account(found)).collect::<Vec<_>>().join(", ")),
    };
    vec![installations, permissions(app, &awake), events(app, &awake)]
}

fn account(installation: &Installation) -> &str {
    installation.account.as_ref().map_or("an enterprise", |account| account.login.as_str())
}

/// What of all that merge-train wants is not granted: to the app, or where whoever installed it has not agreed yet.
fn permissions(app: &App, installations: &[&Installation]) -> Finding {
    const CHECK: &str = "permissions";
    let mut missing = github::missing_grants(&app.permissions);
    let mut found: Vec<String> = missing.iter().map(|grant| lacks(&app.slug, grant)).collect();
    let mut fix =
        "grant it in the app's settings on GitHub, Permissions & events; then accept the change in every installation"
            .to_owned();
    if missing.is_empty() {
        for installation in installations {
            let ungranted = github::missing_grants(&installation.permissions);
            if !ungranted.is_empty() {
                fix = format!("somebody has to accept the app's permissions: {}", installation.html_url);
            }
            found.extend(ungranted.iter().map(|grant| lacks(account(installation), grant)));
            missing.extend(ungranted);
        }
    }
    match missing.iter().map(|grant| grant.need).collect::<Vec<_>>().as_slice() {
        [] => Finding::ok(CHECK, "every permission that merge-train uses"),
        needs if needs.contains(&Need::Required) => Finding::failed(CHECK, found.join("\n"), fix),
        _ => Finding::warning(CHECK, found.join("\n"), fix),
    }
}

fn lacks(who: &str, grant: &Grant) -> String {
    format!("{who} lacks {}: {}, needed to {}", grant.name, grant.level.as_str(), grant.purpose)
}

fn events(app: &App, installations: &[&Installation]) -> Finding {
    const CHECK: &str = "events";
    let lists = std::iter::once(&app.events).chain(installations.iter().map(|installation| &installation.events));
    // An installation hears what the app is subscribed to, once whoever installed it has agreed to that.
    let missing: BTreeSet<&str> = lists.flat_map(|events| github::missing_events(events)).collect();
    if missing.is_empty() {
        return Finding::ok(CHECK, "every event that merge-train uses");
    }
    let names: Vec<&str> = missing.into_iter().collect();
    let found = format!("no webhooks for {}: trains continue only after the next poll", names.join(", "));
    let fix = "subscribe to these in the app's settings on GitHub, Permissions & events; then accept the change in \
               every installation";
    Finding::failed(CHECK, found, fix)
}

/// Where the app's webhooks go, and what became of the last one.
pub async fn webhooks(config: &Config, contact: Option<&GithubConnection>) -> Finding {
    const CHECK: &str = "webhooks";
    let signed = match config.server.webhook_secret.as_slice() {
        [] => {
            let fix = "set server.webhook_secret, or MERGE_TRAIN_SERVER_WEBHOOK_SECRET, to the app's webhook secret on \
                       GitHub (create one: openssl rand -hex 32)";
            return Finding::failed(CHECK, "no secret: anyone could send webhooks", fix);
        }
        [_] => "signed with a secret".to_owned(),
        many => format!("signed with one of {} secrets", many.len()),
    };
    let Some(GithubConnection { client, app: Some(_) }) = contact else { return Finding::ok(CHECK, signed) };
    let hook = match patiently(hook(client)).await {
        Ok(hook) => hook,
        Err(error) => return Finding::failed(CHECK, error, "run it again when GitHub answers"),
    };
    if let Err(finding) = addressed(CHECK, config, &hook) {
        return finding;
    }
    match patiently(client.hook_deliveries()).await {
        Ok(deliveries) => {
            let signed = format!("{} to {}", signed, hook.url);
            arrived(CHECK, config, &signed, deliveries.first()).await
        }
        Err(error) => Finding::failed(CHECK, error, "run it again when GitHub answers"),
    }
}

async fn hook(client: &Client) -> Result<HookConfig, github::Error> {
    match client.hook_config().await {
        // An app whose webhook is switched off has none.
        Err(github::Error::NotFound { .. }) | Ok(None) => Ok(HookConfig::default()),
        Ok(Some(hook)) => Ok(hook),
        Err(error) => Err(error),
    }
}

/// The address where the daemon takes webhooks in, as far as anybody knows.
fn wanted(config: &Config) -> String {
    format!("{}{WEBHOOK_PATH}", config.server.public_url.as_deref().unwrap_or("https://YOUR-HOST"))
}

fn addressed(check: &'static str, config: &Config, hook: &HookConfig) -> Result<(), Finding> {
    let fix = format!("set the webhook URL in the app's settings on GitHub to {}, and switch it on", wanted(config));
    if hook.url.is_empty() {
        return Err(Finding::failed(check, "the app has no webhook URL on GitHub", fix));
    }
    let found = format!("GitHub sends the app's webhooks to {}", hook.url);
    let path = Url::parse(&hook.url).map(|url| url.path().trim_end_matches('/').to_owned()).unwrap_or_default();
    if !path.ends_with(WEBHOOK_PATH) {
        return Err(Finding::failed(check, format!("{found}, but the daemon receives them at {WEBHOOK_PATH}"), fix));
    }
    let origin = |address: &str| Url::parse(address).ok().map(|url| url.origin());
    if let Some(public) = &config.server.public_url
        && origin(public) != origin(&hook.url)
    {
        return Err(Finding::warning(check, format!("{found}, but server.public_url is {public}"), fix));
    }
    if !hook.checks_certificates() {
        let fix = "switch SSL verification on in the app's settings on GitHub";
        return Err(Finding::warning(check, format!("{found} without verifying the server's certificate"), fix));
    }
    Ok(())
}

/// What became of the latest webhook: whoever fixes something sees it with the next one.
async fn arrived(check: &'static str, config: &Config, signed: &str, latest: Option<&HookDelivery>) -> Finding {
    let Some(latest) = latest else { return Finding::ok(check, format!("{signed}; none sent yet")) };
    let HookDelivery { event, status, status_code, delivered_at } = latest;
    let when = terminal::ago(*delivered_at, clock::now());
    let found = format!("{signed}; the last one ({event}, {when}) was refused with {status_code}");
    let again = "then redeliver one: the app's settings on GitHub, Advanced, Recent deliveries";
    match status_code {
        200..300 => Finding::ok(check, format!("{signed}; the last one ({event}) arrived {when}")),
        401 => {
            let fix = format!(
                "set server.webhook_secret to the secret in the app's settings on GitHub, where you can also change \
                 it; {again}"
            );
            Finding::failed(check, format!("{found}: the secrets differ"), fix)
        }
        400..500 => {
            let fix = format!("point it at the daemon: {}; {again}", wanted(config));
            Finding::failed(check, format!("{found}: something other than the daemon answered"), fix)
        }
        _ if is_up(config).await => {
            let fix = format!("let GitHub reach {}: DNS, firewall, proxy, certificate; {again}", wanted(config));
            Finding::failed(check, format!("{signed}; the last one ({event}, {when}) did not arrive: {status}"), fix)
        }
        _ => {
            Finding::ok(check, format!("{signed}; the last one ({event}, {when}) found no daemon, and none is running"))
        }
    }
}

/// Whether a daemon of this configuration runs on this machine.
async fn is_up(config: &Config) -> bool {
    if config.state.database_url.is_none() && database::holder(&config.state.state_dir).is_some() {
        return true;
    }
    let mut address = config.server.bind_address;
    if address.ip().is_unspecified() {
        address.set_ip(if address.is_ipv4() { [127, 0, 0, 1].into() } else { std::net::Ipv6Addr::LOCALHOST.into() });
    }
    matches!(tokio::time::timeout(KNOCK, TcpStream::connect(address)).await, Ok(Ok(_)))
}

/// What GitHub answers, or why it does not.
async fn patiently<T>(asked: impl Future<Output = Result<T, github::Error>>) -> Result<T, String> {
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err(format!("GitHub did not answer within {} s", PATIENCE.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_names_what_the_app_may_do_and_hears_of() {
        let guide = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operating.md"));
        let (_, section) = guide.split_once("\n## What the app may do\n").expect("a section");
        let section = section.split_once("\n## ").expect("an end").0;
        let rows = section.lines().filter(|line| line.starts_with("| ")).count();
        assert_eq!(rows, github::PERMISSIONS.len() + 1, "no other permission");
        for grant in github::PERMISSIONS {
            let row = format!(" | {} | {} |\n", grant.level.as_str(), grant.purpose);
            assert!(section.replace('`', "").contains(&row), "{}", grant.name);
        }
        for event in github::EVENTS {
            assert!(section.contains(&format!("`{event}`")), "{event}");
        }
    }

    #[test]
    fn what_an_installation_has_not_agreed_to_is_told_with_where_to_agree() {
        let granted =
            || github::PERMISSIONS.iter().map(|grant| (grant.name.to_owned(), grant.level.as_str().to_owned()));
        let app = App {
            id: 1,
            slug: "bot".to_owned(),
            name: "Bot".to_owned(),
            html_url: String::new(),
            permissions: granted().collect(),
            events: github::EVENTS.iter().map(ToString::to_string).collect(),
        };
        let installation = Installation {
            id: merge_train_core::ids::InstallationId::new(1),
            account: Some(github::Installer { login: "acme".to_owned() }),
            html_url: "https://github.com/settings/installations/1".to_owned(),
            permissions: granted().filter(|(name, _)| name != "workflows").collect(),
            events: app.events.clone(),
            suspended_at: None,
        };
        let found = permissions(&app, &[&installation]);
        let expected = Finding::warning(
            "permissions",
            "acme lacks workflows: write, needed to push commits that change .github/workflows",
            "somebody has to accept the app's permissions: https://github.com/settings/installations/1",
        );
        assert_eq!(found, expected);
    }
}
