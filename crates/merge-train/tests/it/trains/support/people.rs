//! What people do on GitHub.

use reqwest::Method;
use serde_json::{Value, json};
use test_support::api::Client;

use super::{REPO, Trains};

/// Owns the repository.
pub const ADMIN: &str = "octocat";
/// Opens the pull requests, and may push.
pub const AUTHOR: &str = "author";
/// May push, and approves.
pub const REVIEWER: &str = "reviewer";
pub const MAINTAINER: &str = "maintainer";
/// May read, as everybody may.
pub const STRANGER: &str = "stranger";

impl Trains {
    /// Brings the people in.
    pub(super) async fn invite(&mut self) {
        self.tokens.insert(ADMIN, self.world.token().to_owned());
        for (login, permission) in
            [(AUTHOR, Some("push")), (REVIEWER, Some("push")), (MAINTAINER, Some("maintain")), (STRANGER, None)]
        {
            let made = self.control(Method::POST, "/users", json!({ "login": login })).await;
            self.tokens.insert(login, made["token"].as_str().expect("a token").to_owned());
            if let Some(permission) = permission {
                self.set_permission(login, permission).await;
            }
        }
    }

    pub async fn set_permission(&self, login: &str, permission: &str) {
        let path = format!("/collaborators/{login}");
        self.call(ADMIN, Method::PUT, &path, json!({ "permission": permission })).await;
    }

    /// The answer to a request about the repository; a refusal fails the test.
    pub async fn call(&self, who: &str, method: Method, path: &str, body: Value) -> Value {
        let (status, answer) = self.ask(who, method.clone(), path, body).await;
        assert!((200..300).contains(&status), "{who}: {method} {path}: {status} {answer}");
        answer
    }

    pub async fn ask(&self, who: &str, method: Method, path: &str, body: Value) -> (u16, Value) {
        let person = Client::first_user(self.http.clone(), &self.world.described).with_token(who, &self.tokens[who]);
        let path = if path.starts_with("/repos/") { path.to_owned() } else { format!("/repos/{REPO}{path}") };
        let answer = person.send(method.as_str(), &path, Some(body).filter(|body| !body.is_null())).await;
        (answer.status, answer.json)
    }

    pub async fn get(&self, path: &str) -> Value {
        self.call(ADMIN, Method::GET, path, Value::Null).await
    }

    /// Comments on a pull request or an issue, and the number of the comment.
    pub async fn says(&self, who: &str, number: u64, text: &str) -> u64 {
        let path = format!("/issues/{number}/comments");
        self.call(who, Method::POST, &path, json!({ "body": text })).await["id"].as_u64().expect("an id")
    }

    pub async fn edits(&self, who: &str, comment: u64, text: &str) {
        self.call(who, Method::PATCH, &format!("/issues/comments/{comment}"), json!({ "body": text })).await;
    }

    pub async fn deletes(&self, who: &str, comment: u64) {
        self.call(who, Method::DELETE, &format!("/issues/comments/{comment}"), Value::Null).await;
    }

    /// The author declares what a pull request stands on.
    pub async fn declares(&self, pr: u64, predecessor: u64) -> u64 {
        self.says(AUTHOR, pr, &format!("@merge-train predecessor #{predecessor}")).await
    }

    pub async fn start(&self, pr: u64) -> u64 {
        self.says(AUTHOR, pr, "@merge-train start").await
    }

    /// Starts a train that had ended, and waits until it is under way again.
    pub async fn start_again(&self, pr: u64) {
        self.start(pr).await;
        self.until(&format!("the train of #{pr} is under way again"), async || {
            let train = self.train(pr).await;
            (train["state"] != "aborted" && train["state"] != "stopped").then_some(())
        })
        .await;
    }

    pub async fn stop(&self, pr: u64) -> u64 {
        self.says(AUTHOR, pr, "@merge-train stop").await
    }

    pub async fn approve(&self, pr: u64) -> u64 {
        self.review(pr, "APPROVE").await
    }

    /// `APPROVE`, `REQUEST_CHANGES` or `COMMENT`.
    pub async fn review(&self, pr: u64, event: &str) -> u64 {
        let review = json!({ "event": event, "body": "Seen." });
        let made = self.call(REVIEWER, Method::POST, &format!("/pulls/{pr}/reviews"), review).await;
        made["id"].as_u64().expect("an id")
    }

    pub async fn dismiss(&self, pr: u64, review: u64) {
        let path = format!("/pulls/{pr}/reviews/{review}/dismissals");
        self.call(ADMIN, Method::PUT, &path, json!({ "message": "Not so fast." })).await;
    }

    pub async fn close(&self, pr: u64) {
        self.change(pr, json!({ "state": "closed" })).await;
    }

    pub async fn reopen(&self, pr: u64) {
        self.change(pr, json!({ "state": "open" })).await;
    }

    pub async fn retarget(&self, pr: u64, base: &str) {
        self.change(pr, json!({ "base": base })).await;
    }

    async fn change(&self, pr: u64, change: Value) {
        self.call(AUTHOR, Method::PATCH, &format!("/pulls/{pr}"), change).await;
    }

    /// Somebody lands a pull request past the train.
    pub async fn merge_by_hand(&self, pr: u64, method: &str) {
        self.call(ADMIN, Method::PUT, &format!("/pulls/{pr}/merge"), json!({ "merge_method": method })).await;
    }

    pub async fn ready(&self, pr: u64) {
        self.mutate(pr, "markPullRequestReadyForReview").await;
    }

    pub async fn draft(&self, pr: u64) {
        self.mutate(pr, "convertPullRequestToDraft").await;
    }

    async fn mutate(&self, pr: u64, mutation: &str) {
        let id = self.get(&format!("/pulls/{pr}")).await["node_id"].clone();
        let query =
            format!("mutation($id: ID!) {{ {mutation}(input: {{ pullRequestId: $id }}) {{ clientMutationId }} }}");
        let author = self.world.owner().with_token(AUTHOR, &self.tokens[AUTHOR]);
        author.graphql(&query, json!({ "id": id })).await;
    }
}
