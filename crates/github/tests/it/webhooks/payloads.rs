//! Payloads that GitHub's examples do not show.

use github::webhook::{ParseError, parse};
use merge_train_core::facts::{CommentChange, Delivery, HeadRepo, PullState, WebhookEvent};
use merge_train_core::ids::{DeliveryId, PrNumber, UserId};
use serde_json::{Value, json};

fn read(event: &str, payload: &Value) -> Result<Delivery, ParseError> {
    let id = DeliveryId::parse("d-1").expect("an id of the right form");
    parse(event, id, &serde_json::to_vec(payload).expect("JSON can be written"))
}

fn pull_request(change: impl FnOnce(&mut Value)) -> Value {
    let repo = json!({"id": 1, "full_name": "acme/widgets"});
    let mut payload = json!({
        "action": "synchronize",
        "repository": {"id": 1, "full_name": "acme/widgets", "default_branch": "main"},
        "pull_request": {
            "number": 4, "state": "open", "draft": true, "user": {"id": 9, "login": "mona"},
            "merged": false, "merged_at": null, "closed_at": null, "merge_commit_sha": "deadbeef",
            "updated_at": "2026-01-02T03:04:05Z",
            "head": {"ref": "two", "sha": "aaaa", "repo": repo},
            "base": {"ref": "one", "sha": "bbbb", "repo": repo},
        },
    });
    change(&mut payload["pull_request"]);
    payload
}

fn facts(change: impl FnOnce(&mut Value)) -> merge_train_core::facts::PullFacts {
    match read("pull_request", &pull_request(change)).expect("it is well formed").happening {
        WebhookEvent::Pull(pull) => pull,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_open_pull_request_is_read_in_full() {
    let pull = facts(|_| ());
    assert_eq!((pull.number, pull.author, pull.draft), (PrNumber::new(4), UserId::new(9), true));
    assert_eq!((pull.head_ref.as_str(), pull.head_sha.as_str(), pull.base_ref.as_str()), ("two", "aaaa", "one"));
    assert_eq!((pull.head_repo, pull.state), (HeadRepo::Same, PullState::Open));
}

#[test]
fn the_place_in_one_of_githubs_own_stacks_is_read() {
    let position = |stack: Value| facts(|pull| pull["stack"] = stack).stack_position;
    assert_eq!(position(json!({"id": 3, "number": 2, "size": 4, "position": 2})), Some(2));
    assert_eq!(position(Value::Null), None);
    assert_eq!(facts(|_| ()).stack_position, None);
}

#[test]
fn a_head_in_another_or_a_deleted_repository_is_a_fork() {
    assert_eq!(facts(|pull| pull["head"]["repo"] = Value::Null).head_repo, HeadRepo::Fork);
    assert_eq!(facts(|pull| pull["head"]["repo"] = json!({"id": 2, "full_name": "x/y"})).head_repo, HeadRepo::Fork);
    let renamed = |pull: &mut Value| pull["head"]["repo"] = json!({"id": 1, "full_name": "acme/old-name"});
    assert_eq!(facts(renamed).head_repo, HeadRepo::Same, "the id says more than the name");
    let impostor = |pull: &mut Value| pull["head"]["repo"] = json!({"id": 3, "full_name": "acme/widgets"});
    assert_eq!(facts(impostor).head_repo, HeadRepo::Fork);
    let named = |pull: &mut Value| pull["head"]["repo"] = json!({"full_name": "Acme/Widgets"});
    assert_eq!(facts(named).head_repo, HeadRepo::Same);
}

#[test]
fn merged_is_told_from_closed_even_without_the_flag() {
    let at = "2026-01-02T03:00:00Z";
    let merged = facts(|pull| {
        pull["state"] = "closed".into();
        pull["merged_at"] = at.into();
        pull.as_object_mut().unwrap().remove("merged");
    });
    let sha = Some("deadbeef".parse().unwrap());
    assert_eq!(merged.state, PullState::Merged { merge_commit_sha: sha, at: at.parse().unwrap() });
    let closed = facts(|pull| {
        pull["state"] = "closed".into();
        pull["closed_at"] = at.into();
    });
    assert_eq!(closed.state, PullState::Closed { at: at.parse().unwrap() });
}

#[test]
fn what_a_deleted_account_wrote_is_the_ghosts() {
    assert_eq!(facts(|pull| pull["user"] = Value::Null).author, UserId::new(10137));
}

#[test]
fn a_comment_is_told_by_its_place_and_its_change() {
    let comment = |action: &str, issue: Value| {
        json!({
            "action": action, "issue": issue, "repository": {"full_name": "a/b"},
            "comment": {"id": 5, "user": null, "body": "hi",
                "created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:06Z"},
        })
    };
    let on_pull = json!({"number": 3, "pull_request": {"url": "x"}});
    let delivery = read("issue_comment", &comment("edited", on_pull.clone())).unwrap();
    let WebhookEvent::Comment(CommentChange::Edited, facts) = &delivery.happening else { panic!("{delivery:?}") };
    assert_eq!((facts.pr, facts.author, facts.body.as_str()), (PrNumber::new(3), UserId::new(10137), "hi"));
    for (action, issue) in [("pinned", on_pull), ("created", json!({"number": 3}))] {
        assert_eq!(read("issue_comment", &comment(action, issue)).unwrap().happening, WebhookEvent::Other);
    }
}

#[test]
fn a_check_names_only_pull_requests_of_its_repository() {
    let pull = |number: u64, repo: u64| json!({"number": number, "base": {"repo": {"id": repo}}});
    let payload = json!({
        "action": "completed", "repository": {"id": 1, "full_name": "a/b"},
        "check_suite": {"id": 8, "head_sha": "aaaa", "conclusion": "stale", "updated_at": "2026-01-02T03:04:05Z",
            "pull_requests": [pull(1, 1), pull(2, 77)]},
    });
    let delivery = read("check_suite", &payload).unwrap();
    let WebhookEvent::CheckSuite(suite) = &delivery.happening else { panic!("{delivery:?}") };
    assert_eq!((suite.pulls.as_slice(), suite.conclusion.as_deref()), (&[PrNumber::new(1)][..], Some("stale")));
}

#[test]
fn a_push_that_may_change_what_a_repository_says_about_itself_is_known() {
    let touches = |more: Value| {
        let mut payload =
            json!({"ref": "refs/heads/main", "after": "aaaa", "repository": {"full_name": "acme/widgets"}});
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        match read("push", &payload).expect("it is well formed").happening {
            WebhookEvent::Push { touches_own_file, .. } => touches_own_file,
            other => panic!("{other:?}"),
        }
    };
    const FILE: &str = ".github/merge-train.toml";
    let commit = |how: &str, file: &str| json!({ "commits": [{ how: ["README.md"] }, { how: ["src/lib.rs", file] }] });
    for how in ["added", "modified", "removed"] {
        assert!(touches(commit(how, FILE)), "{how}");
        assert!(!touches(commit(how, ".github/merge-train.toml.orig")), "{how}");
    }
    assert!(!touches(json!({})));
    assert!(touches(json!({ "forced": true, "commits": [] })), "what it took away is not listed");
    let many: Vec<Value> = (0..2048).map(|_| json!({ "modified": ["README.md"] })).collect();
    assert!(touches(json!({ "commits": many })), "GitHub lists no more");
}

#[test]
fn a_mistake_in_a_known_event_is_named_with_its_place() {
    let bad_sha = pull_request(|pull| pull["head"]["sha"] = "--upload-pack=x".into());
    let error = read("pull_request", &bad_sha).unwrap_err();
    assert_eq!((error.event.as_str(), error.path.as_str()), ("pull_request", "pull_request.head.sha"));
    let missing = pull_request(|pull| drop(pull.as_object_mut().unwrap().remove("updated_at")));
    let error = read("pull_request", &missing).unwrap_err();
    assert!(error.path == "pull_request" && error.reason.contains("updated_at"), "{error}");
    let homeless = read("push", &json!({"ref": "refs/heads/x", "after": "aaaa"})).unwrap_err();
    assert_eq!(homeless.path, "repository");
    let long = read("status", &json!({"repository": "x".repeat(100_000)})).unwrap_err();
    assert!(long.to_string().len() < 600, "an error does not repeat what it was sent");
}

#[test]
fn unknown_events_and_states_are_other() {
    let repository = json!({"full_name": "a/b"});
    let unknown = read("sub_issues", &json!({"action": "new", "repository": repository})).unwrap();
    assert_eq!((unknown.happening, unknown.repo.unwrap().to_string()), (WebhookEvent::Other, "a/b".to_owned()));
    let state = json!({"sha": "aaaa", "state": "wondering", "context": "ci", "repository": repository});
    assert_eq!(read("status", &state).unwrap().happening, WebhookEvent::Other);
    assert!(read("sub_issues", &json!([1])).is_err());
}

#[test]
fn the_names_of_the_labels_are_read_with_every_action() {
    for action in ["labeled", "unlabeled", "synchronize"] {
        let mut payload = pull_request(|pull| pull["labels"] = json!([{"id": 1, "name": "ratchet"}, {"name": "a b"}]));
        payload["action"] = action.into();
        let WebhookEvent::Pull(pull) = read("pull_request", &payload).unwrap().happening else { panic!("{action}") };
        assert_eq!(pull.labels.iter().map(String::as_str).collect::<Vec<_>>(), ["a b", "ratchet"], "{action}");
    }
    assert!(facts(|_| ()).labels.is_empty());
}

#[test]
fn whatever_happens_to_what_was_said_at_a_line_is_talk() {
    for (event, actions) in [
        ("pull_request_review_comment", ["created", "edited", "deleted"].as_slice()),
        ("pull_request_review_thread", &["resolved", "unresolved"]),
    ] {
        for action in actions {
            let payload = json!({
                "action": action, "repository": {"full_name": "a/b"}, "pull_request": {"number": 3},
                "comment": {"id": 1}, "thread": {"node_id": "x", "comments": []},
            });
            let happening = read(event, &payload).unwrap().happening;
            assert_eq!(happening, WebhookEvent::ReviewTalk { pr: PrNumber::new(3) }, "{event} {action}");
        }
    }
}

#[test]
fn a_comment_that_addresses_nobody_is_one_all_the_same() {
    for (action, change) in
        [("created", CommentChange::Created), ("edited", CommentChange::Edited), ("deleted", CommentChange::Deleted)]
    {
        let payload = json!({
            "action": action, "repository": {"full_name": "a/b"}, "issue": {"number": 3, "pull_request": {}},
            "comment": {"id": 5, "user": {"id": 9, "login": "mona"}, "body": "I see.",
                "created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:06Z"},
        });
        let WebhookEvent::Comment(found, facts) = read("issue_comment", &payload).unwrap().happening else {
            panic!("{action}")
        };
        assert_eq!((found, facts.pr, facts.body.as_str()), (change, PrNumber::new(3), "I see."));
    }
}
