//! What the settings say together.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use url::Url;

use super::builder::{BuiltRow, ConfigBuilder};
use super::problem::ValueSource;
use super::sections::{ScheduleSettings, WorkflowSettings};
use super::settings::{PREFIX, section};
use github::is_this_machine;

/// What GitHub's own tools are given a token with.
const OPENS_GITHUB: [&str; 4] = ["GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"];

/// Fills in what follows from other settings, and complains of what contradicts them.
pub fn settle(builder: &mut ConfigBuilder) {
    addresses(builder);
    identity(builder);
    signing(builder);
    for section in ["api_keys", "workflows", "schedules"] {
        each_once(builder, section, "name");
    }
    each_once(builder, "slack_workspaces", "team_id");
    each_once(builder, "slack_channels", "tenant");
    workflows(builder);
    schedules(builder);
    slack(builder);
}

/// Compares limits with each other, those that have their default included.
pub fn compare(builder: &mut ConfigBuilder) {
    compare_signs_of_life(builder);
    compare_visitors(builder);
    compare_environment(builder);
    let number = |key| builder.number("server", key);
    let (Some((body, _)), Some((budget, place))) = (number("max_body_mb"), number("body_budget_mb")) else { return };
    if budget < body {
        // Whichever of the two was written is the one to fix.
        let written = if *place == ValueSource::Nowhere { builder.place("server", "max_body_mb") } else { Some(place) };
        let place = written.cloned().unwrap_or(ValueSource::Nowhere);
        let text = format!(
            "server.body_budget_mb is {budget} and server.max_body_mb {body}: the largest body would always be \
             refused; the budget must be at least as large"
        );
        builder.complain(place, text);
    }
}

/// Whoever can reach the dashboard could do as they like; fixers reach it from this machine.
fn compare_visitors(builder: &mut ConfigBuilder) {
    let Some((role, place)) = builder.text("server", "anonymous").filter(|(role, _)| role.starts_with("operator"))
    else {
        return;
    };
    let (role, place) = (role.to_owned(), place.clone());
    let address = builder.text("server", "bind_address").and_then(|(address, _)| address.parse::<SocketAddr>().ok());
    if address.is_some_and(|address| !address.ip().is_loopback()) {
        let text = format!(
            "server.anonymous is {role:?}, and server.bind_address is reachable from other machines: anyone who \
             reaches it could start and stop trains; listen on 127.0.0.1, or set it to \"viewer\""
        );
        builder.complain(place.clone(), text);
    }
    let has_fixer = ["command", "agent"].into_iter().any(|key| builder.place("ratchet.fixer", key).is_some());
    if has_fixer && role == "operator" {
        let text = "server.anonymous is \"operator\", and [ratchet.fixer] names a fixer, which runs on this machine \
                    and could approve its own pushes; set it to \"viewer\" or \"none\" and sign in with an API key, or \
                    use \"operator_and_fixers\" where that does no harm";
        builder.complain(place, text);
    }
}

/// What a fixer gets must not open what is kept from it.
fn compare_environment(builder: &mut ConfigBuilder) {
    let Some((names, place)) = builder.texts("ratchet.fixer", "environment") else { return };
    let why_not = |name: &str| {
        if name.starts_with(PREFIX) {
            Some("it is the daemon's own")
        } else if OPENS_GITHUB.contains(&name) {
            Some("it gives access to GitHub, which a fixer does not need: its pushes go through the daemon")
        } else if builder.feeds_a_secret(name) {
            Some("it holds a secret of this configuration")
        } else {
            None
        }
    };
    let problems = names.iter().filter_map(|name| {
        let why = why_not(name)?;
        Some(format!("ratchet.fixer.environment names {name}, which no fixer may have: {why}; leave it out"))
    });
    let (problems, place) = (problems.collect::<Vec<_>>(), place.clone());
    problems.into_iter().for_each(|text| builder.complain(place.clone(), text));
}

/// Whoever is not heard of once must not be taken for dead.
fn compare_signs_of_life(builder: &mut ConfigBuilder) {
    let (Some((beat, _)), Some((after, place))) =
        (builder.number("runs", "heartbeat_secs"), builder.number("runs", "orphaned_after_secs"))
    else {
        return;
    };
    if after < beat.saturating_mul(2) {
        let written =
            if *place == ValueSource::Nowhere { builder.place("runs", "heartbeat_secs") } else { Some(place) };
        let place = written.cloned().unwrap_or(ValueSource::Nowhere);
        let text = format!(
            "runs.orphaned_after_secs is {after} and runs.heartbeat_secs {beat}: a run would be taken from the \
             instance that works on it; it must be at least twice as long"
        );
        builder.complain(place, text);
    }
}

/// A server of one's own has all three addresses: a token meant for it must not go to github.com.
fn addresses(builder: &mut ConfigBuilder) {
    let public = section("github").and_then(|section| section.setting("api_url")).and_then(|setting| setting.default);
    let Some((api_url, place)) = builder.text("github", "api_url") else { return };
    if Some(api_url) == public {
        return;
    }
    let (place, host) = (place.clone(), api_url.strip_suffix("/api/v3").map(str::to_owned));
    for (key, path) in [("graphql_url", "/api/graphql"), ("git_url", "")] {
        match &host {
            _ if builder.place("github", key).is_some() => {}
            Some(host) => builder.derive("github", key, format!("{host}{path}"), place.clone()),
            None => {
                let text = format!(
                    "github.api_url is not GitHub's own and does not end in /api/v3, so github.{key} does not follow \
                     from it; set github.{key} too"
                );
                builder.complain(place.clone(), text);
            }
        }
    }
}

fn identity(builder: &mut ConfigBuilder) {
    let at = |key| builder.place("github", key).cloned();
    let (app, key, installation, token) = (at("app_id"), at("private_key_path"), at("installation_id"), at("token"));
    if let (Some(place), None) = (&app, &key) {
        builder.complain(place.clone(), "github.app_id needs github.private_key_path, the app's private key");
    }
    if let (Some(place), None) = (&key, &app) {
        builder.complain(place.clone(), "github.private_key_path needs github.app_id, the id of the app it belongs to");
    }
    if let (Some(place), None, None) = (&installation, &app, &key) {
        builder.complain(place.clone(), "github.installation_id needs github.app_id and github.private_key_path");
    }
    if let (Some(place), Some(_)) = (token, app.or(key)) {
        builder.complain(
            place,
            "github.token and github.app_id are both set; keep one: the app, or the token for a trial",
        );
    }
}

fn signing(builder: &mut ConfigBuilder) {
    let Some((kind, place)) = builder.text("git", "signing") else { return };
    let (needed, what) = match kind {
        "gpg" => ("signing_key_id", "the id of the GPG key"),
        "ssh" => ("ssh_key_path", "the SSH key"),
        _ => return,
    };
    if builder.place("git", needed).is_none() {
        let text = format!("git.signing is {kind:?} and needs git.{needed}, {what} to sign with");
        builder.complain(place.clone(), text);
    }
}

fn each_once(builder: &mut ConfigBuilder, section: &'static str, key: &str) {
    let mut first = BTreeMap::new();
    let mut again = Vec::new();
    for row in builder.rows(section) {
        let Some(name) = row.text(key) else { continue };
        if let Some(earlier) = first.get(name) {
            again.push((
                row.place.clone(),
                format!("[[{section}]] {name:?} already exists, at {earlier}; choose another {key}"),
            ));
        } else {
            first.insert(name.to_owned(), row.place.clone());
        }
    }
    again.into_iter().for_each(|(place, text)| builder.complain(place, text));
}

fn workflows(builder: &mut ConfigBuilder) {
    let problems = |row: &BuiltRow| {
        let workflow: WorkflowSettings = row.typed()?;
        let told = workflow.problems().into_iter();
        Some(told.map(|problem| (row.place.clone(), format!("[[workflows]] {:?}: {problem}", workflow.name))).collect())
    };
    let all: Vec<Vec<_>> = builder.rows("workflows").iter().filter_map(problems).collect();
    all.into_iter().flatten().for_each(|(place, text)| builder.complain(place, text));
}

fn schedules(builder: &mut ConfigBuilder) {
    let rows = builder.rows("workflows");
    let known: Vec<&str> = rows.iter().filter_map(|row| row.text("name")).collect();
    let problems = |row: &BuiltRow| {
        let workflow = row.text("workflow")?;
        if !known.contains(&workflow) {
            let text = match known.as_slice() {
                [] => format!("no [[workflows]] is named {workflow:?}; none is configured"),
                known => format!("no [[workflows]] is named {workflow:?}; configured: {}", known.join(", ")),
            };
            return Some(vec![(row.place.clone(), text)]);
        }
        // Of a workflow that is wrong itself, nothing follows for its schedules.
        let workflow = rows.iter().find(|row| row.text("name") == Some(workflow))?.typed::<WorkflowSettings>()?;
        let workflow = Some(workflow).filter(|workflow| workflow.problems().is_empty())?;
        let schedule: ScheduleSettings = row.typed()?;
        let told = schedule.problems(&workflow.definition()).into_iter();
        Some(told.map(|problem| (row.place.clone(), format!("[[schedules]] {:?}: {problem}", schedule.name))).collect())
    };
    let all: Vec<Vec<_>> = builder.rows("schedules").iter().filter_map(problems).collect();
    all.into_iter().flatten().for_each(|(place, text)| builder.complain(place, text));
}

fn slack(builder: &mut ConfigBuilder) {
    if let (Some(row), None) = (builder.rows("slack_workspaces").first(), builder.place("slack", "signing_secret")) {
        let text = "[[slack_workspaces]] needs slack.signing_secret, the secret that Slack signs requests with";
        builder.complain(row.place.clone(), text);
    }
    let Some((prefix, place)) = builder.text("slack", "response_url_prefix") else { return };
    let is_safe = |url: Url| url.scheme() == "https" || url.host().is_some_and(is_this_machine);
    if !Url::parse(prefix).is_ok_and(is_safe) {
        let text = format!(
            "slack.response_url_prefix is {prefix:?}: Slack messages would cross the network unencrypted; it must \
             begin with https://"
        );
        builder.complain(place.clone(), text);
    }
}
