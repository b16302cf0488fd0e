//! What whoever runs the daemon asks of it.

use serde_json::json;

use super::{REPO, Trains};
use crate::support::KEY;

impl Trains {
    /// Asks the daemon for a full look at the repository.
    pub async fn look(&self) {
        let daemon = self.daemon();
        let url = format!("{}/api/v1/repos/{REPO}/sync", daemon.url);
        let request = daemon.http.post(url).bearer_auth(KEY).json(&json!({}));
        let answer = request.header("x-request-id", "look").send().await.expect("an answer");
        assert!(answer.status().is_success(), "{}", answer.status());
    }

    /// What `merge-train status` prints.
    pub async fn told_on_the_command_line(&self) -> String {
        self.printed(&["status"]).await
    }

    /// What `merge-train status OWNER/REPO` prints.
    pub async fn told_of_the_repository(&self) -> String {
        self.printed(&["status", REPO]).await
    }

    /// What `merge-train runs show` prints.
    pub async fn shown_on_the_command_line(&self, run: &str) -> String {
        self.printed(&["runs", "show", run]).await
    }

    async fn printed(&self, words: &[&str]) -> String {
        let mut command = self.world.setup.command(words);
        command.env("MERGE_TRAIN_SERVER", &self.daemon().url).env("MERGE_TRAIN_API_KEY", KEY);
        let output = command.output().await.expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }
}
