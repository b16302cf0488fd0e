//! Each kind of merge by itself: chance need not find it.

use super::*;
use crate::support::history::Mode;
use crate::support::{Change, Draft, Parent};

/// Lines, some of them changed.
fn text(changed: &[(usize, &str)]) -> Vec<u8> {
    let line = |number| changed.iter().find(|(at, _)| *at == number).map_or("line", |(_, text)| text);
    (1..=12).map(|number| format!("{} {number}\n", line(number))).collect::<String>().into_bytes()
}

fn file(path: &str, changed: &[(usize, &str)]) -> Change {
    Change::write(path, text(changed))
}

fn attributes(rules: &str) -> Change {
    Change::write(".gitattributes", rules)
}

fn link(path: &str, target: &str) -> Change {
    Change::Symlink { path: path.into(), target: target.into() }
}

fn module(number: u8) -> Change {
    Change::Submodule { path: "module".into(), commit: model::submodule_commit(number) }
}

fn executable(path: &str, changed: &[(usize, &str)]) -> Change {
    Change::Write { path: path.into(), bytes: text(changed), mode: Mode::Executable }
}

/// A base, what both sides do to it, and how that must end.
struct Scenario {
    name: &'static str,
    base: Vec<Change>,
    ours: Vec<Change>,
    theirs: Vec<Change>,
    ends: Outcome,
}

fn scenario(name: &'static str, base: &[Change], ours: &[Change], theirs: &[Change], ends: Outcome) -> Scenario {
    Scenario { name, base: base.to_vec(), ours: ours.to_vec(), theirs: theirs.to_vec(), ends }
}

fn assert_alike(world: &World, scenarios: &[Scenario]) {
    for Scenario { name, base, ours, theirs, ends } in scenarios {
        let draft =
            |parent, changes: &Vec<Change>| Draft { parents: parent, changes: changes.clone(), message: "x".into() };
        let commits = world.import(&[
            draft(vec![], base),
            draft(vec![Parent::Draft(0)], ours),
            draft(vec![Parent::Draft(0)], theirs),
        ]);
        let found = compare(world, &commits[1], &commits[2]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(found, *ends, "{name}");
    }
}

use Outcome::{Clean, Conflict as Clash};

fn shapes() -> Vec<Scenario> {
    let f = || file("f.txt", &[]);
    let folder = || vec![file("old/a.txt", &[]), file("old/b.txt", &[(5, "b")]), file("old/c.txt", &[(6, "c")])];
    vec![
        scenario("two places", &[f()], &[file("f.txt", &[(2, "x")])], &[file("f.txt", &[(10, "y")])], Clean),
        scenario("one place", &[f()], &[file("f.txt", &[(2, "x")])], &[file("f.txt", &[(2, "y")])], Clash),
        scenario("add/add", &[f()], &[file("n", &[(2, "x")])], &[file("n", &[(2, "y")])], Clash),
        scenario("add/add alike", &[f()], &[file("n", &[(2, "x")])], &[file("n", &[(2, "x")])], Clean),
        scenario("modify/delete", &[f()], &[file("f.txt", &[(2, "x")])], &[Change::delete("f.txt")], Clash),
        scenario("rename and edit", &[f()], &[Change::rename("f.txt", "g.txt")], &[file("f.txt", &[(3, "y")])], Clean),
        scenario(
            "rename/rename to two names",
            &[f()],
            &[Change::rename("f.txt", "g.txt")],
            &[Change::rename("f.txt", "h.txt")],
            Clash,
        ),
        scenario(
            "two files renamed to one name",
            &[f(), file("g.txt", &[(1, "g"), (5, "g"), (9, "g")])],
            &[Change::rename("f.txt", "h.txt")],
            &[Change::rename("g.txt", "h.txt")],
            Clash,
        ),
        scenario("rename/delete", &[f()], &[Change::rename("f.txt", "g.txt")], &[Change::delete("f.txt")], Clash),
        scenario("file/directory", &[f()], &[Change::write("n", "n\n")], &[Change::write("n/a", "a\n")], Clash),
        scenario(
            "a folder renamed, a file added to it",
            &folder(),
            &[Change::rename("old", "new")],
            &[Change::write("old/d.txt", "d\n")],
            Clash,
        ),
        scenario(
            "a folder renamed, a file of it edited",
            &folder(),
            &[Change::rename("old", "new")],
            &[file("old/a.txt", &[(8, "y")])],
            Clean,
        ),
        scenario("mode and content", &[f()], &[executable("f.txt", &[])], &[file("f.txt", &[(2, "y")])], Clean),
        scenario("links", &[link("l", "a")], &[link("l", "b")], &[link("l", "c")], Clash),
        scenario("a link moved on one side", &[link("l", "a")], &[link("l", "b")], &[f()], Clean),
        scenario("a link in place of a file", &[f()], &[link("f.txt", "a")], &[file("f.txt", &[(2, "y")])], Clash),
        scenario(
            "binary",
            &[Change::write("b", b"\0base")],
            &[Change::write("b", b"\0ours")],
            &[Change::write("b", b"\0theirs")],
            Clash,
        ),
    ]
}

fn submodules() -> Vec<Scenario> {
    let f = || file("f.txt", &[]);
    vec![
        scenario("both moved", &[module(1)], &[module(2)], &[module(3)], Clash),
        scenario("moved on one side", &[module(1)], &[module(2)], &[f()], Clean),
        scenario("removed", &[module(1), f()], &[Change::delete("module")], &[module(3)], Clash),
    ]
}

fn attributed() -> Vec<Scenario> {
    let with = |name, rules: &str, ends| {
        let base = [file("f.txt", &[]), attributes(rules)];
        scenario(name, &base, &[file("f.txt", &[(2, "x")])], &[file("f.txt", &[(2, "y")])], ends)
    };
    let apart = |name, rules: &str, ends| {
        let base = [file("f.txt", &[]), attributes(rules)];
        scenario(name, &base, &[file("f.txt", &[(2, "x")])], &[file("f.txt", &[(10, "y")])], ends)
    };
    let (ours, theirs) = ([file("f.txt", &[(2, "x")])], [file("f.txt", &[(2, "y")])]);
    vec![
        with("union", "*.txt merge=union\n", Clean),
        with("union for others", "*.md merge=union\n", Clash),
        with("a macro", "[attr]both merge=union\n*.txt both\n", Clean),
        with("taken back", "*.txt merge=union\nf.txt !merge\n", Clash),
        with("an unknown driver", "*.txt merge=nobody-defined-it\n", Clash),
        apart("an unknown driver, two places", "*.txt merge=nobody-defined-it\n", Clean),
        apart("no merging", "*.txt -merge\n", Clash),
        apart("binary by attribute", "*.txt binary\n", Clash),
        apart("line endings", "*.txt text eol=crlf\n", Clean),
        // The attributes are those of ours, not of the base and not of theirs.
        scenario(
            "union by ours alone",
            &[file("f.txt", &[])],
            &[ours.to_vec(), vec![attributes("*.txt merge=union\n")]].concat(),
            &theirs,
            Clean,
        ),
        scenario(
            "union by theirs alone",
            &[file("f.txt", &[])],
            &ours,
            &[theirs.to_vec(), vec![attributes("*.txt merge=union\n")]].concat(),
            Clash,
        ),
    ]
}

fn nested() -> Vec<Scenario> {
    let (ours, theirs) = ([file("a/b/f.txt", &[(2, "x")])], [file("a/b/f.txt", &[(2, "y")])]);
    let base = |path: &str, rules: &str| [file("a/b/f.txt", &[]), Change::write(path, rules)];
    vec![
        scenario("in a folder", &base("a/.gitattributes", "*.txt merge=union\n"), &ours, &theirs, Clean),
        scenario("in its folder", &base("a/b/.gitattributes", "f.txt merge=union\n"), &ours, &theirs, Clean),
        scenario("in another folder", &base("b/.gitattributes", "*.txt merge=union\n"), &ours, &theirs, Clash),
    ]
}

#[test]
fn every_shape_of_merge_comes_out_alike() {
    let world = World::new();
    assert_alike(&world, &shapes());
    assert_alike(&world, &submodules());
    assert_alike(&world, &attributed());
    if Ability::here() == Ability::Full {
        assert_alike(&world, &nested());
    }
}

#[test]
fn every_shape_of_merge_comes_out_alike_with_an_older_git() {
    let program = older_git();
    let world = World::of_git(program, &[]);
    assert_alike(&world, &shapes());
    assert_alike(&world, &submodules());
    assert_alike(&world, &attributed());
}

#[test]
fn a_merge_of_histories_that_crossed_comes_out_alike() {
    let world = World::new();
    for (our_line, their_line, ends) in [(4, 9, Clean), (6, 6, Clash)] {
        let draft = |parents: &[usize], changed: &[(usize, &str)]| Draft {
            parents: parents.iter().map(|parent| Parent::Draft(*parent)).collect(),
            changes: vec![file("f.txt", changed)],
            message: "x".into(),
        };
        let met = [(2, "x"), (11, "y")];
        let commits = world.import(&[
            draft(&[], &[]),
            draft(&[0], &met[..1]),
            draft(&[0], &met[1..]),
            draft(&[1, 2], &[&met[..], &[(our_line, "ours")]].concat()),
            draft(&[2, 1], &[&met[..], &[(their_line, "theirs")]].concat()),
        ]);
        assert_eq!(compare(&world, &commits[3], &commits[4]).unwrap(), ends);
    }
}
