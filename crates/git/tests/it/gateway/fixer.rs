//! What a fixer sees and may do.

use std::fs;

use crate::plain;

use super::{POINTER, Site};

#[tokio::test]
async fn the_checkout_is_a_repository_ready_to_work_in() {
    let site = Site::new().await;
    let fixer = site.create().await;
    assert_eq!(fixer.git(&["status", "--porcelain", "--branch"]), "## feature...origin/feature");
    assert_eq!(fixer.git(&["rev-parse", "HEAD", "origin/feature", "origin/main"]).lines().count(), 3);
    assert_eq!(fixer.git(&["rev-parse", "HEAD"]), site.head.as_str());
    assert_eq!(fixer.git(&["rev-parse", "origin/main"]), site.main.as_str());
    assert_eq!(fixer.git(&["remote", "-v"]).lines().filter(|line| !line.contains("gateway.git")).count(), 0);
    assert_eq!(fixer.git(&["config", "user.name"]), "fixer \"f\"");
    assert_eq!(fixer.git(&["config", "user.email"]), "fixer@example.com");
    assert_eq!(fixer.git(&["diff", "--name-only", "origin/main...HEAD"]), "src/lib.rs");
    assert_eq!(fixer.git(&["log", "--oneline"]).lines().count(), 2);
    fixer.git(&["fetch", "-q"]);
    fixer.git(&["fsck", "--strict"]);
}

#[tokio::test]
async fn files_are_as_git_has_them_without_any_filter() {
    let site = Site::new().await;
    let fixer = site.create().await;
    let read = |name: &str| fs::read_to_string(fixer.checkout().join(name)).unwrap();
    assert_eq!(read("large.bin"), POINTER);
    assert_eq!(read("notes.txt"), "as it is\n");
    assert_eq!(read("src/lib.rs"), "fn main() { broken }\n");
    assert_eq!(fs::read_link(fixer.checkout().join("link")).unwrap().to_str(), Some("README"));
}

#[tokio::test]
async fn every_push_is_taken_and_reported_in_order() {
    let site = Site::new().await;
    let fixer = site.create().await;
    assert_eq!(fixer.reported().await, []);
    let first = fixer.push("one");
    let second = fixer.push("two");
    let pushes = fixer.gateway.pushes().await.unwrap();
    let moves: Vec<_> = pushes.iter().map(|push| (&push.from, &push.to)).collect();
    assert_eq!(moves, [(&site.head, &first), (&first, &second)]);
}

#[tokio::test]
async fn a_push_of_several_commits_is_one_push() {
    let site = Site::new().await;
    let fixer = site.create().await;
    fixer.commit("one");
    let last = fixer.push("two");
    assert_eq!(fixer.reported().await, [last]);
    fixer.git(&["push", "-q"]);
    assert_eq!(fixer.reported().await.len(), 1, "a push of nothing is none");
}

#[tokio::test]
async fn anything_but_a_fast_forward_of_the_branch_is_refused_with_a_reason() {
    let site = Site::new().await;
    let fixer = site.create().await;
    let taken = fixer.push("one");
    let before = fixer.refs();
    fixer.git(&["tag", "v1"]);
    fixer.git(&["branch", "other"]);
    fixer.git(&["commit", "-q", "--amend", "-m", "Rewritten"]);
    for (args, reason) in [
        (&["push", "origin", "HEAD:refs/heads/other"][..], "may only push to the branch feature"),
        (&["push", "origin", "HEAD:refs/heads/main"], "may only push to the branch feature"),
        (&["push", "origin", "v1"], "may only push to the branch feature"),
        (&["push", "--all"], "may only push to the branch feature"),
        (&["push", "--force", "--all"], "merge-train: "),
        (&["push", "--force", "--mirror"], "merge-train: "),
        (&["push", "origin", "HEAD:refs/pull/1/head"], "may only push to the branch feature"),
        (&["push", "origin", "HEAD:refs/merge-train/fixers/1"], "may only push to the branch feature"),
        (&["push", "origin", "HEAD:refs/heads/a$(b)\u{202e}`c`"], "merge-train: "),
        (&["push", "--no-verify", "origin", "HEAD:refs/heads/\u{202e}%s'\"$(b)"], "may only push to"),
        (&["push", "--no-verify", "origin", "HEAD:refs/merge-train/fixers/1"], "may only push to the branch feature"),
        (&["push", "origin", ":main"], "may only push to the branch feature"),
        (&["push", "origin", ":feature"], "may not be deleted"),
        (&["push", "origin", "feature"], "non-fast-forward"),
        (&["push", "--force", "origin", "feature"], "only fast-forwards are taken"),
        (&["push", "--force-with-lease", "origin", "feature"], "only fast-forwards are taken"),
        (&["push", "--force", "origin", "feature~2:feature"], "only fast-forwards are taken"),
    ] {
        let output = fixer.try_git(args);
        assert!(!output.status.success(), "{args:?} was taken");
        assert!(plain::text(&output).contains(reason), "{args:?}: {}", plain::text(&output));
        assert_eq!(fixer.refs(), before, "{args:?}");
    }
    assert_eq!(fixer.reported().await, [taken]);
}

#[tokio::test]
async fn the_rules_hold_without_the_hook_that_explains_them() {
    let site = Site::new().await;
    let fixer = site.create().await;
    fixer.push("one");
    let before = fixer.refs();
    fs::remove_file(fixer.repository().join("hooks/pre-receive")).unwrap();
    fixer.git(&["commit", "-q", "--amend", "-m", "Rewritten"]);
    for args in [["push", "--force", "origin", "feature"], ["push", "--force", "origin", ":feature"]] {
        assert!(!fixer.try_git(&args).status.success(), "{args:?}");
    }
    assert_eq!(fixer.refs(), before);
}

#[tokio::test]
async fn a_fixers_own_configuration_does_not_switch_the_explanations_off() {
    let site = Site::new().await;
    let fixer = site.create().await;
    let own = site.folder.path().join("own-config");
    fs::write(&own, "[core]\n\thooksPath = /nonexistent\n").unwrap();
    let args = ["push", "origin", "HEAD:refs/heads/other"];
    let output = plain::run("git", &fixer.checkout(), &args, &[("GIT_CONFIG_GLOBAL", own.to_str().unwrap())]);
    assert!(plain::text(&output).contains("may only push"), "{}", plain::text(&output));
}

#[tokio::test]
async fn broken_objects_are_not_taken() {
    let site = Site::new().await;
    let fixer = site.create().await;
    let broken = fixer.checkout().join("broken");
    let tree = fixer.git(&["rev-parse", "HEAD^{tree}"]);
    fs::write(&broken, format!("tree {tree}\nparent {}\nauthor nobody\ncommitter nobody\n\nx\n", site.head)).unwrap();
    let commit = fixer.git(&["hash-object", "-t", "commit", "--literally", "-w", "broken"]);
    let output = fixer.try_git(&["push", "origin", &format!("{commit}:refs/heads/feature")]);
    assert!(!output.status.success());
    assert_eq!(fixer.reported().await, []);
}
