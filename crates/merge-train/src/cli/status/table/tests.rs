//! What a person sees.

use serde_json::json;

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

fn now() -> Timestamp {
    at("2026-11-15T12:00:00Z")
}

fn train(state: &str, root: u64, more: Value) -> TrainRow {
    let mut shown = json!({
        "repo": "octocat/hello", "root": root, "state": state, "current_pr": root + 1, "phase": "idle",
        "started_at": "2026-11-15T10:30:00Z", "stopped_at": null, "why": null, "error": null, "status_comment_url": null,
        "stack": [
            { "pr": root, "branch": "one", "predecessor": null, "standing": "landed",
              "merge_commit": "0123456789abcdef0123456789abcdef01234567" },
            { "pr": root + 1, "branch": "two", "predecessor": root, "standing": "open", "merge_commit": null },
        ],
    });
    shown.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    TrainRow::read(&shown).expect("a train")
}

fn waiting() -> TrainRow {
    let why = json!({
        "blocker": "The required check `build` failed on PR #124.",
        "who": "The author of PR #124, by pushing a fix.",
        "since": "2026-11-15T11:48:00Z",
        "next": "PR #124 is squash-merged once the check passes.",
    });
    train(
        "waiting_ci",
        123,
        json!({ "why": why, "status_comment_url": "https://github.com/o/r/pull/123#issuecomment-9" }),
    )
}

#[test]
fn each_train_has_a_row_and_whoever_waits_says_why() {
    let repo: RepoId = "octocat/hello".parse().expect("a repository");
    let expected = "\
octocat/hello
  ROOT  STATE       CURRENT  PHASE  LANDED
  #7    running     #8       idle   1 of 2
  #123  waiting_ci  #124     idle   1 of 2
        why not yet: The required check `build` failed on PR #124. · The author of PR #124, by pushing a fix. · \
12 minutes ago · PR #124 is squash-merged once the check passes.
";
    let trains = [train("running", 7, json!({})), waiting()];
    assert_eq!(overview(&repo, &trains, Ink::Plain, now()), expected);
    let coloured = overview(&repo, &trains, Ink::Coloured, now());
    assert!(coloured.contains("\u{1b}[32mrunning   \u{1b}[0m"), "{coloured}");
}

#[test]
fn one_train_is_told_with_its_stack() {
    let told = detail(&waiting(), Ink::Plain, now());
    let expected = "
  started 1 hour ago
    #123 one: landed as 0123456789ab
  → #124 two on #123: open
  https://github.com/o/r/pull/123#issuecomment-9
";
    assert!(told.ends_with(expected), "{told}");
}

#[test]
fn what_went_wrong_is_one_line_that_no_terminal_obeys() {
    let error = json!({ "error_type": "conflict", "message": "CONFLICT\n\u{1b}[2Jin `a.txt`" });
    let told = detail(&train("aborted", 1, json!({ "error": error })), Ink::Plain, now());
    assert!(told.contains("what went wrong: CONFLICT [2Jin `a.txt`\n"), "{told}");
}

#[test]
fn a_train_that_was_stopped_says_how_it_goes_on() {
    let told = detail(&train("stopped", 1, json!({ "stopped_at": "2026-11-15T11:00:00Z" })), Ink::Plain, now());
    assert!(
        told.contains("stopped 1 hour ago: nothing happens until someone comments `@merge-train start` on #2\n"),
        "{told}"
    );
}
