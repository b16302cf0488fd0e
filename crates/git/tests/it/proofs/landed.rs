//! Whether the default branch got what it was to get.

use git::proof::LandedProof;

use super::*;

fn proof(world: &World, squash: &Oid, head: &Oid) -> LandedProof {
    let squash = verdict(world, &landing(world, squash, head)).expect("it is a squash");
    world.run(world.objects().prove_landed(&squash, head)).expect("git answers")
}

/// A commit upon `main` with any tree: what a server with a fault makes.
fn squash_wrongly(world: &World, changes: &[Change]) -> Oid {
    let squash = world.commit(&[&world.main()], changes, "Squash (#5)");
    world.fast_forward(&squash)
}

#[test]
fn a_squash_with_the_merged_tree_is_proven_and_its_tree_was_known_before() {
    let world = World::new();
    let head = branch(&world, world.base(), &["a", "b"]);
    others_land(&world, "other");
    let expected = world.run(world.objects().expected_tree(&world.main(), &head)).unwrap().unwrap();
    let squash = world.squash(&head, "Add a and b (#5)");
    assert_eq!(world.rev_parse(&format!("{squash}^{{tree}}")), expected);
    assert_eq!(proof(&world, &squash, &head), LandedProof::Proven);
}

#[test]
fn a_squash_that_reverts_what_others_landed_is_found_out() {
    let world = World::new();
    let head = branch(&world, world.base(), &["a", "b"]);
    others_land(&world, "other");
    // The pull request's own tree on the new parent: everything since its fork is gone.
    let files = [Change::delete("other"), Change::write("a", "a\n"), Change::write("b", "b\n")];
    let squash = squash_wrongly(&world, &files);
    let LandedProof::WrongTree { files, unnamed, expected, found } = proof(&world, &squash, &head) else {
        panic!("a reverting squash was proven")
    };
    assert_eq!((files, unnamed), (vec!["other".to_owned()], 0));
    assert_eq!(found, world.rev_parse(&format!("{squash}^{{tree}}")));
    assert_ne!(found, expected);
}

#[test]
fn a_squash_that_drops_a_part_of_the_pull_request_is_found_out() {
    let world = World::new();
    let head = branch(&world, world.base(), &["a", "b", "ünï cödé"]);
    let squash = squash_wrongly(&world, &[Change::write("a", "a\n")]);
    let LandedProof::WrongTree { files, .. } = proof(&world, &squash, &head) else {
        panic!("half a squash was proven")
    };
    assert_eq!(files, ["b", "ünï cödé"]);
}

#[test]
fn of_many_differing_files_some_are_named_and_the_rest_is_counted() {
    let world = World::new();
    let head = branch(&world, world.base(), &["a"]);
    let strangers: Vec<Change> = (0..50).map(|number| Change::write(format!("x{number:02}"), "x\n")).collect();
    let squash = squash_wrongly(&world, &[strangers, vec![Change::write("a", "a\n")]].concat());
    let LandedProof::WrongTree { files, unnamed, .. } = proof(&world, &squash, &head) else { panic!("proven") };
    assert_eq!((files.len(), unnamed), (20, 30));
}

#[test]
fn what_attributes_merge_is_proven_whether_the_server_heeds_them_or_not() {
    let world = World::with_base(&[Change::write(".gitattributes", "log merge=union\n"), Change::write("log", "1\n")]);
    let head = world.commit(&[world.base()], &[Change::write("log", "1\nours\n")], "Log");
    let theirs = world.commit(&[world.base()], &[Change::write("log", "1\ntheirs\n")], "Log");
    world.fast_forward(&theirs);
    // Without attributes this is a conflict, and a server that heeds none would not have landed it.
    assert!(world.run(world.objects().expected_tree(&theirs, &head)).unwrap().is_err());
    let squash = world.squash(&head, "Log (#5)");
    assert_eq!(proof(&world, &squash, &head), LandedProof::Proven);
}

#[test]
fn where_the_two_do_not_merge_nothing_is_claimed() {
    let world = World::with_base(&[Change::write("f", "1\n")]);
    let head = world.commit(&[world.base()], &[Change::write("f", "ours\n")], "Change f");
    world.fast_forward(&world.commit(&[world.base()], &[Change::write("f", "theirs\n")], "Change f too"));
    let squash = squash_wrongly(&world, &[Change::write("f", "resolved\n")]);
    let LandedProof::CannotTell(conflict) = proof(&world, &squash, &head) else { panic!("a conflict was judged") };
    assert_eq!(conflict.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["f"]);
}

#[test]
fn a_descendant_is_prepared_once_it_holds_its_predecessors_last_commit() {
    let world = World::new();
    let fork = branch(&world, world.base(), &["a"]);
    let predecessor = branch(&world, &fork, &["b"]);
    let descendant = branch(&world, &fork, &["c"]);
    let prepared = world.commit(&[&descendant, &predecessor], &[Change::write("b", "b\n")], "Prepare");
    let holds = |head: &Oid| world.run(world.objects().is_prepared(head, &predecessor)).unwrap();
    assert!(!holds(&descendant));
    assert!(holds(&prepared));
    assert!(holds(&branch(&world, &prepared, &["d"])));
}
