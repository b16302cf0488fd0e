//! GraphQL as clients use it.

use serde_json::{Value, json};

use crate::support::World;

#[tokio::test]
async fn viewer_rate_limit_and_repository_answer() {
    let world = World::new().await;
    world.repo("demo").await;
    let data = world
        .octocat
        .graphql(
            "query($o: String!, $n: String!) { viewer { login isViewer } rateLimit { limit cost remaining used nodeCount resetAt }
               repository(owner: $o, name: $n) { id nameWithOwner isPrivate owner { __typename login ... on User { isSiteAdmin } } viewerPermission } }",
            json!({ "o": "octocat", "n": "demo" }),
        )
        .await;
    assert_eq!(data["viewer"], json!({ "login": "octocat", "isViewer": true }));
    assert_eq!(data["rateLimit"]["cost"], 1);
    let repository = &data["repository"];
    assert_eq!(repository["nameWithOwner"], "octocat/demo");
    assert_eq!(repository["owner"], json!({ "__typename": "User", "login": "octocat", "isSiteAdmin": true }));
    assert_eq!(repository["viewerPermission"], "ADMIN");
    let again = world
        .octocat
        .graphql(
            "query($id: ID!) { node(id: $id) { __typename id ... on Repository { name } } }",
            json!({ "id": repository["id"] }),
        )
        .await;
    assert_eq!(again["node"], json!({ "__typename": "Repository", "id": repository["id"], "name": "demo" }));
    world.finish().await;
}

#[tokio::test]
async fn what_cannot_be_seen_is_null_with_a_typed_error() {
    let world = World::new().await;
    let query = "{ viewer { login } missing: repository(owner: \"octocat\", name: \"no\") { id } }";
    let answer = world.octocat.graphql_raw(query, json!({})).await.expect(200);
    assert_eq!(answer.json["data"], json!({ "viewer": { "login": "octocat" }, "missing": null }));
    let error = &answer.json["errors"][0];
    assert_eq!(error["type"], "NOT_FOUND");
    assert_eq!(error["path"], json!(["missing"]));
    assert_eq!(error["message"], "Could not resolve to a Repository with the name 'octocat/no'.");
    assert_eq!(error["locations"][0], json!({ "line": 1, "column": 20 }));
    world.finish().await;
}

#[tokio::test]
async fn an_unknown_field_is_refused_in_github_s_words() {
    let world = World::new().await;
    let answer = world.octocat.graphql_raw("{ viewer { nope } }", json!({})).await.expect(200);
    assert!(answer.json.get("data").is_none(), "{}", answer.text);
    let error = &answer.json["errors"][0];
    assert_eq!(error["message"], "Field 'nope' doesn't exist on type 'User'");
    assert_eq!(error["extensions"]["code"], "undefinedField");
    world.finish().await;
}

#[tokio::test]
async fn bad_requests_are_refused_before_anything_runs() {
    let world = World::new().await;
    let anonymous = world.anonymous().graphql_raw("{ viewer { login } }", json!({})).await.expect(401);
    assert_eq!(anonymous.json["message"], "This endpoint requires you to be authenticated.");
    let wrong = world.with_token("x", "ghp_wrong").graphql_raw("{ viewer { login } }", json!({})).await.expect(401);
    assert_eq!(wrong.json["message"], "Bad credentials");
    world.octocat.post("/../graphql", json!({ "variables": {} })).await.expect(400);
    world.octocat.post("/../graphql", json!({ "query": "{ viewer { login } }", "variables": 7 })).await.expect(400);
    let deep = "{ viewer ".repeat(100_000);
    let answer = world.octocat.graphql_raw(&deep, json!({})).await.expect(200);
    assert_eq!(answer.json["errors"][0]["message"], "Query is nested too deeply.");
    let broken = world.octocat.graphql_raw("{ viewer {", json!({})).await.expect(200);
    assert!(broken.json["errors"][0]["message"].is_string() && broken.json.get("data").is_none(), "{}", broken.text);
    world.finish().await;
}

#[tokio::test]
async fn a_get_answers_with_the_schema() {
    let world = World::new().await;
    let answer = world.octocat.get("/../graphql").await.expect(200);
    let types = answer.json["data"]["__schema"]["types"].as_array().expect("types");
    assert!(types.iter().any(|one| one["name"] == "PullRequest"), "{}", answer.text);
    world.finish().await;
}

/// The fields that bots poll.
const POLL: &str = "id number title isDraft state headRefOid headRefName baseRefName mergeable mergeStateStatus reviewDecision
    author { login __typename } mergeCommit { oid } labels(first: 5) { nodes { name } }
    commits(last: 1) { totalCount nodes { commit { oid statusCheckRollup { state contexts(first: 10) { totalCount nodes { __typename
      ... on CheckRun { name status conclusion isRequired(pullRequestNumber: 1) }
      ... on StatusContext { context state description } } } } } } }";

async fn pull_id(world: &World, number: u64) -> Value {
    let query = "query($n: Int!) { repository(owner: \"octocat\", name: \"demo\") { pullRequest(number: $n) { id } } }";
    world.octocat.graphql(query, json!({ "n": number })).await["repository"]["pullRequest"]["id"].clone()
}

async fn pull_request(world: &World, number: u64, fields: &str) -> Value {
    let query = format!(
        "query($n: Int!) {{ repository(owner: \"octocat\", name: \"demo\") {{ pullRequest(number: $n) {{ {fields} }} }} }}"
    );
    world.octocat.graphql(&query, json!({ "n": number })).await["repository"]["pullRequest"].clone()
}

#[tokio::test]
async fn a_pull_request_tells_all_that_a_bot_polls() {
    let world = World::new().await;
    let clone = world.repo("demo").await;
    let number = world.pull(&clone, "feature", "main").await;
    let head = clone.git(&["rev-parse", "feature"]).await;
    let status = json!({ "state": "failure", "context": "lint", "description": "no" });
    world.octocat.post(&format!("/repos/octocat/demo/statuses/{head}"), status).await.expect(201);
    let pull = pull_request(&world, number, POLL).await;
    assert_eq!(pull["headRefOid"], head);
    assert_eq!((&pull["state"], &pull["isDraft"]), (&json!("OPEN"), &json!(false)));
    assert_eq!((&pull["mergeable"], &pull["mergeStateStatus"]), (&json!("MERGEABLE"), &json!("UNSTABLE")));
    assert_eq!(pull["author"], json!({ "login": "octocat", "__typename": "User" }));
    assert_eq!(pull["mergeCommit"], Value::Null);
    assert_eq!(pull["commits"]["totalCount"], 1);
    let rollup = &pull["commits"]["nodes"][0]["commit"]["statusCheckRollup"];
    assert_eq!(rollup["state"], "FAILURE");
    let context = json!({ "__typename": "StatusContext", "context": "lint", "state": "FAILURE", "description": "no" });
    assert_eq!(rollup["contexts"]["nodes"], json!([context]));
    world.finish().await;
}

#[tokio::test]
async fn a_force_push_is_on_the_timeline_with_the_head_before_it() {
    let world = World::new().await;
    let clone = world.repo("demo").await;
    let number = world.pull(&clone, "feature", "main").await;
    let before = clone.git(&["rev-parse", "feature"]).await;
    clone.git(&["checkout", "-q", "feature"]).await;
    clone.git(&["commit", "-q", "--amend", "-m", "Said better"]).await;
    clone.git(&["push", "-q", "--force", "origin", "feature"]).await;
    let after = clone.git(&["rev-parse", "feature"]).await;
    let items = "timelineItems(last: 5, itemTypes: [HEAD_REF_FORCE_PUSHED_EVENT]) { totalCount nodes { __typename
        ... on HeadRefForcePushedEvent { beforeCommit { oid } afterCommit { oid } actor { login } } } }";
    let pull = pull_request(&world, number, items).await;
    let event = json!({
        "__typename": "HeadRefForcePushedEvent", "beforeCommit": { "oid": before }, "afterCommit": { "oid": after },
        "actor": { "login": "octocat" },
    });
    assert_eq!(pull["timelineItems"], json!({ "totalCount": 1, "nodes": [event] }));
    world.finish().await;
}

#[tokio::test]
async fn a_pull_request_shows_its_commits_and_files() {
    let world = World::new().await;
    let clone = world.repo("demo").await;
    clone
        .commit_on("feature", "main", &[("a.txt", "1\n2\n")], "First\n\nWhy.\n\nCo-authored-by: Bea <bea@example.com>")
        .await;
    clone.commit_on("feature", "main", &[("b.txt", "3\n")], "Second").await;
    let number = world.pull(&clone, "feature", "main").await;
    let fields = "additions deletions changedFiles
        commits(first: 10) { totalCount nodes { commit { messageHeadline messageBody message author { name email user { login } }
          authors(first: 5) { totalCount nodes { name } } parents(first: 1) { totalCount } committedDate additions } } }
        files(first: 10) { nodes { path additions deletions changeType } }";
    let pull = pull_request(&world, number, fields).await;
    assert_eq!((&pull["additions"], &pull["changedFiles"]), (&json!(4), &json!(3)));
    let commits = &pull["commits"]["nodes"];
    assert_eq!(commits[0]["commit"]["messageHeadline"], "First");
    assert_eq!(commits[0]["commit"]["messageBody"], "Why.\n\nCo-authored-by: Bea <bea@example.com>");
    assert_eq!(commits[0]["commit"]["author"]["name"], "octocat");
    assert_eq!(
        commits[0]["commit"]["authors"],
        json!({ "totalCount": 2, "nodes": [{ "name": "octocat" }, { "name": "Bea" }] })
    );
    assert_eq!(commits[1]["commit"]["messageHeadline"], "Second");
    assert_eq!(commits[2]["commit"]["messageHeadline"], "Add feature");
    let file = json!({ "path": "a.txt", "additions": 2, "deletions": 0, "changeType": "ADDED" });
    assert_eq!(pull["files"]["nodes"][0], file);
    world.finish().await;
}

#[tokio::test]
async fn fifty_aliases_fit_into_one_request() {
    let world = World::new().await;
    let clone = world.repo("demo").await;
    let number = world.pull(&clone, "feature", "main").await;
    let aliases: String = (0..50).map(|n| format!("p{n}: pullRequest(number: {number}) {{ ...poll }} ")).collect();
    let query = format!(
        "{{ repository(owner: \"octocat\", name: \"demo\") {{ {aliases} }} }} fragment poll on PullRequest {{ {POLL} }}"
    );
    let data = world.octocat.graphql(&query, json!({})).await;
    let pulls = data["repository"].as_object().expect("an object");
    let keys: Vec<String> = pulls.keys().cloned().collect();
    let expected: Vec<String> = (0..50).map(|n| format!("p{n}")).collect();
    assert_eq!(keys, expected, "in the order asked for");
    assert!(pulls.values().all(|pull| pull["mergeStateStatus"] == "CLEAN"), "{data}");
    world.finish().await;
}

#[tokio::test]
async fn lists_are_read_forwards_and_backwards() {
    let world = World::new().await;
    let clone = world.repo("demo").await;
    for branch in ["one", "two", "three"] {
        world.pull(&clone, branch, "main").await;
    }
    let page = async |args: &str| {
        let query = format!(
            "{{ repository(owner: \"octocat\", name: \"demo\") {{ pullRequests({args}) {{ totalCount nodes {{ headRefName }}
               edges {{ cursor }} pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }} }}"
        );
        world.octocat.graphql(&query, json!({})).await["repository"]["pullRequests"].clone()
    };
    let names = |page: &Value| -> Vec<String> {
        let nodes = page["nodes"].as_array().expect("nodes");
        nodes.iter().map(|node| node["headRefName"].as_str().expect("a name").to_owned()).collect()
    };
    let first = page("first: 2").await;
    assert_eq!((names(&first), &first["totalCount"]), (vec!["one".into(), "two".into()], &json!(3)));
    assert_eq!(first["pageInfo"]["hasNextPage"], true);
    assert_eq!(first["pageInfo"]["hasPreviousPage"], false);
    assert_eq!(first["edges"][1]["cursor"], first["pageInfo"]["endCursor"]);
    let rest = page(&format!("first: 2, after: {}", first["pageInfo"]["endCursor"])).await;
    assert_eq!(names(&rest), ["three"]);
    assert_eq!(rest["pageInfo"]["hasNextPage"], false);
    assert_eq!(rest["pageInfo"]["hasPreviousPage"], true);
    let last = page("last: 1").await;
    assert_eq!(names(&last), ["three"]);
    let before = page(&format!("last: 1, before: {}", last["pageInfo"]["startCursor"])).await;
    assert_eq!(names(&before), ["two"]);
    let newest = page("first: 1, orderBy: {field: CREATED_AT, direction: DESC}, states: [OPEN]").await;
    assert_eq!(names(&newest), ["three"]);
    assert_eq!(names(&page("first: 5, headRefName: \"two\"").await), ["two"]);
    assert_eq!(page("first: 5, states: [MERGED]").await["totalCount"], 0);
    world.finish().await;
}

#[tokio::test]
async fn a_list_without_bounds_is_refused_and_counting_needs_none() {
    let world = World::new().await;
    world.repo("demo").await;
    let ask = async |selection: &str| {
        let query = format!("{{ repository(owner: \"octocat\", name: \"demo\") {{ name pullRequests{selection} }} }}");
        world.octocat.graphql_raw(&query, json!({})).await.expect(200).json
    };
    let unbounded = ask(" { nodes { id } }").await;
    assert_eq!(unbounded["errors"][0]["type"], "MISSING_PAGINATION_BOUNDARIES");
    assert_eq!(unbounded["errors"][0]["path"], json!(["repository", "pullRequests"]));
    assert_eq!(
        unbounded["errors"][0]["message"],
        "You must provide a `first` or `last` value to properly paginate the `pullRequests` connection."
    );
    assert_eq!(unbounded["data"], json!({ "repository": null }), "what may not be null takes its parent along");
    assert_eq!(ask("(first: 101) { nodes { id } }").await["errors"][0]["type"], "EXCESSIVE_PAGINATION");
    assert_eq!(ask(" { totalCount }").await["data"]["repository"]["pullRequests"]["totalCount"], 0);
    assert_eq!(
        ask("(first: 1, after: \"nonsense\") { nodes { id } }").await["errors"][0]["type"],
        "INVALID_CURSOR_ARGUMENTS"
    );
    world.finish().await;
}

#[tokio::test]
async fn what_a_caller_may_not_see_does_not_exist_for_them() {
    let world = World::new().await;
    let body = json!({ "name": "secret", "private": true, "auto_init": true });
    let repo = world.octocat.post("/user/repos", body).await.expect(201);
    let stranger = world.user("stranger").await;
    let query = "query($id: ID!) { repository(owner: \"octocat\", name: \"secret\") { id } node(id: $id) { id } nodes(ids: [$id]) { id }
        viewer { login } }";
    let answer = stranger.graphql_raw(query, json!({ "id": repo.json["node_id"] })).await.expect(200);
    let expected = json!({ "repository": null, "node": null, "nodes": [null], "viewer": { "login": "stranger" } });
    assert_eq!(answer.json["data"], expected, "{}", answer.text);
    let errors = answer.json["errors"].as_array().expect("errors");
    assert_eq!(errors.len(), 3);
    assert!(errors.iter().all(|error| error["type"] == "NOT_FOUND"), "{}", answer.text);
    world.finish().await;
}

#[tokio::test]
async fn a_draft_becomes_ready_and_a_draft_again() {
    let world = World::new().await;
    let clone = world.repo("demo").await;
    let number = world.pull(&clone, "feature", "main").await;
    let id = pull_id(&world, number).await;
    let draft = "mutation($id: ID!) { convertPullRequestToDraft(input: {pullRequestId: $id, clientMutationId: \"x\"}) {
        clientMutationId pullRequest { isDraft mergeStateStatus } } }";
    let data = world.octocat.graphql(draft, json!({ "id": id })).await;
    let expected =
        json!({ "clientMutationId": "x", "pullRequest": { "isDraft": true, "mergeStateStatus": "BLOCKED" } });
    assert_eq!(data["convertPullRequestToDraft"], expected);
    let ready =
        "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } } }";
    let stranger = world.user("stranger").await;
    let refused = stranger.graphql_raw(ready, json!({ "id": id })).await.expect(200);
    assert_eq!(refused.json["data"], json!({ "markPullRequestReadyForReview": null }));
    assert_eq!(refused.json["errors"][0]["type"], "FORBIDDEN");
    assert_eq!(
        refused.json["errors"][0]["message"],
        "stranger does not have the correct permissions to execute `MarkPullRequestReadyForReview`"
    );
    let data = world.octocat.graphql(ready, json!({ "id": id })).await;
    assert_eq!(data["markPullRequestReadyForReview"]["pullRequest"]["isDraft"], false);
    world.finish().await;
}

#[tokio::test]
async fn comments_are_added_edited_reacted_to_and_deleted() {
    let world = World::new().await;
    let clone = world.repo("demo").await;
    let number = world.pull(&clone, "feature", "main").await;
    let id = pull_id(&world, number).await;
    let add = "mutation($id: ID!) { addComment(input: {subjectId: $id, body: \"Hello **you**\"}) {
        commentEdge { node { id databaseId body bodyText url author { login } viewerDidAuthor issue { number } pullRequest { number } } }
        subject { id } } }";
    let added = world.octocat.graphql(add, json!({ "id": id })).await["addComment"].clone();
    let comment = &added["commentEdge"]["node"];
    assert_eq!((&comment["body"], &comment["bodyText"]), (&json!("Hello **you**"), &json!("Hello you")));
    assert_eq!((&comment["issue"]["number"], &comment["pullRequest"]["number"]), (&json!(number), &json!(number)));
    assert_eq!(added["subject"]["id"], id);
    let by_rest =
        world.octocat.get(&format!("/repos/octocat/demo/issues/comments/{}", comment["databaseId"])).await.expect(200);
    assert_eq!(by_rest.json["node_id"], comment["id"]);
    let react = "mutation($id: ID!) { addReaction(input: {subjectId: $id, content: ROCKET}) { reaction { content user { login } }
        reactionGroups { content users { totalCount } viewerHasReacted } subject { id } } }";
    let reacted = world.octocat.graphql(react, json!({ "id": comment["id"] })).await["addReaction"].clone();
    assert_eq!(reacted["reaction"], json!({ "content": "ROCKET", "user": { "login": "octocat" } }));
    let rocket = json!({ "content": "ROCKET", "users": { "totalCount": 1 }, "viewerHasReacted": true });
    assert!(reacted["reactionGroups"].as_array().expect("groups").contains(&rocket), "{reacted}");
    let take_back = "mutation($id: ID!) { removeReaction(input: {subjectId: $id, content: ROCKET}) { subject { reactions { totalCount } } } }";
    let gone = world.octocat.graphql(take_back, json!({ "id": comment["id"] })).await;
    assert_eq!(gone["removeReaction"]["subject"]["reactions"]["totalCount"], 0);
    let edit = "mutation($id: ID!) { updateIssueComment(input: {id: $id, body: \"Bye\"}) { issueComment { body } } }";
    let edited = world.octocat.graphql(edit, json!({ "id": comment["id"] })).await;
    assert_eq!(edited["updateIssueComment"]["issueComment"]["body"], "Bye");
    let delete = "mutation($id: ID!) { deleteIssueComment(input: {id: $id}) { clientMutationId } }";
    let stranger = world.user("stranger").await;
    let refused = stranger.graphql_raw(delete, json!({ "id": comment["id"] })).await.expect(200);
    assert_eq!(refused.json["errors"][0]["type"], "FORBIDDEN");
    world.octocat.graphql(delete, json!({ "id": comment["id"] })).await;
    assert_eq!(
        pull_request(&world, number, "comments(first: 9) { totalCount nodes { id } }").await["comments"]["totalCount"],
        0
    );
    let empty = "mutation($id: ID!) { addComment(input: {subjectId: $id, body: \" \"}) { clientMutationId } }";
    let refused = world.octocat.graphql_raw(empty, json!({ "id": id })).await.expect(200);
    assert_eq!(refused.json["errors"][0]["type"], "UNPROCESSABLE");
    world.finish().await;
}

#[tokio::test]
async fn reviews_and_their_threads_are_written_answered_and_resolved() {
    let world = World::new().await;
    let clone = world.repo("demo").await;
    let reviewer = world.user("reviewer").await;
    let number = world.pull(&clone, "feature", "main").await;
    let id = pull_id(&world, number).await;
    let review = "mutation($id: ID!) { addPullRequestReview(input: {pullRequestId: $id, body: \"Hm\", event: REQUEST_CHANGES,
        threads: [{path: \"feature.txt\", line: 1, body: \"Why?\"}]}) { pullRequestReview { id state author { login } commit { oid }
        comments(first: 5) { nodes { body path line outdated state } } } } }";
    let given =
        reviewer.graphql(review, json!({ "id": id })).await["addPullRequestReview"]["pullRequestReview"].clone();
    assert_eq!((&given["state"], &given["author"]["login"]), (&json!("CHANGES_REQUESTED"), &json!("reviewer")));
    let comment = json!({ "body": "Why?", "path": "feature.txt", "line": 1, "outdated": false, "state": "SUBMITTED" });
    assert_eq!(given["comments"]["nodes"], json!([comment]));
    let threads =
        "reviewThreads(first: 5) { nodes { id isResolved isOutdated path line diffSide subjectType viewerCanResolve
        resolvedBy { login } comments(first: 5) { totalCount nodes { body replyTo { body } } } } }";
    let pull = pull_request(&world, number, threads).await;
    let thread = &pull["reviewThreads"]["nodes"][0];
    assert_eq!((&thread["isResolved"], &thread["viewerCanResolve"]), (&json!(false), &json!(true)));
    assert_eq!((&thread["diffSide"], &thread["subjectType"]), (&json!("RIGHT"), &json!("LINE")));
    let reply = "mutation($id: ID!) { addPullRequestReviewThreadReply(input: {pullRequestReviewThreadId: $id, body: \"Because.\"}) {
        comment { body replyTo { body } } } }";
    let answered = world.octocat.graphql(reply, json!({ "id": thread["id"] })).await;
    let expected = json!({ "body": "Because.", "replyTo": { "body": "Why?" } });
    assert_eq!(answered["addPullRequestReviewThreadReply"]["comment"], expected);
    let resolve = "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved resolvedBy { login } } } }";
    let stranger = world.user("stranger").await.graphql_raw(resolve, json!({ "id": thread["id"] })).await.expect(200);
    assert_eq!(stranger.json["errors"][0]["type"], "FORBIDDEN");
    let resolved = world.octocat.graphql(resolve, json!({ "id": thread["id"] })).await;
    let expected = json!({ "isResolved": true, "resolvedBy": { "login": "octocat" } });
    assert_eq!(resolved["resolveReviewThread"]["thread"], expected);
    let unresolve = "mutation($id: ID!) { unresolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }";
    let open = world.octocat.graphql(unresolve, json!({ "id": thread["id"] })).await;
    assert_eq!(open["unresolveReviewThread"]["thread"]["isResolved"], false);
    let dismiss = "mutation($id: ID!) { dismissPullRequestReview(input: {pullRequestReviewId: $id, message: \"Old\"}) { pullRequestReview { state } } }";
    let dismissed = world.octocat.graphql(dismiss, json!({ "id": given["id"] })).await;
    assert_eq!(dismissed["dismissPullRequestReview"]["pullRequestReview"]["state"], "DISMISSED");
    world.finish().await;
}

#[tokio::test]
async fn a_pending_review_is_its_author_s_until_it_is_submitted() {
    let world = World::new().await;
    let clone = world.repo("demo").await;
    let reviewer = world.user("reviewer").await;
    let number = world.pull(&clone, "feature", "main").await;
    let id = pull_id(&world, number).await;
    let begin = "mutation($id: ID!) { addPullRequestReview(input: {pullRequestId: $id, body: \"Wait\"}) { pullRequestReview { id state } } }";
    let begun = reviewer.graphql(begin, json!({ "id": id })).await["addPullRequestReview"]["pullRequestReview"].clone();
    assert_eq!(begun["state"], "PENDING");
    let reviews =
        "reviews(first: 5) { totalCount nodes { state } } latestReviews(first: 5) { totalCount nodes { state } }";
    assert_eq!(pull_request(&world, number, reviews).await["reviews"]["totalCount"], 0);
    let hidden =
        world.octocat.graphql_raw("query($id: ID!) { node(id: $id) { id } }", json!({ "id": begun["id"] })).await;
    assert_eq!(hidden.json["errors"][0]["type"], "NOT_FOUND");
    let submit = "mutation($id: ID!) { submitPullRequestReview(input: {pullRequestId: $id, event: APPROVE}) { pullRequestReview { state submittedAt } } }";
    let submitted = reviewer.graphql(submit, json!({ "id": id })).await;
    assert_eq!(submitted["submitPullRequestReview"]["pullRequestReview"]["state"], "APPROVED");
    let pull = pull_request(&world, number, reviews).await;
    assert_eq!(pull["latestReviews"]["nodes"], json!([{ "state": "APPROVED" }]));
    world.finish().await;
}

#[tokio::test]
async fn a_pull_request_is_opened_changed_closed_and_reopened() {
    let world = World::new().await;
    let clone = world.repo("demo").await;
    clone.commit_on("feature", "main", &[("a", "1")], "Work").await;
    clone.push("feature").await;
    world.octocat.post("/repos/octocat/demo/labels", json!({ "name": "urgent", "color": "ff0000" })).await.expect(201);
    let repo = world
        .octocat
        .graphql("{ repository(owner: \"octocat\", name: \"demo\") { id label(name: \"urgent\") { id } } }", json!({}))
        .await["repository"]
        .clone();
    let create = "mutation($id: ID!) { createPullRequest(input: {repositoryId: $id, baseRefName: \"main\", headRefName: \"feature\",
        title: \"Work\", body: \"Do it\", draft: true}) { pullRequest { id number url isDraft body } } }";
    let pull =
        world.octocat.graphql(create, json!({ "id": repo["id"] })).await["createPullRequest"]["pullRequest"].clone();
    assert_eq!((&pull["isDraft"], &pull["body"]), (&json!(true), &json!("Do it")));
    let again = world.octocat.graphql_raw(create, json!({ "id": repo["id"] })).await.expect(200);
    assert_eq!(again.json["errors"][0]["message"], "A pull request already exists for octocat:feature.");
    assert_eq!(again.json["errors"][0]["type"], "UNPROCESSABLE");
    let label = "mutation($id: ID!, $l: [ID!]!) { addLabelsToLabelable(input: {labelableId: $id, labelIds: $l}) {
        labelable { __typename labels(first: 5) { nodes { name color } } } } }";
    let labelled = world.octocat.graphql(label, json!({ "id": pull["id"], "l": [repo["label"]["id"]] })).await;
    let expected =
        json!({ "__typename": "PullRequest", "labels": { "nodes": [{ "name": "urgent", "color": "ff0000" }] } });
    assert_eq!(labelled["addLabelsToLabelable"]["labelable"], expected);
    let unlabel = "mutation($id: ID!, $l: [ID!]!) { removeLabelsFromLabelable(input: {labelableId: $id, labelIds: $l}) { labelable { labels { totalCount } } } }";
    let bare = world.octocat.graphql(unlabel, json!({ "id": pull["id"], "l": [repo["label"]["id"]] })).await;
    assert_eq!(bare["removeLabelsFromLabelable"]["labelable"]["labels"]["totalCount"], 0);
    let update = "mutation($id: ID!) { updatePullRequest(input: {pullRequestId: $id, title: \"Better\"}) { actor { login } pullRequest { title } } }";
    let updated = world.octocat.graphql(update, json!({ "id": pull["id"] })).await;
    assert_eq!(
        updated["updatePullRequest"],
        json!({ "actor": { "login": "octocat" }, "pullRequest": { "title": "Better" } })
    );
    let close = "mutation($id: ID!) { closePullRequest(input: {pullRequestId: $id}) { pullRequest { state closed closedAt } } }";
    let closed = world.octocat.graphql(close, json!({ "id": pull["id"] })).await;
    assert_eq!(closed["closePullRequest"]["pullRequest"]["state"], "CLOSED");
    let reopen =
        "mutation($id: ID!) { reopenPullRequest(input: {pullRequestId: $id}) { pullRequest { state closedAt } } }";
    let reopened = world.octocat.graphql(reopen, json!({ "id": pull["id"] })).await;
    assert_eq!(reopened["reopenPullRequest"]["pullRequest"], json!({ "state": "OPEN", "closedAt": null }));
    world.finish().await;
}

#[tokio::test]
async fn a_pull_request_is_merged_as_asked_or_refused() {
    let world = World::new().await;
    let clone = world.repo("demo").await;
    let number = world.pull(&clone, "feature", "main").await;
    let id = pull_id(&world, number).await;
    let merge = "mutation($id: ID!, $oid: GitObjectID) { mergePullRequest(input: {pullRequestId: $id, mergeMethod: SQUASH,
        commitHeadline: \"Land it\", expectedHeadOid: $oid}) { actor { login } pullRequest { state merged mergedBy { login }
        mergeCommit { oid messageHeadline parents(first: 5) { totalCount } } } } }";
    let other = "0123456789012345678901234567890123456789";
    let refused = world.octocat.graphql_raw(merge, json!({ "id": id, "oid": other })).await.expect(200);
    assert_eq!(refused.json["errors"][0]["message"], "Head branch was modified. Review and try the merge again.");
    let stranger = world.user("stranger").await.graphql_raw(merge, json!({ "id": id })).await.expect(200);
    assert_eq!(
        stranger.json["errors"][0]["message"],
        "stranger does not have the correct permissions to execute `MergePullRequest`"
    );
    let merged = world.octocat.graphql(merge, json!({ "id": id })).await["mergePullRequest"]["pullRequest"].clone();
    assert_eq!((&merged["state"], &merged["mergedBy"]["login"]), (&json!("MERGED"), &json!("octocat")));
    assert_eq!(merged["mergeCommit"]["messageHeadline"], "Land it");
    assert_eq!(merged["mergeCommit"]["parents"]["totalCount"], 1);
    let again = world.octocat.graphql_raw(merge, json!({ "id": id })).await.expect(200);
    assert_eq!(again.json["errors"][0]["type"], "UNPROCESSABLE");
    let auto = "mutation($id: ID!) { enablePullRequestAutoMerge(input: {pullRequestId: $id}) { clientMutationId } }";
    let auto = world.octocat.graphql_raw(auto, json!({ "id": id })).await.expect(200);
    assert_eq!(auto.json["errors"][0]["message"], "Auto merge is not allowed for this repository");
    world.finish().await;
}

#[tokio::test]
async fn reviewers_are_asked_for_and_the_branch_is_brought_up_to_date() {
    let world = World::new().await;
    let clone = world.repo("demo").await;
    let reviewer = world.user("reviewer").await;
    let number = world.pull(&clone, "feature", "main").await;
    let id = pull_id(&world, number).await;
    let who = reviewer.graphql("{ viewer { id } }", json!({})).await["viewer"]["id"].clone();
    let ask = "mutation($id: ID!, $who: [ID!]) { requestReviews(input: {pullRequestId: $id, userIds: $who, union: true}) {
        pullRequest { reviewRequests(first: 5) { totalCount nodes { requestedReviewer { __typename ... on User { login } ... on Team { slug } } } } } } }";
    let asked = world.octocat.graphql(ask, json!({ "id": id, "who": [who] })).await;
    let requests = &asked["requestReviews"]["pullRequest"]["reviewRequests"];
    let expected = json!([{ "requestedReviewer": { "__typename": "User", "login": "reviewer" } }]);
    assert_eq!(requests["nodes"], expected);
    clone.commit_on("main", "main", &[("other", "1")], "Move on").await;
    clone.push("main").await;
    let update = "mutation($id: ID!) { updatePullRequestBranch(input: {pullRequestId: $id}) { pullRequest { headRefOid commits(first: 5) { totalCount } } } }";
    let before = clone.git(&["rev-parse", "feature"]).await;
    let updated =
        world.octocat.graphql(update, json!({ "id": id })).await["updatePullRequestBranch"]["pullRequest"].clone();
    assert_ne!(updated["headRefOid"], before);
    assert_eq!(updated["commits"]["totalCount"], 2);
    world.finish().await;
}

#[tokio::test]
async fn merge_states_follow_from_rules_and_reviews() {
    let world = World::new().await;
    let clone = world.repo("demo").await;
    let number = world.pull(&clone, "feature", "main").await;
    let state = async || {
        let pull = pull_request(&world, number, "mergeStateStatus mergeable reviewDecision").await;
        (pull["mergeStateStatus"].clone(), pull["reviewDecision"].clone())
    };
    assert_eq!(state().await, (json!("CLEAN"), Value::Null));
    let rules = json!({ "required_status_checks": null, "enforce_admins": true, "restrictions": null,
        "required_pull_request_reviews": { "required_approving_review_count": 1 } });
    world.octocat.put("/repos/octocat/demo/branches/main/protection", rules).await.expect(200);
    assert_eq!(state().await, (json!("BLOCKED"), json!("REVIEW_REQUIRED")));
    let strict = json!({ "required_status_checks": { "strict": true, "contexts": [] }, "enforce_admins": true, "restrictions": null,
        "required_pull_request_reviews": null });
    clone.commit_on("main", "main", &[("other", "1")], "Move on").await;
    world.octocat.delete("/repos/octocat/demo/branches/main/protection").await.expect(204);
    clone.push("main").await;
    world.octocat.put("/repos/octocat/demo/branches/main/protection", strict).await.expect(200);
    assert_eq!(state().await.0, json!("BEHIND"));
    let rule = "{ repository(owner: \"octocat\", name: \"demo\") { branchProtectionRules(first: 5) { nodes { pattern requiresStrictStatusChecks
        matchingRefs(first: 5) { nodes { name prefix } } } } defaultBranchRef { name branchProtectionRule { pattern } target { __typename oid ... on Commit { history(first: 1) { totalCount } } } } } }";
    let data = world.octocat.graphql(rule, json!({})).await["repository"].clone();
    let rule = json!({ "pattern": "main", "requiresStrictStatusChecks": true, "matchingRefs": { "nodes": [{ "name": "main", "prefix": "refs/heads/" }] } });
    assert_eq!(data["branchProtectionRules"]["nodes"], json!([rule]));
    assert_eq!(data["defaultBranchRef"]["target"]["history"]["totalCount"], 2);
    world.finish().await;
}

#[tokio::test]
async fn git_objects_are_read_by_expression_and_by_id() {
    let world = World::new().await;
    let clone = world.repo("demo").await;
    clone.commit_on("main", "main", &[("src/a.txt", "hello\n")], "Add").await;
    clone.push("main").await;
    let query = "{ repository(owner: \"octocat\", name: \"demo\") {
        blob: object(expression: \"main:src/a.txt\") { __typename id ... on Blob { text byteSize isBinary } }
        tree: object(expression: \"main:src\") { ... on Tree { entries { name path type mode object { ... on Blob { text } } } } }
        commit: object(expression: \"main\") { id ... on Commit { message tree { entries { name } } file(path: \"src/a.txt\") { name size } } }
        none: object(expression: \"nope\") { id }
        ref(qualifiedName: \"refs/heads/main\") { id name }
        refs(refPrefix: \"refs/heads/\", first: 5) { totalCount nodes { name } } } }";
    let repo = world.octocat.graphql(query, json!({})).await["repository"].clone();
    assert_eq!((&repo["blob"]["text"], &repo["blob"]["byteSize"]), (&json!("hello\n"), &json!(6)));
    assert_eq!(repo["tree"]["entries"][0]["object"]["text"], "hello\n");
    assert_eq!(repo["tree"]["entries"][0]["mode"], 33188);
    assert_eq!(repo["commit"]["message"], "Add");
    assert_eq!(repo["commit"]["file"], json!({ "name": "a.txt", "size": 6 }));
    assert_eq!(repo["none"], Value::Null);
    for (id, kind) in [(&repo["blob"]["id"], "Blob"), (&repo["commit"]["id"], "Commit"), (&repo["ref"]["id"], "Ref")] {
        let node =
            world.octocat.graphql("query($id: ID!) { node(id: $id) { __typename id } }", json!({ "id": id })).await;
        assert_eq!(node["node"], json!({ "__typename": kind, "id": id }));
    }
    world.finish().await;
}

#[tokio::test]
async fn a_search_finds_what_its_qualifiers_name() {
    let world = World::new().await;
    let clone = world.repo("demo").await;
    let one = world.pull(&clone, "one", "main").await;
    world.pull(&clone, "two", "main").await;
    let issue = json!({ "title": "A bug" });
    world.octocat.post("/repos/octocat/demo/issues", issue).await.expect(201);
    world.octocat.patch(&format!("/repos/octocat/demo/pulls/{one}"), json!({ "state": "closed" })).await.expect(200);
    let found = async |words: &str| -> Vec<String> {
        let query = "query($q: String!) { search(query: $q, type: ISSUE, first: 10) { issueCount edges { node {
            ... on PullRequest { title } ... on Issue { title } } } } }";
        let data = world.octocat.graphql(query, json!({ "q": words })).await["search"].clone();
        let edges = data["edges"].as_array().expect("edges");
        assert_eq!(data["issueCount"], edges.len());
        edges.iter().map(|edge| edge["node"]["title"].as_str().expect("a title").to_owned()).collect()
    };
    assert_eq!(found("repo:octocat/demo is:pr is:open author:@me").await, ["Add two"]);
    assert_eq!(found("repo:octocat/demo is:pr state:closed").await, ["Add one"]);
    assert_eq!(found("repo:octocat/demo bug").await, ["A bug"]);
    assert_eq!(found("repo:octocat/demo head:two base:main").await, ["Add two"]);
    assert_eq!(found("repo:octocat/demo is:pr -is:open").await, ["Add one"]);
    assert!(found("repo:octocat/other").await.is_empty());
    assert!(found("repo:octocat/demo author:nobody").await.is_empty());
    world.finish().await;
}
