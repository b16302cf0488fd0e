//! The worktrees of stacks: what each scenario of the specification leaves behind.

mod corruption;
mod fan_out;
mod sweep;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use git::worktree::{Name, Worktrees};
use git::{Error, Git, Oid};
use merge_train_core::ids::PrNumber;
use tempfile::TempDir;

use crate::{plain, support};

fn pr(number: u64) -> PrNumber {
    PrNumber::new(number)
}

/// A repository's folder with its bare clone.
struct Base {
    folder: TempDir,
    worktrees: Worktrees,
}

impl Base {
    async fn new() -> Self {
        Self::of_git(Path::new("git")).await
    }

    async fn of_git(program: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("clone")).unwrap();
        plain::git(&folder.path().join("clone"), &["init", "-q", "--bare"]);
        let worktrees = Worktrees::open(folder.path(), Git::find(program).await.unwrap());
        Self { folder, worktrees }
    }

    fn clone(&self) -> PathBuf {
        self.folder.path().join("clone")
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.path().join("worktrees").join(format!("stack-{number}"))
    }

    fn admin(&self, number: u64) -> PathBuf {
        self.clone().join("worktrees").join(format!("stack-{number}"))
    }

    /// A commit with one file; nothing leads to it.
    fn commit(&self, text: &str, parents: &[&Oid]) -> Oid {
        let file = self.folder.path().join("content");
        fs::write(&file, text).unwrap();
        let blob = plain::git(&self.clone(), &["hash-object", "-w", file.to_str().unwrap()]);
        let index = self.folder.path().join("index");
        let git = |args: &[&str]| {
            let output = plain::run("git", &self.clone(), args, &[("GIT_INDEX_FILE", index.to_str().unwrap())]);
            assert!(output.status.success(), "{}", plain::text(&output));
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        };
        git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},file")]);
        let tree = git(&["write-tree"]);
        let parents: Vec<&str> = parents.iter().flat_map(|parent| ["-p", parent.as_str()]).collect();
        Oid::parse(git(&[&["commit-tree", &tree, "-m", text], &parents[..]].concat())).unwrap()
    }

    fn set_ref(&self, name: &str, to: &Oid) {
        plain::git(&self.clone(), &["update-ref", name, to.as_str()]);
    }

    fn refs(&self) -> Vec<String> {
        plain::git(&self.clone(), &["for-each-ref", "--format=%(refname)"]).lines().map(str::to_owned).collect()
    }

    fn has(&self, commit: &Oid) -> bool {
        plain::run("git", &self.clone(), &["cat-file", "-e", commit.as_str()], &[]).status.success()
    }

    fn head(&self, number: u64) -> Oid {
        Oid::parse(plain::git(&self.path(number), &["rev-parse", "HEAD"])).unwrap()
    }

    /// The worktrees that git knows of, besides the clone.
    fn known(&self) -> Vec<String> {
        let list = plain::git(&self.clone(), &["worktree", "list", "--porcelain"]);
        let paths = list.lines().filter_map(|line| line.strip_prefix("worktree "));
        let mut names: Vec<_> = paths.filter_map(|path| Some(path.rsplit_once('/')?.1.to_owned())).collect();
        names.retain(|name| name != "clone");
        names.sort();
        names
    }

    /// Whether the stack's worktree is as one that was just made, wherever its HEAD is.
    fn assert_pristine(&self, number: u64) {
        assert_eq!(entries(&self.path(number)), [".git"]);
        let state = entries(&self.admin(number));
        for name in &state {
            assert!(["HEAD", "commondir", "gitdir", "logs", "refs"].contains(&name.as_str()), "{state:?}");
        }
        assert!(!fs::read_to_string(self.admin(number).join("HEAD")).unwrap().starts_with("ref:"));
        assert!(self.known().contains(&format!("stack-{number}")));
    }
}

fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_stacks_worktree_has_a_head_of_its_own_and_no_files() {
    let base = Base::new().await;
    let path = base.worktrees.for_stack(pr(123)).await.unwrap();
    assert_eq!(path, base.path(123));
    base.assert_pristine(123);
    assert_eq!(plain::git(&path, &["ls-tree", "-r", "HEAD"]), "");
    assert_eq!(plain::git(&path, &["rev-list", "--count", "HEAD"]), "1");
}

#[tokio::test]
async fn a_worktree_that_is_there_is_used_again_as_it_is() {
    let base = Base::new().await;
    base.worktrees.for_stack(pr(1)).await.unwrap();
    let commit = base.commit("one", &[]);
    base.worktrees.set_head(pr(1), &commit).await.unwrap();
    base.worktrees.for_stack(pr(1)).await.unwrap();
    assert_eq!(base.head(1), commit);
    assert_eq!(base.known(), ["stack-1"]);
}

#[tokio::test]
async fn every_first_head_is_the_same_commit() {
    let (one, other) = (Base::new().await, Base::new().await);
    one.worktrees.for_stack(pr(1)).await.unwrap();
    one.worktrees.for_stack(pr(2)).await.unwrap();
    other.worktrees.for_stack(pr(3)).await.unwrap();
    assert_eq!((one.head(1), one.head(2)), (one.head(2), other.head(3)));
}

#[tokio::test]
async fn on_completion_the_worktree_and_its_refs_go() {
    let base = Base::new().await;
    base.worktrees.for_stack(pr(1)).await.unwrap();
    base.set_ref("refs/merge-train/stack-1/pull/1", &base.commit("one", &[]));
    base.set_ref("refs/heads/main", &base.commit("main", &[]));
    base.worktrees.remove(pr(1)).await.unwrap();
    assert!(!base.path(1).exists());
    assert!(!base.admin(1).exists());
    assert_eq!(base.refs(), ["refs/heads/main"]);
}

#[tokio::test]
async fn a_stop_removes_the_stacks_worktree_at_once_and_no_others() {
    let base = Base::new().await;
    for number in [1, 11] {
        base.worktrees.for_stack(pr(number)).await.unwrap();
        let commit = base.commit(&number.to_string(), &[]);
        base.worktrees.set_head(pr(number), &commit).await.unwrap();
        base.set_ref(&format!("refs/merge-train/stack-{number}/default"), &commit);
    }
    // Also in the middle of something, and even if somebody locked it.
    fs::write(base.path(1).join("half-done"), "").unwrap();
    plain::git(&base.clone(), &["worktree", "lock", base.path(1).to_str().unwrap()]);
    let other = base.head(11);
    base.worktrees.remove(pr(1)).await.unwrap();
    assert!(!base.path(1).exists());
    base.assert_pristine(11);
    assert_eq!(base.head(11), other);
    assert_eq!(base.refs(), ["refs/merge-train/stack-11/default"]);
    assert_eq!(base.known(), ["stack-11"]);
}

#[tokio::test]
async fn an_abort_in_a_conflict_leaves_a_clean_worktree_and_does_not_remove_it() {
    let base = Base::new().await;
    let path = base.worktrees.for_stack(pr(1)).await.unwrap();
    let root = base.commit("root\n", &[]);
    let (ours, theirs) = (base.commit("ours\n", &[&root]), base.commit("theirs\n", &[&root]));
    base.worktrees.set_head(pr(1), &ours).await.unwrap();
    plain::git(&path, &["reset", "-q", "--hard"]);
    let merge = plain::run("git", &path, &["merge", theirs.as_str()], &[]);
    assert!(plain::text(&merge).contains("CONFLICT"), "{}", plain::text(&merge));
    fs::create_dir_all(path.join("left/over")).unwrap();
    assert!(base.admin(1).join("MERGE_HEAD").exists());

    base.worktrees.clean(pr(1)).await.unwrap();
    base.assert_pristine(1);
    assert_eq!(base.head(1), ours);
    // The next operation is not refused for an index that is in conflict.
    plain::git(&path, &["checkout", "-q", "--force", "--detach", theirs.as_str()]);
}

#[tokio::test]
async fn a_restart_ends_whatever_a_person_or_a_crash_left_under_way() {
    let base = Base::new().await;
    let path = base.worktrees.for_stack(pr(1)).await.unwrap();
    let commit = base.commit("one\n", &[]);
    base.worktrees.set_head(pr(1), &commit).await.unwrap();
    plain::git(&path, &["switch", "-q", "--force", "-c", "somebodys"]);
    for file in ["index.lock", "HEAD.lock", "CHERRY_PICK_HEAD", "BISECT_LOG", "config.worktree"] {
        fs::write(base.admin(1).join(file), "").unwrap();
    }
    for folder in ["rebase-merge", "rebase-apply", "sequencer", "refs/bisect"] {
        fs::create_dir_all(base.admin(1).join(folder)).unwrap();
    }
    std::os::unix::fs::symlink("/etc", path.join("link")).unwrap();
    base.worktrees.clean(pr(1)).await.unwrap();
    base.assert_pristine(1);
    assert_eq!(base.head(1), commit);
    assert_eq!(entries(&base.admin(1).join("refs")), [""; 0]);
    assert!(Path::new("/etc").exists());
}

#[tokio::test]
async fn removing_what_is_not_there_is_no_error() {
    let base = Base::new().await;
    base.worktrees.remove(pr(1)).await.unwrap();
    base.worktrees.for_stack(pr(1)).await.unwrap();
    base.worktrees.remove(pr(1)).await.unwrap();
    base.worktrees.remove(pr(1)).await.unwrap();
    base.worktrees.for_stack(pr(2)).await.unwrap();
    fs::remove_dir_all(base.clone()).unwrap();
    base.worktrees.remove(pr(2)).await.unwrap();
    assert!(!base.path(2).exists());
}

#[tokio::test]
async fn a_head_that_is_no_commit_is_refused_and_the_old_one_stays() {
    let base = Base::new().await;
    base.worktrees.for_stack(pr(1)).await.unwrap();
    let before = base.head(1);
    let nowhere = Oid::parse("1".repeat(40)).unwrap();
    assert!(matches!(base.worktrees.set_head(pr(1), &nowhere).await, Err(Error::Failed { .. })));
    assert_eq!(base.head(1), before);
}

#[tokio::test]
async fn setting_the_head_of_a_worktree_that_is_gone_makes_it() {
    let base = Base::new().await;
    let commit = base.commit("one", &[]);
    base.worktrees.set_head(pr(1), &commit).await.unwrap();
    base.assert_pristine(1);
    assert_eq!(base.head(1), commit);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_who_want_the_same_worktree_at_once_get_one() {
    let base = Base::new().await;
    for _ in 0..5 {
        let ask = || {
            let worktrees = base.worktrees.clone();
            tokio::spawn(async move { worktrees.for_stack(pr(1)).await })
        };
        let all: Vec<_> = (0..8).map(|_| ask()).collect();
        for one in all {
            assert_eq!(one.await.unwrap().unwrap(), base.path(1));
        }
        assert_eq!(base.known(), ["stack-1"]);
        base.worktrees.remove(pr(1)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_stacks_come_and_go_at_once() {
    let base = Base::new().await;
    let all: Vec<_> = (1..=20)
        .map(|number| {
            let worktrees = base.worktrees.clone();
            tokio::spawn(async move {
                worktrees.for_stack(pr(number)).await?;
                if number % 2 == 0 { worktrees.remove(pr(number)).await } else { Ok(()) }
            })
        })
        .collect();
    for one in all {
        one.await.unwrap().unwrap();
    }
    assert_eq!(base.known().len(), 10);
    for number in (1..=20).step_by(2) {
        base.assert_pristine(number);
    }
}

#[tokio::test]
async fn garbage_collection_keeps_what_a_stack_holds_until_the_stack_is_gone() {
    let base = Base::new().await;
    base.worktrees.for_stack(pr(1)).await.unwrap();
    let (head, held) = (base.commit("head", &[]), base.commit("held", &[]));
    base.worktrees.set_head(pr(1), &head).await.unwrap();
    base.set_ref("refs/merge-train/stack-1/pull/7", &held);
    plain::git(&base.clone(), &["gc", "-q", "--prune=now"]);
    assert!(base.has(&head) && base.has(&held));
    base.assert_pristine(1);

    base.worktrees.remove(pr(1)).await.unwrap();
    plain::git(&base.clone(), &["gc", "-q", "--prune=now"]);
    assert!(!base.has(&head) && !base.has(&held));
}

#[tokio::test]
async fn what_is_begun_is_completed_although_nobody_waits_for_it() {
    let base = Base::new().await;
    let impatient = tokio::time::timeout(Duration::from_millis(1), base.worktrees.for_stack(pr(1))).await;
    assert!(impatient.is_err(), "it was made within a millisecond");
    let deadline = Instant::now() + Duration::from_secs(20);
    let is_made = || fs::read_to_string(base.path(1).join(".git")).is_ok_and(|text| text.contains("/clone/"));
    while !is_made() {
        assert!(Instant::now() < deadline, "it was never made");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    base.assert_pristine(1);
}

#[tokio::test]
async fn a_view_of_a_plan_is_a_worktree_like_a_stacks() {
    let base = Base::new().await;
    let plan = Name::Plan("17-4".into());
    let path = base.worktrees.ensure(&plan).await.unwrap();
    assert_eq!(path, base.worktrees.path(&plan));
    base.set_ref(&format!("{}/default", plan.namespace()), &base.commit("x", &[]));
    base.worktrees.discard(&plan).await.unwrap();
    assert!(!path.exists());
    assert_eq!(base.refs(), [""; 0]);
}

#[tokio::test]
async fn an_older_git_keeps_worktrees_as_well() {
    let older = support::older_git();
    let base = Base::of_git(older).await;
    let commit = base.commit("one", &[]);
    base.worktrees.for_stack(pr(1)).await.unwrap();
    base.worktrees.set_head(pr(1), &commit).await.unwrap();
    base.worktrees.clean(pr(1)).await.unwrap();
    base.assert_pristine(1);
    assert_eq!(base.head(1), commit);
    base.worktrees.fan_out(pr(1), &[pr(2), pr(3)]).await.unwrap();
    assert_eq!(base.known(), ["stack-2", "stack-3"]);
}
