//! What once harmed a run, or another.

use std::time::Duration;

use super::*;
use crate::serve::upkeep::last_changed;

fn workflow(name: &str, steps: &str) -> String {
    format!("[[workflows]]\nname = {name:?}\n{steps}")
}

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

async fn is_shown(daemon: &Daemon, run: &str) -> Vec<String> {
    let paths = ["", "/steps", "/checkpoints", "/events"].map(|part| format!("/api/v1/runs/{run}{part}"));
    let mut hidden = Vec::new();
    for path in paths.into_iter().chain(["/api/v1/runs".to_owned()]) {
        let (status, _) = daemon.get(&path).await;
        hidden.extend((status != 200).then(|| format!("{status} {path}")));
    }
    hidden
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_prints_deeply_nested_json_harms_no_list_and_no_run() {
    let place = Place::new(|dir| {
        let deep = format!("echo '{}'", nested(127));
        workflow("last", &agent(dir, "last", &deep))
            + &workflow("ask", &(agent(dir, "first", &deep) + &step("ok", "kind = \"approval\"")))
    });
    let daemon = place.setup.start().await;
    let (last, ask) = (create(&daemon, "last").await, create(&daemon, "ask").await);
    eventually("both have printed", || async { (place.times("last") + place.times("first") == 2).then_some(()) }).await;
    eventually("it has ended", || async { daemon.log().contains("run_completed").then_some(()) }).await;
    assert_eq!(is_shown(&daemon, &last).await, [] as [String; 0]);
    // Either it has failed, or it can be taken up again.
    daemon.kill().await;
    let daemon = place.setup.start().await;
    if show(&daemon, &ask).await["status"] != "failed" {
        let (status, approved) = post(&daemon, &format!("/runs/{ask}/approve"), Value::Null).await;
        assert_eq!((status, &approved["status"]), (200, &json!("completed")), "{approved}\n{}", daemon.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_with_a_deeply_nested_payload_harms_no_run() {
    let place = Place::new(|dir| {
        workflow("hear", &(step("landed", "kind = \"wait\"\nevent = \"landed\"") + &agent(dir, "after", "echo '{}'")))
    });
    let daemon = place.setup.start().await;
    let run = create(&daemon, "hear").await;
    becomes(&daemon, &run, "waiting_external").await;
    let body = format!("{{\"event\": \"landed\", \"payload\": {}}}", nested(124));
    let request = http().post(format!("{}/api/v1/runs/{run}/signal", daemon.url)).bearer_auth(KEY).body(body);
    let status = request.send().await.expect("an answer").status().as_u16();
    if status == 200 {
        becomes(&daemon, &run, "completed").await;
    }
    assert_eq!(is_shown(&daemon, &run).await, [] as [String; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_leaves_more_than_it_may_fails_however_quick_it_was() {
    let place = Place::with("max_disk_mb = 1", |dir| {
        let fill = "for i in 1 2 3 4 5; do head -c 1000000 /dev/zero >$i; done; echo '{}'";
        workflow("fill", &(agent(dir, "fill", fill) + &agent(dir, "innocent", "sleep 3; echo '{}'")))
    });
    let daemon = place.setup.start().await;
    let run = create(&daemon, "fill").await;
    let run = becomes(&daemon, &run, "failed").await;
    let error = run["error"].as_str().expect("an error");
    assert!(error.starts_with("step \"fill\" failed: ") && error.contains("more than 1 MiB"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn checkpoints_are_in_the_order_in_which_they_were_made() {
    let place = Place::new(|dir| {
        let many: String = (0..12).map(|number| agent(dir, &format!("s{number}"), "echo '{}'")).collect();
        let hold = agent(dir, "hold", "while [ ! -e ../../../go ]; do sleep 0.02; done; echo '{}'");
        let wait = step("landed", "kind = \"wait\"\nevent = \"landed\"");
        workflow("heard", &(hold + &wait)) + &workflow("many", &many)
    });
    let daemon = place.setup.start().await;
    let (heard, many) = (create(&daemon, "heard").await, create(&daemon, "many").await);
    assert_eq!(post(&daemon, &format!("/runs/{heard}/signal"), json!({ "event": "landed" })).await.0, 200);
    std::fs::write(place.dir.path().join("go"), "").expect("written");
    let steps: Vec<String> = (0..12).map(|number| format!("s{number}")).collect();
    let mut wrong = Vec::new();
    for (run, steps) in [(&heard, vec!["hold".to_owned(), "landed".to_owned()]), (&many, steps)] {
        becomes(&daemon, run, "completed").await;
        let (_, page) = daemon.get(&format!("/api/v1/runs/{run}/checkpoints")).await;
        let shown = |it: &Value| format!("{} {}", it["stepId"].as_str().unwrap(), it["status"].as_str().unwrap());
        let found: Vec<String> = page["checkpoints"].as_array().expect("a list").iter().map(shown).collect();
        let expected = steps.iter().flat_map(|step| [format!("{step} running"), format!("{step} completed")]);
        wrong.extend((found != expected.collect::<Vec<_>>()).then_some(found));
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_run_in_work_dir_is_left_alone_and_in_nobodys_way() {
    for other in ["backup", "notes.txt"] {
        let place = Place::new(|_| workflow("ask", &step("ok", "kind = \"approval\"")));
        let base = place.dir.path().join("runs");
        let forgotten: Vec<_> =
            (1..=9).map(|number| base.join(format!("run-00000000000000000000000{number}"))).collect();
        forgotten.iter().for_each(|folder| std::fs::create_dir_all(folder).expect("a folder"));
        match other {
            "backup" => std::fs::create_dir(base.join(other)).expect("a folder"),
            _ => std::fs::write(base.join(other), "mine").expect("written"),
        }
        for path in forgotten.iter().chain([&base.join(other)]) {
            last_changed(path, Duration::from_secs(2 * 3600));
        }
        let daemon = place.setup.start().await;
        eventually(&format!("the folders of forgotten runs go, beside {other}"), || async {
            (!forgotten.iter().any(|folder| folder.exists())).then_some(())
        })
        .await;
        assert!(daemon.stop().await.success());
        assert!(base.join(other).exists(), "{other} was nobody's to remove");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_with_a_field_that_there_is_not_is_refused() {
    let place = Place::new(|_| workflow("hear", &step("landed", "kind = \"wait\"\nevent = \"landed\"")));
    let daemon = place.setup.start().await;
    let run = create(&daemon, "hear").await;
    becomes(&daemon, &run, "waiting_external").await;
    let signal = json!({ "event": "other", "corelation": "7", "eventId": "build-7" });
    let (status, answer) = post(&daemon, &format!("/runs/{run}/signal"), signal).await;
    assert_eq!(status, 400, "{answer}");
}
