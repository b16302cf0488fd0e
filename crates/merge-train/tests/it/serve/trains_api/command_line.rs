//! `merge-train status` and `merge-train train`.

use std::process::Output;

use serde_json::{Value, json};
use tokio::process::Command;

use super::{REPO, railway};
use crate::support::{Daemon, KEY, Setup};

/// Runs a command that finds the daemon and the key in its environment.
async fn run(setup: &Setup, daemon: &Daemon, words: &[&str]) -> Output {
    asking(setup, daemon, words).output().await.expect("it runs")
}

fn asking(setup: &Setup, daemon: &Daemon, words: &[&str]) -> Command {
    let mut command = setup.command(words);
    command.env("MERGE_TRAIN_SERVER", &daemon.url).env("MERGE_TRAIN_API_KEY", KEY);
    command
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_of_everything_is_a_table_for_each_repository() {
    let (_dir, setup, daemon) = railway().await;
    let expected = "\
acme/widgets
  ROOT  STATE    CURRENT  PHASE  LANDED
  #1    stopped  #2       idle   1 of 3
";
    for words in [&["status"][..], &["status", REPO]] {
        let output = run(&setup, &daemon, words).await;
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let told = stdout(&output);
        assert!(told.starts_with("acme/widgets: resyncing"), "what was imported may be old: {told}");
        assert!(told.contains(&format!("\n{expected}")), "{told}");
        assert!(told.contains("nothing happens until someone comments `@merge-train start` on #2\n"), "{told}");
        assert!(told.contains("  #10   aborted  #10      idle   0 of 1\n"), "{told}");
        assert!(told.contains("CONFLICT (content): `a.txt`"), "what went wrong is told: {told}");
        assert!(!told.contains('\u{1b}'), "no colours where nobody sees them: {told}");
    }
    let one = run(&setup, &daemon, &["status", "acme/widgets#3"]).await;
    let told = stdout(&one);
    assert!(told.contains("    #1 branch-1: landed as 000000000000\n  → #2 branch-2 on #1: open\n"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_gets_what_the_api_says() {
    let (_dir, setup, daemon) = railway().await;
    let json = |output: Output| -> Value { serde_json::from_slice(&output.stdout).expect("JSON") };
    let all = json(run(&setup, &daemon, &["status", "--json"]).await);
    assert_eq!((&all["trains"][0]["root"], &all["trains"][1]["root"]), (&json!(1), &json!(10)));
    let one = json(run(&setup, &daemon, &["status", "--json", "acme/widgets#2"]).await);
    assert_eq!(one, daemon.get("/api/v1/repos/acme/widgets/trains/1").await.1);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_way_to_fail_has_its_exit_code_and_says_what_to_do() {
    let (_dir, setup, daemon) = railway().await;
    let listening = daemon.url.clone();
    let nowhere = ("--server", "http://127.0.0.1:9");
    for (words, key, code, word) in [
        (vec!["status", "acme/widgets#20"], KEY, 3, "no current train includes #20 of acme/widgets"),
        (vec!["train", "stop", "acme/widgets#20"], KEY, 3, "no current train of"),
        (vec!["train", "stop", "acme/widgets#2"], KEY, 3, "no current train of"),
        (vec!["status", "acme/unheard"], KEY, 1, "acme/unheard is not known yet"),
        (vec!["train", "start", "acme/widgets#77"], KEY, 1, "no known pull request #77"),
        (vec!["train", "start", "acme/widgets#30"], KEY, 1, "is already merged"),
        (vec!["status", "widgets"], KEY, 2, "OWNER/REPO"),
        (vec!["status", "--speed"], KEY, 2, "--speed"),
        (vec!["train", "start", "acme/widgets"], KEY, 2, "OWNER/REPO#N"),
        (vec!["train", "derail", "acme/widgets#1"], KEY, 2, "derail"),
        (vec!["status"], "", 1, "no API key: set MERGE_TRAIN_API_KEY"),
        (vec!["status"], "wrong", 1, "refused the API key"),
        (vec!["status", nowhere.0, nowhere.1], KEY, 1, "cannot reach the daemon at http://127.0.0.1:9"),
        (vec!["status", "--server", "nonsense"], KEY, 1, "http://HOST:PORT"),
    ] {
        let output = asking(&setup, &daemon, &words).env("MERGE_TRAIN_API_KEY", key).output().await.expect("it runs");
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {told}");
        assert!(told.contains(word), "{words:?}: {told}");
        assert!(!told.contains(KEY), "{words:?}: {told}");
    }
    let viewer = format!("{KEY} viewer");
    let output =
        asking(&setup, &daemon, &["train", "start", "acme/widgets#20", "--key", &viewer, "--server", &listening]);
    let output = { output }.env_remove("MERGE_TRAIN_SERVER").output().await.expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("this needs the role \"operator\""), "{}", stderr(&output));
    let help = run(&setup, &daemon, &["status", "--help"]).await;
    assert!(help.status.success() && stdout(&help).contains("Exit code 0"), "{}", stdout(&help));
    assert!(!stdout(&help).contains(KEY), "the key in the environment is not shown");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_daemon_is_the_configuration_knows() {
    let (_dir, setup, daemon) = railway().await;
    // It listens on a port that it chose itself, so the configuration alone does not say it …
    let mut command = setup.command(&["status"]);
    let output = command.env("MERGE_TRAIN_API_KEY", KEY).output().await.expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("only the daemon knows its port"), "{}", stderr(&output));
    // … unless it says how the world reaches it.
    let told = setup.clone().more(&format!("public_url = {:?}\n", daemon.url));
    let mut command = told.command(&["status"]);
    let output = command.env("MERGE_TRAIN_API_KEY", KEY).output().await.expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).starts_with(REPO), "{}", stdout(&output));
}
