//! Settings of how trains behave, shown by trains.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use super::Ways;
use crate::serve::trains_api::yard::Yard;
use crate::support::{REPO, eventually};

/// Without the setting, with it in the file, with it in the environment.
const WAYS: [&str; 3] = ["default", "file", "environment"];

impl Ways {
    /// A stack of two, and a daemon that is set up in this way.
    async fn yard(&self, way: &str) -> Yard {
        Yard::new(2, |setup| self.apply(way, setup, "")).await
    }
}

/// More than the 0.01 minutes that one test sets.
const TOO_OLD: Duration = Duration::from_millis(700);

async fn calls(yard: &Yard, word: &str) -> u64 {
    let counted = yard.world.control(Method::GET, "/calls", Value::Null).await;
    let calls = counted["calls"].as_object().expect("an object").iter();
    calls.filter(|(call, _)| call.contains(word)).filter_map(|(_, count)| count.as_u64()).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_that_is_larger_than_is_said_does_not_start() {
    let ways = Ways { section: "behavior", key: "max_stack_size", value: "1", variable: "MERGE_TRAIN_MAX_STACK_SIZE" };
    for way in WAYS {
        let yard = ways.yard(way).await;
        yard.start().await;
        if way == "default" {
            yard.lands().await;
        } else {
            let said = eventually("the start is refused", || async { yard.said(yard.root()).await.pop() }).await;
            assert!(said.starts_with("Train too large: found 2 PRs, maximum allowed is 1."), "{way}: {said}");
            assert!(!yard.has_landed().await, "{way}");
        }
        yard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_branches_of_what_has_landed_are_deleted_where_that_is_said() {
    let ways = Ways {
        section: "behavior",
        key: "delete_branches",
        value: "true",
        variable: "MERGE_TRAIN_BEHAVIOR_DELETE_BRANCHES",
    };
    for way in WAYS {
        let yard = ways.yard(way).await;
        yard.start().await;
        yard.lands().await;
        let branches = async || {
            let path = format!("/repos/{REPO}/git/matching-refs/heads");
            let branches = yard.world.call(Method::GET, &path, Value::Null).await;
            branches.as_array().expect("a list").len()
        };
        if way == "default" {
            assert_eq!(branches().await, 3);
        } else {
            eventually("only main is left", || async { (branches().await == 1).then_some(()) }).await;
        }
        yard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_message_of_a_squash_is_the_one_that_is_said() {
    let value = "\"{branch}, by train\"";
    let ways = Ways { section: "merge", key: "title", value, variable: "MERGE_TRAIN_MERGE_TITLE" };
    let body = "body = \"Landed by merge-train for {author}.\"\n";
    for way in WAYS {
        let yard = Yard::new(2, |setup| ways.apply(way, setup, body)).await;
        yard.start().await;
        yard.lands().await;
        let commits = yard.world.call(Method::GET, &format!("/repos/{REPO}/commits"), Value::Null).await;
        let message = commits[0]["commit"]["message"].as_str().expect("a message");
        let title = if way == "default" { "branch-2 (#2)" } else { "branch-2, by train" };
        assert_eq!(message, format!("{title}\n\nLanded by merge-train for octocat."), "{way}");
        yard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_merged_in_the_background_where_that_is_said() {
    let ways = Ways { section: "merge", key: "background", value: "true", variable: "MERGE_TRAIN_MERGE_BACKGROUND" };
    for way in WAYS {
        let yard = ways.yard(way).await;
        yard.start().await;
        yard.lands().await;
        assert_eq!(calls(&yard, "merge-async").await > 0, way != "default", "{way}");
        yard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_starts_by_itself_where_that_is_said() {
    let ways = Ways { section: "behavior", key: "auto_start", value: "true", variable: "MERGE_TRAIN_AUTO_START" };
    for way in WAYS {
        let yard = ways.yard(way).await;
        yard.require_check().await;
        yard.passes().await;
        if way == "default" {
            let observed = || async {
                let state = yard.daemon.state(REPO).await;
                (state["prs"][yard.root().to_string()]["merge_state"] == "CLEAN").then_some(())
            };
            eventually("the root is ready", observed).await;
            assert_eq!(yard.train().await, Value::Null);
        } else {
            yard.lands().await;
        }
        yard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_that_no_webhook_reaches_goes_on_when_it_is_polled() {
    let ways = Ways {
        section: "housekeeping",
        key: "poll_interval_mins",
        value: "0.03",
        variable: "MERGE_TRAIN_POLL_INTERVAL_MINS",
    };
    for way in ["file", "environment"] {
        let yard = ways.yard(way).await;
        yard.require_check().await;
        yard.start().await;
        yard.becomes("waiting_ci").await;
        yard.world.fault(json!({ "kind": "drop_webhook", "count": null })).await;
        yard.passes().await;
        yard.lands().await;
        yard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rules_of_a_branch_are_read_again_when_they_are_older_than_is_said() {
    let ways = Ways {
        section: "behavior",
        key: "branch_protection_cache_ttl_mins",
        value: "0.01",
        variable: "MERGE_TRAIN_BRANCH_PROTECTION_CACHE_TTL_MINS",
    };
    for way in WAYS {
        let yard = ways.yard(way).await;
        yard.require_check().await;
        yard.start().await;
        yard.becomes("waiting_ci").await;
        yard.world.comment(yard.root(), "@merge-train stop").await;
        yard.becomes("stopped").await;
        let before = calls(&yard, "/protection").await;
        assert!(before > 0, "{way}");
        let read = Instant::now();
        eventually("the rules are old", || async { (read.elapsed() > TOO_OLD).then_some(()) }).await;
        yard.start().await;
        yard.becomes("waiting_ci").await;
        assert_eq!(calls(&yard, "/protection").await > before, way != "default", "{way}");
        yard.close().await;
    }
}

/// For what reasons the daemon looked at the whole repository.
async fn syncs(yard: &Yard) -> Vec<String> {
    let state = yard.daemon.state(REPO).await;
    let events = state["recent_events"].as_array().cloned().unwrap_or_default();
    let syncs = events.iter().filter(|event| event["type"] == "sync_requested");
    syncs.filter_map(|event| event["reason"].as_str().map(str::to_owned)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_is_looked_at_as_often_as_is_said() {
    let ways = Ways {
        section: "behavior",
        key: "resync_interval_mins",
        value: "0.02",
        variable: "MERGE_TRAIN_RESYNC_INTERVAL_MINS",
    };
    for way in WAYS {
        let yard = ways.yard(way).await;
        if way == "default" {
            assert!(!syncs(&yard).await.contains(&"periodic".to_owned()));
        } else {
            eventually("it is looked at again", || async {
                syncs(&yard).await.contains(&"periodic".to_owned()).then_some(())
            })
            .await;
        }
        yard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_is_older_than_is_said_is_not_trusted() {
    let ways = Ways {
        section: "housekeeping",
        key: "staleness_threshold_mins",
        value: "0.01",
        variable: "MERGE_TRAIN_STALENESS_THRESHOLD_MINS",
    };
    for way in WAYS {
        let mut yard = ways.yard(way).await;
        let is_ready = || async { (yard.daemon.state(REPO).await["lifecycle"] == "ready").then_some(()) };
        eventually("the repository is known", is_ready).await;
        assert!(yard.daemon.stop().await.success());
        let stopped = Instant::now();
        eventually("its state is old", || async { (stopped.elapsed() > TOO_OLD).then_some(()) }).await;
        yard.daemon = yard.world.setup.start().await;
        yard.world.aim_at(&yard.daemon).await;
        // Whatever it is, it begins with what the daemon does at its start.
        yard.world.comment(yard.root(), "Hello.").await;
        eventually("the daemon is at work", || async {
            let state = yard.daemon.state(REPO).await;
            let events = state["recent_events"].as_array()?.clone();
            events.iter().rfind(|event| event["event"] == "issue_comment" && event["pr"] == yard.root()).map(drop)
        })
        .await;
        assert_eq!(syncs(&yard).await.contains(&"stale".to_owned()), way != "default", "{way}");
        yard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn github_may_take_as_long_to_settle_something_as_is_said() {
    let ways = Ways {
        section: "behavior",
        key: "wait_timeout_mins",
        value: "0.03",
        variable: "MERGE_TRAIN_WAIT_TIMEOUT_MINS",
    };
    for way in ["file", "environment"] {
        let yard = ways.yard(way).await;
        yard.require_check().await;
        yard.start().await;
        eventually("the train waits for its check", || async {
            let state = yard.daemon.state(REPO).await;
            (state["active_trains"][yard.root().to_string()]["state"] == "waiting_ci").then_some(())
        })
        .await;
        // Put onto another branch, it is asked about again and again, for as long as that.
        let other = json!({ "base": "elsewhere" });
        let main = yard.world.call(Method::GET, &format!("/repos/{REPO}/git/ref/heads/main"), Value::Null).await;
        let branch = json!({ "ref": "refs/heads/elsewhere", "sha": main["object"]["sha"] });
        yard.world.call(Method::POST, &format!("/repos/{REPO}/git/refs"), branch).await;
        yard.world.call(Method::PATCH, &format!("/repos/{REPO}/pulls/{}", yard.root()), other).await;
        let begun = Instant::now();
        eventually("it has taken too long", || async {
            let log = yard.daemon.log();
            log.contains("Timed out waiting for GitHub state propagation").then_some(())
        })
        .await;
        assert!(begun.elapsed() < Duration::from_secs(60), "{way}: not the five minutes that are the default");
        yard.close().await;
    }
}
