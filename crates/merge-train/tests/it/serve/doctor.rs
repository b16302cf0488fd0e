//! `merge-train doctor`: what it finds well, and what it finds wanting.

mod planted;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::{Database, Setup, World, fake_git, path_with_current_git};
use planted::Yard;

/// The exit code, and the checks by name.
async fn examine(command: &mut Command) -> (i32, Value) {
    let output = command.output().await.expect("it runs");
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code().expect("a code"), report)
}

async fn doctor(setup: &Setup) -> (i32, Value) {
    examine(&mut command(setup, &["doctor", "--json"])).await
}

fn command(setup: &Setup, args: &[&str]) -> Command {
    let mut command = setup.command(args);
    command.env("PATH", path_with_current_git(setup.dir()));
    command
}

fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().expect("a list");
    checks.iter().find(|check| check["check"] == name).unwrap_or_else(|| panic!("no {name} in {report}"))
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

async fn run(program: &str, args: &[&str], home: &Path) {
    let mut command = Command::new(program);
    command.args(args).env("GNUPGHOME", home).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = command.output().await.expect("it runs; scripts/setup installs it");
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn all_is_well_with_an_app_that_github_knows() {
    let Yard { world, setup, .. } = Yard::new().await;
    let (code, report) = doctor(&setup).await;
    assert_eq!((code, &report["failed"], &report["warnings"]), (0, &json!(0), &json!(0)), "{report:#}");
    let names: Vec<&str> =
        report["checks"].as_array().expect("a list").iter().map(|check| text(&check["check"])).collect();
    let local = ["configuration", "git", "secrets", "signing", "clones", "database", "public_url", "api_keys"];
    let remote = ["github", "clock", "installations", "permissions", "events", "webhooks"];
    assert_eq!(names, [&local[..], &remote].concat());
    for found in report["checks"].as_array().expect("a list") {
        assert_eq!((&found["result"], &found["fix"]), (&json!("ok"), &Value::Null), "{found}");
    }
    let slug = text(&world.described["app"]["slug"]).to_owned();
    assert!(text(&check(&report, "github")["found"]).contains(&format!("as the app {slug}")), "{report:#}");
    let signed = text(&check(&report, "signing")["found"]);
    assert!(signed.starts_with("signed and verified with SSH key SHA256:"), "{signed}");
    assert!(!setup.state_dir().exists() && !setup.clones().exists(), "nothing was made");

    let output = command(&setup, &["doctor"]).output().await.expect("it runs");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && told.ends_with("\nEverything works.\n"), "{told}");
    world.sim.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gpg_key_is_tried_and_a_missing_one_is_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let home = dir.path().join("gnupg");
    std::fs::create_dir(&home).expect("a folder");
    std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o700)).expect("a mode");
    let owner = "merge-train <bot@example.com>";
    let new = ["--batch", "--quiet", "--passphrase", "", "--quick-generate-key", owner, "ed25519", "sign", "never"];
    run("gpg", &new, &home).await;
    let with_key = |id: &str| {
        let setup = Setup::new(dir.path());
        setup.signing(&format!("signing_key_id = \"{id}\"\ngpg_home = \"gnupg\""))
    };
    let (_, report) = doctor(&with_key("bot@example.com")).await;
    let signing = check(&report, "signing");
    assert_eq!(signing["result"], "ok", "{signing}");
    assert!(text(&signing["found"]).starts_with("signed and verified with GPG key "), "{signing}");

    let (code, report) = doctor(&with_key("0123456789ABCDEF")).await;
    let signing = check(&report, "signing");
    assert_eq!((code, &signing["result"]), (1, &json!("failed")), "{signing}");
    let found = text(&signing["found"]);
    assert!(found.contains("\"0123456789ABCDEF\"") && found.contains("--list-secret-keys"), "{signing}");
    run("gpgconf", &["--kill", "all"], &home).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_told_with_what_to_do() {
    let dir = tempfile::tempdir().expect("a folder");
    // A GitHub that is not there, a key that is not there, a state directory with a file in its way.
    std::fs::write(dir.path().join("state"), "").expect("written");
    let setup = Setup::new(dir.path()).signing("ssh_key_path = \"no-key\"");
    let (code, report) = doctor(&setup).await;
    assert_eq!((code, &report["failed"]), (1, &json!(3)), "{report:#}");
    for (name, found, fix) in [
        ("signing", "there is no signing key at", "Signing commits"),
        ("database", "state cannot be written", "state.state_dir"),
        ("github", "Connection refused", "github.api_url"),
    ] {
        let check = check(&report, name);
        assert_eq!(check["result"], "failed");
        assert!(text(&check["found"]).contains(found) && text(&check["fix"]).contains(fix), "{check}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unsigned_commits_are_a_warning_and_an_unknown_token_a_failure() {
    let world = World::without_daemon().await;
    let urls = ["api_url", "graphql_url", "git_url"].map(|key| format!("{key} = {}\n", world.described[key])).concat();
    let setup = world.setup.clone().more("public_url = \"https://train.example\"\n");
    let with_token = |token: &str| setup.clone().github(format!("[github]\n{urls}token = \"{token}\"\n"));
    let (code, report) = doctor(&with_token(world.token())).await;
    assert_eq!((code, &report["failed"], &report["warnings"]), (0, &json!(0), &json!(1)), "{report:#}");
    assert!(text(&check(&report, "signing")["found"]).contains("unverified"));
    assert!(text(&check(&report, "github")["found"]).ends_with("as octocat, with a token"), "{report:#}");
    let (code, report) = doctor(&with_token("ghp_nobody")).await;
    assert_eq!((code, &check(&report, "github")["result"]), (1, &json!("failed")));
    assert!(!report.to_string().contains("ghp_nobody"));
    world.sim.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_version_of_git_is_judged() {
    let dir = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(dir.path());
    for (version, result, found) in [
        ("2.37.7", "failed", "git 2.37.7 is too old; merge-train needs git 2.39 or newer"),
        ("2.40.1", "warning", "2.40.1: merges only use the .gitattributes in the root folder"),
        ("2.41.0", "ok", "2.41.0"),
    ] {
        let fake = fake_git(dir.path(), version);
        let (_, report) = examine(setup.command(&["doctor", "--json"]).env("PATH", fake)).await;
        let git = check(&report, "git");
        assert_eq!(git["result"], result, "{git}");
        assert!(text(&git["found"]).starts_with(found), "{git}");
    }
    let (_, report) = examine(setup.command(&["doctor", "--json"]).env("PATH", dir.path())).await;
    assert!(text(&check(&report, "git")["found"]).contains("is it installed and on the PATH?"), "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_a_daemon_works_on_is_well() {
    let dir = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(dir.path());
    let daemon = setup.start().await;
    let (_, report) = doctor(&setup).await;
    let database = check(&report, "database");
    assert_eq!(database["result"], "ok", "{database}");
    let holder = format!("in use by a running daemon: process {} on", daemon.pid());
    assert!(text(&database["found"]).contains(&holder), "{database}");
    assert!(daemon.stop().await.success());
    let (_, report) = doctor(&setup).await;
    let database = check(&report, "database");
    assert_eq!(database["result"], "ok", "{database}");
    let found = text(&database["found"]);
    assert!(found.contains("0 streams, ") && found.ends_with(" free") && !found.contains("in use"), "{database}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_for_the_database_is_asked() {
    let dir = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(dir.path()).database(Database::postgres().await);
    let (_, report) = doctor(&setup).await;
    let database = check(&report, "database");
    assert_eq!((&database["result"], &database["found"]), (&json!("ok"), &json!("PostgreSQL, 0 streams")));
    let nowhere = Database::Postgres("postgres://nobody:hush@127.0.0.1:9/none".to_owned());
    let (code, report) = doctor(&setup.database(nowhere)).await;
    let database = check(&report, "database");
    assert_eq!((code, &database["result"]), (1, &json!("failed")), "{database}");
    assert!(
        text(&database["found"]).contains("state.database_url: the database cannot be used")
            && !report.to_string().contains("hush"),
        "{database}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_cannot_be_read_is_told_line_by_line() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("broken.toml");
    std::fs::write(&file, "[git]\nsigning = 'pgp'\n[server]\nport = 1\n").expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_merge-train"));
    command.env("PATH", path_with_current_git(dir.path()));
    let (code, report) = examine(command.args(["doctor", "--json", "--config"]).arg(&file)).await;
    assert_eq!(code, 1);
    let configuration = check(&report, "configuration");
    assert_eq!(text(&configuration["found"]).lines().count(), 2, "{configuration}");
    assert!(text(&configuration["found"]).contains("broken.toml:2:11: git.signing is \"pgp\""), "{configuration}");
    assert_eq!(check(&report, "git")["result"], "ok", "what needs no configuration is tried all the same");
}
