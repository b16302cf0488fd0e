//! The app, as itself and as its installation.

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

use super::{Client, World};

/// A token signed with the key, `lifetime_s` long from `issued_s` on, in seconds from the machine's clock.
pub fn app_token(issuer: &Value, pem: &str, issued_s: i64, lifetime_s: i64) -> String {
    let issued = jiff::Timestamp::now().as_second() + issued_s;
    let key = EncodingKey::from_rsa_pem(pem.as_bytes()).expect("an RSA key");
    let claims = json!({ "iss": issuer, "iat": issued, "exp": issued + lifetime_s });
    encode(&Header::new(Algorithm::RS256), &claims, &key).expect("a token")
}

impl World {
    /// The app as itself, by a token it has just signed.
    pub fn app(&self) -> Client {
        let app = &self.running().description()["app"];
        let path = app["private_key_path"].as_str().expect("a path");
        let pem = std::fs::read_to_string(path).expect("the app's key");
        self.with_token("merge-train[bot]", &app_token(&app["id"], &pem, -10, 300))
    }

    /// The secret that the app's webhooks are signed with.
    pub fn app_secret(&self) -> String {
        self.running().description()["app"]["webhook_secret"].as_str().expect("a secret").to_owned()
    }

    /// The app in a repository (`owner/name`), with all it may do there.
    pub async fn installation(&self, full_name: &str) -> Client {
        self.narrowed_installation(full_name, json!({})).await
    }

    /// The same with a token narrowed to `request`.
    pub async fn narrowed_installation(&self, full_name: &str, request: Value) -> Client {
        let path = format!("/app/installations/{}/access_tokens", self.installation_id(full_name).await);
        let answer = self.app().post(&path, request).await.expect(201);
        self.with_token("merge-train[bot]", answer.json["token"].as_str().expect("a token"))
    }

    pub async fn installation_id(&self, full_name: &str) -> u64 {
        let found = self.app().get(&format!("/repos/{full_name}/installation")).await.expect(200);
        found.json["id"].as_u64().expect("an id")
    }
}
