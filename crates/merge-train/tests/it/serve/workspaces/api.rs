//! Reading workspaces, and turning the ratchet on and off.

use reqwest::Method;
use serde_json::{Value, json};

use super::{MENDS, Shop, at, name, stranger, viewer};
use crate::support::{KEY, REPO, eventually, http};

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_that_the_ratchet_never_had_to_do_with_is_shown_as_what_it_is() {
    let shop = Shop::new("", MENDS).await;
    let pr = shop.pull("one", "good").await;
    let shown = shop.workspace(pr).await;
    let url = shop.world.described["git_url"].as_str().expect("an address");
    for (member, expected) in [
        ("id", json!(name(pr))),
        ("repo", json!(REPO)),
        ("pr", json!(pr)),
        ("prUrl", json!(format!("{url}/{REPO}/pull/{pr}"))),
        ("branch", json!("one")),
        ("ratchetEnabled", json!(false)),
        ("state", json!("PAUSED_DISABLED")),
        ("reason", json!("DISABLED")),
        ("outcomeKind", Value::Null),
        ("kanbanColumn", json!("WAITING")),
        ("counters", json!({ "consecutiveAttempts": 0, "maxAttempts": 3 })),
        ("activeSessionId", Value::Null),
        ("archivedAt", Value::Null),
    ] {
        assert_eq!(shown[member], expected, "{member}: {shown:#}");
    }
    assert_eq!(shop.get("/workspaces").await, (200, json!({ "workspaces": [], "next_cursor": null })));
    let nothing = json!({ "transitions": [], "next_cursor": null });
    assert_eq!(shop.get(&format!("{}/transitions", at(pr))).await, (200, nothing));
    assert_eq!(shop.get(&format!("{}/sessions", at(pr))).await.1["sessions"], json!([]));

    let path = format!("/repos/{REPO}/pulls/{pr}");
    shop.world.call(Method::PATCH, &path, json!({ "state": "closed" })).await;
    let closed = shop.becomes(pr, "PAUSED_PR_NOT_OPEN").await;
    assert_eq!((&closed["kanbanColumn"], closed["archivedAt"].is_null()), (&json!("DONE"), false), "{closed:#}");
    let (status, refused) = shop.put(&format!("{}/ratchet", at(pr)), json!({ "enabled": true })).await;
    assert_eq!((status, refused["detail"].as_str()), (409, Some(&*format!("#{pr} is not open."))), "{refused}");
    shop.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_switch_of_a_pull_request_is_turned_and_what_comes_of_it_is_shown() {
    let shop = Shop::new("", MENDS).await;
    let (one, two) = (shop.pull("one", "good").await, shop.pull("two", "good").await);
    let shown = shop.turn(one, true).await;
    assert_eq!((&shown["ratchetEnabled"], &shown["id"]), (&json!(true), &json!(name(one))), "{shown:#}");
    let done = shop.becomes(one, "PAUSED_DONE").await;
    assert_eq!((&done["outcomeKind"], &done["reason"]), (&json!("SUCCESS"), &json!("ALL_GREEN")), "{done:#}");
    eventually("the heartbeat has looked", || async {
        let later = shop.workspace(one).await;
        (later["lastCheckedAt"].as_str() > done["lastCheckedAt"].as_str()).then_some(())
    })
    .await;
    let (status, posted) =
        shop.post(&format!("{}/ratchet", at(two)), json!({ "enabled": true, "note": "for the tests" })).await;
    assert_eq!((status, &posted["ratchetEnabled"]), (200, &json!(true)), "{posted}");
    let (_, state) = shop.get(&format!("/repos/{REPO}/state?events=1000")).await;
    let events = state["recent_events"].as_array().expect("a list");
    let toggled = events.iter().find(|event| event["type"] == "ratchet_toggled" && event["pr"] == two).expect("it");
    assert_eq!((&toggled["by"], &toggled["reason"]), (&json!("api:all"), &json!("for the tests")), "{toggled}");
    shop.becomes(two, "PAUSED_DONE").await;

    let list = async |query: &str| -> Vec<u64> {
        let (status, page) = shop.get(&format!("/workspaces{query}")).await;
        assert_eq!(status, 200, "{query}: {page}");
        page["workspaces"].as_array().expect("a list").iter().map(|it| it["pr"].as_u64().expect("a number")).collect()
    };
    assert_eq!(list("").await, [one, two]);
    assert_eq!(list("?repo=OctoCat/Hello&state=PAUSED_DONE&column=WAITING&attention=false").await, [one, two]);
    for query in ["?repo=octocat/other", "?state=FIXING_CI", "?column=WORKING", "?attention=true"] {
        assert_eq!(list(query).await, [] as [u64; 0], "{query}");
    }
    let (_, first) = shop.get("/workspaces?limit=1").await;
    let cursor = first["next_cursor"].as_str().expect("there is more");
    assert_eq!(list(&format!("?limit=1&cursor={cursor}")).await, [two]);
    for query in ["?state=ASLEEP", "?limit=0", "?limit=201", "?cursor=nonsense", "?column=done", "?colour=red"] {
        assert_eq!(shop.get(&format!("/workspaces{query}")).await.0, 400, "{query}");
    }

    let off = shop.turn(one, false).await;
    assert_eq!(off["ratchetEnabled"], false, "{off:#}");
    shop.becomes(one, "PAUSED_DISABLED").await;
    let (_, page) = shop.get(&format!("{}/transitions?limit=200", at(one))).await;
    let all = page["transitions"].as_array().expect("a list").clone();
    assert_eq!(all[0]["action"], "PAUSE", "the newest comes first: {page:#}");
    assert!(all[0]["reason"].as_str().is_some_and(|why| why.starts_with("DISABLED (PAUSED_DISABLED): ")), "{page:#}");
    assert!(all.iter().all(|it| it["uiMessage"].is_string() && it["createdAt"].is_string()), "{page:#}");
    assert!(all.iter().all(|it| it["workspaceId"] == format!("{REPO}#{one}")), "{page:#}");
    assert_eq!((&all[0]["state"], &all[0]["outcomeKind"]), (&json!("PAUSED_DISABLED"), &Value::Null), "{page:#}");
    let done = all.iter().find(|it| it["state"] == "PAUSED_DONE").expect("it was done");
    assert_eq!(done["outcomeKind"], "SUCCESS", "{page:#}");
    assert!(all.iter().any(|it| it["snapshot"].is_object()), "{page:#}");
    let (mut paged, mut cursor) = (Vec::new(), String::new());
    loop {
        let (_, page) = shop.get(&format!("{}/transitions?limit=1{cursor}", at(one))).await;
        paged.extend(page["transitions"].as_array().expect("a list").iter().cloned());
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(paged, all);
    shop.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_or_does_not_know_how_is_told_so() {
    let shop = Shop::new("", MENDS).await;
    let pr = shop.pull("one", "good").await;
    let (ratchet, repo) = (format!("{}/ratchet", at(pr)), format!("/repos/{REPO}/ratchet"));
    let (open, sessions) = (json!({}), format!("{}/sessions", at(pr)));
    let on = json!({ "enabled": true });
    for (method, path, body) in [
        (Method::PUT, ratchet.clone(), on.clone()),
        (Method::POST, ratchet.clone(), on.clone()),
        (Method::PUT, repo.clone(), on.clone()),
        (Method::POST, sessions.clone(), open.clone()),
        (Method::POST, format!("{sessions}/s/heartbeat"), open.clone()),
        (Method::POST, format!("{sessions}/s/end"), open.clone()),
        (Method::DELETE, format!("{sessions}/s"), Value::Null),
    ] {
        let (status, told) = shop.ask(method.clone(), &path, &viewer(), body.clone()).await;
        assert_eq!((status, &told["code"]), (403, &json!("FORBIDDEN")), "{method} {path}: {told}");
        assert_eq!(shop.ask(method.clone(), &path, &stranger(), body.clone()).await.0, 404, "{method} {path}");
        assert_eq!(shop.ask(method.clone(), &path, "no key", body).await.0, 401, "{method} {path}");
    }
    for path in [at(pr), format!("{}/transitions", at(pr)), sessions.clone(), repo.clone()] {
        assert_eq!(shop.ask(Method::GET, &path, &viewer(), Value::Null).await.0, 200, "{path}");
        assert_eq!(shop.ask(Method::GET, &path, &stranger(), Value::Null).await.0, 404, "{path}");
    }
    shop.turn(pr, true).await;
    let (status, none) = shop.ask(Method::GET, "/workspaces", &stranger(), Value::Null).await;
    assert_eq!((status, &none["workspaces"]), (200, &json!([])), "another's are not there");

    for body in [json!({}), json!({ "enabled": "yes" }), json!({ "enabled": true, "why": "so" }), json!([true])] {
        assert_eq!(shop.put(&ratchet, body.clone()).await.0, 400, "{body}");
        assert_eq!(shop.put(&repo, body.clone()).await.0, 400, "{body}");
    }
    for path in [at(99), format!("{}/transitions", at(99)), format!("{}/sessions", at(99))] {
        let (status, told) = shop.get(&path).await;
        assert_eq!((status, &told["code"]), (404, &json!("NOT_FOUND")), "{path}: {told}");
        assert!(told["detail"].as_str().is_some_and(|detail| detail.contains("/sync")), "{told}");
    }
    assert_eq!(shop.put(&format!("{}/ratchet", at(99)), on.clone()).await.0, 404);
    assert_eq!(shop.post(&format!("{}/sessions", at(99)), open).await.0, 404);
    for path in ["/workspaces/octocat/nowhere/1", "/repos/octocat/nowhere/ratchet"] {
        assert_eq!(shop.get(path).await.0, 404, "{path}");
    }
    assert_eq!(shop.get(&format!("/workspaces/{REPO}/seven")).await.0, 400);
    assert_eq!(shop.put("/repos/octocat/nowhere/ratchet", on).await.0, 404);
    shop.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_request_is_taken_in_once() {
    let shop = Shop::new("", MENDS).await;
    let pr = shop.pull("one", "good").await;
    let send = async |enabled: bool| {
        let request = http().put(format!("{}/api/v1{}/ratchet", shop.daemon.url, at(pr))).bearer_auth(KEY);
        let request = request.header("x-idempotency-key", "once").json(&json!({ "enabled": enabled }));
        let response = request.send().await.expect("an answer");
        let is_repeated = response.headers().get("idempotent-replayed").is_some();
        (response.status().as_u16(), is_repeated)
    };
    assert_eq!(send(true).await, (200, false));
    assert_eq!(send(true).await, (200, true));
    assert_eq!(send(false).await.0, 409);
    assert_eq!(shop.workspace(pr).await["ratchetEnabled"], true);
    shop.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_default_of_a_repository_counts_for_those_that_say_nothing_else() {
    let shop = Shop::new("", MENDS).await;
    let (one, two) = (shop.pull("one", "good").await, shop.pull("two", "good").await);
    shop.turn(one, false).await;
    let path = format!("/repos/{REPO}/ratchet");
    let told = |enabled: bool, set_by: &str| (200, json!({ "repo": REPO, "enabled": enabled, "setBy": set_by }));
    assert_eq!(shop.get(&path).await, told(false, "config"));
    assert_eq!(shop.put(&path, json!({ "enabled": true })).await, told(true, "repository"));
    assert_eq!(shop.get(&path).await, told(true, "repository"));
    assert_eq!(shop.becomes(two, "PAUSED_DONE").await["ratchetEnabled"], true);
    assert_eq!(shop.workspace(one).await["ratchetEnabled"], false, "it says otherwise");
    assert_eq!(shop.put(&path, json!({ "enabled": false })).await, told(false, "repository"));
    shop.becomes(two, "PAUSED_DISABLED").await;
    shop.close().await;
}
