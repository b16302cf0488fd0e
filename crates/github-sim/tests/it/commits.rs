//! Commits: listed, read, compared, and where they are.

use serde_json::{Value, json};

use crate::support::{Answer, World};

fn titles(answer: &Answer) -> Vec<String> {
    let title = |commit: &Value| commit["commit"]["message"].as_str().expect("a message").to_owned();
    answer.json.as_array().expect("a list").iter().map(title).collect()
}

#[tokio::test]
async fn a_history_is_narrowed_by_path_person_time_and_start() {
    let world = World::new().await;
    world.user("mona").await;
    let clone = world.repo("history").await;
    clone.git(&["config", "user.email", "octocat@example.com"]).await;
    for (file, message, date, author) in [
        ("a.txt", "One", "2024-01-01T00:00:00Z", "mona <mona@users.noreply.github.com>"),
        ("b.txt", "Two", "2024-02-01T00:00:00Z", "Octo <octocat@example.com>"),
        ("a.txt", "Three", "2024-03-01T00:00:00Z", "Someone <someone@else.example>"),
    ] {
        std::fs::write(clone.path().join(file), message).unwrap();
        clone.git(&["add", "."]).await;
        let output = tokio::process::Command::new("git")
            .current_dir(clone.path())
            .args(["commit", "-q", "-m", message, "--author", author, "--date", date])
            .env("GIT_COMMITTER_DATE", date)
            .output()
            .await
            .unwrap();
        assert!(output.status.success());
    }
    clone.push("main").await;
    let list = async |query: &str| world.octocat.get(&format!("/repos/octocat/history/commits{query}")).await;
    let all = list("").await.expect(200);
    assert_eq!(titles(&all), ["Three", "Two", "One", "Initial commit"]);
    assert_eq!(all.json[2]["author"]["login"], "mona");
    assert_eq!(all.json[1]["author"]["login"], "octocat");
    assert_eq!(all.json[0]["author"], Value::Null);
    assert_eq!(all.json[3]["committer"]["login"], "web-flow");
    assert_eq!(titles(&list("?path=a.txt").await), ["Three", "One"]);
    assert_eq!(titles(&list("?path=a*").await), Vec::<String>::new());
    assert_eq!(titles(&list("?author=mona").await), ["One"]);
    assert_eq!(titles(&list("?author=someone@else.example").await), ["Three"]);
    let between = list("?since=2024-01-15T00:00:00Z&until=2024-02-15T00:00:00Z").await;
    assert_eq!(titles(&between), ["Two"]);
    let second = all.json[1]["sha"].as_str().unwrap();
    assert_eq!(titles(&list(&format!("?sha={second}")).await), ["Two", "One", "Initial commit"]);
    let page = list("?per_page=2&page=2").await.expect(200);
    assert_eq!(titles(&page), ["One", "Initial commit"]);
    assert!(page.header("link").contains("rel=\"prev\"") && !page.header("link").contains("rel=\"next\""));
    list("?sha=nowhere").await.expect(404);
    list("?since=yesterday").await.expect(422);
    world.octocat.post("/user/repos", json!({ "name": "empty" })).await.expect(201);
    let answer = world.octocat.get("/repos/octocat/empty/commits").await.expect(409);
    assert_eq!(answer.json["message"], "Git Repository is empty.");
    world.finish().await;
}

#[tokio::test]
async fn a_commit_shows_its_files_and_comes_as_diff_patch_and_sha() {
    let world = World::new().await;
    let clone = world.repo("one").await;
    clone.commit_on("feature/x", "main", &[("old.txt", "a\nb\nc\nd\ne\n"), ("gone.txt", "x\n")], "Prepare").await;
    clone.git(&["mv", "old.txt", "new name.txt"]).await;
    clone.git(&["rm", "-q", "gone.txt"]).await;
    let files = [("README.md", "# one\nmore\n"), ("fresh.txt", "1\n2\n")];
    let sha = clone.commit_on("feature/x", "main", &files, "Change much").await;
    clone.git(&["tag", "-a", "v1", "-m", "v1"]).await;
    clone.git(&["push", "-q", "origin", "feature/x", "v1"]).await;
    let at = |revision: &str| format!("/repos/octocat/one/commits/{revision}");
    let commit = world.octocat.get(&at(&sha)).await.expect(200).json;
    assert_eq!(commit["stats"], json!({ "total": 4, "additions": 3, "deletions": 1 }));
    let file = |name: &str| commit["files"].as_array().unwrap().iter().find(|f| f["filename"] == name).unwrap().clone();
    assert_eq!((&file("fresh.txt")["status"], &file("fresh.txt")["additions"]), (&json!("added"), &json!(2)));
    assert_eq!(file("fresh.txt")["patch"], "@@ -0,0 +1,2 @@\n+1\n+2");
    assert_eq!(file("gone.txt")["status"], "removed");
    assert_eq!(file("README.md")["status"], "modified");
    let renamed = file("new name.txt");
    assert_eq!((&renamed["status"], &renamed["previous_filename"]), (&json!("renamed"), &json!("old.txt")));
    for name in ["feature/x", "feature%2Fx", "v1", "heads/feature/x", &sha[..10]] {
        assert_eq!(world.octocat.get(&at(name)).await.expect(200).json["sha"], sha.as_str(), "{name}");
    }
    let as_media = async |media: &str| {
        let headers = [("accept", media)];
        world.octocat.try_send("GET", &at(&sha), None, &headers).await.unwrap().expect(200).text
    };
    assert_eq!(as_media("application/vnd.github.sha").await, sha);
    assert!(as_media("application/vnd.github.diff").await.starts_with("diff --git a/README.md b/README.md"));
    assert!(as_media("application/vnd.github.v3.patch").await.contains("Subject: [PATCH] Change much"));
    let answer = world.octocat.get(&at("nowhere")).await.expect(422);
    assert_eq!(answer.json["message"], "No commit found for SHA: nowhere");
    for odd in ["..main", "main~1", "@%7B1%7D", "-x", "main:README.md"] {
        world.octocat.get(&at(odd)).await.expect(422);
    }
    let root = clone.git(&["rev-list", "--max-parents=0", "HEAD"]).await;
    let root = world.octocat.get(&at(&root)).await.expect(200).json;
    assert_eq!((&root["files"][0]["status"], &root["parents"]), (&json!("added"), &json!([])));
    world.finish().await;
}

#[tokio::test]
async fn comparisons_know_ahead_behind_identical_and_diverged() {
    let world = World::new().await;
    let clone = world.repo("compared").await;
    let base = clone.git(&["rev-parse", "HEAD"]).await;
    clone.commit_on("topic/x", "main", &[("a.txt", "a\n")], "A").await;
    clone.commit_on("topic/x", "main", &[("b.txt", "b\n")], "B").await;
    clone.push("topic/x").await;
    let compare = async |text: &str| world.octocat.get(&format!("/repos/octocat/compared/compare/{text}")).await;
    let ahead = compare("main...topic/x").await.expect(200).json;
    assert_eq!((&ahead["status"], &ahead["ahead_by"], &ahead["behind_by"]), (&json!("ahead"), &json!(2), &json!(0)));
    assert_eq!(ahead["merge_base_commit"]["sha"], base.as_str());
    let order: Vec<&str> =
        ahead["commits"].as_array().unwrap().iter().map(|c| c["commit"]["message"].as_str().unwrap()).collect();
    assert_eq!(order, ["A", "B"], "oldest first");
    assert_eq!(ahead["files"].as_array().unwrap().len(), 2);
    assert_eq!(compare("topic%2Fx...main").await.expect(200).json["status"], "behind");
    assert_eq!(compare("main...main").await.expect(200).json["status"], "identical");
    clone.git(&["checkout", "-q", "main"]).await;
    clone.commit_on("main", "main", &[("c.txt", "c\n")], "C").await;
    clone.push("main").await;
    let diverged = compare("octocat:main...octocat:topic/x").await.expect(200).json;
    assert_eq!((&diverged["status"], &diverged["total_commits"]), (&json!("diverged"), &json!(2)));
    assert_eq!(diverged["files"].as_array().unwrap().len(), 2, "files since the merge base, not since the base");
    let page = compare("main...topic/x?per_page=1&page=2").await.expect(200);
    assert_eq!(page.json["commits"][0]["commit"]["message"], "B");
    assert_eq!((&page.json["files"], &page.json["total_commits"]), (&json!([]), &json!(2)));
    let headers = [("accept", "application/vnd.github.diff")];
    let path = "/repos/octocat/compared/compare/main...topic/x";
    let diff = world.octocat.try_send("GET", path, None, &headers).await.unwrap().expect(200).text;
    assert!(diff.contains("+++ b/a.txt") && !diff.contains("c.txt"), "{diff}");
    for bad in ["main", "main..topic/x", "main...nowhere", "nobody:main...main", "main...a:b:c:d"] {
        compare(bad).await.expect(404);
    }
    clone.git(&["checkout", "-q", "--orphan", "island"]).await;
    clone.git(&["commit", "-q", "-m", "Alone"]).await;
    clone.push("island").await;
    let answer = compare("main...island").await.expect(404);
    assert_eq!(answer.json["message"], "No common ancestor between main and island.");
    world.finish().await;
}

#[tokio::test]
async fn a_fork_s_branch_is_compared_across_repositories() {
    let world = World::new().await;
    world.repo("shared").await;
    let mona = world.user("mona").await;
    mona.post("/repos/octocat/shared/forks", json!({})).await.expect(202);
    let new = json!({ "message": "From mona", "content": "eA==", "branch": "main" });
    mona.put("/repos/mona/shared/contents/x.txt", new).await.expect(201);
    let compared = world.octocat.get("/repos/octocat/shared/compare/main...mona:main").await.expect(200).json;
    assert_eq!(
        (&compared["status"], &compared["commits"][0]["commit"]["message"]),
        (&json!("ahead"), &json!("From mona"))
    );
    let back = mona.get("/repos/mona/shared/compare/octocat:main...main").await.expect(200).json;
    assert_eq!(back["ahead_by"], 1);
    mona.patch("/repos/mona/shared", json!({ "private": true })).await.expect(200);
    world.octocat.get("/repos/octocat/shared/compare/main...mona:main").await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn a_commit_knows_the_branches_and_pull_requests_it_is_in() {
    let world = World::new().await;
    let clone = world.repo("where").await;
    let first = world.pull(&clone, "first", "main").await;
    let second = world.pull(&clone, "second", "first").await;
    let (one, two) = (clone.git(&["rev-parse", "first"]).await, clone.git(&["rev-parse", "second"]).await);
    let base = clone.git(&["rev-parse", "origin/main"]).await;
    let of = async |sha: &str, what: &str| {
        let answer = world.octocat.get(&format!("/repos/octocat/where/commits/{sha}/{what}")).await.expect(200);
        answer.json.as_array().unwrap().clone()
    };
    let numbers = |list: Vec<Value>| list.iter().map(|pull| pull["number"].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!(numbers(of(&one, "pulls").await), [first]);
    assert_eq!(numbers(of(&two, "pulls").await), [second]);
    assert_eq!(numbers(of(&base, "pulls").await), Vec::<u64>::new());
    let heads = of(&two, "branches-where-head").await;
    assert_eq!((heads.len(), &heads[0]["name"]), (1, &json!("second")));
    let squash = json!({ "merge_method": "squash" });
    let merged = world.octocat.put(&format!("/repos/octocat/where/pulls/{first}/merge"), squash).await.expect(200).json;
    assert_eq!(numbers(of(merged["sha"].as_str().unwrap(), "pulls").await), [first]);
    assert_eq!(numbers(of(&one, "pulls").await), [first]);
    world.octocat.get("/repos/octocat/where/commits/nowhere/pulls").await.expect(422);
    world.finish().await;
}

#[tokio::test]
async fn a_branch_is_merged_into_another() {
    let world = World::new().await;
    let clone = world.repo("merged").await;
    clone.commit_on("topic", "main", &[("a.txt", "a")], "A").await;
    clone.push("topic").await;
    clone.git(&["checkout", "-q", "main"]).await;
    let main = clone.commit_on("main", "main", &[("b.txt", "b")], "B").await;
    clone.push("main").await;
    let merge = async |body: Value| world.octocat.post("/repos/octocat/merged/merges", body).await;
    let made = merge(json!({ "base": "main", "head": "topic" })).await.expect(201).json;
    assert_eq!(made["commit"]["message"], "Merge topic into main");
    assert_eq!(made["parents"][0]["sha"], main.as_str());
    merge(json!({ "base": "main", "head": "topic" })).await.expect(204);
    let answer = merge(json!({ "base": "lost", "head": "topic" })).await.expect(404);
    assert_eq!(answer.json["message"], "Base does not exist");
    assert_eq!(
        merge(json!({ "base": "main", "head": "lost" })).await.expect(404).json["message"],
        "Head does not exist"
    );
    clone.git(&["fetch", "-q"]).await;
    clone.commit_on("rival", "topic", &[("b.txt", "other")], "Rival").await;
    clone.push("rival").await;
    assert_eq!(merge(json!({ "base": "main", "head": "rival" })).await.expect(409).json["message"], "Merge conflict");
    merge(json!({ "base": "main" })).await.expect(422);
    world.finish().await;
}
