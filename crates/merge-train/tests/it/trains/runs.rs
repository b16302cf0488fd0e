//! Trains as runs, and runs from comments.

use std::os::unix::fs::PermissionsExt;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{KEY, http};
use crate::trains::support::outage::Call;
use crate::trains::support::{ADMIN, AUTHOR, MAINTAINER, STRANGER, Trains};

impl Trains {
    async fn runs(&self, query: &str) -> Vec<Value> {
        let (status, page) = self.daemon().get(&format!("/api/v1/runs?{query}")).await;
        assert_eq!(status, 200, "{page}");
        page["runs"].as_array().expect("a list").clone()
    }

    async fn run_becomes(&self, id: &str, wanted: &str) -> Value {
        self.until(&format!("{id} becomes {wanted}"), async || {
            let (_, run) = self.daemon().get(&format!("/api/v1/runs/{id}")).await;
            (run["status"] == wanted).then_some(run)
        })
        .await
    }

    async fn ask_run(&self, id: &str, what: &str) -> (u16, Value) {
        let (status, _, answer) = self.ask_run_as(id, what, "", Value::Null).await;
        (status, answer)
    }

    /// With a reason, or whatever else it takes.
    async fn ask_run_saying(&self, id: &str, what: &str, reason: &str) -> (u16, Value) {
        let (status, _, answer) = self.ask_run_as(id, what, "", json!({ "reason": reason })).await;
        (status, answer)
    }

    /// Under this key; whether that is answered as a repetition is told beside the status.
    async fn ask_run_as(&self, id: &str, what: &str, key: &str, body: Value) -> (u16, bool, Value) {
        self.post(&format!("/api/v1/runs/{id}/{what}"), key, body).await
    }

    async fn post(&self, path: &str, key: &str, body: Value) -> (u16, bool, Value) {
        let mut request = http().request(Method::POST, format!("{}{path}", self.daemon().url)).bearer_auth(KEY);
        if !key.is_empty() {
            request = request.header("x-idempotency-key", key);
        }
        if !body.is_null() {
            request = request.json(&body);
        }
        let response = request.send().await.expect("an answer");
        let is_repeated = response.headers().get("idempotent-replayed").is_some_and(|value| value == "true");
        (response.status().as_u16(), is_repeated, response.json().await.expect("JSON"))
    }

    /// The event of this name that happened to a run.
    async fn happened(&self, id: &str, kind: &str) -> Value {
        let (_, page) = self.daemon().get(&format!("/api/v1/runs/{id}/events?limit=200")).await;
        let events = page["events"].as_array().expect("a list");
        events.iter().rfind(|event| event["type"] == kind).unwrap_or_else(|| panic!("no {kind} in {page}")).clone()
    }

    /// The delivery that told of a comment.
    async fn delivery_of(&self, comment: u64) -> Value {
        let all = self.control(Method::GET, "/deliveries?event=issue_comment", Value::Null).await;
        let is_it = |delivery: &&Value| delivery["payload"]["comment"]["id"] == comment;
        all.as_array().expect("a list").iter().find(is_it).expect("it was told of")["guid"].clone()
    }

    /// No run of a train has a log of its own.
    async fn expect_no_stream_of_a_run(&self) {
        let streams = self.streams().await;
        assert!(!streams.iter().any(|stream| stream.starts_with("run")), "{streams:?}");
    }

    /// A stack of two whose train waits for a person: it had landed nothing, and nobody knows how far it was. CI is content.
    async fn in_review() -> (Self, [u64; 2], String) {
        let mut world = Self::polling().await;
        let all = world.waiting([("one", "main"), ("two", "one")]).await;
        world.settled().await;
        world.kill().await;
        world.lose_state();
        let status = world.status_comment(all[0]).await.expect("a status comment")["id"].as_u64().expect("an id");
        world.deletes(ADMIN, status).await;
        world.restart().await;
        world.becomes(all[0], "needs_manual_review").await;
        world.ci_passes("ci").await;
        world.settled().await;
        let [run] = &world.runs("type=train&status=awaiting_approval").await[..] else { panic!("there is one run") };
        assert_eq!(run["lastTransition"]["approval"]["action"], "manual_review");
        let run = id(run);
        (world, all, run)
    }
}

fn id(run: &Value) -> String {
    run["id"].as_str().expect("an id").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_is_a_run_from_its_start_to_its_end() {
    let world = Trains::new().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    let [run] = &world.runs("type=train").await[..] else { panic!("there is one run") };
    let waiting = world.run_becomes(&id(run), "waiting_external").await;
    let start = world.comments(one).await.into_iter().find(|comment| comment["body"] == "@merge-train start");
    let delivery = world.delivery_of(start.expect("a start")["id"].as_u64().expect("an id")).await;
    let trigger = json!({ "source": "webhook", "userId": format!("github:{AUTHOR}"), "webhookEventId": delivery });
    assert_eq!(waiting["trigger"], trigger, "whoever said so set it off");
    assert_eq!((waiting["prId"].as_str(), waiting["currentStep"].as_str()), (Some("1"), Some("pr-1")));
    assert!(waiting["prUrl"].as_str().is_some_and(|url| url.ends_with("/octocat/hello/pull/1")), "{waiting}");
    assert!(waiting["lastTransition"]["metadata"]["blocker"].as_str().is_some_and(|why| why.contains("ci")));
    let (_, train) = world.daemon().get(&format!("/api/v1/repos/octocat/hello/trains/{one}")).await;
    assert_eq!(train["run_id"], run["id"], "one id, everywhere");
    world.ci_passes("ci").await;
    world.landed(&[one, two]).await;
    let done = world.run_becomes(&id(run), "completed").await;
    assert_eq!(done["result"]["landed"], json!([1, 2]));
    assert!(done["durationMs"].as_u64().is_some_and(|millis| millis > 0));
    let (_, steps) = world.daemon().get(&format!("/api/v1/runs/{}/steps", id(run))).await;
    let steps: Vec<_> =
        steps["steps"].as_array().expect("a list").iter().map(|step| (&step["stepId"], &step["status"])).collect();
    assert_eq!(steps, [(&json!("pr-1"), &json!("completed")), (&json!("pr-2"), &json!("completed"))]);
    let (_, events) = world.daemon().get(&format!("/api/v1/runs/{}/events?limit=200", id(run))).await;
    let kinds: Vec<&str> =
        events["events"].as_array().expect("a list").iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!((kinds.first(), kinds.contains(&"squash_committed")), (Some(&"train_started"), true), "{kinds:?}");
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn to_cancel_the_run_is_to_stop_the_train() {
    let world = Trains::new().await;
    let [one] = world.waiting([("one", "main")]).await;
    let run = id(&world.runs("type=train&status=waiting_external").await[0]);
    let (status, problem) = world.ask_run(&run, "approve").await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("RUN_INVALID_TRANSITION")), "{problem}");
    let off = json!({ "reason": "the release is off" });
    let (status, is_repeated, cancelled) = world.ask_run_as(&run, "cancel", "c-1", off.clone()).await;
    assert_eq!((status, is_repeated, cancelled["status"].as_str()), (200, false, Some("cancelled")), "{cancelled}");
    let told = &cancelled["cancellation"];
    assert_eq!((told["userId"].as_str(), told["reason"].as_str()), (Some("api:all"), Some("the release is off")));
    let context = &cancelled["lastTransition"];
    assert_eq!((context["userId"].as_str(), context["initiator"].as_str()), (Some("api:all"), Some("user")));
    assert_eq!(context["approval"], Value::Null, "nobody was asked to decide anything");
    world.becomes(one, "stopped").await;
    let (status, is_repeated, again) = world.ask_run_as(&run, "cancel", "c-1", off).await;
    assert_eq!((status, is_repeated), (200, true), "a repetition gets what the first got, although it is over");
    assert_eq!(again["cancellation"], cancelled["cancellation"]);
    let (status, problem) = world.ask_run(&run, "cancel").await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("RUN_TERMINAL_STATE")), "{problem}");
    world.ci_passes("ci").await;
    world.start_again(one).await;
    world.landed(&[one]).await;
    let runs = world.runs("type=train").await;
    let statuses: Vec<_> = runs.iter().filter_map(|run| run["status"].as_str()).collect();
    assert_eq!(statuses, ["completed", "cancelled"], "the newest first");
    world.finish().await;
}

/// A reason to wait gives way to another, without a transition.
#[tokio::test(flavor = "multi_thread")]
async fn the_run_tells_why_its_train_waits_now() {
    let world = Trains::new().await;
    let [one] = world.waiting([("one", "main")]).await;
    let run = id(&world.runs("type=train").await[0]);
    let before = world.run_becomes(&run, "waiting_external").await;
    world.ci("one", "ci", "failure").await;
    world.waits_because(one, "The required check `ci` failed on PR #1 at `SHA`.").await;
    let (_, now) = world.daemon().get(&format!("/api/v1/runs/{run}")).await;
    let told = |run: &Value, key: &str| run["lastTransition"]["metadata"][key].as_str().expect("text").to_owned();
    assert!(told(&now, "blocker").starts_with("The required check `ci` failed"), "{now}");
    assert!(told(&now, "who").starts_with("The author of PR #1, by pushing a fix"), "{now}");
    assert_eq!(now["lastTransition"]["timestamp"], before["lastTransition"]["timestamp"], "it waits since then");
    let shown = world.shown_on_the_command_line(&run).await;
    assert!(shown.contains("waits for  The required check `ci` failed on PR #1"), "{shown}");
    world.ci_passes("ci").await;
    world.landed(&[one]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn to_approve_the_run_is_to_start_the_train_again() {
    let (world, [one, two], run) = Trains::in_review().await;
    world.delay(Call::Squash, 3_000).await;
    let why = json!({ "reason": "nothing had landed" });
    let (status, is_repeated, answer) = world.ask_run_as(&run, "approve", "a-1", why.clone()).await;
    assert_eq!((status, is_repeated), (if answer["status"] == "running" { 200 } else { 202 }, false), "{answer}");
    let going = world.run_becomes(&run, "running").await;
    let context = &going["lastTransition"];
    assert_eq!((context["userId"].as_str(), context["initiator"].as_str()), (Some("api:all"), Some("approval")));
    let approval = &context["approval"];
    assert_eq!((approval["decision"].as_str(), approval["decidedBy"].as_str()), (Some("approved"), Some("api:all")));
    assert_eq!(approval["reason"], "nothing had landed");
    assert_eq!(approval["decidedAt"], context["timestamp"]);
    let (status, is_repeated, _) = world.ask_run_as(&run, "approve", "a-1", why).await;
    assert_eq!((status, is_repeated), (200, true), "it is not asked twice, and not refused either");
    let (status, problem) = world.ask_run(&run, "approve").await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("RUN_INVALID_TRANSITION")), "{problem}");
    world.landed(&[one, two]).await;
    world.run_becomes(&run, "completed").await;
    let started = world.happened(&run, "train_started").await;
    let said = ["by", "reason", "decision"].map(|key| started[key].as_str().unwrap_or_default().to_owned());
    assert_eq!(said, ["api:all", "nothing had landed", "approved"], "its log keeps it");
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn to_reject_the_run_is_to_stop_the_train() {
    let (world, [one, _], run) = Trains::in_review().await;
    let why = json!({ "reason": "done by hand" });
    let (status, is_repeated, rejected) = world.ask_run_as(&run, "reject", "r-1", why.clone()).await;
    assert_eq!((status, is_repeated, rejected["status"].as_str()), (200, false, Some("cancelled")), "{rejected}");
    let approval = &rejected["lastTransition"]["approval"];
    assert_eq!((approval["decision"].as_str(), approval["decidedBy"].as_str()), (Some("rejected"), Some("api:all")));
    assert_eq!((&approval["reason"], &rejected["cancellation"]["reason"]), (&why["reason"], &why["reason"]));
    assert_eq!(rejected["cancellation"]["userId"], "api:all");
    world.becomes(one, "stopped").await;
    let (status, is_repeated, _) = world.ask_run_as(&run, "reject", "r-1", why).await;
    assert_eq!((status, is_repeated), (200, true));
    let (status, problem) = world.ask_run_saying(&run, "reject", "again").await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("RUN_TERMINAL_STATE")), "{problem}");
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_the_train_refuses_is_refused_with_its_reason() {
    let (world, [one, two], run) = Trains::in_review().await;
    world.draft(one).await;
    world.until("it is known", async || (world.state().await["prs"]["1"]["draft"] == true).then_some(())).await;
    for (order, key) in [("approve", "a-1"), ("resume", "r-1"), ("approve", "a-1")] {
        let (status, _, problem) = world.ask_run_as(&run, order, key, Value::Null).await;
        assert_eq!((status, problem["code"].as_str()), (409, Some("CONFLICT")), "{problem}");
        let why = "Cannot start merge train: PR #1 is a draft. Please mark it as ready for review first.";
        assert_eq!(problem["detail"], why, "{order}");
    }
    assert_eq!(world.run_becomes(&run, "awaiting_approval").await["currentStep"], "pr-1");
    world.ready(one).await;
    world.until("it is known", async || (world.state().await["prs"]["1"]["draft"] == false).then_some(())).await;
    world.delay(Call::Squash, 3_000).await;
    let (status, _) = world.ask_run_saying(&run, "resume", "go on").await;
    assert!(status == 200 || status == 202, "{status}");
    let going = world.run_becomes(&run, "running").await;
    assert_eq!(going["lastTransition"]["approval"]["reason"], "go on", "to resume it is to approve it");
    world.phase(one, "SquashPending").await;
    let (status, problem) = world.ask_run(&run, "resume").await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("CONFLICT")), "{problem}");
    assert!(problem["detail"].as_str().is_some_and(|why| why.starts_with("There is nothing to retry")), "{problem}");
    world.landed(&[one, two]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn to_resume_the_run_is_to_have_the_train_look_again() {
    let world = Trains::new().await;
    let [one] = world.waiting([("one", "main")]).await;
    let run = id(&world.runs("type=train&status=waiting_external").await[0]);
    let (status, answer) = world.ask_run_saying(&run, "resume", "CI is back").await;
    assert_eq!((status, answer["id"].as_str()), (200, Some(run.as_str())), "{answer}");
    let nudged = world.happened(&run, "train_nudged").await;
    assert_eq!((nudged["by"].as_str(), nudged["reason"].as_str()), (Some("api:all"), Some("CI is back")));
    world.ci_passes("ci").await;
    world.landed(&[one]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comment_decides_about_a_train_as_the_api_does() {
    let (world, [one, two], run) = Trains::in_review().await;
    let approve = format!("@merge-train approve {run} it had landed nothing");
    world.says(AUTHOR, one, &approve).await;
    world.told(one, "Only an admin or maintainer of the repository can use").await;
    world.draft(one).await;
    world.until("it is known", async || (world.state().await["prs"]["1"]["draft"] == true).then_some(())).await;
    world.says(ADMIN, one, &approve).await;
    world.told(one, "`: Cannot start merge train: PR #1 is a draft.").await;
    world.ready(one).await;
    world.until("it is known", async || (world.state().await["prs"]["1"]["draft"] == false).then_some(())).await;
    world.delay(Call::Squash, 3_000).await;
    world.says(MAINTAINER, two, &approve).await;
    world.told(two, "was approved: the train of PR #1 starts again").await;
    let going = world.run_becomes(&run, "running").await;
    let approval = &going["lastTransition"]["approval"];
    let who = format!("github:{MAINTAINER}");
    assert_eq!((approval["decision"].as_str(), approval["decidedBy"].as_str()), (Some("approved"), Some(&*who)));
    assert_eq!(approval["reason"], "it had landed nothing");
    world.says(ADMIN, one, &format!("@merge-train reject {run} no")).await;
    world.told(one, "`: the run is running and does not wait for a decision.").await;
    world.landed(&[one, two]).await;
    world.run_becomes(&run, "completed").await;
    world.says(ADMIN, one, "@merge-train approve train-0123456789abcdef01234567").await;
    world.told(one, "`: there is no such run").await;
    world.expect_no_stream_of_a_run().await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comment_rejects_a_train_for_a_reason() {
    let (world, [one, _], run) = Trains::in_review().await;
    world.says(MAINTAINER, one, &format!("@merge-train reject {run} done by hand")).await;
    world.told(one, "was rejected: the train of PR #1 is stopped").await;
    let rejected = world.run_becomes(&run, "cancelled").await;
    let told = &rejected["cancellation"];
    let who = format!("github:{MAINTAINER}");
    assert_eq!((told["userId"].as_str(), told["reason"].as_str()), (Some(&*who), Some("done by hand")));
    world.becomes(one, "stopped").await;
    world.expect_no_stream_of_a_run().await;
    world.finish().await;
}

fn workflow(dir: &std::path::Path) -> String {
    let path = dir.join("greet");
    std::fs::write(&path, "#!/bin/sh\ncat\n").expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    format!(
        "[runs]\nwork_dir = {:?}\n[[workflows]]\nname = \"greet\"\ninputs = {{ name = {{ type = \"string\", required = true }} }}\n\
         [[workflows.steps]]\nid = \"say\"\ncommand = [{path:?}]\n[[workflows.steps]]\nid = \"ok\"\nkind = \"approval\"\n",
        dir.join("runs")
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comment_starts_a_workflow_and_another_approves_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let world = Trains::wish().config(&workflow(dir.path())).start().await;
    let [one] = world.stack([("one", "main")]).await;
    world.says(STRANGER, one, "@merge-train run greet name=you").await;
    world.told(one, "so nothing was done").await;
    world.says(AUTHOR, one, "@merge-train run great name=you").await;
    world.told(one, "there is no workflow \"great\"; configured: greet").await;
    world.says(AUTHOR, one, "@merge-train run greet").await;
    world.told(one, "\"name\" is a required property").await;
    let comment = world.says(AUTHOR, one, "@merge-train run greet name=you").await;
    world.told(one, "The workflow `greet` has started.").await;
    let [run] = &world.runs("type=greet").await[..] else { panic!("there is one run") };
    let run = world.run_becomes(&id(run), "awaiting_approval").await;
    let delivery = world.delivery_of(comment).await;
    let trigger = json!({ "source": "webhook", "userId": format!("github:{AUTHOR}"), "webhookEventId": delivery });
    assert_eq!(run["trigger"], trigger);
    let key = run["idempotencyKey"].as_str().expect("a key");
    assert!(key.starts_with(&format!("github:comment-{comment}-")), "{key}");
    assert_eq!((run["repoId"].as_str(), run["prId"].as_str()), (Some("octocat/hello"), Some("1")));
    let approve = format!("@merge-train approve {}", id(&run));
    world.says(AUTHOR, one, &approve).await;
    world.told(one, "Only an admin or maintainer of the repository can use").await;
    world.says(ADMIN, one, &approve).await;
    world.told(one, "was approved").await;
    let done = world.run_becomes(&id(&run), "completed").await;
    assert_eq!(done["result"]["approved"], true);
    world.says(ADMIN, one, &format!("@merge-train reject {} too late", id(&run))).await;
    world.told(one, "the run is already completed").await;
    let (_, page) = world.daemon().get("/api/v1/runs?type=greet").await;
    assert_eq!(page["runs"].as_array().map(Vec::len), Some(1));
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_approves_before_others_is_told_who_has_to_as_well() {
    let dir = tempfile::tempdir().expect("a folder");
    let both = format!("by = [\"github:{ADMIN}\", \"github:{MAINTAINER}\"]\nneed = \"all\"\n");
    let world = Trains::wish().config(&(workflow(dir.path()) + &both)).start().await;
    let [one] = world.stack([("one", "main")]).await;
    world.says(AUTHOR, one, "@merge-train run greet name=you").await;
    world.told(one, "The workflow `greet` has started.").await;
    let run = id(&world.runs("type=greet").await[0]);
    world.run_becomes(&run, "awaiting_approval").await;
    world.says(ADMIN, one, &format!("@merge-train approve {run}")).await;
    let told = world.told(one, "is recorded").await;
    assert!(told.contains("once these people have approved it too: `github:maintainer`."), "{told}");
    assert_eq!(world.run_becomes(&run, "awaiting_approval").await["currentStep"], "ok");
    world.says(MAINTAINER, one, &format!("@merge-train approve {run}")).await;
    world.told(one, "was approved.").await;
    world.run_becomes(&run, "completed").await;
    world.finish().await;
}

/// With the same key it is the same order, and that is said.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_is_repeated_says_so() {
    let dir = tempfile::tempdir().expect("a folder");
    let world = Trains::wish().config(&workflow(dir.path())).start().await;
    let wanted = json!({ "workflow": "greet", "inputs": { "name": "you" }, "repo": "octocat/hello" });
    let (status, is_repeated, first) = world.post("/api/v1/runs", "k-1", wanted.clone()).await;
    assert_eq!((status, is_repeated), (201, false), "{first}");
    let (status, is_repeated, second) = world.post("/api/v1/runs", "k-1", wanted).await;
    assert_eq!((status, is_repeated, &second["id"]), (201, true, &first["id"]), "{second}");
    let run = id(&first);
    world.run_becomes(&run, "awaiting_approval").await;
    let fine = json!({ "reason": "fine" });
    let (status, is_repeated, answer) = world.ask_run_as(&run, "approve", "a-1", fine.clone()).await;
    assert_eq!((status, is_repeated), (200, false), "{answer}");
    let (status, is_repeated, answer) = world.ask_run_as(&run, "approve", "a-1", fine).await;
    assert_eq!((status, is_repeated), (200, true), "{answer}");
    let (status, _, problem) = world.ask_run_as(&run, "approve", "a-1", json!({ "reason": "not so fine" })).await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("IDEMPOTENCY_CONFLICT")), "{problem}");
    let done = world.run_becomes(&run, "completed").await;
    assert_eq!(done["result"]["decisions"].as_array().map(Vec::len), Some(1), "it was decided once");
    world.finish().await;
}
