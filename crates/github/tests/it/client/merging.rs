use github::{MergeOutcome, MergeProgress, MergeTicket, Priority, SquashMerge};
use merge_train_core::ids::{PrNumber, Sha};
use serde_json::json;

use super::{at, pull, repo};
use crate::server::Reply;

fn head() -> Sha {
    "aaaa1".parse().expect("a SHA")
}

#[tokio::test]
async fn a_squash_is_guarded_by_the_head_and_its_outcomes_are_told_apart() {
    for (reply, expected) in [
        (
            (200, json!({"sha": "cccc", "merged": true, "message": "merged"})),
            MergeOutcome::Merged { sha: "cccc".parse().unwrap() },
        ),
        ((409, json!({"message": "Head moved"})), MergeOutcome::HeadChanged { message: "Head moved".into() }),
        (
            (409, json!({"message": "Base branch was modified. Review and try the merge again."})),
            MergeOutcome::NotMergeable { message: "Base branch was modified. Review and try the merge again.".into() },
        ),
        ((405, json!({"message": "Not ready"})), MergeOutcome::NotMergeable { message: "Not ready".into() }),
    ] {
        let (server, repo) = repo(move |_| Reply::json(reply.0, &reply.1)).await;
        let head = head();
        let merge = SquashMerge { head: &head, title: Some("Add it (#1)"), message: None };
        let outcome = repo.with_priority(Priority::Merge).squash_merge(PrNumber::new(1), &merge).await.unwrap();
        assert_eq!(outcome, expected);
        assert_eq!(server.sent()[0].name(), format!("PUT {}", at("/pulls/1/merge")));
        assert_eq!(
            server.sent()[0].body,
            json!({"merge_method": "squash", "sha": "aaaa1", "commit_title": "Add it (#1)"})
        );
    }
}

#[tokio::test]
async fn a_merge_in_the_background_is_requested_and_followed() {
    let pending = |sha: &str| {
        json!({"status": "pending", "details": {"message": "Merge request enqueued.", "uuid": "u-1",
            "merge_method": "squash", "merge_action": "direct_merge", "expected_head_sha": sha}})
    };
    let ticket = MergeTicket("u-1".into());
    let waiting =
        |sha: &str| MergeProgress::Pending { ticket: MergeTicket("u-1".into()), head: Some(sha.parse().unwrap()) };
    for (status, body, expected) in [
        (202, pending("aaaa1"), waiting("aaaa1")),
        (409, pending("dddd"), waiting("dddd")),
        (
            200,
            json!({"status": "merged", "details": {"message": "Already merged.", "sha": "cccc"}}),
            MergeProgress::Merged { sha: "cccc".parse().unwrap() },
        ),
        (
            400,
            json!({"status": "failed", "details": {"message": "Pull request is closed."}}),
            MergeProgress::Failed { message: "Pull request is closed.".into() },
        ),
        (
            400,
            json!({"status": "failed", "details": {"message": "Head branch was modified. Try again."}}),
            MergeProgress::HeadChanged { message: "Head branch was modified. Try again.".into() },
        ),
        (
            400,
            json!({"message": "Problems parsing JSON"}),
            MergeProgress::Failed { message: "Problems parsing JSON".into() },
        ),
        (
            200,
            json!({"status": "enqueued", "details": {"message": "In the queue."}}),
            MergeProgress::Queued { message: "In the queue.".into() },
        ),
    ] {
        let (server, repo) = repo(move |_| Reply::json(status, &body)).await;
        let head = head();
        let merge = SquashMerge { head: &head, title: None, message: Some("why") };
        assert_eq!(repo.request_squash(PrNumber::new(1), &merge).await.unwrap(), expected);
        let sent = &server.sent()[0];
        assert_eq!((sent.method.as_str(), sent.path.as_str()), ("PUT", at("/pulls/1/merge-async").as_str()));
        assert_eq!((&sent.body["sha"], &sent.body["merge_action"]), (&json!("aaaa1"), &json!("direct_merge")));
        if status == 200 {
            assert_eq!(repo.merge_progress(PrNumber::new(1), &ticket).await.unwrap(), expected);
            assert_eq!(server.sent()[1].path, at("/pulls/1/merge-async/u-1"));
        }
    }
}

#[tokio::test]
async fn a_pull_request_of_a_native_stack_is_recognised() {
    let (_server, repo) = repo(|sent| {
        let mut body = pull(1, "open", "2026-01-01T00:00:00Z");
        if sent.nth == 0 {
            body["stack"] =
                json!({"base": {"ref": "main", "sha": "bbbb"}, "id": 3, "number": 2, "size": 4, "position": 1});
            body["mergeable_state"] = "clean".into();
        }
        Reply::ok(&body)
    })
    .await;
    let stacked = repo.pull(PrNumber::new(1)).await.unwrap();
    assert_eq!((stacked.stack.unwrap().size, stacked.facts.stack_position), (Some(4), Some(1)));
    assert_eq!((stacked.mergeable_state.as_str(), stacked.title.as_str()), ("clean", "Add it"));
    let plain = repo.pull(PrNumber::new(1)).await.unwrap();
    assert!(plain.stack.is_none() && plain.mergeable_state == "unknown" && plain.author_login.unwrap() == "mona");
}

#[tokio::test]
async fn a_pull_request_is_retargeted_and_closed() {
    let (server, repo) = repo(|_| Reply::ok(&pull(1, "open", "2026-01-01T00:00:00Z"))).await;
    repo.retarget(PrNumber::new(1), &"main".parse().unwrap()).await.unwrap();
    repo.close(PrNumber::new(1)).await.unwrap();
    let bodies: Vec<_> = server.sent().into_iter().map(|sent| sent.body).collect();
    assert_eq!(bodies, [json!({"base": "main"}), json!({"state": "closed"})]);
}
