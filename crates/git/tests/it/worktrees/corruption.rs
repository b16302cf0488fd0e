//! Worktrees that somebody, or a crash, has damaged.

use std::fs;
use std::os::unix::fs::symlink;

use super::{Base, pr};

type Deed = fn(&Base);

/// Each does one kind of damage to the worktree of stack 1.
const DAMAGE: [(&str, Deed); 12] = [
    ("the .git file is garbage", |base| fs::write(base.path(1).join(".git"), "\0garbage\n").unwrap()),
    ("the .git file is empty", |base| fs::write(base.path(1).join(".git"), "").unwrap()),
    ("the .git file is gone", |base| fs::remove_file(base.path(1).join(".git")).unwrap()),
    ("the .git file leads elsewhere", |base| {
        fs::write(base.path(1).join(".git"), "gitdir: /nonexistent/worktrees/stack-1\n").unwrap();
    }),
    ("somebody made a repository of it", |base| {
        fs::remove_file(base.path(1).join(".git")).unwrap();
        crate::plain::git(&base.path(1), &["init", "-q"]);
    }),
    ("the administrative folder is gone", |base| fs::remove_dir_all(base.admin(1)).unwrap()),
    ("HEAD is garbage", |base| fs::write(base.admin(1).join("HEAD"), "garbage\n").unwrap()),
    ("HEAD names nothing", |base| fs::write(base.admin(1).join("HEAD"), "1".repeat(40) + "\n").unwrap()),
    ("the administrative folder does not know its worktree", |base| {
        fs::write(base.admin(1).join("gitdir"), "garbage\n").unwrap();
    }),
    ("the folder is gone", |base| fs::remove_dir_all(base.path(1)).unwrap()),
    ("the folder is a file", |base| {
        fs::remove_dir_all(base.path(1)).unwrap();
        fs::write(base.path(1), "").unwrap();
    }),
    ("the folder is a link to another stack's", |base| {
        fs::remove_dir_all(base.path(1)).unwrap();
        symlink(base.path(2), base.path(1)).unwrap();
    }),
];

async fn damaged(damage: fn(&Base)) -> Base {
    let base = Base::new().await;
    for number in [1, 2] {
        base.worktrees.for_stack(pr(number)).await.unwrap();
    }
    base.set_ref("refs/merge-train/stack-1/default", &base.head(1));
    damage(&base);
    base
}

#[tokio::test]
async fn a_damaged_worktree_is_made_anew_when_it_is_wanted() {
    for (name, damage) in DAMAGE {
        let base = damaged(damage).await;
        base.worktrees.for_stack(pr(1)).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        base.assert_pristine(1);
        base.assert_pristine(2);
        assert_eq!(base.known(), ["stack-1", "stack-2"], "{name}");
        assert_eq!(base.refs(), ["refs/merge-train/stack-1/default"], "{name}");
    }
}

#[tokio::test]
async fn a_damaged_worktree_is_made_anew_when_it_is_cleaned() {
    for (name, damage) in DAMAGE {
        let base = damaged(damage).await;
        base.worktrees.clean(pr(1)).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        base.assert_pristine(1);
        assert_eq!(base.known(), ["stack-1", "stack-2"], "{name}");
    }
}

#[tokio::test]
async fn a_damaged_worktree_is_made_anew_when_its_head_is_to_move() {
    for (name, damage) in DAMAGE {
        // There HEAD can be set in what is there; whose it is, is asked by everyone else.
        if ["does not know", "made a repository", "a link to"].iter().any(|words| name.contains(words)) {
            continue;
        }
        let base = damaged(damage).await;
        let commit = base.commit("one", &[]);
        base.worktrees.set_head(pr(1), &commit).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        base.assert_pristine(1);
        assert_eq!(base.head(1), commit, "{name}");
    }
}

#[tokio::test]
async fn a_damaged_worktree_is_removed_completely() {
    for (name, damage) in DAMAGE {
        let base = damaged(damage).await;
        base.worktrees.remove(pr(1)).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(base.path(1).symlink_metadata().is_err(), "{name}");
        assert!(!base.admin(1).exists(), "{name}");
        assert_eq!(base.known(), ["stack-2"], "{name}");
        base.assert_pristine(2);
        assert_eq!(base.refs(), [""; 0], "{name}");
    }
}

#[tokio::test]
async fn a_corrupt_index_is_no_obstacle() {
    let base = Base::new().await;
    base.worktrees.for_stack(pr(1)).await.unwrap();
    fs::write(base.admin(1).join("index"), "garbage").unwrap();
    base.worktrees.clean(pr(1)).await.unwrap();
    base.assert_pristine(1);
}

#[tokio::test]
async fn a_clone_that_was_made_anew_gets_its_worktrees_back() {
    let base = Base::new().await;
    base.worktrees.for_stack(pr(1)).await.unwrap();
    fs::remove_dir_all(base.clone()).unwrap();
    fs::create_dir(base.clone()).unwrap();
    crate::plain::git(&base.clone(), &["init", "-q", "--bare"]);
    base.worktrees.for_stack(pr(1)).await.unwrap();
    base.assert_pristine(1);
}
