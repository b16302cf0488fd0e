//! The simulator's own API.

use serde_json::{Value, json};

use crate::support::{Receiver, World};

#[tokio::test]
async fn it_says_what_there_is_and_refuses_the_rest_as_json() {
    let world = World::new().await;
    let index = world.control("GET", "", Value::Null).await.expect(200).json;
    assert!(index.as_object().unwrap().keys().any(|call| call.contains("/_sim/faults")), "{index}");
    assert_eq!(world.control("GET", "/info", Value::Null).await.expect(200).json, world.running().description());
    assert!(world.control("GET", "/nowhere", Value::Null).await.expect(404).json["message"].is_string());
    assert!(world.control("PUT", "/settings", json!({})).await.expect(405).json["message"].is_string());
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let answer = client.patch(format!("{}/_sim/settings", world.url())).body("{nonsense").send().await.unwrap();
    assert_eq!(answer.status(), 400);
    assert!(answer.json::<Value>().await.unwrap()["message"].is_string());
    world.finish().await;
}

#[tokio::test]
async fn users_and_organizations_are_listed() {
    let world = World::new().await;
    let mona = world.user("mona").await;
    world.control("POST", "/orgs", json!({ "login": "acme", "admins": ["mona"] })).await.expect(201);
    let all = world.control("GET", "/users", Value::Null).await.expect(200).json;
    let find = |login: &str| all.as_array().unwrap().iter().find(|one| one["login"] == login).cloned().unwrap();
    assert_eq!(find("mona")["token"], mona.token.clone().unwrap());
    assert_eq!(find("acme")["members"], json!({ "mona": "admin" }));
    assert_eq!(find("octocat")["site_admin"], true);
    for bad in [
        json!({}),
        json!({ "login": "-x" }),
        json!({ "login": "a b" }),
        json!({ "login": "x", "role": "y" }),
        json!({ "login": "acme" }),
    ] {
        world.control("POST", "/users", bad.clone()).await.expect(422);
    }
    world.finish().await;
}

#[tokio::test]
async fn people_and_organizations_are_as_github_shows_them() {
    let world = World::new().await;
    let mona = world.user("mona").await;
    world
        .control("POST", "/orgs", json!({ "login": "acme", "admins": ["mona"], "members": ["octocat"] }))
        .await
        .expect(201);
    assert_eq!(mona.get("/user").await.expect(200).json["login"], "mona");
    world.anonymous().get("/user").await.expect(401);
    assert_eq!(mona.get("/users/octocat").await.expect(200).json["site_admin"], true);
    mona.get("/users/nobody").await.expect(404);
    assert_eq!(mona.get("/users/merge-train%5Bbot%5D").await.expect(200).json["type"], "Bot");
    assert_eq!(mona.get("/user/orgs").await.expect(200).json[0]["login"], "acme");
    assert_eq!(mona.get("/users/octocat/orgs").await.expect(200).json[0]["login"], "acme");
    assert_eq!(mona.get("/user/memberships/orgs").await.expect(200).json[0]["role"], "admin");
    assert_eq!(mona.get("/user/emails").await.expect(200).json[0]["verified"], true);
    assert_eq!(mona.get("/orgs/acme").await.expect(200).json["type"], "Organization");
    mona.get("/orgs/mona").await.expect(404);
    let members = |answer: Value| -> Vec<String> {
        answer.as_array().unwrap().iter().map(|one| one["login"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(members(mona.get("/orgs/acme/members").await.expect(200).json), ["octocat", "mona"]);
    assert_eq!(members(mona.get("/orgs/acme/members?role=admin").await.expect(200).json), ["mona"]);
    mona.get("/orgs/acme/members?role=boss").await.expect(422);
    mona.get("/orgs/acme/members/octocat").await.expect(204);
    mona.get("/orgs/acme/members/nobody").await.expect(404);
    let everyone = members(mona.get("/users").await.expect(200).json);
    assert_eq!(everyone, ["octocat", "mona", "acme"]);
    world.finish().await;
}

#[tokio::test]
async fn the_api_says_what_it_is() {
    let world = World::new().await;
    assert!(world.anonymous().get("/meta").await.expect(200).json["installed_version"].is_string());
    assert_eq!(
        world.anonymous().get("").await.expect(200).json["current_user_url"],
        format!("{}/user", world.octocat.base)
    );
    assert_eq!(world.anonymous().get("/versions").await.expect(200).json, json!(["2022-11-28"]));
    assert!(!world.anonymous().get("/zen").await.expect(200).text.is_empty());
    world.finish().await;
}

#[tokio::test]
async fn settings_are_changed_one_by_one() {
    let world = World::new().await;
    let before = world.control("GET", "/settings", Value::Null).await.expect(200).json;
    let after = world.control("PATCH", "/settings", json!({ "rate_limit": 7 })).await.expect(200).json;
    let mut wanted = before;
    wanted["rate_limit"] = 7.into();
    assert_eq!(after, wanted);
    let refused = world.control("PATCH", "/settings", json!({ "rate_limits": 7 })).await.expect(422);
    assert!(refused.text.contains("`rate_limits`") && refused.text.contains("graphql_rate_limit"), "{}", refused.text);
    world.control("PATCH", "/settings", json!({ "rate_limit": "many" })).await.expect(422);
    assert_eq!(world.control("GET", "/settings", Value::Null).await.expect(200).json, wanted);
    world.finish().await;
}

#[tokio::test]
async fn the_clock_goes_forward_only_and_stays_ahead_after_a_restart() {
    let mut world = World::new().await;
    let now = |answer: Value| answer["now"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let before = now(world.control("GET", "/clock", Value::Null).await.expect(200).json);
    let after = now(world.control("POST", "/clock", json!({ "advance_seconds": 86400 })).await.expect(200).json);
    assert!(after.duration_since(before).as_secs() >= 86_400);
    for (path, status) in [("/zen", 200), ("/nowhere", 404)] {
        let answer = world.anonymous().get(path).await.expect(status);
        let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(answer.header("date")).unwrap();
        assert!(date.as_second() >= after.as_second(), "what time it is there is told with every answer: {date}");
    }
    world.control("POST", "/clock", json!({ "advance_seconds": -1 })).await.expect(422);
    world.control("POST", "/clock", json!({ "advance_seconds": 1e300 })).await.expect(422);
    world.control("POST", "/clock", json!({})).await.expect(422);
    world.restart().await;
    assert!(now(world.control("GET", "/clock", Value::Null).await.expect(200).json) >= after);
    world.finish().await;
}

#[tokio::test]
async fn a_clock_that_is_stopped_moves_only_when_it_is_told_to() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let stopped_at: jiff::Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let options = github_sim::Options { stopped_at: Some(stopped_at), ..github_sim::Options::new(dir.path()) };
    let running = github_sim::start(options).await.expect("the simulator starts");
    let (http, clock) = (reqwest::Client::new(), format!("{}/_sim/clock", running.urls().web("")));
    let now = async |request: reqwest::RequestBuilder| {
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        answer["now"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap()
    };
    assert_eq!(now(http.get(&clock)).await, stopped_at);
    let later = stopped_at + jiff::SignedDuration::from_millis(1_500);
    assert_eq!(now(http.post(&clock).json(&json!({ "advance_seconds": 1.5 }))).await, later);
    assert_eq!(now(http.get(&clock)).await, later);
    running.stop().await;
}

#[tokio::test]
async fn webhooks_that_are_held_wait_to_be_taken_once_and_whole() {
    let world = World::new().await;
    world.control("POST", "/deliveries/take", Value::Null).await.expect(422);
    world.control("PATCH", "/settings", json!({ "hold_webhooks": true })).await.expect(200);
    world.control("PATCH", "/app", json!({ "webhook_url": "http://127.0.0.1:9/nobody" })).await.expect(200);
    world.repo("one").await;
    let head = world.octocat.get("/repos/octocat/one/git/ref/heads/main").await.expect(200).json;
    let sha = head["object"]["sha"].as_str().expect("a commit");
    let status = json!({ "state": "success", "context": "ci" });
    world.octocat.post(&format!("/repos/octocat/one/statuses/{sha}"), status).await.expect(201);
    let taken = world.control("POST", "/deliveries/take", Value::Null).await.expect(200).json;
    let taken = taken.as_array().expect("a list");
    let names: Vec<&str> = taken.iter().filter_map(|delivery| delivery["event"].as_str()).collect();
    assert!(names.contains(&"push") && names.last() == Some(&"status"), "{names:?}");
    let last = taken.last().expect("some");
    assert_eq!((&last["state"], &last["status"]), (&json!("done"), &json!("taken by hand")));
    assert_eq!(last["payload"]["branches"][0]["name"], "main");
    assert!(last["request_headers"]["X-Hub-Signature-256"].is_string());
    let again = world.control("POST", "/deliveries/take", Value::Null).await.expect(200).json;
    assert_eq!(again, json!([]));
    world.finish().await;
}

#[tokio::test]
async fn calls_are_counted_by_endpoint_and_repository() {
    let world = World::new().await;
    world.repo("one").await;
    let two = world.repo("two").await;
    world.control("DELETE", "/calls", Value::Null).await.expect(204);
    for name in ["one", "one", "two"] {
        world.octocat.get(&format!("/repos/octocat/{name}")).await.expect(200);
    }
    world.octocat.get("/user").await.expect(200);
    world.octocat.get("/repos/octocat/three").await.expect(404);
    let calls = json!({ "GET /repos/{owner}/{repo}": 4, "GET /user": 1 });
    let all = world.control("GET", "/calls", Value::Null).await.expect(200).json;
    assert_eq!(all, json!({ "total": 5, "calls": calls, "git": {} }));
    // What git asks for is no call of the API.
    two.git(&["fetch", "-q"]).await;
    let all = world.control("GET", "/calls", Value::Null).await.expect(200).json;
    assert_eq!((&all["total"], &all["calls"]), (&json!(5), &calls));
    assert!(all["git"]["GET /{owner}/{repo}.git/info/refs"].as_u64() > Some(0), "{all}");
    let one = world.control("GET", "/calls?repository=Octocat/one", Value::Null).await.expect(200).json;
    assert_eq!(one, json!({ "total": 2, "calls": { "GET /repos/{owner}/{repo}": 2 }, "git": {} }));
    world.control("GET", "/calls?repo=x", Value::Null).await.expect(422);
    world.control("DELETE", "/calls", Value::Null).await.expect(204);
    assert_eq!(world.control("GET", "/calls", Value::Null).await.expect(200).json["total"], 0);
    world.finish().await;
}

#[tokio::test]
async fn deliveries_are_shown_and_sent_again() {
    let world = World::new().await;
    world.repo("one").await;
    let receiver = Receiver::new().await;
    world.control("PATCH", "/app", json!({ "webhook_url": receiver.url })).await.expect(200);
    receiver.expect("ping").await;
    world.octocat.post("/repos/octocat/one/issues", json!({ "title": "Hear me" })).await.expect(201);
    let first = receiver.expect("issues.opened").await;
    let list = crate::support::eventually("it is done", || async {
        let list = world.control("GET", "/deliveries?event=issues.opened", Value::Null).await.expect(200).json;
        (list[0]["state"] == "done").then_some(list)
    })
    .await;
    assert_eq!((&list[0]["payload"], &list[0]["status"]), (&first.json, &json!("OK")));
    assert_eq!(list[0]["receiver"], json!({ "app": "merge-train" }));
    let path = format!("/deliveries/{}/redeliver", list[0]["id"]);
    world.control("POST", &path, json!({})).await.expect(202);
    assert_eq!(receiver.expect("issues.opened").await.delivery, first.delivery);
    world.control("POST", "/deliveries/1/redeliver", json!({})).await.expect(404);
    let none = world.control("GET", "/deliveries?event=push", Value::Null).await.expect(200).json;
    assert_eq!(none, json!([]));
    world.finish().await;
}

#[tokio::test]
async fn the_app_is_changed_and_its_installations_with_it() {
    let world = World::new().await;
    world.repo("one").await;
    let change = json!({ "webhook_secret": "s", "events": ["push"], "permissions": { "contents": "read" } });
    let changed = world.control("PATCH", "/app", change).await.expect(200).json;
    assert_eq!((&changed["webhook_secret"], &changed["events"]), (&json!("s"), &json!(["push"])));
    let installed = world.app().get("/repos/octocat/one/installation").await.expect(200).json;
    assert_eq!(installed["permissions"], json!({ "contents": "read" }));
    assert_eq!(world.control("GET", "/app", Value::Null).await.expect(200).json, changed);
    world.control("PATCH", "/app", json!({ "webhook_url": "nonsense" })).await.expect(422);
    world.control("PATCH", "/app", json!({ "webhook_url": "http://127.0.0.1:1/" })).await.expect(200);
    let none = world.control("PATCH", "/app", json!({ "webhook_url": "" })).await.expect(200).json;
    assert_eq!(none, changed);
    world.control("PATCH", "/app", json!({ "url": "http://x" })).await.expect(422);
    assert_eq!(world.control("GET", "/installations", Value::Null).await.expect(200).json.as_array().unwrap().len(), 1);
    for bad in [json!({ "app": "nobody", "account": "octocat" }), json!({ "app": "merge-train", "account": "nobody" })]
    {
        world.control("POST", "/installations", bad).await.expect(404);
    }
    world.control("DELETE", "/installations/1", Value::Null).await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn a_repository_gets_a_pre_receive_hook() {
    let world = World::new().await;
    world.repo("one").await;
    let change = json!({ "has_pre_receive_hook": true });
    let changed = world.control("PATCH", "/repos/octocat/one", change.clone()).await.expect(200).json;
    assert_eq!(changed["has_pre_receive_hook"], true);
    world.control("PATCH", "/repos/octocat/two", change).await.expect(404);
    world.control("PATCH", "/repos/octocat/one", json!({ "stars": 5 })).await.expect(422);
    world.finish().await;
}
