//! Who the daemon is to GitHub.

use reqwest::Method;
use serde_json::{Value, json};

use super::{ADMIN, Trains};

impl Trains {
    /// From its next start on, the daemon is another app, with an account of its own.
    pub async fn become_another_app(&mut self, name: &str) {
        assert!(self.daemon.is_none(), "the daemon is not running");
        let old = self.control(Method::GET, "/app", Value::Null).await;
        let manifest = json!({
            "name": name, "url": "https://example.com",
            "default_permissions": old["permissions"], "default_events": old["events"],
        });
        let code = self.control(Method::POST, "/app-manifests", json!({ "manifest": manifest })).await["code"].clone();
        let path = format!("/app-manifests/{}/conversions", code.as_str().expect("a code"));
        let app = self.world.call(Method::POST, &path, Value::Null).await;
        let slug = app["slug"].as_str().expect("a name");
        self.control(Method::POST, "/installations", json!({ "app": slug, "account": ADMIN })).await;
        let key = self.world.dir.path().join("other-key.pem");
        std::fs::write(&key, app["pem"].as_str().expect("a key")).expect("written");
        let described = &self.world.described;
        let github = format!(
            "[github]\napi_url = {}\ngraphql_url = {}\ngit_url = {}\napp_id = {}\nprivate_key_path = {key:?}\n",
            described["api_url"], described["graphql_url"], described["git_url"], app["id"]
        );
        self.world.setup = self.world.setup.clone().github(github);
        self.bot = format!("{slug}[bot]");
    }
}
