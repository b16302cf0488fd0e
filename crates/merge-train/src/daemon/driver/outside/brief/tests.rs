//! On the simulator: what failed and what is wanted, as a fixer is told of it.

use github::{Auth, Client, Config, Repo, Secret};
use serde_json::{Value, json};

use super::*;

const REPO: &str = "/repos/octocat/hello";

struct World {
    sim: github_sim::Running,
    _dir: tempfile::TempDir,
    repo: Repo,
    api: String,
    token: String,
}

impl World {
    /// A pull request of octocat's that adds `a.txt`.
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let options = github_sim::Options { seed: Some(7), ..github_sim::Options::new(dir.path()) };
        let sim = github_sim::start(options).await.unwrap();
        let described = sim.description();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let app = &described["app"];
        let key = std::fs::read_to_string(text(&app["private_key_path"])).unwrap();
        let auth =
            Auth::App { app_id: app["id"].as_u64().unwrap(), private_key_pem: Secret::new(key), installation_id: None };
        let mut config = Config::new(auth);
        config.api_url = text(&described["api_url"]);
        config.graphql_url = text(&described["graphql_url"]);
        config.limits.retries = 0;
        let repo = Client::new(&config).unwrap().repo(&"octocat/hello".parse().unwrap());
        let (api, token) = (config.api_url, text(&described["users"][0]["token"]));
        let world = Self { sim, _dir: dir, repo, api, token };
        world.post("/user/repos", json!({ "name": "hello", "auto_init": true })).await;
        let main = world.call("GET", &format!("{REPO}/git/ref/heads/main"), Value::Null).await;
        let branch = json!({ "ref": "refs/heads/count", "sha": main["object"]["sha"] });
        world.post(&format!("{REPO}/git/refs"), branch).await;
        let file = json!({ "message": "Count", "content": "b25lCg==", "branch": "count" });
        world.call("PUT", &format!("{REPO}/contents/a.txt"), file).await;
        world.post(&format!("{REPO}/pulls"), json!({ "title": "Count", "head": "count", "base": "main" })).await;
        world
    }

    async fn send(&self, method: &str, url: String, token: &str, body: Value) -> Value {
        let request = reqwest::Client::new().request(method.parse().unwrap(), &url).bearer_auth(token).json(&body);
        let response = request.header("user-agent", "test").send().await.unwrap();
        let (status, text) = (response.status(), response.text().await.unwrap());
        assert!(status.is_success(), "{url}: {status} {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    async fn call(&self, method: &str, path: &str, body: Value) -> Value {
        self.send(method, format!("{}{path}", self.api), &self.token, body).await
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        self.call("POST", path, body).await
    }

    async fn control(&self, path: &str, body: Value) -> Value {
        self.send("POST", self.sim.urls().web(format!("/_sim{path}")), "", body).await
    }

    async fn check(&self, body: Value) -> Value {
        self.control(&format!("{REPO}/checks"), body).await
    }

    async fn ask(&self) -> BriefRequest {
        let pull = self.repo.pull(PrNumber::new(1)).await.unwrap().facts;
        BriefRequest {
            issue: FixIssue::FixCi,
            repo: self.repo.id().clone(),
            pr: pull.number,
            branch: pull.head_ref,
            base: pull.base_ref,
            head: pull.head_sha,
            conflicts: false,
            handled: BTreeMap::new(),
        }
    }

    async fn gathered(&self) -> FixerBrief {
        gather(&self.repo, &self.ask().await).await.unwrap()
    }
}

#[tokio::test]
async fn what_failed_is_told_with_its_annotations_and_the_end_of_its_log() {
    let world = World::new().await;
    let log: String = (0..4000).map(|line| format!("line {line}\n")).collect();
    let annotation =
        |level: &str, line: u64| json!({ "path": "a.txt", "line": line, "annotation_level": level, "message": "no" });
    let notices = (1..=60).map(|line| annotation("notice", line));
    world
        .check(json!({ "pull": 1, "name": "test", "conclusion": "failure", "title": "1 failed", "summary": "counts",
            "log": log, "annotations": notices.chain([annotation("failure", 99)]).collect::<Vec<_>>() }))
        .await;
    world.check(json!({ "pull": 1, "name": "lint", "conclusion": "success" })).await;
    let head = world.ask().await.head;
    let status =
        json!({ "context": "ci/old", "state": "error", "description": "It broke", "target_url": "https://ci/1" });
    world.post(&format!("{REPO}/statuses/{head}"), status).await;
    let passed = json!({ "context": "ci/fine", "state": "success" });
    world.post(&format!("{REPO}/statuses/{head}"), passed).await;
    let brief = world.gathered().await;
    assert_eq!((brief.title.as_str(), brief.branch.as_str(), brief.base.as_str()), ("Count", "count", "main"));
    let [test, old] = brief.checks.as_slice() else { panic!("{:?}", brief.checks) };
    assert_eq!((test.name.as_str(), test.conclusion.as_str()), ("test", "failure"));
    assert_eq!((test.title.as_deref(), test.summary.as_deref()), (Some("1 failed"), Some("counts")));
    assert_eq!((test.annotations.len(), test.annotations[0].line), (50, 99), "the worst comes first");
    let log = test.log.as_ref().expect("a log");
    assert!(log.truncated && log.text.len() <= 16 << 10 && log.text.starts_with("line "), "{}", log.text);
    assert!(log.text.ends_with("line 3999\n"));
    assert_eq!((old.name.as_str(), old.conclusion.as_str(), &old.log), ("ci/old", "error", &None));
    assert_eq!((old.title.as_deref(), old.url.as_deref()), (Some("It broke"), Some("https://ci/1")));
    world.sim.stop().await;
}

#[tokio::test]
async fn a_log_that_is_not_there_is_left_out_and_one_that_cannot_be_read_now_is_waited_for() {
    let world = World::new().await;
    world.check(json!({ "pull": 1, "name": "test", "conclusion": "timed_out", "log": "x" })).await;
    for (status, told) in [(404, true), (410, true), (403, true), (502, false)] {
        let path = json!({ "path": "/repos/*/actions/jobs/*/logs" });
        let fault = json!({ "kind": "status", "status": status, "message": "Not accessible", "match": path });
        world.control("/faults", fault).await;
        match gather(&world.repo, &world.ask().await).await {
            Ok(brief) => assert!(told && brief.checks[0].log.is_none(), "{status}"),
            Err(error) => assert!(!told && error.class() == Class::Transient, "{status} {error}"),
        }
    }
    assert_eq!(world.gathered().await.checks[0].log.as_ref().map(|log| log.text.as_str()), Some("x"));
    world.sim.stop().await;
}

#[tokio::test]
async fn what_was_dealt_with_is_told_again_only_if_something_was_said_since() {
    let world = World::new().await;
    let mut ask = world.ask().await;
    let comment = json!({ "body": "why?", "commit_id": ask.head, "path": "a.txt", "line": 1 });
    let comment = world.post(&format!("{REPO}/pulls/1/comments"), comment).await;
    let mona = world.control("/users", json!({ "login": "mona" })).await["token"].as_str().unwrap().to_owned();
    let url = format!("{}{REPO}/pulls/1/reviews", world.api);
    world.send("POST", url, &mona, json!({ "event": "COMMENT", "body": "Add a test." })).await;
    let brief = gather(&world.repo, &ask).await.unwrap();
    let [thread] = brief.threads.as_slice() else { panic!("{brief:?}") };
    assert_eq!((thread.path.as_str(), thread.line, thread.outdated), ("a.txt", Some(1), false));
    assert_eq!((thread.said[0].by.as_str(), thread.said[0].body.as_str()), ("octocat", "why?"));
    assert_eq!((brief.reviews[0].by.as_str(), brief.reviews[0].body.as_str()), ("mona", "Add a test."));
    let talk = world.repo.talk(&[ask.pr]).await.unwrap().remove(0).1;
    let points = talk.detail.expect("a close look").points;
    assert_eq!(points.len(), 2);
    ask.handled = points.into_iter().map(|point| (point.id, point.said_at)).collect();
    let brief = gather(&world.repo, &ask).await.unwrap();
    assert!(brief.threads.is_empty() && brief.reviews.is_empty(), "{brief:?}");
    world.control("/clock", json!({ "advance_seconds": 1 })).await;
    let edited = format!("{REPO}/pulls/comments/{}", comment["id"]);
    world.call("PATCH", &edited, json!({ "body": "why not?" })).await;
    let brief = gather(&world.repo, &ask).await.unwrap();
    assert_eq!((brief.threads.len(), brief.threads[0].said[0].body.as_str(), brief.reviews.len()), (1, "why not?", 0));
    world.sim.stop().await;
}

#[tokio::test]
async fn a_thread_whose_line_was_changed_since_is_told_with_the_line_it_was_at() {
    let world = World::new().await;
    let head = world.ask().await.head;
    let comment = json!({ "body": "why?", "commit_id": head, "path": "a.txt", "line": 1 });
    world.post(&format!("{REPO}/pulls/1/comments"), comment).await;
    let file = world.call("GET", &format!("{REPO}/contents/a.txt?ref=count"), Value::Null).await;
    let edit = json!({ "message": "Shout", "content": "T05FCg==", "branch": "count", "sha": file["sha"] });
    world.call("PUT", &format!("{REPO}/contents/a.txt"), edit).await;
    let brief = world.gathered().await;
    let [thread] = brief.threads.as_slice() else { panic!("{brief:?}") };
    assert_eq!((thread.path.as_str(), thread.line, thread.outdated), ("a.txt", Some(1), true));
    world.sim.stop().await;
}
