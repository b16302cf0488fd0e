//! A person's own clone: commits made with plain git, and the commands of a comment carried out as it gives them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use tokio::process::Command;

use super::{REPO, Trains};

/// A file with its new content; none: it is deleted.
pub type Change<'a> = (&'a str, Option<&'a str>);

/// A clone of the repository, in which somebody works.
pub struct Checkout(PathBuf);

impl Trains {
    /// A fresh clone, with the credentials of this person.
    pub async fn checkout(&self, who: &str) -> Checkout {
        let place = tempfile::tempdir_in(self.world.dir.path()).expect("a folder").keep();
        let base = self.world.described["git_url"].as_str().expect("an address");
        let url = base.replacen("://", &format!("://{who}:{}@", self.tokens[who]), 1);
        let checkout = Checkout(place);
        checkout.sh(&format!("git clone -q {url}/{REPO}.git .")).await;
        checkout.sh(&format!("git config user.name {who} && git config user.email {who}@users.localhost")).await;
        checkout
    }

    /// Carries out the commands that a comment gives, in a fresh clone of this person. Where git stops at a conflict, the
    /// files get these contents; none are given where there must be no conflict.
    pub async fn follow(&self, who: &str, comment: &str, resolved: &[Change<'_>]) {
        let checkout = self.checkout(who).await;
        let commands = commands_in(comment);
        assert!(!commands.is_empty(), "there are no commands in: {comment}");
        let mut is_resolved = false;
        for command in commands {
            let output = checkout.bash(&command).await;
            if output.status.success() {
                continue;
            }
            assert!(command.starts_with("git rebase") && !resolved.is_empty(), "{command}: {}", told(&output));
            checkout.write(resolved);
            checkout.sh("git add -A && GIT_EDITOR=true git rebase --continue").await;
            is_resolved = true;
        }
        assert_eq!(
            is_resolved,
            !resolved.is_empty(),
            "git stopped at a conflict, or did not, against what was expected"
        );
    }

    /// The default branch has these files and no others: those that it began with, and these changes.
    pub async fn expect_main(&self, changes: &[Change<'_>]) {
        let checkout = self.checkout(super::ADMIN).await;
        let mut expected = checkout.files(&self.origin).await;
        for (path, content) in changes {
            match content {
                Some(content) => expected.insert((*path).to_owned(), (*content).to_owned()),
                None => expected.remove(*path),
            };
        }
        let found = checkout.files(&format!("origin/{}", self.default_branch)).await;
        assert_eq!(found, expected, "the files on {}", self.default_branch);
    }

    /// GitHub's copy of a pull request's head, as git shows it, is set by hand.
    pub async fn set_pull_ref(&self, number: u64, commit: &str) {
        let repositories = self.world.dir.path().join("sim/repositories");
        let holds = |place: &PathBuf| place.join(format!("refs/pull/{number}/head")).exists();
        let all = std::fs::read_dir(&repositories).expect("a folder").map(|entry| entry.expect("an entry").path());
        let repository = all.into_iter().find(holds).expect("the repository of the pull request");
        Checkout(repository).sh(&format!("git update-ref refs/pull/{number}/head {commit}")).await;
    }
}

impl Checkout {
    /// A new branch upon what GitHub has of another one, with one commit, pushed.
    pub async fn branch(&self, branch: &str, base: &str, changes: &[Change<'_>]) {
        self.sh(&format!("git fetch -q origin && git checkout -q --no-track -B {branch} origin/{base}")).await;
        self.commit(&format!("Work on {branch}"), changes).await;
        self.sh(&format!("git push -q origin {branch}")).await;
    }

    /// One more commit upon what GitHub has of a branch, pushed.
    pub async fn push(&self, branch: &str, message: &str, changes: &[Change<'_>]) {
        self.sh(&format!("git fetch -q origin && git checkout -q --no-track -B {branch} origin/{branch}")).await;
        self.commit(message, changes).await;
        self.sh(&format!("git push -q origin {branch}")).await;
    }

    /// A commit on what is checked out.
    pub async fn commit(&self, message: &str, changes: &[Change<'_>]) {
        self.write(changes);
        self.sh(&format!("git add -A && git commit -q --allow-empty -m '{message}'")).await;
    }

    fn write(&self, changes: &[Change<'_>]) {
        for (path, content) in changes {
            match content {
                Some(content) => std::fs::write(self.0.join(path), content).expect("written"),
                None => std::fs::remove_file(self.0.join(path)).expect("removed"),
            }
        }
    }

    /// Runs commands that must succeed, and gives what they print.
    pub async fn sh(&self, script: &str) -> String {
        let output = self.bash(script).await;
        assert!(output.status.success(), "{script}: {}", told(&output));
        String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
    }

    /// Nothing of the machine's own configuration has a say.
    async fn bash(&self, script: &str) -> Output {
        let mut command = Command::new("bash");
        command.current_dir(&self.0).args(["-euo", "pipefail", "-c", script]);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        command.env("GIT_TERMINAL_PROMPT", "0").stdin(Stdio::null()).kill_on_drop(true);
        command.output().await.expect("bash runs")
    }

    /// All files of a commit.
    async fn files(&self, commit: &str) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        for path in self.sh(&format!("git ls-tree -r --name-only {commit}")).await.lines() {
            let output = self.bash(&format!("git show {commit}:{path}")).await;
            files.insert(path.to_owned(), String::from_utf8(output.stdout).expect("text"));
        }
        files
    }
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The lines of the blocks that are meant for a shell, without remarks.
fn commands_in(comment: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut is_inside = false;
    for line in comment.lines() {
        match line {
            "```sh" => is_inside = true,
            "```" => is_inside = false,
            line if is_inside && !line.starts_with('#') => {
                commands.push(line.strip_suffix(" &&").unwrap_or(line).to_owned());
            }
            _ => {}
        }
    }
    commands
}
