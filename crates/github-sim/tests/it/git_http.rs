//! git over HTTP, with git itself as the client.

use std::path::Path;
use std::process::Output;

use serde_json::json;
use tokio::process::Command;

use crate::support::{Client, World};

/// Every git on this machine that could be someone's.
fn gits() -> Vec<&'static str> {
    let mut gits = vec!["git"];
    gits.extend(Path::new("/usr/bin/git").exists().then_some("/usr/bin/git"));
    gits
}

async fn run(git: &str, dir: &Path, args: &[&str]) -> Output {
    Command::new(git)
        .current_dir(dir)
        .args(args)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C.UTF-8")
        .output()
        .await
        .expect("git starts")
}

#[track_caller]
fn good(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

#[track_caller]
fn refused(output: Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "git was not refused: {text}");
    text
}

fn url(world: &World, client: &Client, path: &str) -> String {
    let token = client.token.as_deref().unwrap_or_default();
    let credentials = if token.is_empty() { String::new() } else { format!("{}:{token}@", client.login) };
    format!("{}/{path}.git", world.url()).replace("://", &format!("://{credentials}"))
}

#[tokio::test]
async fn every_git_clones_whole_shallow_and_partial() {
    let world = World::new().await;
    let clone = world.repo("history").await;
    for n in 0..5 {
        clone.commit_on("main", "main", &[("count.txt", &n.to_string())], &format!("Commit {n}")).await;
    }
    clone.push("main").await;
    let from = url(&world, &world.octocat, "octocat/history");
    for git in gits() {
        let dir = tempfile::tempdir().unwrap();
        good(run(git, dir.path(), &["clone", "-q", &from, "whole"]).await);
        let whole = dir.path().join("whole");
        assert_eq!(good(run(git, &whole, &["rev-list", "--count", "HEAD"]).await), "6");
        good(run(git, dir.path(), &["clone", "-q", "--depth=2", &from, "shallow"]).await);
        let shallow = dir.path().join("shallow");
        assert_eq!(good(run(git, &shallow, &["rev-list", "--count", "HEAD"]).await), "2");
        good(run(git, &shallow, &["fetch", "-q", "--unshallow"]).await);
        assert_eq!(good(run(git, &shallow, &["rev-list", "--count", "HEAD"]).await), "6");
        good(run(git, dir.path(), &["clone", "-q", "--filter=blob:none", "--no-checkout", &from, "partial"]).await);
        let partial = dir.path().join("partial");
        let missing = good(run(git, &partial, &["rev-list", "--objects", "--missing=print", "HEAD"]).await);
        assert!(missing.lines().any(|line| line.starts_with('?')), "blobs came although they were not wanted");
        good(run(git, &partial, &["checkout", "-q", "main"]).await);
        assert_eq!(std::fs::read_to_string(partial.join("count.txt")).unwrap(), "4");
        good(run(git, &partial, &["-c", "protocol.version=0", "fetch", "-q"]).await);
    }
    world.finish().await;
}

#[tokio::test]
async fn a_commit_that_no_branch_holds_can_be_fetched_by_its_sha() {
    let world = World::new().await;
    let clone = world.repo("loose").await;
    let sha = clone.commit_on("passing", "main", &[("a.txt", "a")], "A").await;
    clone.push("passing").await;
    clone.git(&["push", "-q", "origin", ":passing"]).await;
    let other = world.clone_of("octocat", "loose").await;
    other.git(&["fetch", "-q", "origin", &sha]).await;
    assert_eq!(other.git(&["rev-parse", "FETCH_HEAD"]).await, sha);
    world.finish().await;
}

#[tokio::test]
async fn pushes_move_make_force_and_delete_branches_and_tags() {
    let world = World::new().await;
    let clone = world.repo("moves").await;
    let branch = async |name: &str| world.octocat.get(&format!("/repos/octocat/moves/branches/{name}")).await;
    let first = clone.commit_on("topic", "main", &[("a.txt", "1")], "One").await;
    clone.push("topic").await;
    assert_eq!(branch("topic").await.expect(200).json["commit"]["sha"], first);
    clone.git(&["commit", "-q", "--amend", "-m", "Another"]).await;
    let second = clone.git(&["rev-parse", "HEAD"]).await;
    let text = refused(clone.try_git(&["push", "origin", "topic"]).await);
    assert!(text.contains("non-fast-forward"), "{text}");
    clone.git(&["push", "-q", "--force", "origin", "topic"]).await;
    assert_eq!(branch("topic").await.expect(200).json["commit"]["sha"], second);
    clone.git(&["commit", "-q", "--amend", "-m", "Yet another"]).await;
    let lease = format!("--force-with-lease=topic:{first}");
    refused(clone.try_git(&["push", &lease, "origin", "topic"]).await);
    clone.git(&["reset", "-q", "--hard", &second]).await;
    clone.git(&["tag", "v1"]).await;
    clone.git(&["tag", "-a", "v2", "-m", "Two"]).await;
    clone.git(&["push", "-q", "origin", "v1", "v2"]).await;
    let tags = world.octocat.get("/repos/octocat/moves/tags").await.expect(200).json;
    assert_eq!((&tags[0]["name"], &tags[0]["commit"]["sha"]), (&json!("v2"), &json!(second)));
    assert_eq!(tags[1]["name"], "v1");
    clone.git(&["push", "-q", "origin", ":topic", ":v1"]).await;
    branch("topic").await.expect(404);
    world.octocat.get("/repos/octocat/moves/git/ref/tags/v1").await.expect(404);
    let text = refused(clone.try_git(&["push", "origin", ":main"]).await);
    assert!(text.contains("refusing to delete the current branch: refs/heads/main"), "{text}");
    world.finish().await;
}

#[tokio::test]
async fn a_push_of_many_megabytes_arrives_in_pieces() {
    let world = World::new().await;
    let clone = world.repo("big").await;
    // What does not compress, so that the pack is larger than git sends at once.
    let mut noise = Vec::new();
    let mut state = 7_u64;
    while noise.len() < 6 << 20 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        noise.extend(state.to_be_bytes());
    }
    std::fs::write(clone.path().join("noise.bin"), &noise).unwrap();
    let sha = clone.commit_on("main", "main", &[], "Add noise").await;
    clone.push("main").await;
    let files = world.octocat.get(&format!("/repos/octocat/big/commits/{sha}")).await.expect(200).json;
    assert_eq!(files["files"][0]["filename"], "noise.bin");
    for git in gits() {
        let dir = tempfile::tempdir().unwrap();
        good(run(git, dir.path(), &["clone", "-q", &url(&world, &world.octocat, "octocat/big"), "."]).await);
        assert_eq!(std::fs::read(dir.path().join("noise.bin")).unwrap(), noise);
        for (key, value) in [("user.name", "x"), ("user.email", "x@example.com")] {
            good(run(git, dir.path(), &["config", key, value]).await);
        }
        noise.rotate_left(1);
        std::fs::write(dir.path().join("noise.bin"), &noise).unwrap();
        good(run(git, dir.path(), &["commit", "-q", "-am", "Turn the noise"]).await);
        good(run(git, dir.path(), &["push", "-q", "origin", "main"]).await);
    }
    world.finish().await;
}

/// As git sends it when it has much to negotiate.
#[tokio::test]
async fn compressed_requests_are_understood() {
    let world = World::new().await;
    let clone = world.repo("zipped").await;
    let head = clone.git(&["rev-parse", "HEAD"]).await;
    let request = clone.path().join("request");
    std::fs::write(&request, format!("0032want {head}\n00000009done\n")).unwrap();
    let zipped = Command::new("gzip").arg("-c").arg(&request).output().await.unwrap().stdout;
    let answer = reqwest::Client::builder()
        .no_proxy()
        .build()
        .unwrap()
        .post(format!("{}/octocat/zipped.git/git-upload-pack", world.url()))
        .header("content-type", "application/x-git-upload-pack-request")
        .header("content-encoding", "gzip")
        .body(zipped)
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "application/x-git-upload-pack-result");
    let body = answer.bytes().await.unwrap();
    assert!(body.windows(4).any(|four| four == b"PACK"), "{body:?}");
    world.finish().await;
}

#[tokio::test]
async fn a_protected_branch_refuses_what_its_rules_do_not_allow() {
    let world = World::new().await;
    let clone = world.repo("guarded").await;
    let rules = json!({
        "required_status_checks": null, "enforce_admins": true, "restrictions": null,
        "required_pull_request_reviews": { "required_approving_review_count": 1 },
    });
    let path = "/repos/octocat/guarded/branches/main/protection";
    world.octocat.put(path, rules).await.expect(200);
    let before = clone.git(&["rev-parse", "origin/main"]).await;
    clone.commit_on("main", "main", &[("a.txt", "a")], "A").await;
    let text = refused(clone.try_git(&["push", "origin", "main"]).await);
    assert!(text.contains("GH006: Protected branch update failed for refs/heads/main."), "{text}");
    assert!(text.contains("Changes must be made through a pull request."), "{text}");
    assert!(text.contains("[remote rejected] main -> main"), "{text}");
    let main = world.octocat.get("/repos/octocat/guarded/branches/main").await.expect(200).json;
    assert_eq!(main["commit"]["sha"], before.as_str());
    // Other branches of the same push go through.
    let both = clone.try_git(&["push", "origin", "main", "main:other"]).await;
    refused(both);
    world.octocat.get("/repos/octocat/guarded/branches/other").await.expect(200);

    let lenient = json!({
        "required_status_checks": null, "enforce_admins": true, "restrictions": null,
        "required_pull_request_reviews": null, "required_linear_history": true,
    });
    world.octocat.put(path, lenient).await.expect(200);
    clone.push("main").await;
    clone.git(&["commit", "-q", "--amend", "-m", "B"]).await;
    let text = refused(clone.try_git(&["push", "--force", "origin", "main"]).await);
    assert!(text.contains("Cannot force-push to this branch"), "{text}");
    clone.git(&["reset", "-q", "--hard", "origin/main"]).await;
    clone.commit_on("side", "main~1", &[("b.txt", "b")], "B").await;
    clone.git(&["checkout", "-q", "main"]).await;
    clone.git(&["merge", "-q", "--no-ff", "-m", "Merge", "side"]).await;
    let text = refused(clone.try_git(&["push", "origin", "main"]).await);
    assert!(text.contains("This branch must not contain merge commits."), "{text}");
    world.finish().await;
}

#[tokio::test]
async fn administrators_pass_protection_but_not_rulesets() {
    let world = World::new().await;
    let clone = world.repo("ruled").await;
    let rules = json!({
        "required_status_checks": null, "enforce_admins": false, "restrictions": null,
        "required_pull_request_reviews": {},
    });
    world.octocat.put("/repos/octocat/ruled/branches/main/protection", rules).await.expect(200);
    clone.commit_on("main", "main", &[("a.txt", "a")], "A").await;
    clone.push("main").await;
    let mut ruleset = json!({
        "name": "no force", "enforcement": "active", "rules": [{ "type": "non_fast_forward" }],
        "conditions": { "ref_name": { "include": ["~DEFAULT_BRANCH"], "exclude": [] } },
    });
    let made = world.octocat.post("/repos/octocat/ruled/rulesets", ruleset.clone()).await.expect(201).json;
    clone.git(&["commit", "-q", "--amend", "-m", "B"]).await;
    let text = refused(clone.try_git(&["push", "--force", "origin", "main"]).await);
    assert!(text.contains("GH013: Repository rule violations found for refs/heads/main."), "{text}");
    assert!(text.contains("Cannot force-push to this branch"), "{text}");
    // Unless the ruleset names them.
    ruleset["bypass_actors"] = json!([{ "actor_id": 5, "actor_type": "RepositoryRole", "bypass_mode": "always" }]);
    world.octocat.put(&format!("/repos/octocat/ruled/rulesets/{}", made["id"]), ruleset).await.expect(200);
    clone.git(&["push", "-q", "--force", "origin", "main"]).await;
    world.finish().await;
}

#[tokio::test]
async fn nobody_reads_or_pushes_more_than_they_may() {
    let world = World::new().await;
    world.repo("open").await;
    let secret = json!({ "name": "secret", "private": true, "auto_init": true });
    world.octocat.post("/user/repos", secret).await.expect(201);
    let stranger = world.user("stranger").await;
    let anonymous = world.anonymous();
    let wrong = world.with_token("octocat", "ghp_wrong");
    for git in gits() {
        let dir = tempfile::tempdir().unwrap();
        let ask = async |client: &Client, repo: &str| {
            run(git, dir.path(), &["ls-remote", &url(&world, client, &format!("octocat/{repo}"))]).await
        };
        assert!(good(ask(&anonymous, "open").await).contains("refs/heads/main"));
        good(ask(&stranger, "open").await);
        good(ask(&world.octocat, "secret").await);
        let text = refused(ask(&stranger, "secret").await);
        assert!(text.contains("not found"), "{text}");
        let text = refused(ask(&anonymous, "secret").await);
        assert!(text.contains("could not read Username") || text.contains("Authentication failed"), "{text}");
        let text = refused(ask(&wrong, "secret").await);
        assert!(text.contains("Authentication failed"), "{text}");
        let text = refused(ask(&world.octocat, "absent").await);
        assert!(text.contains("not found"), "{text}");
        let push = async |client: &Client| {
            let to = url(&world, client, "octocat/open");
            run(git, &clone_dir(&world, &dir).await, &["push", &to, "main:stolen"]).await
        };
        let text = refused(push(&stranger).await);
        assert!(text.contains("403"), "{text}");
        let text = refused(push(&anonymous).await);
        assert!(text.contains("could not read Username") || text.contains("Authentication failed"), "{text}");
    }
    world.octocat.get("/repos/octocat/open/branches/stolen").await.expect(404);
    let refs = format!("{}/octocat/open.git/info/refs?service=git-upload-pack", world.url());
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let answer = http.get(refs).basic_auth("octocat", Some("ghp_wrong")).send().await.unwrap();
    assert_eq!(answer.status(), 401, "a wrong token is refused even where none is needed");
    assert!(answer.headers().contains_key("www-authenticate"));
    world.finish().await;
}

async fn clone_dir(world: &World, dir: &tempfile::TempDir) -> std::path::PathBuf {
    let to = dir.path().join("clone");
    if !to.exists() {
        let from = url(world, &world.octocat, "octocat/open");
        good(run("git", dir.path(), &["clone", "-q", &from, "clone"]).await);
    }
    to
}

#[tokio::test]
async fn derived_refs_and_odd_places_cannot_be_pushed_to() {
    let world = World::new().await;
    let clone = world.repo("derived").await;
    let number = world.pull(&clone, "topic", "main").await;
    let head = clone.git(&["rev-parse", "topic"]).await;
    let fetched = format!("refs/pull/{number}/head");
    clone.git(&["fetch", "-q", "origin", &fetched]).await;
    assert_eq!(clone.git(&["rev-parse", "FETCH_HEAD"]).await, head);
    for target in [fetched.as_str(), "refs/pull/99/head", "refs/odd/place"] {
        let text = refused(clone.try_git(&["push", "--force", "origin", &format!("main:{target}")]).await);
        assert!(text.contains("hidden ref"), "{target}: {text}");
    }
    world.finish().await;
}

#[tokio::test]
async fn an_archived_repository_takes_no_push() {
    let world = World::new().await;
    let clone = world.repo("old").await;
    world.octocat.patch("/repos/octocat/old", json!({ "archived": true })).await.expect(200);
    clone.commit_on("main", "main", &[("a.txt", "a")], "A").await;
    let text = refused(clone.try_git(&["push", "origin", "main"]).await);
    assert!(text.contains("archived"), "{text}");
    world.clone_of("octocat", "old").await;
    world.finish().await;
}

#[tokio::test]
async fn pushes_to_one_branch_at_the_same_time_leave_one_winner() {
    let world = World::new().await;
    let first = world.repo("race").await;
    let second = world.clone_of("octocat", "race").await;
    let a = first.commit_on("main", "main", &[("a.txt", "a")], "A").await;
    let b = second.commit_on("main", "main", &[("b.txt", "b")], "B").await;
    let (one, two) =
        tokio::join!(first.try_git(&["push", "origin", "main"]), second.try_git(&["push", "origin", "main"]));
    assert!(one.status.success() != two.status.success(), "both or neither of two rival pushes succeeded");
    let winner = if one.status.success() { a } else { b };
    let main = world.octocat.get("/repos/octocat/race/branches/main").await.expect(200).json;
    assert_eq!(main["commit"]["sha"], winner);
    world.finish().await;
}
