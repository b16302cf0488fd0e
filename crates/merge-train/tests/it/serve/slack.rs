//! Slack: who is believed, what people can do with commands and buttons, and what they are told.

mod sdk;
mod town;

use axum::http::StatusCode;
use serde_json::{Value, json};
use sqlx::Connection;

use crate::support::{Daemon, Database, Setup, eventually, http};
use town::{OPERATOR, SECRET, Town, gate, now, send, send_signed, sign, step, workflow};

fn text(message: &Value) -> &str {
    message["text"].as_str().expect("a text")
}

fn has_buttons(message: &Value) -> bool {
    message["blocks"].as_array().expect("blocks").iter().any(|block| block["type"] == "actions")
}

async fn runs(daemon: &Daemon) -> Vec<Value> {
    let (status, listed) = daemon.get("/api/v1/runs").await;
    assert_eq!(status, 200, "{listed}");
    listed["runs"].as_array().expect("a list").clone()
}

async fn becomes(daemon: &Daemon, run: &str, wanted: &str) -> Value {
    eventually(&format!("{run} becomes {wanted}"), || async {
        let (_, run) = daemon.get(&format!("/api/v1/runs/{run}")).await;
        (run["status"] == wanted).then_some(run)
    })
    .await
}

/// Builds, asks, and ships.
fn deploy(more: &str) -> String {
    let steps = [step("build", "{}"), gate("ok", more), step("ship", r#"{"shipped": "<all> & more"}"#)];
    let inputs = "inputs = { ref = { type = \"string\", default = \"main\" }, count = { type = \"integer\" } }\n";
    workflow("deploy", &steps).replacen("[[workflows.steps]]", &format!("{inputs}[[workflows.steps]]"), 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_started_with_a_command_approved_with_a_button_and_told_of_to_its_end() {
    let town = Town::new(&deploy("by = [\"slack:U2\"]")).await;
    let daemon = town.setup.start().await;
    let run = town.runs(&daemon, "t1", "run deploy ref=\"release 7\" count=3").await;
    let asked = town.slack.told("t1", "waits for approval of `ok`: <@U2> can decide").await;
    assert_eq!((&asked["response_type"], has_buttons(&asked)), (&json!("in_channel"), true), "{asked}");

    town.presses(&daemon, "U3", "t2", &asked, "approve").await;
    let told = town.slack.told("t2", "slack:U3 may not decide this").await;
    assert_eq!((&told["response_type"], &told["replace_original"]), (&json!("ephemeral"), &json!(false)));
    assert_eq!(becomes(&daemon, &run, "awaiting_approval").await["trigger"]["userId"], "slack:U1");

    town.presses(&daemon, "U2", "t3", &asked, "approve").await;
    let decided = town.slack.told("t3", "<@U2> approved `ok`, <!date^").await;
    assert_eq!((&decided["replace_original"], has_buttons(&decided)), (&json!(true), false), "{decided}");
    let ended = town.slack.told("t3", "has *completed*").await;
    assert!(text(&ended).contains(r#"```{"shipped":"&lt;all&gt; &amp; more"}```"#), "{ended}");
    assert_eq!((&ended["response_type"], &ended["replace_original"]), (&json!("in_channel"), &json!(false)));
    let done = becomes(&daemon, &run, "completed").await;
    assert_eq!(done["idempotencyKey"], "slack:T1:t1");
    let (_, steps) = daemon.get(&format!("/api/v1/runs/{run}/steps")).await;
    assert_eq!(steps["steps"][0]["input"]["inputs"], json!({ "ref": "release 7", "count": 3 }), "{steps}");
    assert_eq!(steps["steps"][1]["output"]["decisions"][0]["by"], "slack:U2", "{steps}");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_again_is_answered_as_before_and_does_nothing_twice() {
    let town = Town::new(&deploy("")).await;
    let daemon = town.setup.start().await;
    let (command, at) = (town.typed(OPERATOR, "t1", "run deploy"), now());
    let again = |body: String| {
        let daemon = &daemon;
        async move { send_signed(daemon, "/slack/commands", &body, at, &sign(SECRET, at, &body)).await }
    };
    let first = again(command.clone()).await;
    assert_eq!(first.0, 200, "{}", first.1);
    let asked = town.slack.told("t1", "waits for approval").await;
    assert_eq!(again(command.clone()).await, first);

    let early = town.typed(OPERATOR, "t2", "approve run-none");
    let refused = again(early.clone()).await;
    assert!(text(&refused.1).contains("There is no run `run-none`."), "{}", refused.1);
    assert_eq!(again(early).await, refused);
    let list = town.typed("U9", "t3", "list");
    let listed = again(list.clone()).await;
    town.slack.told("t3", "*awaiting_approval*").await;
    assert_eq!(again(list).await, listed);

    let press = town.pressed(OPERATOR, "t4", &asked, "approve");
    let pressed = send(&daemon, "/slack/interactions", &press).await;
    town.slack.told("t4", "has *completed*").await;
    assert_eq!(send(&daemon, "/slack/interactions", &press).await, pressed);
    let other = town.typed(OPERATOR, "t1", "run deploy ref=other");
    assert!(text(&again(other).await.1).contains("key reused with a different body"));

    // Whatever was to be told because of those is told before this.
    town.types(&daemon, OPERATOR, "t5", "list").await;
    town.slack.told("t5", "*completed*").await;
    let told = town.slack.replies();
    let count = |to: &str| told.iter().filter(|reply| reply.to == to).count();
    assert_eq!((count("t1"), count("t2"), count("t3"), count("t4")), (1, 0, 1, 2));
    assert_eq!((runs(&daemon).await.len(), town.times("build"), town.times("ship")), (1, 1, 1));
    assert!(daemon.log().contains("\"event\":\"idempotency_hit\""), "{}", daemon.log());
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_was_stored_is_carried_out_though_nobody_heard_the_answer() {
    let town = Town::new(&deploy("")).await;
    let body = town.typed(OPERATOR, "t1", "run deploy");
    let killed = town.setup.clone().through(&["env", "FAILPOINTS=response.slack.before=return"]).start().await;
    let at = now();
    let request = http().post(format!("{}/slack/commands", killed.url)).header("x-slack-request-timestamp", at);
    let request = request.header("x-slack-signature", sign(SECRET, at, &body)).body(body.clone());
    assert!(request.send().await.is_err(), "it dies before it answers");
    let daemon = town.setup.start().await;
    let run = eventually("the run is there", || async { runs(&daemon).await.first().cloned() }).await;
    let (status, answer) = send(&daemon, "/slack/commands", &body).await;
    let id = run["id"].as_str().expect("an id");
    assert_eq!(status, 200);
    assert!(text(&answer).contains(id), "{answer}");
    becomes(&daemon, id, "awaiting_approval").await;
    assert_eq!((runs(&daemon).await.len(), town.times("build")), (1, 1));
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn slack_is_answered_in_time_though_the_database_is_slow() {
    let town = Town::new(&deploy("")).await;
    let database = Database::postgres().await;
    let daemon = town.setup.clone().database(database.clone()).start().await;
    let Database::Postgres(url) = database else { panic!("it is a PostgreSQL") };
    let mut connection = sqlx::PgConnection::connect(&url).await.expect("the database answers");
    let mut lock = connection.begin().await.expect("a transaction");
    sqlx::query("LOCK TABLE inbox IN ACCESS EXCLUSIVE MODE").execute(&mut *lock).await.expect("a lock");
    let answer = town.types(&daemon, OPERATOR, "t1", "run deploy").await;
    assert!(text(&answer).contains("The result follows here"), "{answer}");
    assert_eq!(town.slack.asked(), 0);
    lock.rollback().await.expect("the lock is gone");
    let taken = town.slack.told("t1", "of `deploy` is accepted").await;
    assert_eq!(taken["response_type"], "ephemeral");
    town.slack.told("t1", "waits for approval of `ok`").await;
    assert_eq!((runs(&daemon).await.len(), town.times("build")), (1, 1));
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_not_slack_is_refused_before_anything_is_read() {
    let town = Town::new(&deploy("")).await;
    let daemon = town.setup.start().await;
    let (body, at) = (town.typed(OPERATOR, "t1", "run deploy"), now());
    let good = sign(SECRET, at, &body);
    let (old, ahead) = (at - 400, at + 400);
    let cases = [
        ("another body", body.replace("U1", "U2"), at, good.clone(), "the signature does not match"),
        ("another secret", body.clone(), at, sign("guessed", at, &body), "the signature does not match"),
        ("another time", body.clone(), at - 10, good.clone(), "the signature does not match"),
        ("too old", body.clone(), old, sign(SECRET, old, &body), "more than five minutes ago"),
        ("ahead of time", body.clone(), ahead, sign(SECRET, ahead, &body), "more than five minutes ago"),
        ("nonsense", "%%%".to_owned(), at, "v0=00".to_owned(), "not of the form"),
    ];
    for path in ["/slack/commands", "/slack/interactions"] {
        for (what, body, at, signature, detail) in &cases {
            let (status, problem) = send_signed(&daemon, path, body, *at, signature).await;
            assert_eq!((status, &problem["code"]), (401, &json!("UNAUTHORIZED")), "{what}: {problem}");
            assert!(problem["detail"].as_str().is_some_and(|text| text.contains(detail)), "{what}: {problem}");
        }
        let unsigned = http().post(format!("{}{path}", daemon.url)).body(body.clone()).send().await.expect("an answer");
        assert_eq!(unsigned.status(), 401);
    }
    assert_eq!((runs(&daemon).await.len(), town.slack.asked()), (0, 0));
    let (status, problem) = send(&daemon, "/slack/interactions", "payload=nonsense").await;
    assert_eq!((status, &problem["code"]), (400, &json!("BAD_REQUEST")));
    assert_eq!(send(&daemon, "/slack/commands", "ssl_check=1").await.0, 200);
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn where_slack_is_not_configured_its_addresses_say_what_to_do() {
    let dir = tempfile::tempdir().expect("a folder");
    let daemon = Setup::new(dir.path()).start().await;
    for path in ["/slack/commands", "/slack/interactions"] {
        let (status, problem) = send(&daemon, path, "text=help").await;
        assert_eq!(status, 404);
        assert!(problem["detail"].as_str().is_some_and(|text| text.contains("set slack.signing_secret")), "{problem}");
    }
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_only_look_is_told_so_and_so_is_who_comes_from_elsewhere() {
    let town = Town::new(&deploy("")).await;
    let daemon = town.setup.start().await;
    for (trigger, command) in [("t1", "run deploy"), ("t2", "cancel run-none")] {
        let answer = town.types(&daemon, "U9", trigger, command).await;
        assert!(text(&answer).contains("add your id, `U9`, to the `operators`"), "{answer}");
    }
    let run = town.runs(&daemon, "t3", "run deploy").await;
    becomes(&daemon, &run, "awaiting_approval").await;
    assert!(text(&town.types(&daemon, "U9", "t4", &format!("approve {run}")).await).contains("You may only view"));
    town.types(&daemon, "U9", "t5", &format!("show {run}")).await;
    let shown = town.slack.told("t5", "waits for approval of `ok`: anyone who may start runs here can decide").await;
    assert_eq!((&shown["response_type"], has_buttons(&shown)), (&json!("ephemeral"), true));
    town.presses(&daemon, "U9", "t6", &shown, "reject").await;
    assert_eq!(town.slack.told("t6", "You may only view").await["replace_original"], false);

    let elsewhere = |body: String| body.replace("T1", "T2");
    let (status, answer) = send(&daemon, "/slack/commands", &elsewhere(town.typed(OPERATOR, "t7", "list"))).await;
    assert_eq!((status, &answer["response_type"]), (200, &json!("ephemeral")));
    assert!(text(&answer).contains("does not know this workspace, `T2`"), "{answer}");
    let press = elsewhere(town.pressed(OPERATOR, "t8", &shown, "approve"));
    assert_eq!(send(&daemon, "/slack/interactions", &press).await.0, 200);
    town.slack.told("t8", "does not know this workspace, `T2`").await;
    let foreign = town.typed(OPERATOR, "t9", "list").replace("127.0.0.1", "127.0.0.2");
    let (_, answer) = send(&daemon, "/slack/commands", &foreign).await;
    assert!(text(&answer).contains("does not begin with `slack.response_url_prefix`"), "{answer}");
    assert_eq!(becomes(&daemon, &run, "awaiting_approval").await["id"], run.as_str(), "nobody has decided");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_list_show_reject_and_cancel_and_explain_themselves() {
    let town = Town::new(&deploy("")).await;
    let daemon = town.setup.start().await;
    for (command, expected) in [
        ("", "`/train approve RUN [REASON]`"),
        ("aprove it", "Did you mean `/train approve`?"),
        ("reject run-1", "it needs a reason"),
        ("run", "of which workflow?"),
        ("run deplyo", "there is no workflow \"deplyo\"; configured: deploy"),
        ("run deploy count=many", "count: \"many\" is not of type \"integer\""),
        ("approve run-none", "There is no run `run-none`."),
    ] {
        let answer = town.types(&daemon, OPERATOR, &format!("a{}", command.len()), command).await;
        assert!(text(&answer).contains(expected), "{command:?}: {answer}");
    }
    town.types(&daemon, "U9", "t1", "list").await;
    town.slack.told("t1", "There are no runs yet. `/train run NAME` starts one.").await;
    let first = town.runs(&daemon, "t2", "run deploy").await;
    becomes(&daemon, &first, "awaiting_approval").await;
    town.types(&daemon, OPERATOR, "t3", &format!("reject {first} not on a Friday")).await;
    let told = town.slack.told("t3", "<@U1> rejected `ok`").await;
    assert!(text(&told).ends_with(": not on a Friday."), "{told}");
    let failed = becomes(&daemon, &first, "failed").await;
    assert_eq!(failed["error"], "rejected by slack:U1: not on a Friday");
    assert!(
        text(&town.types(&daemon, OPERATOR, "t4", &format!("approve {first}")).await).contains("nothing to decide")
    );
    let second = town.runs(&daemon, "t5", "run deploy").await;
    becomes(&daemon, &second, "awaiting_approval").await;
    town.types(&daemon, OPERATOR, "t6", &format!("cancel {second} enough")).await;
    town.slack.told("t6", "was *cancelled* by <@U1>").await;
    town.types(&daemon, OPERATOR, "t7", &format!("cancel {second}")).await;
    town.slack.told("t7", "Not done: the run is already cancelled.").await;
    town.types(&daemon, "U9", "t8", "list").await;
    let listed = town.slack.told("t8", &first).await;
    assert!(text(&listed).contains(&second) && text(&listed).contains("*cancelled*"), "{listed}");
    town.types(&daemon, "U9", "t9", &format!("show {first}")).await;
    town.slack.told("t9", "```rejected by slack:U1: not on a Friday```").await;
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_button_is_for_its_gate_and_where_all_have_to_approve_it_stays() {
    let all = gate("all", "by = [\"slack:U2\", \"slack:U3\"]\nneed = \"all\"");
    let town = Town::new(&workflow("careful", &[gate("one", ""), all])).await;
    let daemon = town.setup.start().await;
    let run = town.runs(&daemon, "t1", "run careful").await;
    let one = town.slack.told("t1", "waits for approval of `one`").await;
    town.presses(&daemon, OPERATOR, "t2", &one, "approve").await;
    let all = town.slack.told("t2", "waits for approval of `all`: all of <@U2>, <@U3> have to approve").await;
    // Somebody who had not seen the message change.
    town.presses(&daemon, "U2", "t3", &one, "approve").await;
    town.slack.told("t3", "the run no longer waits for \"one\", but for \"all\"").await;
    assert_eq!(becomes(&daemon, &run, "awaiting_approval").await["currentStep"], "all");
    town.presses(&daemon, "U2", "t4", &all, "approve").await;
    let half = town.slack.told("t4", "<@U2> approved `all`").await;
    assert_eq!((&half["replace_original"], has_buttons(&half)), (&json!(true), true), "{half}");
    town.presses(&daemon, "U2", "t5", &half, "approve").await;
    town.slack.told("t5", "slack:U2 has already decided").await;
    town.presses(&daemon, "U3", "t6", &half, "approve").await;
    assert!(!has_buttons(&town.slack.told("t6", "<@U3> approved `all`").await));
    town.slack.told("t6", "has *completed*").await;
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_is_posted_again_until_slack_takes_it_and_never_elsewhere() {
    let town = Town::new(&deploy("")).await;
    let daemon = town.setup.start().await;
    town.slack.fail_with(&[StatusCode::INTERNAL_SERVER_ERROR, StatusCode::TOO_MANY_REQUESTS]);
    town.types(&daemon, "U9", "t1", "list").await;
    town.slack.told("t1", "There are no runs yet").await;
    assert_eq!(town.slack.asked(), 3);
    for (trigger, refusal) in [("t2", StatusCode::NOT_FOUND), ("t3", StatusCode::TEMPORARY_REDIRECT)] {
        let asked = town.slack.asked();
        town.slack.fail_with(&[refusal]);
        town.types(&daemon, "U9", trigger, "list").await;
        let answered = format!("Slack answered {refusal}");
        eventually("it is in the log", || async { daemon.log().contains(&answered).then_some(()) }).await;
        assert_eq!(town.slack.asked(), asked + 1, "nobody tries again what was refused");
    }
    town.slack.fail_with(&[StatusCode::BAD_GATEWAY; 9]);
    town.types(&daemon, "U9", "t4", "list").await;
    eventually("it is given up", || async { daemon.log().contains("used as often as Slack allows").then_some(()) })
        .await;
    assert!(town.slack.replies().iter().all(|reply| reply.to == "t1"), "nothing went elsewhere");
    assert!(!daemon.log().contains("/hooks/"), "whoever knows the address can post: {}", daemon.log());
    assert!(daemon.stop().await.success());
}
