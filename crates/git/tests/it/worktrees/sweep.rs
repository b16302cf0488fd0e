//! What is swept away after a crash, and what is not.

use std::collections::BTreeSet;
use std::fs::{self, File, FileTimes};
use std::path::Path;
use std::time::{Duration, SystemTime};

use git::worktree::Name;

use super::{Base, entries, pr};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

impl Base {
    /// Lets the worktree of that name look as old as that.
    fn age(&self, name: &str, now: SystemTime, age: Duration) {
        set_age(&self.folder.path().join("worktrees").join(name), now, age);
    }
}

fn set_age(path: &Path, now: SystemTime, age: Duration) {
    File::open(path).unwrap().set_times(FileTimes::new().set_modified(now - age)).unwrap();
}

#[tokio::test]
async fn only_the_worktrees_that_are_old_and_of_no_active_stack_are_swept() {
    let base = Base::new().await;
    let now = SystemTime::now();
    for (number, age) in [(1, 25 * HOUR), (2, 25 * HOUR), (3, 23 * HOUR), (4, DAY), (5, DAY + HOUR / 3600)] {
        base.worktrees.for_stack(pr(number)).await.unwrap();
        base.age(&format!("stack-{number}"), now, age);
    }
    for foreign in ["notes", "stack-x", "stack-007"] {
        fs::create_dir(base.folder.path().join("worktrees").join(foreign)).unwrap();
        base.age(foreign, now, 100 * DAY);
    }
    let swept = base.worktrees.sweep(&BTreeSet::from([pr(1)]), DAY, now).await.unwrap();
    assert_eq!(swept, [pr(2), pr(5)]);
    let left = entries(&base.folder.path().join("worktrees"));
    assert_eq!(left, ["notes", "stack-007", "stack-1", "stack-3", "stack-4", "stack-x"]);
    assert_eq!(base.known(), ["stack-1", "stack-3", "stack-4"]);
}

#[tokio::test]
async fn old_views_of_plans_are_swept_and_fresh_ones_stay() {
    let base = Base::new().await;
    let now = SystemTime::now();
    for (token, age) in [("old", 25 * HOUR), ("new", HOUR)] {
        base.worktrees.ensure(&Name::Plan(token.into())).await.unwrap();
        base.age(&format!("plan-{token}"), now, age);
    }
    assert_eq!(base.worktrees.sweep(&BTreeSet::new(), DAY, now).await.unwrap(), []);
    assert_eq!(base.known(), ["plan-new"]);
}

#[tokio::test]
async fn a_worktree_that_was_made_since_the_clock_was_read_is_not_swept() {
    let base = Base::new().await;
    let earlier = SystemTime::now() - HOUR;
    base.worktrees.for_stack(pr(1)).await.unwrap();
    assert_eq!(base.worktrees.sweep(&BTreeSet::new(), DAY, earlier).await.unwrap(), []);
    assert_eq!(base.known(), ["stack-1"]);
}

#[tokio::test]
async fn a_worktree_from_the_far_future_is_swept() {
    let base = Base::new().await;
    base.worktrees.for_stack(pr(1)).await.unwrap();
    let long_ago = SystemTime::now() - 2 * DAY;
    assert_eq!(base.worktrees.sweep(&BTreeSet::new(), DAY, long_ago).await.unwrap(), [pr(1)]);
}

#[tokio::test]
async fn refs_without_a_worktree_or_a_train_are_swept() {
    let base = Base::new().await;
    let now = SystemTime::now();
    for number in [1, 2, 3] {
        base.worktrees.for_stack(pr(number)).await.unwrap();
        base.set_ref(&format!("refs/merge-train/stack-{number}/default"), &base.head(number));
    }
    base.set_ref("refs/merge-train/plan-9/default", &base.head(1));
    base.set_ref("refs/merge-train/other/default", &base.head(1));
    base.set_ref("refs/heads/stack-1", &base.head(1));
    for number in [1, 2] {
        fs::remove_dir_all(base.path(number)).unwrap();
    }
    base.worktrees.sweep(&BTreeSet::from([pr(2)]), DAY, now).await.unwrap();
    let left = ["refs/heads/stack-1", "refs/merge-train/other/default"];
    assert_eq!(
        base.refs(),
        [&left[..], &["refs/merge-train/stack-2/default", "refs/merge-train/stack-3/default"]].concat()
    );
    assert_eq!(base.known(), ["stack-3"], "git forgets worktrees whose folders are gone");
}

#[tokio::test]
async fn where_there_is_nothing_there_is_nothing_to_sweep() {
    let base = Base::new().await;
    assert_eq!(base.worktrees.sweep(&BTreeSet::new(), DAY, SystemTime::now()).await.unwrap(), []);
    fs::remove_dir_all(base.clone()).unwrap();
    assert_eq!(base.worktrees.sweep(&BTreeSet::new(), DAY, SystemTime::now()).await.unwrap(), []);
}

#[tokio::test]
async fn what_was_on_its_way_in_or_out_at_a_crash_is_swept() {
    let base = Base::new().await;
    let now = SystemTime::now();
    for (name, age) in [(".staging-old", 25 * HOUR), (".leaving-old", 25 * HOUR), (".staging-new", HOUR)] {
        fs::create_dir_all(base.folder.path().join(name).join("worktrees/stack-1")).unwrap();
        set_age(&base.folder.path().join(name), now, age);
    }
    base.worktrees.sweep(&BTreeSet::new(), DAY, now).await.unwrap();
    assert_eq!(entries(base.folder.path()), [".staging-new", "clone"]);
}
