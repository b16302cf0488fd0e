//! The dashboard as a browser asks for it: who gets in, what is done in whose name, and that nothing of others is more than text.

use parking_lot::Mutex;
use reqwest::{Method, StatusCode, header};
use serde_json::json;

use crate::support::{KEY, REPO, World, eventually};

const HOSTILE: &str = "<script>alert(1)</script><img src=x onerror=alert(2)>";

/// A browser without a window: it keeps its cookie, and follows nowhere by itself.
struct Browser {
    http: reqwest::Client,
    url: String,
    cookie: Mutex<Option<String>>,
}

struct Shown {
    status: StatusCode,
    location: Option<String>,
    policy: Option<String>,
    text: String,
}

impl Browser {
    fn at(url: &str) -> Self {
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build();
        Self { http: http.expect("a client"), url: url.to_owned(), cookie: Mutex::default() }
    }

    async fn send(&self, method: Method, path: &str, form: Option<&[(&str, &str)]>) -> Shown {
        let mut request = self.http.request(method, format!("{}{path}", self.url)).header("accept", "text/html");
        if let Some(cookie) = &*self.cookie.lock() {
            request = request.header(header::COOKIE, cookie);
        }
        if let Some(form) = form {
            let body = serde_urlencoded::to_string(form).expect("a form");
            request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded").body(body);
        }
        let response = request.send().await.expect("an answer");
        let text = |name: header::HeaderName| response.headers().get(name)?.to_str().ok().map(str::to_owned);
        if let Some(cookie) = text(header::SET_COOKIE) {
            assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
            *self.cookie.lock() = cookie.split(';').next().map(str::to_owned);
        }
        let (location, policy) = (text(header::LOCATION), text(header::CONTENT_SECURITY_POLICY));
        Shown { status: response.status(), location, policy, text: response.text().await.expect("text") }
    }

    async fn get(&self, path: &str) -> Shown {
        self.send(Method::GET, path, None).await
    }

    async fn sign_in(&self, key: &str) -> Shown {
        self.send(Method::POST, "/sign-in", Some(&[("key", key), ("to", "/runs")])).await
    }

    /// The token that a page was sent with.
    async fn token(&self) -> String {
        let page = self.get("/").await.text;
        let (_, rest) = page.split_once("name=\"csrf-token\" content=\"").expect("a token");
        rest.split('"').next().expect("an end").to_owned()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_who_has_a_key_gets_in_and_nothing_is_done_without_the_token_of_a_page() {
    let (world, daemon) = World::new().await;
    let squash_only = json!({ "allow_squash_merge": true, "allow_merge_commit": false, "allow_rebase_merge": false });
    world.call(Method::PATCH, &format!("/repos/{REPO}"), squash_only).await;
    let pr = world.open_pull("one", "main").await;
    eventually("it is known", || async { daemon.state(REPO).await["prs"][pr.to_string()].as_object().map(drop) }).await;
    let browser = Browser::at(&daemon.url);

    let turned_away = browser.get("/runs?status=failed").await;
    assert_eq!(turned_away.status, StatusCode::SEE_OTHER);
    assert_eq!(turned_away.location.as_deref(), Some("/sign-in?to=%2Fruns%3Fstatus%3Dfailed"));
    assert_eq!(browser.sign_in("no such key").await.status, StatusCode::UNAUTHORIZED);
    assert!(browser.cookie.lock().is_none());
    let welcome = browser.sign_in(KEY).await;
    assert_eq!((welcome.status, welcome.location.as_deref()), (StatusCode::SEE_OTHER, Some("/runs")));

    let train = format!("/repos/{REPO}/trains/{pr}");
    for path in ["/", "/runs", &train, &format!("/repos/{REPO}/workspaces/{pr}"), "/insights", "/system"] {
        let page = browser.get(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.text);
        let policy = page.policy.expect("a policy");
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    }
    for nowhere in ["/nowhere", "/runs/none", &format!("/repos/{REPO}/trains/99"), "/repos/no/where/trains/1"] {
        let page = browser.get(nowhere).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{nowhere}");
        assert!(page.text.contains("<h1>Not Found</h1>"), "{nowhere}: {}", page.text);
    }

    // With the cookie alone nothing is asked of the API, and no form of another site does anything.
    assert_eq!(browser.get("/api/v1/runs").await.status, StatusCode::UNAUTHORIZED);
    let number = pr.to_string();
    let order =
        |token| [("token", token), ("order", "start_train"), ("repo", REPO), ("pr", &*number), ("back", &*train)];
    let refused = browser.send(Method::POST, "/orders", Some(&order("forged"))).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert!(refused.text.contains("nothing was done"), "{}", refused.text);
    let token = browser.token().await;
    for (order, is_on) in [("ratchet_on", true), ("ratchet_off", false)] {
        let switch = [("token", &*token), ("order", order), ("repo", REPO), ("pr", &*number), ("back", "/")];
        let turned = browser.send(Method::POST, "/orders", Some(&switch)).await;
        assert_eq!(turned.status, StatusCode::SEE_OTHER, "{}", turned.text);
        let (_, workspace) = daemon.get(&format!("/api/v1/workspaces/{REPO}/{pr}")).await;
        assert_eq!(workspace["ratchetEnabled"], is_on, "{workspace}");
    }
    let taken = browser.send(Method::POST, "/orders", Some(&order(&token))).await;
    assert_eq!((taken.status, taken.location.as_deref()), (StatusCode::SEE_OTHER, Some(&*train)), "{}", taken.text);
    eventually("it lands, and is shown so", || async {
        browser.get(&train).await.text.contains("landed</span>").then_some(())
    })
    .await;
    let pull = world.call(Method::GET, &format!("/repos/{REPO}/pulls/{pr}"), json!(null)).await;
    assert_eq!(pull["merged"], true);

    let leaves = browser.send(Method::POST, "/sign-out", Some(&[("token", &token)])).await;
    assert_eq!(leaves.status, StatusCode::SEE_OTHER);
    assert_eq!(browser.get("/").await.status, StatusCode::SEE_OTHER);
    assert!(daemon.stop().await.success());
    world.sim.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_wrote_is_text() {
    let (world, daemon) = World::new().await;
    let branch = "x<script>alert(3)</script>";
    let pr = world.open_pull(branch, "main").await;
    let title = json!({ "title": HOSTILE });
    world.call(Method::PATCH, &format!("/repos/{REPO}/pulls/{pr}"), title).await;
    world.comment(pr, "@merge-train ratchet on").await;
    let browser = Browser::at(&daemon.url);
    browser.sign_in(KEY).await;
    let pages = ["/".to_owned(), format!("/repos/{REPO}/trains/{pr}"), format!("/repos/{REPO}/workspaces/{pr}")];
    let workspace = &pages[2];
    eventually("it is known", || async {
        let page = browser.get(workspace).await;
        page.text.contains("&lt;script&gt;alert(1)&lt;/script&gt;").then_some(())
    })
    .await;
    for path in &pages {
        let page = browser.get(path).await;
        assert_eq!(page.status, StatusCode::OK);
        for markup in ["<script>alert", "<img"] {
            assert!(!page.text.contains(markup), "{path} has {markup}");
        }
    }
    assert!(daemon.stop().await.success());
    world.sim.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_of_github_for_others_is_shown_to_nobody_else() {
    let (world, daemon) = World::new().await;
    let pr = world.open_pull("one", "main").await;
    eventually("it is known", || async { daemon.state(REPO).await["prs"][pr.to_string()].as_object().map(drop) }).await;
    let (everybody, stranger) = (Browser::at(&daemon.url), Browser::at(&daemon.url));
    everybody.sign_in(KEY).await;
    stranger.sign_in(&format!("{KEY} stranger")).await;
    for path in ["/insights", "/system"] {
        let page = everybody.get(path).await.text;
        assert!(page.contains("installation ") && page.contains("<meter"), "{path}: {page}");
        let page = stranger.get(path).await;
        assert_eq!(page.status, StatusCode::OK);
        for secret in ["installation ", "<meter", REPO] {
            assert!(!page.text.contains(secret), "{path} has {secret}: {}", page.text);
        }
        assert!(page.text.contains("a key for all tenants"), "{path}: {}", page.text);
    }
    assert!(daemon.stop().await.success());
    world.sim.stop().await;
}
