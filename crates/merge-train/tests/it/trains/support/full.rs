//! A disk that fills up, and is emptied again, while the daemon works on it.

use std::path::PathBuf;

use tokio::process::Command;

use super::Trains;
use crate::support::PATIENCE;

impl Trains {
    /// A daemon on the same state that goes on where a file cannot grow. A limit on the size of files is a full disk that
    /// needs no disk: writes fail in the same places, those of git as well.
    pub async fn restart_to_survive_a_full_disk(&mut self) {
        self.kill().await;
        let daemon = self.world.setup.clone().through(&["sh", "-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).start().await;
        self.world.aim_at(&daemon).await;
        self.daemon = Some(daemon);
    }

    /// Not a byte more can be written.
    pub async fn fill_disk(&self) {
        self.limit_files("1").await;
    }

    pub async fn empty_disk(&self) {
        self.limit_files("unlimited").await;
    }

    async fn limit_files(&self, bytes: &str) {
        let (pid, limit) = (self.daemon().pid().to_string(), format!("--fsize={bytes}:unlimited"));
        let done = Command::new("prlimit").args(["--pid", &pid, &limit]).status().await.expect("prlimit runs");
        assert!(done.success());
    }

    /// Waits until the repository's worker has failed so often.
    pub async fn failed(&self, times: usize) {
        self.until("the worker fails", async || {
            let log = self.daemon().log();
            (log.matches("the worker begins anew").count() >= times).then_some(())
        })
        .await;
    }

    /// Whether the daemon says that it can do its work, and what keeps it from that.
    pub async fn readiness(&self) -> (u16, String) {
        let (status, body) = self.daemon().get("/readyz").await;
        (status, body["detail"].as_str().unwrap_or_default().to_owned())
    }

    /// A new daemon goes on, and what the old ones logged as errors belonged to the test.
    pub async fn restart_after_errors(&mut self) {
        self.kill().await;
        assert!(self.old_logs.contains(r#""level":"ERROR""#), "the log says what went wrong");
        self.old_logs.clear();
        self.restart().await;
    }

    /// What a daemon says that does not start.
    pub async fn refused(&self) -> String {
        let output = tokio::time::timeout(PATIENCE, self.world.setup.command(&["serve"]).output()).await;
        let output = output.expect("it does not stay").expect("it runs");
        assert!(!output.status.success(), "it starts");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// The daemon's database.
    pub fn database(&self) -> PathBuf {
        self.world.setup.state_dir().join("merge-train.sqlite")
    }

    /// How often a pull request was squashed, as the daemon's log on disk says.
    pub async fn squashes(&self, pr: u64) -> usize {
        let squashed = self.events("squash_committed").await;
        squashed.iter().filter(|event| event["pr"] == pr).count()
    }
}
