//! The clones and the signing key, looked after by a daemon that has just started.

use std::fs::FileTimes;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use git::repository::{Extent, Repository, Settings};
use git::{Committer, Git, Remote, Signing};
use merge_train_core::ids::{PrNumber, RepoId};
use tokio_util::sync::CancellationToken;

use crate::support::{Daemon, Setup, eventually};

const REPO: &str = "acme/widgets";

/// State in which the train of #5 is under way.
pub async fn with_train(setup: &Setup, dir: &Path) {
    let stream = dir.join("export").join(REPO);
    std::fs::create_dir_all(&stream).expect("a folder");
    let started = r#"{"seq":1,"ts":"2026-01-01T00:00:00Z","type":"train_started","root_pr":5,"current_pr":5}"#;
    std::fs::write(stream.join("generation"), "0").expect("written");
    std::fs::write(stream.join("events.0.log"), format!("{started}\n")).expect("written");
    let export = dir.join("export");
    let output = setup.command(&["state", "import", export.to_str().expect("a name")]).output().await.expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A clone with a worktree for each of these stacks.
pub async fn with_worktrees(setup: &Setup, stacks: &[u64]) -> Vec<PathBuf> {
    let git = Git::find("git").await.expect("git");
    let committer = Committer { name: "x".into(), email: "x@localhost".into(), signing: Signing::Off };
    let settings = Settings { base: setup.clones(), extent: Extent::Full, committer };
    let repo: RepoId = REPO.parse().expect("a name");
    let remote = Remote::folder(&setup.clones().join("nowhere")).expect("a path");
    let clone = Repository::open(git, &settings, &repo, remote).await.expect("a clone");
    let mut paths = Vec::new();
    for number in stacks {
        let root = PrNumber::new(*number);
        clone.stack(root, CancellationToken::new()).await.expect("a stack");
        paths.push(clone.worktrees().for_stack(root).await.expect("a worktree"));
    }
    paths
}

async fn ready(daemon: &Daemon) {
    eventually("it is ready", || async { (daemon.get("/readyz").await.0 == 200).then_some(()) }).await;
}

pub fn last_changed(path: &Path, ago: Duration) {
    let folder = std::fs::File::open(path).expect("a folder");
    folder.set_times(FileTimes::new().set_modified(SystemTime::now() - ago)).expect("a time");
}

#[tokio::test(flavor = "multi_thread")]
async fn old_worktrees_of_no_train_are_gone_after_a_start_and_the_others_stay() {
    const HOUR: Duration = Duration::from_secs(60 * 60);
    let dir = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(dir.path());
    with_train(&setup, dir.path()).await;
    let paths = with_worktrees(&setup, &[5, 6, 7]).await;
    let [active, orphan, young] = paths.as_slice() else { panic!("{paths:?}") };
    last_changed(active, 48 * HOUR);
    last_changed(orphan, 48 * HOUR);
    last_changed(young, 2 * HOUR);

    let daemon = setup.start().await;
    let clone = setup.clones().join("acme-widgets/clone");
    eventually("the clone is tidied", || async { clone.join("collected").exists().then_some(()) }).await;
    assert!(!orphan.exists(), "{}", daemon.log());
    assert!(active.join(".git").exists() && young.join(".git").exists(), "{}", daemon.log());
    ready(&daemon).await;
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clone_that_cannot_be_looked_after_is_told_and_keeps_nobody_from_starting() {
    let dir = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(dir.path());
    with_train(&setup, dir.path()).await;
    with_worktrees(&setup, &[5]).await;
    let refs = setup.clones().join("acme-widgets/clone/packed-refs");
    std::fs::write(refs, "no refs at all\n").expect("written");
    let daemon = setup.start().await;
    eventually("the trouble is told", || async {
        let log = daemon.log();
        log.lines().any(|line| line.contains("could not be looked after") && line.contains(REPO)).then_some(())
    })
    .await;
    ready(&daemon).await;
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_cannot_sign_is_told_and_webhooks_are_taken_in_all_the_same() {
    let dir = tempfile::tempdir().expect("a folder");
    let daemon = Setup::new(dir.path()).signing("ssh_key_path = \"no-key\"").start().await;
    eventually("the trouble is told", || async {
        let log = daemon.log();
        log.lines().any(|line| line.contains("commits cannot be signed") && line.contains("no-key")).then_some(())
    })
    .await;
    ready(&daemon).await;
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_without_a_git_that_can_merge_does_not_start() {
    let dir = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(dir.path());
    let started = async |path: &Path| {
        let output = setup.command(&["serve"]).env("PATH", path).output().await.expect("it runs");
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).expect("a folder");
    let told = started(&empty).await;
    assert!(told.contains("does not work without git") && told.contains("is it installed and on the PATH?"), "{told}");
    let old = crate::support::fake_git(dir.path(), "2.37.1");
    let told = started(&old).await;
    assert!(told.contains("git 2.37.1 is too old; merge-train needs git 2.39 or newer"), "{told}");
}
