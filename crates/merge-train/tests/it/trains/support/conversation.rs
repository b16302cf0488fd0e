//! What people and the bot said to each other, as a reader of the pull requests sees it.

use std::fmt::Write;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::Trains;
use super::look::is_status;

/// What differs from run to run, and what stands in its place.
static VARYING: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let pairs = [
        (r"\n*<!-- merge-train-note [^>]* -->", ""),
        (r"\b[0-9a-f]{40}\b", "SHA"),
        (r"`[0-9a-f]{10}`", "`SHA`"),
        (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
        (r"\b\d{4}-\d\d-\d\d \d\d:\d\d UTC", "TIME"),
        (r#""recovery_seq": \d+"#, r#""recovery_seq": SEQ"#),
        (r"in comment #\d+", "in comment #COMMENT"),
        (r"127\.0\.0\.1:\d+", "HOST"),
        (r"\b(run|train)-[0-9a-f]{24}\b", "RUN"),
    ];
    pairs.map(|(pattern, instead)| (Regex::new(pattern).expect("a pattern"), instead)).into()
});

/// A text of the bot without what differs from run to run.
pub fn normalised(text: &str) -> String {
    VARYING.iter().fold(text.to_owned(), |text, (pattern, instead)| pattern.replace_all(&text, *instead).into_owned())
}

impl Trains {
    /// All conversations, with the bot's reactions.
    pub(super) async fn conversations(&self) -> String {
        let mut told = String::new();
        let all = self.get("/issues?state=all&sort=created&direction=asc&per_page=100").await;
        for issue in all.as_array().expect("a list") {
            let number = issue["number"].as_u64().expect("a number");
            let comments = self.comments(number).await;
            if comments.is_empty() {
                continue;
            }
            writeln!(told, "════ #{number} {}", self.standing(issue).await).expect("a string takes it");
            // The status comment is written when its time comes, before or after what else is said.
            let (status, others): (Vec<Value>, Vec<Value>) = comments.into_iter().partition(|comment| {
                comment["user"]["type"] == "Bot" && is_status(comment["body"].as_str().expect("a body"))
            });
            for comment in status.iter().chain(&others) {
                told.push_str(&self.said(comment).await);
            }
        }
        told
    }

    async fn standing(&self, issue: &Value) -> String {
        let number = issue["number"].as_u64().expect("a number");
        if issue.get("pull_request").is_none() {
            return "(an issue)".to_owned();
        }
        let pull = self.pull(number).await;
        let base = pull["base"]["ref"].as_str().expect("a branch");
        let state = if pull["merged"] == true { "merged" } else { pull["state"].as_str().expect("a state") };
        format!("({state}, on {base})")
    }

    async fn said(&self, comment: &Value) -> String {
        let body = normalised(comment["body"].as_str().expect("a body"));
        if comment["user"]["type"] == "Bot" {
            return format!("──── bot:\n{body}\n");
        }
        let given = self.reactions(comment["id"].as_u64().expect("an id")).await;
        let given = if given.is_empty() { String::new() } else { format!("   [{}]", given.join(", ")) };
        format!("──── {}: {body}{given}\n", comment["user"]["login"].as_str().expect("a login"))
    }
}
