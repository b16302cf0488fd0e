use merge_train_core::ids::PrNumber;
use merge_train_core::repo::trains::message::TemplateNeeds;
use serde_json::{Value, json};

use super::repo;
use crate::server::{Reply, Sent};

fn commit(oid: &str, parents: &[&str], author: &str) -> Value {
    let parents: Vec<Value> = parents.iter().map(|parent| json!({"oid": parent})).collect();
    json!({"commit": {"oid": oid, "message": format!("Write {oid}\n\nWhy not."), "parents": {"nodes": parents},
        "authors": {"nodes": [{"name": author, "email": format!("{author}@example.com"), "user": {"login": author}}]}}})
}

/// Number 2 stood on number 1, which landed as `5a5a`: two own commits, one of the predecessor, and the merges of a train.
fn stacked(sent: &Sent) -> Reply {
    let query = sent.body["query"].as_str().expect("a query");
    if query.contains("associatedPullRequests") {
        let landed = json!({"associatedPullRequests": {"nodes": [
            {"number": 1, "merged": true, "headRefOid": "1b1b"}, {"number": 2, "merged": false, "headRefOid": "4a4a"}]}});
        let plain = json!({"associatedPullRequests": {"nodes": []}});
        let of = |name: &str| if sent.body["variables"][name] == "5a5a" { landed.clone() } else { plain.clone() };
        return Reply::ok(&json!({"data": {"repository": {"c0": of("o0"), "c1": of("o1")}}}));
    }
    let commits = json!({"nodes": [
        commit("1a1a", &["0a0a"], "kim"),
        commit("1b1b", &["1a1a"], "kim"),
        commit("2a2a", &["1a1a"], "mona"),
        commit("3a3a", &["2a2a", "1b1b"], "merge-train"),
        commit("2b2b", &["3a3a"], "hubot"),
        commit("3b3b", &["2b2b", "0b0b"], "merge-train"),
        commit("3c3c", &["3b3b", "5a5a"], "merge-train"),
    ]});
    let reviews = json!({"nodes": [{"state": "APPROVED", "author": {"login": "octo"}},
        {"state": "CHANGES_REQUESTED", "author": {"login": "kim"}}, {"state": "APPROVED", "author": null}]});
    let mut pull = json!({"number": 2, "title": "Add it", "body": "At last", "headRefName": "two", "author": null});
    if query.contains("commits(") {
        pull["commits"] = commits;
    }
    if query.contains("latestOpinionatedReviews") {
        pull["latestOpinionatedReviews"] = reviews;
    }
    Reply::ok(&json!({"data": {"repository": {"p0": pull}}}))
}

#[tokio::test]
async fn a_squash_tells_of_its_own_commits_and_not_of_merges_or_predecessors() {
    let (server, repo) = repo(stacked).await;
    let needs = TemplateNeeds { commits: true, reviews: true };
    let subject = repo.squash_subject(PrNumber::new(2), needs).await.unwrap();
    let messages: Vec<_> = subject.commits.iter().map(|commit| commit.message.lines().next().unwrap()).collect();
    assert_eq!(messages, ["Write 2a2a", "Write 2b2b"]);
    assert_eq!(subject.commits[1].authors[0].login.as_deref(), Some("hubot"));
    assert_eq!((subject.reviewers.as_slice(), subject.author.as_str()), (&["octo".to_owned()][..], ""));
    assert_eq!(server.sent().len(), 2);
}

#[tokio::test]
async fn nothing_is_read_that_is_not_needed() {
    let (server, repo) = repo(stacked).await;
    let subject = repo.squash_subject(PrNumber::new(2), TemplateNeeds::default()).await.unwrap();
    assert_eq!((subject.title.as_str(), subject.body.as_str(), subject.branch.as_str()), ("Add it", "At last", "two"));
    assert!(subject.commits.is_empty() && subject.reviewers.is_empty());
    let query = server.sent()[0].body["query"].as_str().unwrap().to_owned();
    assert!(!query.contains("commits") && !query.contains("Reviews"), "{query}");
    assert_eq!(server.sent().len(), 1);
}
