//! A clone that lacks most contents, behind a server that wants a token.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use git::gateway::{Gateway, Move, News, Order, Refreshed, Source, Taken};
use git::repository::{Extent, Repository, Wanted};
use git::{Git, Oid};
use tokio_util::sync::CancellationToken;

use super::{Fixer, TAKEN, bot};
use crate::support::engine::{branch, pr};
use crate::support::{Change, World};
use test_support::git_server::TOKEN;

/// A history whose files were changed often, and a branch.
fn histories(world: &World) -> (Oid, Oid) {
    let write = |text: String| (vec![Change::write("file", text.clone())], text);
    let past = world.chain(world.base(), &(1..=10).map(|number| write(format!("past {number}\n"))).collect::<Vec<_>>());
    let main = past.last().unwrap().clone();
    let head = world.chain(&main, &[write("branch 1\n".into()), write("branch 2\n".into())]).pop().unwrap();
    world.set_ref("refs/heads/main", &main);
    world.set_ref("refs/heads/feature", &head);
    (main, head)
}

async fn fetch(repository: &Arc<Repository>) {
    let view = repository.glance(CancellationToken::new()).await.unwrap();
    let wanted = [Wanted::Default(branch("main")), Wanted::Branch(pr(1), branch("feature"))];
    view.fetch(&wanted).await.unwrap();
}

fn holds(folder: &Path, needle: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            holds(&entry.path(), needle, found);
        } else if kind.is_file() {
            let bytes = fs::read(entry.path()).unwrap();
            if bytes.windows(needle.len()).any(|window| window == needle.as_bytes()) {
                found.push(entry.path().display().to_string());
            }
        }
    }
}

#[test]
fn a_fixer_gets_what_it_needs_from_a_partial_clone_and_no_token() {
    let world = World::new();
    let (main, head) = histories(&world);
    let server = world.serve();
    let repository = world.repository_on(&server, Extent::Partial);
    let folder = tempfile::tempdir().unwrap();
    let fixers = folder.path().join("fixer");
    let cancel = CancellationToken::new();
    world.run(async {
        fetch(&repository).await;
        assert_eq!(world.blobs_of_clone(), 0, "the clone is partial");
        let clone = repository.clone_dir();
        let from = Source { clone: &clone, promisor: Some(repository.remote()) };
        let (feature, default) = (branch("feature"), branch("main"));
        let git = Git::find("git").await.unwrap();
        let (identity, base) = (bot(), Some((&default, &main)));
        let order = Order { folder: &fixers, branch: &feature, head: &head, base, identity: &identity, from };
        let fixer = Fixer { gateway: Gateway::create(&git, order, &cancel).await.unwrap() };
        assert_eq!(world.blobs_of_clone(), 4, "README, and file on main and in both commits of the branch");

        assert_eq!(fs::read_to_string(fixer.checkout().join("file")).unwrap(), "branch 2\n");
        assert!(fixer.git(&["log", "-p", "origin/main..HEAD"]).contains("+branch 1"));
        assert!(fixer.git(&["diff", "origin/main...HEAD"]).contains("-past 10"));
        assert_eq!(fixer.git(&["log", "--oneline"]).lines().count(), 13);
        let pushed = fixer.push("one");
        assert_eq!(fixer.reported().await, std::slice::from_ref(&pushed));
        assert_eq!(fixer.gateway.take(&clone, &head, TAKEN).await.unwrap(), Taken::Advanced(pushed.clone()));

        let newer = world.commit(&[&main], &[Change::write("other", "newer")], "Newer");
        let foreign = world.commit(&[&head], &[Change::write("foreign", "foreign")], "Foreign");
        world.set_ref("refs/heads/main", &newer);
        world.set_ref("refs/heads/feature", &foreign);
        fetch(&repository).await;
        let news = News {
            branch: Some(Move { from: &pushed, to: &foreign }),
            base: Some((&default, Move { from: &main, to: &newer })),
        };
        assert_eq!(fixer.gateway.refresh(from, news, &cancel).await.unwrap(), Refreshed::Done);
        fixer.git(&["fetch", "-q"]);
        assert_eq!(fixer.git(&["show", "origin/main:other"]), "newer");
        assert_eq!(fixer.git(&["show", "origin/feature:foreign"]), "foreign");
    });
    let mut found = Vec::new();
    holds(folder.path(), TOKEN, &mut found);
    holds(folder.path(), server.url(), &mut found);
    assert_eq!(found, [""; 0]);
}
