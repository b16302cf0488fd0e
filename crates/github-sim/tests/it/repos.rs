//! Repositories: made, read, changed, forked, deleted.

use serde_json::json;

use crate::support::World;

#[tokio::test]
async fn a_new_repository_has_github_s_defaults() {
    let world = World::new().await;
    let new = json!({ "name": "hello", "description": "A greeting" });
    let made = world.octocat.post("/user/repos", new).await.expect(201).json;
    assert_eq!(made["full_name"], "octocat/hello");
    for (field, value) in [
        ("private", json!(false)),
        ("default_branch", json!("main")),
        ("description", json!("A greeting")),
        ("has_issues", json!(true)),
        ("allow_merge_commit", json!(true)),
        ("allow_squash_merge", json!(true)),
        ("allow_rebase_merge", json!(true)),
        ("delete_branch_on_merge", json!(false)),
        ("squash_merge_commit_title", json!("COMMIT_OR_PR_TITLE")),
        ("squash_merge_commit_message", json!("COMMIT_MESSAGES")),
        ("merge_commit_title", json!("MERGE_MESSAGE")),
        ("merge_commit_message", json!("PR_TITLE")),
    ] {
        assert_eq!(made[field], value, "{field}");
    }
    let read = world.octocat.get("/repos/octocat/hello").await.expect(200).json;
    assert_eq!(read, made);
    assert_eq!(read["permissions"]["admin"], true);
    world.finish().await;
}

#[tokio::test]
async fn of_two_creations_of_one_name_at_the_same_time_one_succeeds() {
    let world = World::new().await;
    let new = json!({ "name": "twice", "auto_init": true });
    let (first, second) =
        tokio::join!(world.octocat.post("/user/repos", new.clone()), world.octocat.post("/user/repos", new));
    let mut statuses = [first.status, second.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 422]);
    let refused = if first.status == 422 { first } else { second };
    assert_eq!(refused.json["errors"][0]["message"], "name already exists on this account");
    world.octocat.post("/user/repos", json!({ "name": "TWICE" })).await.expect(422);
    world.finish().await;
}

#[tokio::test]
async fn a_repository_can_begin_with_a_commit() {
    let world = World::new().await;
    let clone = world.repo("begun").await;
    assert_eq!(clone.git(&["log", "--format=%s"]).await, "Initial commit");
    assert_eq!(clone.git(&["branch", "--show-current"]).await, "main");
    assert_eq!(std::fs::read_to_string(clone.path().join("README.md")).unwrap(), "# begun\n");
    let commit = world.octocat.get("/repos/octocat/begun/commits/main").await.expect(200).json;
    assert_eq!(commit["author"]["login"], "octocat");
    world.finish().await;
}

#[tokio::test]
async fn names_become_what_github_allows_or_are_refused() {
    let world = World::new().await;
    let made = world.octocat.post("/user/repos", json!({ "name": "my täst repo" })).await.expect(201).json;
    assert_eq!(made["name"], "my-t-st-repo");
    for bad in ["", ".", "..", &"x".repeat(101)] {
        let answer = world.octocat.post("/user/repos", json!({ "name": bad })).await.expect(422);
        assert_eq!(answer.json["message"], "Repository creation failed.", "{bad}");
    }
    let answer = world.octocat.post("/user/repos", json!({})).await.expect(422);
    assert!(answer.json["message"].as_str().unwrap().contains("\"name\" wasn't supplied"), "{}", answer.text);
    world.anonymous().post("/user/repos", json!({ "name": "x" })).await.expect(401);
    world.finish().await;
}

#[tokio::test]
async fn settings_are_changed_together_or_not_at_all() {
    let world = World::new().await;
    let clone = world.repo("set").await;
    clone.git(&["push", "-q", "origin", "main:trunk"]).await;
    let path = "/repos/octocat/set";
    let change = json!({
        "name": "settled", "description": "Better", "private": true, "default_branch": "trunk",
        "allow_merge_commit": false, "delete_branch_on_merge": true,
        "squash_merge_commit_title": "PR_TITLE", "squash_merge_commit_message": "PR_BODY",
        "merge_commit_title": "PR_TITLE", "merge_commit_message": "BLANK",
    });
    let changed = world.octocat.patch(path, change.clone()).await.expect(200).json;
    for (field, value) in change.as_object().unwrap() {
        assert_eq!(&changed[field], value, "{field}");
    }
    world.octocat.get(path).await.expect(404);
    let path = "/repos/octocat/settled";
    let before = world.octocat.get(path).await.expect(200).json;
    assert_eq!(world.clone_of("octocat", "settled").await.git(&["branch", "--show-current"]).await, "trunk");
    for bad in [
        json!({ "description": "Lost", "default_branch": "nowhere" }),
        json!({ "description": "Lost", "allow_squash_merge": false, "allow_rebase_merge": false }),
        json!({ "description": "Lost", "squash_merge_commit_title": "COMMIT_OR_PR_TITLE" }),
        json!({ "description": "Lost", "merge_commit_message": "PR_TITLE" }),
        json!({ "description": "Lost", "squash_merge_commit_title": "ANYTHING" }),
        json!({ "description": "Lost", "visibility": "hidden" }),
        json!({ "description": "Lost", "name": "" }),
    ] {
        let answer = world.octocat.patch(path, bad.clone()).await;
        assert_eq!(answer.status, 422, "{bad}: {}", answer.text);
    }
    let after = world.octocat.get(path).await.expect(200).json;
    assert_eq!(after, before);
    let cleared = world.octocat.patch(path, json!({ "description": null })).await.expect(200).json;
    assert_eq!(cleared["description"], serde_json::Value::Null);
    world.finish().await;
}

#[tokio::test]
async fn an_archived_repository_can_only_be_read_unarchived_and_deleted() {
    let world = World::new().await;
    world.repo("old").await;
    let path = "/repos/octocat/old";
    assert_eq!(world.octocat.patch(path, json!({ "archived": true })).await.expect(200).json["archived"], true);
    world.octocat.patch(path, json!({ "description": "x" })).await.expect(403);
    let new = json!({ "message": "x", "content": "" });
    let answer = world.octocat.put("/repos/octocat/old/contents/x", new).await.expect(403);
    assert_eq!(answer.json["message"], "Repository was archived so is read-only.");
    world.octocat.get("/repos/octocat/old/contents/README.md").await.expect(200);
    world.octocat.patch(path, json!({ "archived": false })).await.expect(200);
    world.octocat.patch(path, json!({ "description": "x" })).await.expect(200);
    world.finish().await;
}

#[tokio::test]
async fn a_deleted_repository_leaves_nothing_and_frees_its_name() {
    let mut world = World::new().await;
    let clone = world.repo("gone").await;
    world.pull(&clone, "topic", "main").await;
    let path = "/repos/octocat/gone";
    let stranger = world.user("stranger").await;
    stranger.delete(path).await.expect(403);
    world.octocat.delete(path).await.expect(204);
    world.octocat.get(path).await.expect(404);
    world.octocat.delete(path).await.expect(404);
    let fetched = clone.try_git(&["fetch", "origin"]).await;
    assert!(!fetched.status.success());
    world.restart().await;
    world.octocat.get(path).await.expect(404);
    world.repo("gone").await;
    let pulls = world.octocat.get(&format!("{path}/pulls?state=all")).await.expect(200).json;
    assert_eq!(pulls, json!([]));
    world.finish().await;
}

#[tokio::test]
async fn everyone_lists_the_repositories_they_may_see() {
    let world = World::new().await;
    let mona = world.user("mona").await;
    world.control("POST", "/orgs", json!({ "login": "acme", "admins": ["octocat"], "members": ["mona"] })).await;
    for (path, name, private) in
        [("/user/repos", "open", false), ("/user/repos", "closed", true), ("/orgs/acme/repos", "product", true)]
    {
        world.octocat.post(path, json!({ "name": name, "private": private })).await.expect(201);
    }
    world.octocat.put("/repos/octocat/closed/collaborators/mona", json!({ "permission": "push" })).await.expect(204);
    let stranger = world.user("stranger").await;
    let names = async |client: &crate::support::Client, path: &str| {
        let list = client.get(path).await.expect(200).json;
        list.as_array().unwrap().iter().map(|repo| repo["full_name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = ["acme/product", "octocat/closed", "octocat/open"];
    assert_eq!(names(&world.octocat, "/user/repos").await, all);
    assert_eq!(names(&world.octocat, "/user/repos?affiliation=owner&visibility=private").await, ["octocat/closed"]);
    let newest = names(&world.octocat, "/user/repos?sort=created&per_page=2").await;
    assert_eq!(newest, ["acme/product", "octocat/closed"]);
    assert_eq!(names(&mona, "/user/repos").await, ["acme/product", "octocat/closed"]);
    assert_eq!(names(&mona, "/users/octocat/repos").await, ["octocat/closed", "octocat/open"]);
    assert_eq!(names(&stranger, "/user/repos").await, Vec::<String>::new());
    assert_eq!(names(&stranger, "/users/octocat/repos").await, ["octocat/open"]);
    assert_eq!(names(&world.anonymous(), "/users/octocat/repos").await, ["octocat/open"]);
    assert_eq!(names(&mona, "/orgs/acme/repos").await, ["acme/product"]);
    assert_eq!(names(&stranger, "/orgs/acme/repos").await, Vec::<String>::new());
    world.octocat.get("/users/nobody/repos").await.expect(404);
    world.octocat.get("/orgs/octocat/repos").await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn members_make_repositories_in_their_organization_and_administer_them() {
    let world = World::new().await;
    let mona = world.user("mona").await;
    let stranger = world.user("stranger").await;
    world.control("POST", "/orgs", json!({ "login": "acme", "members": ["mona"] })).await;
    let made = mona.post("/orgs/acme/repos", json!({ "name": "tool" })).await.expect(201).json;
    assert_eq!((&made["owner"]["login"], &made["permissions"]["admin"]), (&json!("acme"), &json!(true)));
    stranger.post("/orgs/acme/repos", json!({ "name": "mine" })).await.expect(403);
    mona.post("/orgs/nobody/repos", json!({ "name": "x" })).await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn a_fork_has_the_history_and_its_own_life() {
    let world = World::new().await;
    let clone = world.repo("source").await;
    clone.git(&["tag", "v1"]).await;
    clone.git(&["push", "-q", "origin", "main:topic", "v1"]).await;
    let mona = world.user("mona").await;
    let fork = mona.post("/repos/octocat/source/forks", json!({})).await.expect(202).json;
    assert_eq!((&fork["full_name"], &fork["fork"]), (&json!("mona/source"), &json!(true)));
    assert_eq!(fork["parent"]["full_name"], "octocat/source");
    assert_eq!(mona.post("/repos/octocat/source/forks", json!({})).await.expect(202).json["id"], fork["id"]);
    let branches = mona.get("/repos/mona/source/branches").await.expect(200).json;
    assert_eq!(branches.as_array().unwrap().len(), 2);
    let new = json!({ "message": "Mine", "content": "", "branch": "main" });
    mona.put("/repos/mona/source/contents/mine.txt", new).await.expect(201);
    world.octocat.get("/repos/octocat/source/contents/mine.txt").await.expect(404);
    let forks = world.octocat.get("/repos/octocat/source/forks").await.expect(200).json;
    assert_eq!(forks[0]["full_name"], "mona/source");
    assert_eq!(world.octocat.get("/repos/octocat/source").await.expect(200).json["forks_count"], 1);
    let ada = world.user("ada").await;
    let only = json!({ "name": "small", "default_branch_only": true });
    ada.post("/repos/octocat/source/forks", only).await.expect(202);
    let branches = ada.get("/repos/ada/small/branches").await.expect(200).json;
    assert_eq!(branches.as_array().unwrap().len(), 1);
    world.octocat.post("/repos/octocat/source/forks", json!({})).await.expect(403);
    world.octocat.delete("/repos/octocat/source").await.expect(204);
    assert_eq!(mona.get("/repos/mona/source").await.expect(200).json["fork"], false);
    world.finish().await;
}

#[tokio::test]
async fn small_facts_are_answered() {
    let world = World::new().await;
    world.repo("facts").await;
    let path = "/repos/octocat/facts";
    assert_eq!(world.octocat.get(&format!("{path}/topics")).await.expect(200).json, json!({ "names": [] }));
    let topics = json!({ "names": ["rust", "git-tools"] });
    world.octocat.put(&format!("{path}/topics"), topics.clone()).await.expect(200);
    assert_eq!(world.octocat.get(path).await.expect(200).json["topics"], topics["names"]);
    world.octocat.put(&format!("{path}/topics"), json!({ "names": ["Not Allowed"] })).await.expect(422);
    assert_eq!(world.octocat.get(&format!("{path}/languages")).await.expect(200).json, json!({}));
    let people = world.octocat.get(&format!("{path}/contributors")).await.expect(200).json;
    assert_eq!((&people[0]["login"], &people[0]["contributions"]), (&json!("octocat"), &json!(1)));
    world.octocat.post("/user/repos", json!({ "name": "empty" })).await.expect(201);
    world.octocat.get("/repos/octocat/empty/contributors").await.expect(204);
    world.finish().await;
}
