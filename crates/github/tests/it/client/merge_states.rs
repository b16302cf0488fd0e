use github::Error;
use merge_train_core::facts::{
    Check, CheckConclusion, CheckProgress, MergeFacts, MergeState, ReviewDecision, SettingsFileContent,
};
use merge_train_core::ids::{CheckSuiteId, PrNumber, Sha};
use serde_json::{Map, Value, json};

use super::repo;
use crate::server::{Reply, Sent};

fn numbers(range: std::ops::RangeInclusive<u64>) -> Vec<PrNumber> {
    range.map(PrNumber::new).collect()
}

/// Answers for every alias by the variable of the same number; number 13 does not exist.
fn states(sent: &Sent) -> Reply {
    let (mut pulls, mut errors) = (Map::new(), Vec::new());
    for (name, number) in sent.body["variables"].as_object().expect("a query has variables") {
        let Some(index) = name.strip_prefix('n').filter(|index| index.parse::<u64>().is_ok()) else { continue };
        let alias = format!("p{index}");
        if number == 13 {
            errors.push(json!({"type": "NOT_FOUND", "path": ["repository", alias], "message": "Could not resolve"}));
            pulls.insert(alias, Value::Null);
        } else {
            let facts = json!({"number": number, "state": "OPEN", "headRefOid": "aaaa", "baseRefName": "main", "mergeStateStatus": "CLEAN", "isDraft": false});
            pulls.insert(alias, facts);
        }
    }
    Reply::ok(&json!({"data": {"repository": pulls}, "errors": errors}))
}

/// What is told of a pull request whose newest commit is `newest` and has these reports.
async fn told_of(newest: &str, contexts: Value) -> MergeFacts {
    rolled_up(newest, json!({"contexts": {"nodes": contexts}})).await
}

async fn rolled_up(newest: &str, rollup: Value) -> MergeFacts {
    let commits = json!({"nodes": [{"commit": {"oid": newest, "statusCheckRollup": rollup}}]});
    let facts = json!({"number": 1, "state": "OPEN", "headRefOid": "aaaa", "baseRefName": "main", "mergeStateStatus": "BLOCKED", "isDraft": false,
        "reviewDecision": "CHANGES_REQUESTED", "commits": commits});
    let (_server, repo) = repo(move |_| Reply::ok(&json!({"data": {"repository": {"p0": facts}}}))).await;
    repo.merge_states(&numbers(1..=1)).await.expect("an answer").found.remove(0)
}

fn run(name: &str, status: &str, conclusion: Option<&str>, suite: Value) -> Value {
    json!({"name": name, "status": status, "conclusion": conclusion, "isRequired": name == "test", "checkSuite": suite})
}

#[tokio::test]
async fn they_are_asked_for_fifty_at_a_time_and_a_missing_one_does_not_matter() {
    let (server, repo) = repo(states).await;
    let answer = repo.merge_states(&numbers(1..=120)).await.unwrap();
    assert_eq!((answer.found.len(), answer.missing.as_slice()), (119, &[PrNumber::new(13)][..]));
    assert_eq!((answer.found[0].number, answer.found[0].state), (PrNumber::new(1), MergeState::Clean));
    let sent = server.sent();
    assert_eq!(sent.len(), 3);
    assert!(sent.iter().all(|sent| sent.path == "/api/graphql" && sent.method == "POST"));
    let variables = sent[2].body["variables"].as_object().unwrap();
    assert_eq!((variables.len(), &variables["owner"], &variables["n19"]), (22, &json!("acme"), &json!(120)));
    let query = sent[2].body["query"].as_str().unwrap();
    assert!(!query.contains("120"), "numbers travel as variables");
    assert!(query.contains("isRequired(pullRequestNumber: $n19)"), "each is asked about its own checks: {query}");
}

#[tokio::test]
async fn one_that_is_not_known_is_unknown() {
    let (_server, repo) = repo(|_| {
        let facts = json!({"number": 1, "state": "OPEN", "headRefOid": "aaaa", "baseRefName": "main", "mergeStateStatus": "PONDERING", "isDraft": true,
            "reviewDecision": "PONDERED", "commits": {"nodes": []}});
        Reply::ok(&json!({"data": {"repository": {"p0": facts}}}))
    })
    .await;
    let answer = repo.merge_states(&numbers(1..=1)).await.unwrap();
    assert_eq!((answer.found[0].state, answer.found[0].draft), (MergeState::Unknown, true));
    assert_eq!(answer.found[0].review, Some(ReviewDecision::ReviewRequired), "not an approval");
    assert!(repo.merge_states(&[]).await.unwrap().found.is_empty());
}

#[tokio::test]
async fn the_file_in_which_a_repository_says_something_about_itself_is_seen_on_the_way() {
    let commit = |file: Value| json!({"nodes": [{"commit": {"oid": "aaaa", "file": file, "statusCheckRollup": null}}]});
    let unasked = json!({"nodes": [{"commit": {"oid": "aaaa", "statusCheckRollup": null}}]});
    let other = json!({"nodes": [{"commit": {"oid": "bbbb", "file": {"oid": "cccc"}, "statusCheckRollup": null}}]});
    let blob = SettingsFileContent::Blob(Sha::parse("cccc").unwrap());
    for (commits, expected) in [
        (commit(json!({"oid": "cccc"})), blob),
        (commit(Value::Null), SettingsFileContent::Absent),
        (unasked, SettingsFileContent::Unseen),
        (other, SettingsFileContent::Unseen),
    ] {
        let facts = json!({"number": 1, "state": "OPEN", "headRefOid": "aaaa", "baseRefName": "main", "mergeStateStatus": "CLEAN", "isDraft": false,
            "reviewDecision": null, "commits": commits});
        let (server, repo) = repo(move |_| Reply::ok(&json!({"data": {"repository": {"p0": facts}}}))).await;
        let found = repo.merge_states(&numbers(1..=1)).await.unwrap().found.remove(0);
        assert_eq!(found.own_file, expected);
        let query = server.sent()[0].body["query"].as_str().unwrap().to_owned();
        assert!(query.contains("file(path: \".github/merge-train.toml\")"), "{query}");
    }
}

#[tokio::test]
async fn what_all_checks_come_to_is_told_where_they_are_more_than_are_listed() {
    let passed = || run("test", "COMPLETED", Some("SUCCESS"), Value::Null);
    let some_state = [
        ("SUCCESS", Some(CheckConclusion::Passed)),
        ("PENDING", Some(CheckConclusion::Pending)),
        ("EXPECTED", Some(CheckConclusion::Pending)),
        ("FAILURE", Some(CheckConclusion::Failed)),
        ("ERROR", Some(CheckConclusion::Failed)),
        ("PONDERED", None),
    ];
    for (state, expected) in some_state {
        for (more, nodes) in
            [(true, json!([passed()])), (false, json!([passed(), null])), (false, json!([passed(), {}]))]
        {
            let rollup = json!({"state": state, "contexts": {"pageInfo": {"hasNextPage": more}, "nodes": nodes}});
            let told = rolled_up("aaaa", rollup).await.ci;
            assert_eq!((told.overall, told.checks.len()), (expected, 1), "{state} {nodes}");
        }
        let all = json!({"state": state, "contexts": {"pageInfo": {"hasNextPage": false}, "nodes": [passed()]}});
        assert_eq!(rolled_up("aaaa", all).await.ci.overall, None, "who sees all of them needs no summary");
    }
}

#[tokio::test]
async fn runs_and_statuses_become_checks_and_suites() {
    let suite = |id: u64, status: &str| json!({"databaseId": id, "url": "u", "status": status});
    let large = json!({"databaseId": null, "status": "QUEUED",
        "url": "https://github.com/acme/widgets/commit/aaaa/checks?check_suite_id=50000000000"});
    let facts = told_of(
        "aaaa",
        json!([
            run("test", "COMPLETED", Some("SUCCESS"), suite(6, "COMPLETED")),
            run("lint", "COMPLETED", Some("NEUTRAL"), suite(6, "COMPLETED")),
            run("docs", "COMPLETED", Some("STARTUP_FAILURE"), suite(7, "IN_PROGRESS")),
            run("slow", "WAITING", None, large),
            run("odd", "COMPLETED", Some("PONDERED"), json!({"databaseId": null, "url": "u", "status": "COMPLETED"})),
            {"context": "ci/old", "state": "SUCCESS", "isRequired": true},
            {"context": "ci/new", "state": "EXPECTED", "isRequired": true},
            {"context": "ci/bad", "state": "ERROR", "isRequired": false},
            {}, null,
        ]),
    )
    .await;
    assert_eq!(facts.review, Some(ReviewDecision::ChangesRequested));
    let suites: Vec<_> = facts.ci.suites.into_iter().collect();
    let progress = |id, progress| (CheckSuiteId::new(id), progress);
    assert_eq!(
        suites,
        [
            progress(6, CheckProgress::Complete),
            progress(7, CheckProgress::UnderWay),
            progress(50_000_000_000, CheckProgress::UnderWay)
        ]
    );
    let checks: Vec<_> =
        facts.ci.checks.iter().map(|(name, check)| (name.as_str(), check.verdict, check.required)).collect();
    assert_eq!(
        checks,
        [
            ("ci/bad", CheckConclusion::Failed, false),
            ("ci/new", CheckConclusion::Pending, true),
            ("ci/old", CheckConclusion::Passed, true),
            ("docs", CheckConclusion::Failed, false),
            ("lint", CheckConclusion::Passed, false),
            ("odd", CheckConclusion::Failed, false),
            ("slow", CheckConclusion::Pending, false),
            ("test", CheckConclusion::Passed, true),
        ]
    );
}

#[tokio::test]
async fn of_several_reports_with_one_name_the_worst_counts_but_none_that_was_cancelled_for_another() {
    let done = |conclusion: &str| run("test", "COMPLETED", Some(conclusion), Value::Null);
    for (reports, expected) in [
        (json!([done("SUCCESS"), done("FAILURE"), done("SKIPPED")]), CheckConclusion::Failed),
        (json!([done("SUCCESS"), run("test", "QUEUED", None, Value::Null)]), CheckConclusion::Pending),
        (json!([done("CANCELLED"), done("SUCCESS")]), CheckConclusion::Passed),
        (json!([done("SUCCESS"), done("CANCELLED")]), CheckConclusion::Passed),
        (json!([run("test", "IN_PROGRESS", None, Value::Null), done("CANCELLED")]), CheckConclusion::Pending),
        (json!([done("CANCELLED")]), CheckConclusion::Failed),
    ] {
        let facts = told_of("aaaa", reports.clone()).await;
        assert_eq!(facts.ci.checks["test"], Check { verdict: expected, required: true }, "{reports}");
    }
}

#[tokio::test]
async fn what_ci_says_of_another_commit_is_not_told() {
    let facts = told_of("bbbb", json!([run("test", "COMPLETED", Some("SUCCESS"), Value::Null)])).await;
    assert!(facts.ci.checks.is_empty() && facts.ci.suites.is_empty(), "{facts:?}");
}

#[tokio::test]
async fn a_server_that_finds_it_too_much_is_asked_about_fewer_at_a_time() {
    let (server, repo) = repo(|sent| {
        let asked = sent.body["variables"].as_object().unwrap().len() - 2;
        match asked {
            ..=10 => states(sent),
            _ => Reply::ok(&json!({"errors": [{"type": "MAX_NODE_LIMIT_EXCEEDED", "message": "too many nodes"}]})),
        }
    })
    .await;
    for calls in [4, 7] {
        let answer = repo.merge_states(&numbers(21..=50)).await.unwrap();
        assert_eq!(answer.found.len(), 30);
        assert_eq!(server.sent().len(), calls, "what was learned is remembered");
    }
    assert!(server.sent().iter().all(|sent| sent.body["query"].as_str().unwrap().contains("statusCheckRollup")));
}

#[tokio::test]
async fn a_server_that_knows_less_or_shows_less_is_asked_for_less() {
    let unknown = json!({"errors": [{"type": "undefinedField", "path": ["query"], "message": "no such field"}]});
    let hidden = json!({"data": {"repository": {"p0": null}}, "errors": [
        {"type": "FORBIDDEN", "path": ["repository", "p0", "commits"], "message": "Resource not accessible"}]});
    for (refusal, calls) in [(unknown, 3), (hidden, 2)] {
        let (server, repo) =
            repo(move |sent| match sent.body["query"].as_str().unwrap().contains("statusCheckRollup") {
                true => Reply::ok(&refusal),
                false => states(sent),
            })
            .await;
        let answer = repo.merge_states(&numbers(1..=1)).await.unwrap();
        assert_eq!((answer.found[0].state, answer.found[0].review), (MergeState::Clean, None));
        assert_eq!(server.sent().len(), calls);
        repo.merge_states(&numbers(1..=1)).await.unwrap();
        assert_eq!(server.sent().len(), calls + 1, "what was learned is remembered");
        repo.client().forget_installation(repo.id());
        repo.merge_states(&numbers(1..=1)).await.unwrap();
        assert_eq!(server.sent().len(), 2 * calls + 1, "until the app is installed anew");
    }
}

#[tokio::test]
async fn a_repository_that_is_not_there_is_asked_about_once() {
    let missing = json!({"data": null, "errors": [{"type": "NOT_FOUND", "path": ["repository"], "message": "no"}]});
    let (server, repo) = repo(move |_| Reply::ok(&missing)).await;
    assert!(matches!(repo.merge_states(&numbers(1..=1)).await, Err(Error::NotFound { .. })));
    assert_eq!(server.sent().len(), 1);
}
