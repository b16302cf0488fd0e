//! A real clone, worked in with the real git.

use std::path::PathBuf;
use std::process::Output;

use test_support::programs;
use tokio::process::Command;

use super::Client;

pub struct Clone {
    dir: tempfile::TempDir,
    owner: String,
    name: String,
}

impl Clone {
    pub async fn new(web_url: &str, client: &Client, owner: &str, name: &str) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let clone = Self { dir, owner: owner.into(), name: name.into() };
        let token = client.token.as_deref().expect("a token");
        let url = format!("{web_url}/{owner}/{name}.git").replace("://", &format!("://{}:{token}@", client.login));
        clone.git(&["clone", "--quiet", &url, "."]).await;
        clone.git(&["config", "user.name", &client.login]).await;
        clone.git(&["config", "user.email", &format!("{}@example.com", client.login)]).await;
        clone
    }

    pub fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    /// Runs git; it must succeed. What it printed, without the line end.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> impl Future<Output = String> {
        let (shown, run) = (args.join(" "), self.try_git(args));
        async move {
            let output = run.await;
            assert!(output.status.success(), "git {shown}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
        }
    }

    pub fn try_git(&self, args: &[&str]) -> impl Future<Output = Output> + use<> {
        let mut command = Command::from(programs::isolated("git", self.dir.path()));
        command.args(args);
        async move { command.output().await.expect("git starts") }
    }

    /// A commit on `branch`, which starts at `origin/{base}` if it is new. The commit's SHA.
    pub async fn commit_on(&self, branch: &str, base: &str, files: &[(&str, &str)], message: &str) -> String {
        if !self.try_git(&["checkout", "--quiet", branch]).await.status.success() {
            self.git(&["fetch", "--quiet", "origin"]).await;
            self.git(&["checkout", "--quiet", "-b", branch, &format!("origin/{base}")]).await;
        }
        for (path, content) in files {
            let path = self.dir.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, content).expect("a file");
        }
        self.git(&["add", "--all"]).await;
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]).await;
        self.git(&["rev-parse", "HEAD"]).await
    }

    pub async fn push(&self, branch: &str) {
        self.git(&["push", "--quiet", "origin", &format!("{branch}:{branch}")]).await;
    }
}
