//! The app, as itself and as its installation.

use serde_json::json;

use super::{Client, World};

impl World {
    /// The app as itself, by a token it has just signed.
    pub fn app(&self) -> Client {
        let description = self.running().description();
        let key = std::fs::read(description["app"]["private_key_path"].as_str().expect("a path")).expect("the key");
        let now = jiff::Timestamp::now().as_second();
        let claims = json!({ "iat": now - 10, "exp": now + 300, "iss": description["app"]["id"].to_string() });
        let header = jsonwebtoken::Header::new(jsonwebtoken::Algorithm::RS256);
        let key = jsonwebtoken::EncodingKey::from_rsa_pem(&key).expect("an RSA key");
        let token = jsonwebtoken::encode(&header, &claims, &key).expect("a signature");
        self.with_token("merge-train[bot]", &token)
    }

    /// The app in a repository (`owner/name`), with all it may do there.
    pub async fn installation(&self, full_name: &str) -> Client {
        let app = self.app();
        let found = app.get(&format!("/repos/{full_name}/installation")).await.expect(200);
        let path = format!("/app/installations/{}/access_tokens", found.json["id"]);
        let answer = app.post(&path, json!({})).await.expect(201);
        self.with_token("merge-train[bot]", answer.json["token"].as_str().expect("a token"))
    }
}
