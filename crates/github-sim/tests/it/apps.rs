//! Apps: who they are, where they are installed, what their tokens are worth, how a new one is made.

use serde_json::{Value, json};

use crate::support::{Receiver, World, app_token, eventually};

fn key_of(world: &World) -> (Value, String) {
    let app = &world.running().description()["app"];
    let pem = std::fs::read_to_string(app["private_key_path"].as_str().expect("a path")).expect("the key");
    (app["id"].clone(), pem)
}

#[tokio::test]
async fn an_app_is_known_by_the_key_that_signs_its_token() {
    let world = World::new().await;
    let (id, pem) = key_of(&world);
    let shown = world.app().get("/app").await.expect(200).json;
    assert_eq!((&shown["id"], &shown["slug"]), (&id, &json!("merge-train")));
    assert_eq!(world.anonymous().get("/apps/merge-train").await.expect(200).json["id"], id);
    world.anonymous().get("/apps/nobody").await.expect(404);
    let by_client_id = app_token(&shown["client_id"], &pem, 0, 60);
    world.with_token("", &by_client_id).get("/app").await.expect(200);

    let (other_id, other_pem) = key_of(&World::new().await);
    for (why, token) in [
        ("expired", app_token(&id, &pem, -700, 600)),
        ("too long", app_token(&id, &pem, 0, 1200)),
        ("from the future", app_token(&id, &pem, 300, 300)),
        ("another's key", app_token(&id, &other_pem, 0, 60)),
        ("nonsense", "a.b.c".to_owned()),
    ] {
        let answer = world.with_token("", &token).get("/app").await;
        assert_eq!(answer.status, 401, "{why}: {}", answer.text);
    }
    assert_eq!(other_id, id, "the same seed makes the same app");
    world.octocat.get("/app").await.expect(401);
    world.anonymous().get("/app").await.expect(401);
    world.app().get("/user").await.expect(403);
    world.finish().await;
}

#[tokio::test]
async fn installations_are_found_by_whatever_they_cover() {
    let world = World::new().await;
    world.repo("one").await;
    let app = world.app();
    let all = app.get("/app/installations").await.expect(200).json;
    assert_eq!(all.as_array().unwrap().len(), 1);
    let id = &all[0]["id"];
    assert_eq!((&all[0]["account"]["login"], &all[0]["target_type"]), (&json!("octocat"), &json!("User")));
    for path in ["/repos/octocat/one/installation", "/users/octocat/installation"] {
        assert_eq!(&app.get(path).await.expect(200).json["id"], id, "{path}");
    }
    assert_eq!(&app.get(&format!("/app/installations/{id}")).await.expect(200).json["id"], id);
    for path in [
        "/repos/octocat/two/installation",
        "/users/nobody/installation",
        "/orgs/octocat/installation",
        "/app/installations/1",
    ] {
        app.get(path).await.expect(404);
    }
    world.octocat.get("/app/installations").await.expect(401);
    let mine = world.octocat.get("/user/installations").await.expect(200).json;
    assert_eq!((&mine["total_count"], &mine["installations"][0]["id"]), (&json!(1), id));
    let path = format!("/user/installations/{id}/repositories");
    assert_eq!(world.octocat.get(&path).await.expect(200).json["repositories"][0]["name"], "one");
    let stranger = world.user("stranger").await;
    assert_eq!(stranger.get("/user/installations").await.expect(200).json["total_count"], 0);
    stranger.get(&path).await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn an_installation_token_lives_for_an_hour() {
    let world = World::new().await;
    world.repo("one").await;
    let bot = world.installation("octocat/one").await;
    let listed = bot.get("/installation/repositories").await.expect(200).json;
    assert_eq!((&listed["total_count"], &listed["repository_selection"]), (&json!(1), &json!("all")));
    let comment = bot.post("/repos/octocat/one/issues", json!({ "title": "From the app" })).await.expect(201).json;
    assert_eq!((&comment["user"]["login"], &comment["user"]["type"]), (&json!("merge-train[bot]"), &json!("Bot")));
    bot.get("/user").await.expect(403);
    world.control("POST", "/clock", json!({ "advance_seconds": 3590 })).await.expect(200);
    bot.get("/installation/repositories").await.expect(200);
    world.control("POST", "/clock", json!({ "advance_seconds": 11 })).await.expect(200);
    bot.get("/installation/repositories").await.expect(401);
    world.finish().await;
}

#[tokio::test]
async fn a_token_can_be_given_back() {
    let world = World::new().await;
    world.repo("one").await;
    let (bot, other) = (world.installation("octocat/one").await, world.installation("octocat/one").await);
    bot.delete("/installation/token").await.expect(204);
    bot.get("/installation/repositories").await.expect(401);
    other.get("/installation/repositories").await.expect(200);
    world.octocat.delete("/installation/token").await.expect(403);
    world.octocat.get("/installation/repositories").await.expect(403);
    world.finish().await;
}

#[tokio::test]
async fn a_narrowed_token_reaches_no_further() {
    let world = World::new().await;
    world.repo("one").await;
    world.repo("two").await;
    world.octocat.patch("/repos/octocat/two", json!({ "private": true })).await.expect(200);
    let id = world.octocat.get("/repos/octocat/one").await.expect(200).json["id"].clone();
    let narrow = json!({ "repositories": ["one"], "permissions": { "issues": "read", "contents": "read" } });
    let path = format!("/app/installations/{}/access_tokens", world.installation_id("octocat/one").await);
    let made = world.app().post(&path, narrow).await.expect(201).json;
    assert_eq!(made["permissions"], json!({ "contents": "read", "issues": "read", "metadata": "read" }));
    assert_eq!((&made["repository_selection"], &made["repositories"][0]["id"]), (&json!("selected"), &id));
    assert!(made["token"].as_str().unwrap().starts_with("ghs_"));
    let bot = world.with_token("merge-train[bot]", made["token"].as_str().unwrap());
    bot.get("/repos/octocat/one").await.expect(200);
    bot.get("/repos/octocat/two").await.expect(404);
    let refused = bot.post("/repos/octocat/one/issues", json!({ "title": "No" })).await.expect(403);
    assert_eq!(refused.json["message"], "Resource not accessible by integration");

    for (request, message) in [
        (json!({ "permissions": { "administration": "write" } }), "not granted to this installation"),
        (json!({ "permissions": { "packages": "read" } }), "not granted to this installation"),
        (json!({ "permissions": { "issues": "all" } }), "not a permission level"),
        (json!({ "repositories": ["three"] }), "does not exist or is not accessible"),
        (json!({ "repository_ids": [1] }), "does not exist or is not accessible"),
    ] {
        let answer = world.app().post(&path, request.clone()).await.expect(422);
        assert!(answer.text.contains(message), "{request}: {}", answer.text);
    }
    world.app().post(&path, json!({ "repository_ids": [id] })).await.expect(201);
    world.octocat.post(&path, json!({})).await.expect(401);
    world.finish().await;
}

#[tokio::test]
async fn a_suspended_installation_is_worth_nothing_until_it_is_not() {
    let world = World::new().await;
    world.repo("one").await;
    let receiver = Receiver::new().await;
    world.control("PATCH", "/app", json!({ "webhook_url": receiver.url })).await.expect(200);
    let bot = world.installation("octocat/one").await;
    let path = format!("/app/installations/{}", world.installation_id("octocat/one").await);
    let suspended = format!("{path}/suspended");
    world.app().put(&suspended, json!({})).await.expect(204);
    let told = receiver.expect("installation.suspend").await;
    assert_eq!(told.json["installation"]["suspended_by"]["login"], "octocat");
    assert!(world.app().get(&path).await.expect(200).json["suspended_at"].is_string());
    bot.get("/installation/repositories").await.expect(403);
    world.app().post(&format!("{path}/access_tokens"), json!({})).await.expect(403);
    world.octocat.post("/repos/octocat/one/issues", json!({ "title": "Unheard" })).await.expect(201);
    world.app().delete(&suspended).await.expect(204);
    receiver.expect("installation.unsuspend").await;
    bot.get("/installation/repositories").await.expect(200);

    world.app().delete(&path).await.expect(204);
    receiver.expect("installation.deleted").await;
    world.app().get(&path).await.expect(404);
    bot.get("/installation/repositories").await.expect(401);
    let names: Vec<String> = receiver.all().iter().map(crate::support::Webhook::name).collect();
    assert_eq!(names, ["ping"]);
    world.finish().await;
}

#[tokio::test]
async fn an_app_sees_and_changes_its_own_webhook() {
    let world = World::new().await;
    world.repo("one").await;
    let (receiver, app) = (Receiver::new().await, world.app());
    let changed = app.patch("/app/hook/config", json!({ "url": receiver.url, "secret": "new" })).await.expect(200).json;
    assert_eq!((&changed["url"], &changed["secret"]), (&json!(receiver.url), &json!("********")));
    assert_eq!(app.get("/app/hook/config").await.expect(200).json, changed);
    app.patch("/app/hook/config", json!({ "url": "nonsense" })).await.expect(422);
    world.octocat.post("/repos/octocat/one/issues", json!({ "title": "Hear me" })).await.expect(201);
    let first = receiver.expect("issues.opened").await;
    assert_eq!(first.headers["x-github-hook-installation-target-type"], "integration");
    let list = eventually("it is listed", || async {
        let list = app.get("/app/hook/deliveries").await.expect(200).json;
        (list.as_array().unwrap().len() == 1).then_some(list)
    })
    .await;
    assert_eq!(list[0]["installation_id"], world.installation_id("octocat/one").await);
    let one = format!("/app/hook/deliveries/{}", list[0]["id"]);
    assert_eq!(app.get(&one).await.expect(200).json["request"]["payload"], first.json);
    app.post(&format!("{one}/attempts"), json!({})).await.expect(202);
    assert_eq!(receiver.expect("issues.opened").await.delivery, first.delivery);
    world.octocat.get("/app/hook/config").await.expect(401);
    world.octocat.get("/app/hook/deliveries").await.expect(401);
    world.finish().await;
}

fn manifest(receiver: &Receiver) -> Value {
    json!({
        "name": "Landing Bot",
        "url": "https://bot.example.com",
        "hook_attributes": { "url": receiver.url },
        "redirect_url": "https://bot.example.com/made?x=1",
        "default_permissions": { "issues": "write" },
        "default_events": ["issues"],
    })
}

#[tokio::test]
async fn an_app_is_made_from_a_manifest_and_installed() {
    let world = World::new().await;
    world.repo("one").await;
    world.repo("two").await;
    let receiver = Receiver::new().await;
    let code = world.control("POST", "/app-manifests", json!({ "manifest": manifest(&receiver) })).await.expect(201);
    let conversion = format!("/app-manifests/{}/conversions", code.json["code"].as_str().unwrap());
    let made = world.anonymous().post(&conversion, json!({})).await.expect(201).json;
    assert_eq!((&made["slug"], &made["owner"]["login"]), (&json!("landing-bot"), &json!("octocat")));
    assert!(made["client_secret"].is_string() && made["webhook_secret"].is_string());
    receiver.expect("ping").await;
    world.anonymous().post(&conversion, json!({})).await.expect(404);

    let app = world.with_token("", &app_token(&made["id"], made["pem"].as_str().unwrap(), 0, 60));
    assert_eq!(app.get("/app").await.expect(200).json["permissions"], json!({ "issues": "write", "metadata": "read" }));
    let install = json!({ "app": "landing-bot", "account": "octocat", "repositories": ["one"] });
    let id = world.control("POST", "/installations", install.clone()).await.expect(201).json["id"].clone();
    world.control("POST", "/installations", install).await.expect(422);
    let told = receiver.expect("installation.created").await;
    assert_eq!(told.json["repositories"].as_array().unwrap().len(), 1);
    app.get("/repos/octocat/two/installation").await.expect(404);
    let token = app.post(&format!("/app/installations/{id}/access_tokens"), json!({})).await.expect(201).json;
    let bot = world.with_token("", token["token"].as_str().unwrap());
    let issue = bot.post("/repos/octocat/one/issues", json!({ "title": "I land" })).await.expect(201).json;
    assert_eq!(issue["user"]["login"], "landing-bot[bot]");
    assert_eq!(receiver.expect("issues.opened").await.json["installation"]["id"], id);
    bot.post("/repos/octocat/two/issues", json!({ "title": "Not here" })).await.expect(403);

    world.control("PATCH", &format!("/installations/{id}"), json!({ "repositories": ["two"] })).await.expect(200);
    let added = receiver.expect("installation_repositories.added").await;
    assert_eq!(added.json["repositories_added"][0]["name"], "two");
    receiver.expect("installation_repositories.removed").await;
    bot.post("/repos/octocat/two/issues", json!({ "title": "Here" })).await.expect(201);
    world.control("DELETE", &format!("/installations/{id}"), Value::Null).await.expect(204);
    receiver.expect("installation.deleted").await;
    world.finish().await;
}

#[tokio::test]
async fn a_manifest_s_code_is_good_for_an_hour() {
    let world = World::new().await;
    let receiver = Receiver::new().await;
    let body = json!({ "manifest": manifest(&receiver) });
    let code = world.control("POST", "/app-manifests", body).await.expect(201).json["code"].clone();
    world.control("POST", "/clock", json!({ "advance_seconds": 3601 })).await.expect(200);
    let conversion = format!("/app-manifests/{}/conversions", code.as_str().unwrap());
    world.anonymous().post(&conversion, json!({})).await.expect(404);
    for bad in [
        json!({}),
        json!({ "name": "x" }),
        json!({ "name": "!", "url": "https://x.example" }),
        json!({ "name": "merge train", "url": "https://x.example" }),
    ] {
        world.control("POST", "/app-manifests", json!({ "manifest": bad })).await.expect(422);
    }
    world.finish().await;
}

#[tokio::test]
async fn a_person_agrees_to_a_manifest_in_the_browser() {
    let world = World::new().await;
    let receiver = Receiver::new().await;
    let browser =
        reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().expect("a client");
    let url = format!("{}/settings/apps/new?state=abc", world.url());
    let text = manifest(&receiver).to_string();
    let post = async |fields: &[(&str, &str)]| {
        let body = serde_urlencoded::to_string(fields).unwrap();
        let request = browser.post(&url).header("content-type", "application/x-www-form-urlencoded").body(body);
        request.send().await.expect("an answer")
    };
    let page = post(&[("manifest", &text)]).await;
    assert_eq!(page.status(), 200);
    let page = page.text().await.unwrap();
    assert!(page.contains("Landing Bot") && page.contains("issues: write"), "{page}");
    let agreed = post(&[("manifest", &text), ("agreed", "yes"), ("name", "Landing Bot 2"), ("owner", "octocat")]).await;
    assert_eq!(agreed.status(), 303);
    let back = reqwest::Url::parse(agreed.headers()["location"].to_str().unwrap()).unwrap();
    let query: std::collections::HashMap<_, _> = back.query_pairs().into_owned().collect();
    assert_eq!((query["x"].as_str(), query["state"].as_str()), ("1", "abc"));
    let conversion = format!("/app-manifests/{}/conversions", query["code"]);
    assert_eq!(world.anonymous().post(&conversion, json!({})).await.expect(201).json["slug"], "landing-bot-2");
    assert_eq!(post(&[("manifest", "nonsense")]).await.status(), 422);
    world.finish().await;
}
