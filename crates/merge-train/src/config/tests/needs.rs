//! What a command cannot do without.

use super::super::requirements::{Credentials, Storage};
use super::*;

/// A configuration that keeps its state in a directory of its own.
fn in_folder(text: &str) -> (tempfile::TempDir, Config) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("merge-train.toml");
    std::fs::write(&file, format!("{text}\n[state]\nstate_dir = 'state'\n")).unwrap();
    let config = Config::load(Some(&file), &Environment::default()).expect("it has no mistakes");
    (folder, config)
}

#[test]
fn a_token_a_webhook_secret_and_a_word_on_signing_are_enough_to_serve() {
    let (folder, config) = in_folder("[github]\ntoken = 't'\n[server]\nwebhook_secret = 's'\n[git]\nsigning = 'off'");
    let ready = config.check_for_serve().expect("nothing is missing");
    assert_eq!(ready.credentials, Credentials::Token(Secret::new("t")));
    assert_eq!(ready.webhook_secrets, [Secret::new("s")]);
    assert_eq!(ready.storage, Storage::Directory(folder.path().join("state")));
}

#[test]
fn state_alone_is_enough_to_find_the_state() {
    let (folder, config) = in_folder("");
    assert_eq!(config.storage().expect("it can be written"), Storage::Directory(folder.path().join("state")));
    let config = accepted("[state]\ndatabase_url = 'postgres://db/x'\nstate_dir = '/proc/none'");
    assert_eq!(config.storage().expect("a database"), Storage::Postgres(Secret::new("postgres://db/x")));
}

#[test]
fn all_that_serve_lacks_is_told_at_once() {
    let told = accepted("[state]\nstate_dir = '/proc/none'").check_for_serve().expect_err("all is missing").to_string();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 4, "{told}");
    assert!(lines[0].starts_with("merge-train.toml:2:13: state.state_dir: /proc/none cannot be written ("), "{told}");
    assert!(lines[0].contains("MERGE_TRAIN_STATE_DIR"), "{told}");
    assert!(lines[2].starts_with("configuration: no GitHub credentials; set github.app_id"), "{told}");
    assert!(lines[1].starts_with("configuration: commit signing is not configured"), "{told}");
    assert!(lines[3].starts_with("configuration: server.webhook_secret is missing"), "{told}");
}

#[test]
fn commits_are_unsigned_only_by_an_explicit_setting() {
    let signing = |git: &str| accepted(&format!("[git]\n{git}")).signing().map_err(|error| error.to_string());
    let told = signing("").expect_err("nobody said anything");
    for way in ["git.signing_key_id", "git.ssh_key_path", "git.signing = \"off\""] {
        assert!(told.contains(way), "{told}");
    }
    assert_eq!(signing("signing = 'off'"), Ok(Signing::Off));
    assert_eq!(signing("signing_key_id = 'A'"), Ok(Signing::Gpg { key_id: "A".into(), home: None }));
    assert_eq!(signing("ssh_key_path = '/k'"), Ok(Signing::Ssh { key_path: "/k".into() }));
    // A key that lies there unused is no reason to sign.
    assert_eq!(signing("signing = 'off'\nsigning_key_id = 'A'"), Ok(Signing::Off));
}

#[tokio::test]
async fn an_app_is_asked_for_a_private_key_that_can_sign() {
    let app = "[git]\nsigning = 'off'\n[server]\nwebhook_secret = 's'\n[github]\napp_id = 7\ninstallation_id = 8\nprivate_key_path = 'app.pem'";
    let (folder, config) = in_folder(app);
    let path = folder.path().join("app.pem");
    let told = |config: &Config| config.check_for_serve().expect_err("no key").to_string();
    assert!(told(&config).contains("app.pem cannot be read: No such file"), "{}", told(&config));

    // The simulator makes its app a key of the kind that GitHub gives out.
    let sim = tempfile::tempdir().unwrap();
    let listen = "127.0.0.1:0".parse().unwrap();
    let running = github_sim::start(github_sim::Options { listen, ..github_sim::Options::new(sim.path()) }).await;
    let running = running.expect("the simulator starts");
    let key_path = running.description()["app"]["private_key_path"].as_str().expect("a path").to_owned();
    running.stop().await;
    let pem = std::fs::read_to_string(key_path).unwrap();

    let lines: Vec<&str> = pem.lines().collect();
    let cut = [&lines[..lines.len() / 2], &lines[lines.len() - 1..]].concat().join("\n");
    for damaged in ["", "no key", &cut] {
        std::fs::write(&path, damaged).unwrap();
        assert!(told(&config).contains("is not an RSA private key in PEM format"), "{}", told(&config));
        assert!(!told(&config).contains(lines[1]));
    }
    std::fs::write(&path, &pem).unwrap();
    let expected = Credentials::App { app_id: 7, private_key_pem: Secret::new(pem), installation_id: Some(8) };
    assert_eq!(config.check_for_serve().expect("a good key").credentials, expected);
}
