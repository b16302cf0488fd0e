//! A merge in the object store comes to what `git merge` comes to in a checkout: the same tree, or the same conflict.

mod histories;
mod model;
mod scenarios;

use std::cell::Cell;

use git::Oid;
use git::merge::Merge;
use merge_train_core::repo::trains::conflict::{Conflict, Side};
use proptest::prelude::*;

use crate::support::landing::CheckoutMerge;
use crate::support::{World, older_git};
use histories::{Ability, base_files, history};

const CASES: u32 = 300;
/// Fewer of either outcome, and the histories say nothing.
const AT_LEAST_OF_EACH: u32 = CASES / 6;

/// How a merge ended, both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Clean,
    Conflict,
}

/// Merges both ways and compares.
fn compare(world: &World, ours: &Oid, theirs: &Oid) -> Result<Outcome, TestCaseError> {
    let checkout = world.merge_in_checkout(ours, theirs);
    let merged = world.run(world.objects().merge(ours, theirs, "Merge"));
    match (merged, checkout) {
        (Ok(Merge::UpToDate), CheckoutMerge::Clean(tree)) => {
            prop_assert_eq!(tree, world.rev_parse(&format!("{ours}^{{tree}}")));
            Ok(Outcome::Clean)
        }
        (Ok(Merge::Advanced(head)), CheckoutMerge::Clean(tree)) => {
            if head.tree != tree {
                prop_assert_eq!(contents(world, &head.tree, ours), contents(world, &tree, ours));
            }
            prop_assert_eq!(&world.rev_parse(&format!("{}^{{tree}}", head.commit)), &head.tree);
            Ok(Outcome::Clean)
        }
        (Ok(Merge::Conflict(conflict)), CheckoutMerge::Conflict(entries)) => {
            let found = unmerged(&conflict, ours);
            if found != entries {
                prop_assert_eq!(read(world, &found, ours), read(world, &entries, ours), "{:?}", conflict);
            }
            Ok(Outcome::Conflict)
        }
        (Ok(Merge::Conflict(_)) | Err(_), CheckoutMerge::Broken) => Ok(Outcome::Conflict),
        (merged, checkout) => Err(TestCaseError::fail(format!("here {merged:?}, there {checkout:?}"))),
    }
}

/// The versions of a conflict, as `git ls-files -u` lists them. A file that has to make way for a folder is named after its
/// side, which in a checkout is `HEAD`.
fn unmerged(conflict: &Conflict, ours: &Oid) -> Vec<String> {
    let entry = |path: &str, version: &merge_train_core::repo::trains::conflict::Version| {
        let stage = match version.side {
            Side::Base => 1,
            Side::Ours => 2,
            Side::Theirs => 3,
        };
        format!("{} {} {stage}\t{}", version.mode, version.object, path.replace(&format!("~{ours}"), "~HEAD"))
    };
    let mut entries: Vec<String> = Vec::new();
    for file in &conflict.files {
        entries.extend(file.versions.iter().map(|version| entry(&file.path, version)));
    }
    entries.sort();
    entries
}

/// The same entries with what they hold in place of its name: a file that both sides renamed holds conflict markers, and
/// those name the sides too.
fn read(world: &World, entries: &[String], ours: &Oid) -> Vec<(String, String)> {
    let read = |entry: &String| {
        let (mode, rest) = entry.split_once(' ').expect("a mode");
        let (object, rest) = rest.split_once(' ').expect("an object");
        let content = match mode {
            "160000" => object.to_owned(),
            _ => String::from_utf8_lossy(&world.blob(object)).replace(ours.as_str(), "HEAD"),
        };
        (format!("{mode} {rest}"), content)
    };
    let mut entries: Vec<(String, String)> = entries.iter().map(read).collect();
    entries.sort();
    entries
}

/// What a tree holds, with the side that markers name called what a checkout calls it. Git can unite a file that is renamed and
/// in conflict with one that was added there, call that clean, and leave the markers of the conflict in it.
fn contents(world: &World, tree: &Oid, ours: &Oid) -> Vec<(String, String, String)> {
    let text = |bytes: Vec<u8>| match String::from_utf8(bytes) {
        Ok(text) => text.replace(ours.as_str(), "HEAD"),
        Err(binary) => format!("{:?}", binary.as_bytes()),
    };
    world.tree_contents(tree).into_iter().map(|(path, (mode, bytes))| (path, mode, text(bytes))).collect()
}

/// Compares over many histories; both outcomes must have come up often.
fn compare_many(world: &World, ability: Ability) {
    let (clean, conflicts) = (Cell::new(0), Cell::new(0));
    let config = ProptestConfig { source_file: Some(file!()), ..ProptestConfig::with_cases(CASES) };
    proptest!(config, |(history in history(ability))| {
        let (ours, theirs) = history.write(world);
        let counter = match compare(world, &ours, &theirs)? {
            Outcome::Clean => &clean,
            Outcome::Conflict => &conflicts,
        };
        counter.set(counter.get() + 1);
    });
    println!("{} clean merges, {} conflicts", clean.get(), conflicts.get());
    assert!(clean.get() >= AT_LEAST_OF_EACH, "only {} clean merges", clean.get());
    assert!(conflicts.get() >= AT_LEAST_OF_EACH, "only {} conflicts", conflicts.get());
}

#[test]
fn a_merge_without_a_checkout_is_the_merge_of_a_checkout() {
    let world = World::with_base(&base_files());
    compare_many(&world, Ability::here());
}

#[test]
fn a_git_that_reads_no_attributes_from_trees_merges_alike() {
    let program = older_git();
    let world = World::of_git(program, &base_files());
    compare_many(&world, Ability::Older);
}
