//! What the daemon does with a gateway.

use std::fs;
use std::time::Duration;

use git::gateway::{Error, Gateway, Move, News, Refreshed, Source, Taken};
use merge_train_core::ids::BranchName;
use tokio_util::sync::CancellationToken;

use super::{Fixer, Site, TAKEN};
use crate::plain;

impl Site {
    async fn refresh(&self, fixer: &Fixer, news: News<'_>) -> Result<Refreshed, Error> {
        let clone = self.clone();
        fixer.gateway.refresh(Source { clone: &clone, promisor: None }, news, &CancellationToken::new()).await
    }
}

#[tokio::test]
async fn what_was_pushed_is_taken_into_the_clone() {
    let site = Site::new().await;
    let fixer = site.create().await;
    assert_eq!(site.take(&fixer, &site.head).await.unwrap(), Taken::Unchanged);
    assert_eq!(site.taken(), [""; 0]);
    fixer.push("one");
    let last = fixer.push("two");
    assert_eq!(site.take(&fixer, &site.head).await.unwrap(), Taken::Advanced(last.clone()));
    assert_eq!(site.taken(), [format!("{last} {TAKEN}")]);
    assert_eq!(plain::git(&site.clone(), &["show", &format!("{last}:two")]), "two");
    plain::git(&site.clone(), &["fsck", "--strict", "--connectivity-only"]);
    assert_eq!(site.take(&fixer, &last).await.unwrap(), Taken::Unchanged);
}

#[tokio::test]
async fn a_branch_that_was_rewritten_behind_the_gateways_rules_is_not_taken() {
    let site = Site::new().await;
    let fixer = site.create().await;
    let known = fixer.push("one");
    site.take(&fixer, &site.head).await.unwrap();
    fixer.git(&["reset", "-q", "--hard", site.head.as_str()]);
    let rewritten = fixer.commit("another");
    plain::git(&fixer.repository(), &["fetch", "-q", fixer.checkout().to_str().unwrap(), rewritten.as_str()]);
    fs::write(fixer.repository().join("refs/heads/feature"), format!("{rewritten}\n")).unwrap();

    let refused = site.take(&fixer, &known).await.unwrap_err();
    let Error::NotFastForward { found, .. } = &refused else { panic!("{refused:?}") };
    assert_eq!(*found, rewritten);
    assert!(refused.to_string().contains("commits were rewritten"), "{refused}");
    assert_eq!(site.taken(), [format!("{known} {TAKEN}")], "what was taken before stays, and nothing else comes");
}

#[tokio::test]
async fn a_push_is_awaited() {
    let site = Site::new().await;
    let fixer = site.create().await;
    let cancel = CancellationToken::new();
    let (gateway, waiting) = (fixer.gateway.clone(), cancel.clone());
    let first = tokio::spawn(async move { gateway.next_push(0, &waiting).await });
    let pushed = fixer.push("one");
    let push = tokio::time::timeout(Duration::from_secs(20), first).await.unwrap().unwrap().unwrap();
    assert_eq!(push.to, pushed);

    let (gateway, waiting) = (fixer.gateway.clone(), cancel.clone());
    let second = tokio::spawn(async move { gateway.next_push(1, &waiting).await });
    cancel.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(20), second).await.unwrap().unwrap();
    assert!(matches!(ended, Err(Error::Git(git::Error::Cancelled))));
}

#[tokio::test]
async fn a_daemon_that_starts_again_finds_the_gateway_and_its_pushes() {
    let site = Site::new().await;
    let pushed = site.create().await.push("one");
    let fixer = Fixer { gateway: Gateway::open(&site.git, &site.fixers(), &site.branch).unwrap() };
    assert_eq!(fixer.reported().await, std::slice::from_ref(&pushed));
    assert_eq!(site.take(&fixer, &site.head).await.unwrap(), Taken::Advanced(pushed));
}

#[tokio::test]
async fn housekeeping_in_the_gateway_forgets_no_push() {
    let site = Site::new().await;
    let fixer = site.create().await;
    let pushed = [fixer.push("one"), fixer.push("two")];
    plain::git(&fixer.repository(), &["gc", "-q", "--prune=now"]);
    assert_eq!(fixer.reported().await, pushed);
    assert_eq!(site.take(&fixer, &site.head).await.unwrap(), Taken::Advanced(pushed[1].clone()));
}

#[tokio::test]
async fn a_checkout_is_not_made_over_another() {
    let site = Site::new().await;
    let fixer = site.create().await;
    fixer.commit("precious");
    let refused = site.try_create().await.unwrap_err().to_string();
    assert!(refused.contains("already exists"), "{refused}");
    assert!(fixer.checkout().join("precious").exists());
}

#[tokio::test]
async fn what_an_attempt_that_was_cut_short_left_behind_is_no_obstacle() {
    let site = Site::new().await;
    for leftover in ["gateway.new/objects", "checkout.new/.git"] {
        fs::create_dir_all(site.fixers().join(leftover)).unwrap();
    }
    fs::write(site.fixers().join("gateway.new/config"), "garbage").unwrap();
    assert!(matches!(Gateway::open(&site.git, &site.fixers(), &site.branch), Err(Error::Git(_))));
    // Cut short later, it has a gateway that nobody has pushed to.
    let fixer = site.create().await;
    fs::rename(fixer.checkout(), site.fixers().join("checkout.new")).unwrap();
    let found = Fixer { gateway: Gateway::open(&site.git, &site.fixers(), &site.branch).unwrap() };
    assert_eq!(site.take(&found, &site.head).await.unwrap(), Taken::Unchanged);
    let fixer = site.create().await;
    fixer.push("one");
    for leftover in ["checkout.new", "gateway.new"] {
        assert!(!site.fixers().join(leftover).exists(), "{leftover}");
    }
}

#[tokio::test]
async fn what_was_pushed_from_a_checkout_that_is_no_more_is_taken() {
    let site = Site::new().await;
    let fixer = site.create().await;
    let pushed = fixer.push("one");
    fs::remove_dir_all(fixer.checkout()).unwrap();
    let fixer = Fixer { gateway: Gateway::open(&site.git, &site.fixers(), &site.branch).unwrap() };
    assert_eq!(site.take(&fixer, &site.head).await.unwrap(), Taken::Advanced(pushed));
}

#[tokio::test]
async fn a_gateway_that_is_removed_is_gone() {
    let site = Site::new().await;
    let fixer = site.create().await;
    fixer.gateway.clone().remove().await.unwrap();
    assert!(!site.fixers().exists());
    fixer.gateway.remove().await.unwrap();
    assert!(Gateway::open(&site.git, &site.fixers(), &site.branch).is_err());
    site.create().await.push("one");
}

#[tokio::test]
async fn a_clone_loses_nothing_when_the_gateway_is_destroyed() {
    let site = Site::new().await;
    let fixer = site.create().await;
    fs::remove_dir_all(fixer.repository().join("objects")).unwrap();
    plain::git(&site.clone(), &["fsck", "--strict"]);
    assert!(matches!(site.take(&fixer, &site.head).await, Err(Error::TamperedWith { what: "is gone", .. })));
}

#[tokio::test]
async fn news_of_the_base_and_of_the_branch_reach_the_fixer() {
    let site = Site::new().await;
    let fixer = site.create().await;
    let (base, branch) = (site.foreign(&site.main, "newer"), site.foreign(&site.head, "foreign"));
    let main = BranchName::parse("main").unwrap();
    let news = News {
        branch: Some(Move { from: &site.head, to: &branch }),
        base: Some((&main, Move { from: &site.main, to: &base })),
    };
    assert_eq!(site.refresh(&fixer, news).await.unwrap(), Refreshed::Done);
    assert_eq!(site.refresh(&fixer, news).await.unwrap(), Refreshed::Done, "once more does no harm");
    assert_eq!(fixer.reported().await, [], "what the daemon brings is no push");

    fixer.git(&["pull", "-q"]);
    assert!(fixer.checkout().join("foreign").exists());
    fixer.git(&["merge", "-q", "-m", "Merge", "origin/main"]);
    assert!(fixer.checkout().join("newer").exists());
    let pushed = fixer.push("one");
    assert_eq!(fixer.reported().await, std::slice::from_ref(&pushed));
    assert_eq!(site.take(&fixer, &branch).await.unwrap(), Taken::Advanced(pushed));
}

#[tokio::test]
async fn a_fixer_that_pushed_meanwhile_is_not_overruled() {
    let site = Site::new().await;
    let fixer = site.create().await;
    let pushed = fixer.push("one");
    let (base, foreign) = (site.foreign(&site.main, "newer"), site.foreign(&site.head, "foreign"));
    let main = BranchName::parse("main").unwrap();
    let news = News {
        branch: Some(Move { from: &site.head, to: &foreign }),
        base: Some((&main, Move { from: &site.main, to: &base })),
    };
    assert_eq!(site.refresh(&fixer, news).await.unwrap(), Refreshed::Outpaced);
    assert_eq!(fixer.refs(), [format!("{pushed} refs/heads/feature"), format!("{base} refs/heads/main")]);
}

#[tokio::test]
async fn a_base_that_was_rewritten_is_news_too() {
    let site = Site::new().await;
    let fixer = site.create().await;
    let (one, other) = (site.foreign(&site.main, "one"), site.foreign(&site.main, "other"));
    let main = BranchName::parse("main").unwrap();
    for (from, to) in [(&site.main, &one), (&one, &other), (&git::Oid::parse("1".repeat(40)).unwrap(), &one)] {
        let news = News { base: Some((&main, Move { from, to })), ..News::default() };
        assert_eq!(site.refresh(&fixer, news).await.unwrap(), Refreshed::Done);
        fixer.git(&["fetch", "-q"]);
        assert_eq!(fixer.git(&["rev-parse", "origin/main"]), to.as_str());
    }
    fixer.git(&["fsck"]);
}
