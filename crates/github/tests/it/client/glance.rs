use github::{Depth, Error};
use merge_train_core::facts::MergeState;
use merge_train_core::ids::{PrNumber, RepoId};
use serde_json::{Map, Value, json};

use super::repo;
use crate::server::{Reply, Sent};

/// So many pull requests, spread over so many repositories of acme's.
fn spread(pulls: u64, repos: u64) -> Vec<(RepoId, Vec<PrNumber>)> {
    let name = |index: u64| format!("acme/repo-{index}").parse().expect("a repository");
    (0..repos).map(|index| (name(index), (1..=pulls / repos).map(PrNumber::new).collect())).collect()
}

fn pull(number: &Value) -> Value {
    json!({"number": number, "state": "OPEN", "headRefOid": "aaaa", "baseRefName": "main", "mergeStateStatus": "CLEAN",
        "isDraft": false, "author": null, "comments": {"nodes": []}, "reviews": {"nodes": []},
        "reviewThreads": {"totalCount": 0, "nodes": []}})
}

/// For each repository its name and its aliases with their numbers, as the question has them.
fn asked(sent: &Sent) -> Vec<(String, Vec<(String, Value)>)> {
    let (query, variables) = (sent.body["query"].as_str().expect("a query"), &sent.body["variables"]);
    let parts: Vec<&str> = query.split("fragment").next().expect("a question").split(": repository(").skip(1).collect();
    let name = |index: usize| variables[format!("r{index}")].as_str().expect("a name").to_owned();
    let pulls = |part: &str| {
        let numbers = part.split(": pullRequest(number: $n").skip(1);
        let index = |text: &str| text.split(')').next().expect("an index").to_owned();
        numbers.map(|text| (format!("p{}", index(text)), variables[format!("n{}", index(text))].clone())).collect()
    };
    parts.iter().enumerate().map(|(index, part)| (name(index), pulls(part))).collect()
}

/// Tells of all that is asked for.
fn all(sent: &Sent) -> Map<String, Value> {
    let part = |(index, (_, pulls)): (usize, (String, Vec<(String, Value)>))| {
        let told: Map<String, Value> = pulls.iter().map(|(alias, number)| (alias.clone(), pull(number))).collect();
        (format!("r{index}"), Value::Object(told))
    };
    asked(sent).into_iter().enumerate().map(part).collect()
}

fn told(sent: &Sent) -> Reply {
    Reply::ok(&json!({"data": all(sent)}))
}

#[tokio::test]
async fn a_thousand_of_one_owner_are_twenty_calls_in_however_many_repositories() {
    for repos in [1, 100] {
        for depth in [Depth::Brief, Depth::Thorough] {
            let (server, repo) = repo(told).await;
            let seen = repo.client().glance(&spread(1000, repos), depth).await.expect("an answer").seen;
            assert_eq!((seen.len(), server.sent().len()), (1000, 20));
            let order: Vec<_> = seen.iter().map(|glance| (glance.repo.clone(), glance.merge.number)).collect();
            let wanted = spread(1000, repos)
                .into_iter()
                .flat_map(|(repo, prs)| prs.into_iter().map(move |pr| (repo.clone(), pr)));
            assert_eq!(order, wanted.collect::<Vec<_>>(), "in the order they were asked for");
            assert!(seen.iter().all(|glance| glance.talk.detail.is_some() == (depth == Depth::Thorough)));
            let query = server.sent()[0].body["query"].as_str().expect("a query").to_owned();
            assert!(query.contains("isRequired(pullRequestNumber: $n49)") && !query.contains("repo-"), "{query}");
            assert_eq!(query.contains("comments(last: 30)"), depth == Depth::Thorough);
        }
    }
}

#[tokio::test]
async fn what_is_gone_or_closed_does_not_hide_the_rest() {
    let (server, repo) = repo(|sent| {
        let mut data = all(sent);
        data["r0"] = Value::Null;
        data["r1"] = Value::Null;
        data["r2"]["p4"] = Value::Null;
        data["r3"]["p6"] = Value::Null;
        data["r4"]["p9"]["headRefOid"] = "--upload-pack=x".into();
        let failure = |kind: &str, path: Value| json!({"type": kind, "path": path, "message": "no"});
        Reply::ok(&json!({"data": data, "errors": [
            failure("NOT_FOUND", json!(["r0"])), failure("FORBIDDEN", json!(["r1"])),
            failure("NOT_FOUND", json!(["r2", "p4"])), failure("FORBIDDEN", json!(["r3", "p6"]))]}))
    })
    .await;
    let glances = repo.client().glance(&spread(10, 5), Depth::Brief).await.expect("an answer");
    assert_eq!(glances.unread, [("acme/repo-4".parse().expect("a repository"), PrNumber::new(2))]);
    let seen = glances.seen;
    let names: Vec<_> = seen.iter().map(|glance| (glance.repo.name().to_owned(), glance.merge.number.get())).collect();
    assert_eq!(names, [("repo-2".to_owned(), 2), ("repo-3".to_owned(), 2), ("repo-4".to_owned(), 1)]);
    assert_eq!(server.sent().len(), 1);
}

#[tokio::test]
async fn one_whose_many_threads_cannot_be_read_on_does_not_hide_the_rest() {
    let (_server, repo) = repo(|sent| {
        if sent.body["query"].as_str().expect("a query").contains("$before") {
            return Reply::ok(&json!({"errors": [{"type": "undefinedField", "message": "no"}]}));
        }
        let mut data = all(sent);
        data["r0"]["p1"]["reviewThreads"]["pageInfo"] = json!({"hasPreviousPage": true, "startCursor": "here"});
        Reply::ok(&json!({"data": data}))
    })
    .await;
    let glances = repo.client().glance(&spread(3, 1), Depth::Thorough).await.expect("an answer");
    let numbers: Vec<u64> = glances.seen.iter().map(|glance| glance.merge.number.get()).collect();
    assert_eq!(numbers, [1, 3]);
    assert_eq!(glances.unread, [("acme/repo-0".parse().expect("a repository"), PrNumber::new(2))]);
}

#[tokio::test]
async fn a_repository_that_hides_its_checks_is_asked_for_less_and_the_others_are_not() {
    let (server, repo) = repo(|sent| {
        let (mut data, mut errors) = (all(sent), Vec::new());
        let query = sent.body["query"].as_str().expect("a query");
        for (index, (name, pulls)) in asked(sent).into_iter().enumerate() {
            let hidden = query.contains(&format!("isRequired(pullRequestNumber: $n{})", &pulls[0].0[1..]));
            if name == "repo-1" && hidden {
                let path = json!([format!("r{index}"), pulls[0].0, "commits"]);
                data[&format!("r{index}")][&pulls[0].0] = Value::Null;
                errors.push(json!({"type": "FORBIDDEN", "path": path, "message": "Resource not accessible"}));
            }
        }
        Reply::ok(&json!({"data": data, "errors": errors}))
    })
    .await;
    let seen = repo.client().glance(&spread(6, 3), Depth::Brief).await.expect("an answer").seen;
    assert_eq!((seen.len(), server.sent().len()), (6, 2));
    assert_eq!(asked(&server.sent()[1]).len(), 1, "only the one that hides something is asked about again");
    repo.client().glance(&spread(6, 3), Depth::Brief).await.expect("an answer");
    assert_eq!(server.sent().len(), 3, "what was learned is remembered");
    assert!(seen.iter().all(|glance| glance.merge.state == MergeState::Clean));
}

#[tokio::test]
async fn a_server_that_finds_it_too_much_is_asked_about_fewer_at_a_time() {
    let (server, repo) = repo(|sent| match asked(sent).iter().map(|(_, pulls)| pulls.len()).sum::<usize>() {
        ..=10 => told(sent),
        _ => Reply::ok(&json!({"errors": [{"type": "MAX_NODE_LIMIT_EXCEEDED", "message": "too many nodes"}]})),
    })
    .await;
    for calls in [4, 7] {
        assert_eq!(repo.client().glance(&spread(30, 3), Depth::Thorough).await.expect("an answer").seen.len(), 30);
        assert_eq!(server.sent().len(), calls, "what was learned is remembered");
    }
}

#[tokio::test]
async fn a_server_that_refuses_everything_is_an_error_in_the_end() {
    let (server, repo) = repo(|_| Reply::ok(&json!({"errors": [{"type": "undefinedField", "message": "no"}]}))).await;
    let error = repo.client().glance(&spread(2, 1), Depth::Brief).await.expect_err("nothing was told");
    assert!(matches!(error, Error::Unprocessable { .. }), "{error}");
    assert_eq!(server.sent().len(), 3, "one for each manner");
}

#[tokio::test]
async fn a_failure_that_may_pass_is_not_taken_for_a_refusal() {
    let (server, repo) = repo(|sent| {
        let failure = json!({"message": "Something went wrong while executing your query."});
        Reply::ok(&json!({"data": all(sent), "errors": [failure]}))
    })
    .await;
    let error = repo.client().glance(&spread(2, 1), Depth::Brief).await.expect_err("not all was told");
    assert!(matches!(error, Error::Transient { .. }), "{error}");
    assert_eq!(server.sent().len(), 1);
}
