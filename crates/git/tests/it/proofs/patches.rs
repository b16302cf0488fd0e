//! "Your diff did not change", or that it did.

use std::path::Path;

use git::Error;
use git::proof::PatchId;

use super::*;
use crate::support::history::Mode;
use crate::support::older_git;

fn patch_id(world: &World, base: &Oid, head: &Oid) -> Option<PatchId> {
    world.run(world.objects().patch_id(base, head)).expect("git answers")
}

fn lines(from: usize, to: usize, changed: &[(usize, &str)]) -> Vec<u8> {
    let text = |number| changed.iter().find(|(at, _)| *at == number).map_or("line", |(_, text)| text);
    (from..=to).map(|number| format!("{} {number}\n", text(number))).collect::<String>().into_bytes()
}

#[test]
fn a_diff_that_moved_is_the_same_diff() {
    let world = World::with_base(&[Change::write("f", lines(1, 40, &[])), Change::write("g", "g\n")]);
    let changed = &[(20, "changed")][..];
    let changes = [Change::write("f", lines(1, 40, changed)), Change::write("new", "new\n")];
    let head = world.commit(&[world.base()], &changes, "Change f");
    let before = patch_id(&world, world.base(), &head);
    assert!(before.is_some());

    // Main grows above, elsewhere and below; the branch merges it.
    let theirs = [Change::write("f", lines(0, 44, &[])), Change::write("g", "G\n")];
    let main = world.commit(&[world.base()], &theirs, "Grow");
    assert_eq!(patch_id(&world, &main, &head), before);
    let merged =
        world.commit(&[&head, &main], &[Change::write("f", lines(0, 44, changed)), Change::write("g", "G\n")], "M");
    assert_eq!(patch_id(&world, &main, &merged), before);
}

#[test]
fn a_diff_that_changed_is_another_diff() {
    for program in [Path::new("git"), older_git()] {
        assert_changes_are_told_apart(program);
    }
}

fn assert_changes_are_told_apart(program: &Path) {
    let files = |f: &[u8], binary: &[u8], mode: Mode| {
        vec![
            Change::write("f", f),
            Change::write("binary", binary),
            Change::Write { path: "script".into(), bytes: b"true\n".to_vec(), mode },
        ]
    };
    let world = World::of_git(program, &files(b"if a:\n  b\n", b"\0base", Mode::Plain));
    let id = |changes: &[Change]| patch_id(&world, world.base(), &world.commit(&[world.base()], changes, "Change"));
    let ids = [
        id(&files(b"if a:\n  b\n  c\n", b"\0base", Mode::Plain)),
        id(&files(b"if a:\n  b\nc\n", b"\0base", Mode::Plain)),
        id(&files(b"if a:\n  b\n  c\n", b"\0one", Mode::Plain)),
        id(&files(b"if a:\n  b\n  c\n", b"\0two", Mode::Plain)),
        id(&files(b"if a:\n  b\n", b"\0one", Mode::Plain)),
        id(&files(b"if a:\n  b\n", b"\0two", Mode::Plain)),
        id(&files(b"if a:\n  b\n", b"\0base", Mode::Executable)),
        id(&[Change::delete("binary")]),
        id(&[Change::delete("f")]),
        id(&[Change::rename("f", "g")]),
    ];
    assert!(ids.iter().all(Option::is_some), "{ids:?}");
    let distinct: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len(), "{ids:?}");
}

#[test]
fn no_diff_has_no_id() {
    let world = World::new();
    let empty = world.commit(&[world.base()], &[], "Nothing");
    assert_eq!(patch_id(&world, world.base(), &empty), None);
    let main = others_land(&world, "other");
    assert_eq!(patch_id(&world, &main, &empty), None);
    assert_eq!(patch_id(&world, &main, world.base()), None);
}

#[test]
fn histories_without_a_common_commit_have_no_diff() {
    let world = World::new();
    let stranger = world.commit(&[], &[Change::write("x", "x\n")], "Elsewhere");
    let answer = world.run(world.objects().patch_id(world.base(), &stranger));
    assert!(matches!(answer, Err(Error::Unrelated { .. })), "{answer:?}");
}

#[test]
fn a_diff_that_is_too_large_is_an_error_and_not_a_guess() {
    let world = World::new();
    let line = [vec![b'x'; 16 * 1024 - 1], vec![b'\n']].concat();
    let head = world.commit(&[world.base()], &[Change::write("large", line.repeat(65 * 64))], "Add a large file");
    let answer = world.run(world.objects().patch_id(world.base(), &head));
    assert!(matches!(answer, Err(Error::Unexpected { .. })), "{answer:?}");
}
