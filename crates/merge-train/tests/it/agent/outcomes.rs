//! What a command gets, and what comes of the way in which it ends.

use std::time::Duration;

use merge_train_core::workflow::TokensUsed;
use serde_json::{Value, json};

use crate::agent::world::World;

#[tokio::test]
async fn a_command_reads_json_and_answers_with_json() {
    let mut world =
        World::with_script("echo '  {\"read\":'; cat; echo ', \"tokensUsed\": {\"input\": 3, \"output\": 4}}  '");
    world.input = json!({"text": "ä \"quoted\"\n", "list": [1, null, true]});
    let output = world.run().await.unwrap();
    assert_eq!(output.value["read"], world.input);
    assert_eq!(output.value["tokensUsed"], json!({"input": 3, "output": 4}));
    assert_eq!(output.tokens_used, Some(TokensUsed { input: 3, output: 4 }));
}

#[tokio::test]
async fn any_json_value_is_an_answer() {
    for text in ["7", "null", "[\"tokensUsed\"]", "{\"tokensUsed\": \"many\"}"] {
        let output = World::with_script(&format!("echo '{text}'")).run().await.unwrap();
        assert_eq!(output.value, serde_json::from_str::<Value>(text).unwrap());
        assert_eq!(output.tokens_used, None, "{text}");
    }
}

#[tokio::test]
async fn a_command_gets_its_arguments_as_they_are_and_runs_in_its_folder() {
    let world = World::with_command(&["printf", "[\"%s\", \"%s\"]", "$HOME; `false`", "a  b"]);
    assert_eq!(world.value().await, json!(["$HOME; `false`", "a  b"]));
    let world = World::with_script("printf '\"%s\"' \"$(pwd -P)\"");
    let folder = world.root.path().canonicalize().unwrap().join("work");
    assert_eq!(world.value().await, json!(folder.to_str().unwrap()));
}

#[tokio::test]
async fn a_command_that_does_not_read_its_input_is_not_disturbed_by_it() {
    for script in ["echo 1", "exec 0<&-; echo 1", "head -c 10 >/dev/null; echo 1"] {
        let mut world = World::with_script(script);
        world.input = Value::String("x".repeat(3 << 20));
        assert_eq!(world.value().await, json!(1), "{script}");
    }
}

#[tokio::test]
async fn a_command_that_never_reads_its_input_can_be_ended() {
    let mut world = World::with_script("exec sleep 600");
    world.input = Value::String("x".repeat(3 << 20));
    world.timeout = Duration::from_millis(300);
    assert!(world.error().await.contains("did not finish within 300ms"));
}

#[tokio::test]
async fn the_environment_holds_nothing_of_the_daemon_but_four_names() {
    // Cargo gives the daemon of this test many more.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let mut world = World::with_command(&["env"]);
    world.environment = vec![("STEP".to_owned(), "build".to_owned()), ("LANG".to_owned(), "C".to_owned())];
    let script = "echo \"[\"; env | sed 's/=.*//; s/.*/\"&\",/'; echo \"\\\"$STEP\\\", \\\"$LANG\\\"]\"";
    world.command = vec!["/bin/sh".to_owned(), "-c".to_owned(), script.to_owned()];
    let value = world.value().await;
    let mut names: Vec<&str> = value.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(names.split_off(names.len() - 2), ["build", "C"]);
    // The last three are the shell's own.
    let known = ["PATH", "HOME", "LANG", "TMPDIR", "STEP", "PWD", "OLDPWD", "SHLVL", "_"];
    let foreign: Vec<&&str> = names.iter().filter(|name| !known.contains(name)).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
}

#[tokio::test]
async fn a_failing_command_is_told_with_the_end_of_its_log() {
    let script = "i=0; while [ $i -lt 200 ]; do echo \"line $i of many\" >&2; i=$((i+1)); done
        printf 'red \\033[31mtext\\a\\r\\n\\377 last words' >&2; echo '{}'; exit 3";
    let error = World::with_script(script).error().await;
    assert!(error.starts_with("`/bin/sh` failed with exit code 3; "), "{error}");
    assert!(error.ends_with("red ?[31mtext??\n\u{fffd} last words"), "{error}");
    assert!(error.contains("line 199 of many") && !error.contains("line 50 of many"), "{error}");
    assert!(error.len() < 2048 + 200, "{}", error.len());
    let error = World::with_script("exit 7").error().await;
    assert!(error.contains("exit code 7") && error.ends_with("Its log is empty."), "{error}");
}

#[tokio::test]
async fn a_command_that_is_killed_by_something_else_is_told_with_the_signal() {
    let error = World::with_script("echo dying >&2; kill -KILL $$").error().await;
    assert!(error.contains("was killed by signal 9 (SIGKILL)") && error.ends_with("dying"), "{error}");
    let error = World::with_script("kill -SEGV $$").error().await;
    assert!(error.contains("was killed by signal 11 (SIGSEGV)"), "{error}");
}

#[tokio::test]
async fn what_is_not_one_json_value_is_no_answer() {
    for (script, says) in [
        ("true", "`/bin/sh` printed nothing;"),
        ("echo '  '", "`/bin/sh` printed nothing;"),
        ("echo done", "did not print exactly one JSON value (expected"),
        ("echo '{} {}'", "did not print exactly one JSON value (trailing characters at line 1 column 4)"),
        ("printf '{\"cut\": '", "did not print exactly one JSON value (EOF"),
        ("printf '\"\\377\"'", "printed something that is not UTF-8 (invalid utf-8 sequence"),
    ] {
        let error = World::with_script(script).error().await;
        assert!(error.contains(says) && error.contains("on standard output"), "{script}: {error}");
    }
}

#[tokio::test]
async fn a_command_that_cannot_be_started_is_told_with_the_reason() {
    let missing = World::with_command(&["no-such-program-anywhere"]);
    let error = missing.error().await;
    assert!(error.starts_with("`no-such-program-anywhere` cannot start: it is not on the daemon's PATH"), "{error}");
    let missing = World::with_command(&["/no/such/file"]);
    let error = missing.error().await;
    assert!(error.starts_with("`/no/such/file` cannot start: the file or the interpreter"), "{error}");
    let mut plain = World::with_script("#!/bin/sh\necho 1\n");
    plain.command.remove(0);
    let error = plain.error().await;
    assert!(error.contains("may not execute it; make it executable"), "{error}");
    let error = World::with_command(&[]).error().await;
    assert!(error.starts_with("The step has no command"), "{error}");
    let error = World::with_command(&["printf", "\0"]).error().await;
    assert!(error.starts_with("`printf` cannot start: nul byte"), "{error}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_told() {
    let world = World::with_script("echo 1");
    std::fs::write(world.folder(), "in the way").unwrap();
    let error = world.error().await;
    assert!(error.contains("of `/bin/sh`: "), "{error}");
}

#[tokio::test]
async fn who_runs_the_guard_by_hand_is_told_what_it_is() {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_merge-train"));
    let output = command.arg("agent-guard").stdin(std::process::Stdio::null()).process_group(0).output().await.unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8(output.stderr).unwrap().contains("is internal: only the daemon starts it"));
}
