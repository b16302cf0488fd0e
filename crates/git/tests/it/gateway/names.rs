//! Branches of every name.

use git::gateway::Taken;

use super::Site;
use crate::support;

#[tokio::test]
async fn branches_of_every_name_work() {
    let long = format!("{}/{}", "a".repeat(126), "é".repeat(64));
    assert_eq!(long.len(), 255);
    let names = [
        "fix/ünï-кирилл-日本",
        "a/b/c/d",
        "it's-\"quoted\";#$(touch${IFS}owned)",
        "x`touch${IFS}owned`&|!",
        "origin",
        &long,
    ];
    for name in names {
        let site = Site::with_branch(name, &["init", "-q", "-b", "main"]).await;
        let fixer = site.create().await;
        let upstream = fixer.git(&["rev-parse", "--abbrev-ref", "HEAD@{upstream}"]);
        assert!(upstream.ends_with(name), "{name}: {upstream}");
        let pushed = fixer.push("one");
        assert_eq!(fixer.reported().await, std::slice::from_ref(&pushed), "{name}");
        assert_eq!(site.take(&fixer, &site.head).await.unwrap(), Taken::Advanced(pushed), "{name}");
        assert!(!fixer.try_git(&["push", "origin", "HEAD:refs/heads/else"]).status.success(), "{name}");
        for folder in [site.folder.path().to_owned(), fixer.checkout(), fixer.repository(), "/".into()] {
            assert!(!folder.join("owned").exists(), "{name} was run");
        }
    }
}

#[tokio::test]
async fn a_name_that_no_folder_can_hold_is_refused_clearly() {
    let mut site = Site::new().await;
    site.branch = merge_train_core::ids::BranchName::parse("x".repeat(255)).unwrap();
    let refused = site.try_create().await.unwrap_err().to_string();
    assert!(refused.contains("longer than 250 bytes"), "{refused}");
    site.branch = merge_train_core::ids::BranchName::parse("main").unwrap();
    assert!(site.try_create().await.is_err(), "the base is not the branch");
    assert!(!site.fixers().exists());
}

#[tokio::test]
async fn repositories_of_the_newer_object_format_work() {
    let site = Site::with_branch("feature", &["init", "-q", "-b", "main", "--object-format=sha256"]).await;
    let fixer = site.create().await;
    let pushed = fixer.push("one");
    assert_eq!(fixer.reported().await, std::slice::from_ref(&pushed));
    assert_eq!(site.take(&fixer, &site.head).await.unwrap(), Taken::Advanced(pushed));
}

#[tokio::test]
async fn a_path_that_git_would_take_for_two_works() {
    let mut site = Site::new().await;
    let folder = tempfile::Builder::new().prefix("with : and \"quotes\" ").tempdir().unwrap();
    crate::plain::git(folder.path(), &["clone", "-q", "--bare", site.seed().to_str().unwrap(), "clone"]);
    crate::plain::git(folder.path(), &["clone", "-q", "--bare", site.seed().to_str().unwrap(), "seed"]);
    site.folder = folder;
    let fixer = site.create().await;
    let pushed = fixer.push("one");
    assert_eq!(site.take(&fixer, &site.head).await.unwrap(), Taken::Advanced(pushed));
}

#[tokio::test]
async fn an_older_git_serves_as_well() {
    let older = support::older_git();
    let mut site = Site::new().await;
    site.git = git::Git::find(older).await.unwrap();
    let fixer = site.create().await;
    let pushed = fixer.push("one");
    assert_eq!(site.take(&fixer, &site.head).await.unwrap(), Taken::Advanced(pushed));
}
