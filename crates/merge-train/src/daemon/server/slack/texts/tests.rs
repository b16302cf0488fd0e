//! Every message, as it is read in Slack.

use merge_train_core::ids::TenantId;
use merge_train_core::workflow::{Cancellation, Initiator, OnExpiry, Trigger, TriggerSource};

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

fn run(status: RunStatus) -> Run {
    let is_over = status.is_terminal();
    Run {
        id: RunId::parse("run-0a1b2c").unwrap(),
        schema_version: 1,
        tenant_id: TenantId::parse("octo").unwrap(),
        repo_id: String::new(),
        pr_id: String::new(),
        pr_url: String::new(),
        kind: "deploy".to_owned(),
        status,
        current_step: (!is_over).then(|| "ok".to_owned()),
        trigger: Trigger { source: TriggerSource::Ui, user_id: Some("slack:U1".to_owned()), webhook_event_id: None },
        idempotency_key: None,
        a2a_correlation_id: None,
        last_heartbeat_at: None,
        result: None,
        error: None,
        cancellation: None,
        compensation_log: Vec::new(),
        last_transition: None,
        resumed_from: None,
        resume_count: 0,
        created_at: at(0),
        updated_at: at(0),
        completed_at: is_over.then(|| at(75)),
        duration_ms: is_over.then_some(75_400),
    }
}

fn gate(by: &[&str], need: ApprovalNeed) -> Gate {
    let by = by.iter().map(|&name| name.to_owned()).collect();
    Gate { by, need, timeout_ms: None, on_expiry: OnExpiry::Fail }
}

fn decision(decision: Decision, reason: Option<&str>) -> GateDecision<'_> {
    GateDecision { by: "slack:U2", decision, reason, at: at(60), step: "ok" }
}

fn failed() -> Run {
    Run { error: Some("step \"build\" failed: `make` said <no> & left".to_owned()), ..run(RunStatus::Failed) }
}

fn cancelled() -> Run {
    let cancellation = Cancellation {
        initiator: Initiator::User,
        user_id: Some("slack:U2".to_owned()),
        reason: Some("enough <!channel>".to_owned()),
        cancelled_at: at(70),
    };
    Run { cancellation: Some(cancellation), ..run(RunStatus::Cancelled) }
}

fn about_a_pull_request() -> Run {
    let (repo_id, pr_id) = ("octo/hello".to_owned(), "7".to_owned());
    let pr_url = "https://github.com/octo/hello/pull/7".to_owned();
    Run { repo_id, pr_id, pr_url, ..run(RunStatus::Running) }
}

#[test]
fn every_message_reads_well() {
    let completed = Run { result: Some(json!({ "url": "https://x/?a&b" })), ..run(RunStatus::Completed) };
    let waiting = run(RunStatus::AwaitingApproval);
    let id = &waiting.id;
    let (anybody, one) = (gate(&[], ApprovalNeed::Any), gate(&["slack:U2"], ApprovalNeed::Any));
    let (any, all) =
        (gate(&["slack:U2", "github:octocat"], ApprovalNeed::Any), gate(&["slack:U2", "U3"], ApprovalNeed::All));
    let unknown =
        |word: &str, near: &[&'static str]| SlackCommandError::Unknown { word: word.to_owned(), near: near.to_vec() };
    let wrong = |verb, why: &str| SlackCommandError::Rest { verb, why: why.to_owned() };
    let messages = [
        ("help", help("/train")),
        ("unknown command", mistake("/train", &unknown("aprove", &["approve"]))),
        ("no command at all", mistake("/train", &unknown("<make> `it`", &[]))),
        ("wrong rest", mistake("/train", &wrong("show", "which run? `list` shows the ids"))),
        ("too much", mistake("/train", &wrong("list", "unexpected \"all\""))),
        ("unknown workspace", unknown_workspace("T9")),
        ("replies elsewhere", replies_elsewhere()),
        ("for operators", for_operators("U9")),
        ("slow", slow()),
        ("looking", looking()),
        ("taken in", taken_in(id)),
        ("started", started(id, "deploy")),
        ("no such run", no_such_run(id)),
        ("refused", refused("slack:U9 may not decide this; these may: slack:U2")),
        ("a train", is_a_train(&about_a_pull_request())),
        ("nothing to decide", nothing_to_decide(&run(RunStatus::Running))),
        ("no runs", listed(&[], "/train")),
        ("runs", listed(&[waiting.clone(), completed.clone()], "/train")),
        ("shown while it runs", shown(&about_a_pull_request(), None)),
        ("shown at a gate", shown(&waiting, Some(("ok", &one)))),
        ("shown at its end", shown(&failed(), None)),
        ("asked: anybody", asked(&waiting, "ok", &anybody)),
        ("asked: any of them", asked(&waiting, "ok", &any)),
        ("asked: all of them", asked(&waiting, "ok", &all)),
        ("approved", decided(&waiting, &decision(Decision::Approved, None))),
        ("rejected", decided(&waiting, &decision(Decision::Rejected, Some("1 < 2")))),
        ("not enough yet", not_enough_yet(&waiting, &decision(Decision::Approved, None), &all)),
        ("completed", ended(&completed)),
        ("failed", ended(&failed())),
        ("cancelled", ended(&cancelled())),
        ("still going", still_going(id, Some(RunStatus::WaitingExternal), "/train")),
    ];
    let texts: Vec<String> = messages.iter().map(|(name, message)| format!("── {name}\n{}", message.text)).collect();
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("messages", texts.join("\n"));
    });
}

#[test]
fn a_message_is_for_the_caller_for_all_or_in_the_place_of_another() {
    let waiting = run(RunStatus::AwaitingApproval);
    let message = asked(&waiting, "ok", &gate(&[], ApprovalNeed::Any));
    let all = [message.clone(), message.for_all(), ended(&run(RunStatus::Completed)).instead()];
    let all: Vec<String> = all.iter().map(|it| serde_json::to_string_pretty(&it.json()).unwrap()).collect();
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("forms", all.join("\n"));
    });
}

#[test]
fn nothing_that_others_wrote_is_read_as_slacks_own() {
    let evil = "<!channel> & <@U1|x> `*` <https://evil|good>";
    let run = Run {
        kind: evil.to_owned(),
        error: Some(evil.to_owned()),
        current_step: Some(evil.to_owned()),
        trigger: Trigger { user_id: Some(evil.to_owned()), source: TriggerSource::Api, webhook_event_id: None },
        ..run(RunStatus::Failed)
    };
    let by = gate(&[evil, "slack:U1>", "slack:"], ApprovalNeed::Any);
    let said = GateDecision { by: evil, reason: Some(evil), ..decision(Decision::Rejected, None) };
    let texts = [
        shown(&run, None),
        asked(&run, "ok", &by),
        decided(&run, &said),
        refused(evil),
        unknown_workspace(evil),
        mistake("/train", &SlackCommandError::Unknown { word: evil.to_owned(), near: Vec::new() }),
        listed(&[run], "/train"),
    ];
    for SlackMessage { text, .. } in texts {
        let ours = text.replace("<!date^1700000000^", "").replace("<!date^1700000060^", "");
        assert!(!ours.contains('<'), "{text}");
        assert!(!text.contains("& "), "{text}");
        assert_eq!(text.matches('`').count() % 2, 0, "{text}");
    }
}

#[test]
fn no_message_is_longer_than_slack_shows() {
    let long = "<&>`\n".repeat(10_000);
    let completed = Run { result: Some(json!(long)), kind: long.clone(), ..run(RunStatus::Completed) };
    let failed = Run { error: Some(long.clone()), kind: long.clone(), ..run(RunStatus::Failed) };
    let many = vec![long.as_str(); 50];
    let runs = vec![Run { kind: long.clone(), current_step: Some(long.clone()), ..run(RunStatus::Running) }; 10];
    let said = GateDecision { reason: Some(&long), step: &long, ..decision(Decision::Rejected, None) };
    let texts = [
        ended(&completed),
        ended(&failed),
        shown(&failed, None),
        refused(&long),
        decided(&completed, &said),
        listed(&runs, "/train"),
        asked(&runs[0], "ok", &gate(&many, ApprovalNeed::All)),
        mistake("/train", &SlackCommandError::Rest { verb: "run", why: long.clone() }),
    ];
    for SlackMessage { text, .. } in texts {
        assert!(text.chars().count() <= 3000, "{} characters", text.chars().count());
        let whole = text.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "");
        assert!(!whole.contains('&'), "no entity is cut: {text}");
    }
}
