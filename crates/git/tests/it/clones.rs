//! The clone itself: made, made anew when it is damaged, tidied, and never run by anybody else's configuration.

use std::path::{Path, PathBuf};

use git::Error;
use git::cascade::Step;
use git::repository::{Extent, Wanted};
use tokio_util::sync::CancellationToken;

use crate::support::engine::{branch, pr, pull};
use crate::support::{Change, World};

fn world() -> World {
    let world = World::with_base(&[Change::write("README", "base\n"), Change::write("dir/file", "1\n2\n3\n")]);
    let base = world.base().clone();
    let feature = world.commit(&[&base], &[Change::write("dir/file", "1\n2\nthree\n")], "feature");
    let main = world.commit(&[&base], &[Change::write("dir/file", "one\n2\n3\n")], "main");
    world.set_ref("refs/heads/main", &main);
    world.set_ref("refs/heads/feature", &feature);
    world.set_pull_ref(1, &feature);
    world
}

fn clone_of(world: &World) -> PathBuf {
    world.clones().join("octocat-hello/clone")
}

fn files(folder: &Path, wanted: &dyn Fn(&Path) -> bool, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, wanted, found);
        } else if wanted(&path) {
            found.push(path);
        }
    }
}

/// Fetches and merges, damages the clone, and does it again.
fn survives(damage: impl Fn(&Path)) {
    let world = world();
    let repository = world.repository(Extent::Full);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let stack = repository.stack(pr(1), CancellationToken::new()).await.expect("a stack");
        let before = stack.update_root(&pull(1, "feature"), &branch("main")).await.expect("merged");
        damage(&clone_of(&world));
        let after = stack.update_root(&pull(1, "feature"), &branch("main")).await.expect("merged again");
        let (Step::Advance(before), Step::Advance(after)) = (before, after) else { panic!("both move the branch") };
        assert_eq!(before.tree, after.tree);
        assert!(repository.is_sound().await.expect("examined"));
        stack.close().await.expect("closed");
    });
}

#[test]
fn a_clone_whose_objects_are_gone_is_made_anew() {
    survives(|clone| std::fs::remove_dir_all(clone.join("objects")).expect("removed"));
}

#[test]
fn a_clone_whose_objects_are_empty_files_is_made_anew() {
    survives(|clone| {
        let mut objects = Vec::new();
        files(&clone.join("objects"), &|path| !path.ends_with("alternates"), &mut objects);
        assert!(!objects.is_empty());
        for object in objects {
            let mut permissions = object.metadata().expect("a file").permissions();
            #[expect(clippy::permissions_set_readonly_false, reason = "a file of the test's own")]
            permissions.set_readonly(false);
            std::fs::set_permissions(&object, permissions).expect("writable");
            std::fs::write(&object, "").expect("emptied");
        }
    });
}

#[test]
fn a_clone_without_a_head_is_made_anew() {
    survives(|clone| std::fs::remove_file(clone.join("HEAD")).expect("removed"));
}

#[test]
fn a_clone_that_is_gone_altogether_is_made_anew() {
    survives(|clone| std::fs::remove_dir_all(clone).expect("removed"));
}

#[test]
fn a_clone_that_is_damaged_again_at_once_is_a_case_for_a_person() {
    let world = world();
    let repository = world.repository(Extent::Full);
    world.run(async {
        let stack = repository.stack(pr(1), CancellationToken::new()).await.expect("a stack");
        let ruin = || std::fs::remove_dir_all(clone_of(&world).join("objects")).expect("removed");
        ruin();
        stack.update_root(&pull(1, "feature"), &branch("main")).await.expect("mended once");
        ruin();
        let error = stack.update_root(&pull(1, "feature"), &branch("main")).await.expect_err("not twice");
        assert!(error.to_string().contains("check the disk"), "{error}");
    });
}

#[test]
fn a_failure_that_is_not_the_clones_leaves_the_clone_alone() {
    let world = world();
    let repository = world.repository(Extent::Full);
    world.run(async {
        let stack = repository.stack(pr(1), CancellationToken::new()).await.expect("a stack");
        stack.fetch(&[Wanted::Default(branch("main"))]).await.expect("fetched");
        let marker = clone_of(&world).join("marker");
        std::fs::write(&marker, "").expect("written");
        let gone = stack.fetch(&[Wanted::Default(branch("nowhere"))]).await.expect_err("gone");
        assert!(matches!(gone, Error::BranchGone(_)), "{gone:?}");
        std::fs::rename(world.origin(), world.origin().with_extension("away")).expect("renamed");
        let away = stack.fetch(&[Wanted::Default(branch("main"))]).await.expect_err("away");
        assert!(matches!(away, Error::Denied { .. } | Error::Unreachable { .. }), "{away:?}");
        assert!(marker.exists());
    });
}

#[test]
fn only_what_is_wanted_is_fetched() {
    let world = world();
    let base = world.base().clone();
    let other = world.commit(&[&base], &[Change::write("other", "x\n")], "nobody's business");
    world.set_ref("refs/heads/other", &other);
    world.set_ref("refs/tags/v1", &other);
    let repository = world.repository(Extent::Full);
    world.run(async {
        let stack = repository.stack(pr(1), CancellationToken::new()).await.expect("a stack");
        let wanted = [Wanted::Default(branch("main")), Wanted::Pull(pr(1)), pull(1, "feature").wanted()];
        let before = repository.processes();
        stack.fetch(&wanted).await.expect("fetched");
        assert_eq!(repository.processes() - before, 2, "one exchange, and one look at what it brought");
    });
    assert_eq!(
        world.refs_of_clone(),
        ["branch/1", "default", "pull/1"].map(|name| format!("refs/merge-train/stack-1/{name}"))
    );
    assert!(!world.clone_has(&other));
}

#[test]
fn a_partial_clone_leaves_file_contents_with_the_server() {
    let world = world();
    world.configure("uploadpack.allowFilter", "true");
    world.configure("uploadpack.allowAnySHA1InWant", "true");
    let repository = world.repository(Extent::Partial);
    world.run(async {
        let stack = repository.stack(pr(1), CancellationToken::new()).await.expect("a stack");
        stack.fetch(&[Wanted::Default(branch("main")), pull(1, "feature").wanted()]).await.expect("fetched");
        assert_eq!(world.blobs_of_clone(), 0);
        // Both sides changed the file, so that merging needs its contents.
        let step = stack.update_root(&pull(1, "feature"), &branch("main")).await.expect("merged");
        assert!(matches!(step, Step::Advance(_)));
        assert!(world.blobs_of_clone() > 0);
    });
}

#[test]
fn a_server_that_allows_no_filter_gives_a_full_clone() {
    let world = world();
    let repository = world.repository(Extent::Partial);
    world.run(async {
        let stack = repository.stack(pr(1), CancellationToken::new()).await.expect("a stack");
        stack.fetch(&[Wanted::Default(branch("main"))]).await.expect("fetched");
    });
    assert!(world.blobs_of_clone() > 0);
}

#[test]
fn tidying_keeps_what_a_stack_works_on() {
    let world = world();
    let repository = world.repository(Extent::Full);
    world.run(async {
        let stack = repository.stack(pr(1), CancellationToken::new()).await.expect("a stack");
        let Step::Advance(advance) = stack.update_root(&pull(1, "feature"), &branch("main")).await.expect("merged")
        else {
            panic!("the branch moves");
        };
        for _ in 0..2 {
            repository.tidy(&CancellationToken::new()).await.expect("tidied");
        }
        let pushed = stack.push(&branch("feature"), &advance).await.expect("pushed");
        assert_eq!(pushed, git::push::Pushed::Landed);
        assert!(repository.is_sound().await.expect("examined"));
    });
}
