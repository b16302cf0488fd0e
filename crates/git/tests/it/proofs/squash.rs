//! Squash or not: the table of the specification, and what makes it hard.

use git::proof::{Landing, NotSquash};

use super::*;

/// Accepted whatever else is known of the landing.
fn assert_accepted(world: &World, what: &str, landing: &Landing, before: &Oid) {
    for known_before in [None, Some(before.clone())] {
        let landing = Landing { known_before, ..landing.clone() };
        let squash = verdict(world, &landing).unwrap_or_else(|refusal| panic!("{what}, {landing:?}: {refusal}"));
        assert_eq!((squash.commit(), squash.parent()), (&landing.merge_commit, before), "{what}");
    }
}

/// Refused whatever else is known of the landing. All its commits are on the default branch.
fn assert_refused(world: &World, what: &str, landing: &Landing, before: &Oid) -> NotSquash {
    let known = Landing { known_before: Some(before.clone()), ..landing.clone() };
    let with_knowledge = verdict(world, &known).expect_err(what);
    assert_eq!(verdict(world, landing).expect_err(what), with_knowledge, "{what}");
    with_knowledge
}

#[test]
fn a_squash_of_one_commit_or_of_many_is_accepted() {
    for names in [&["a"][..], &["a", "b", "c"]] {
        let world = World::new();
        let head = branch(&world, world.base(), names);
        let squash = world.squash(&head, "Add a (#5)");
        assert_accepted(&world, "main as it was", &landing(&world, &squash, &head), world.base());

        world.start_over();
        let before = others_land(&world, "other");
        let squash = world.squash(&head, "Add a (#5)");
        assert_accepted(&world, "main moved before", &landing(&world, &squash, &head), &before);
        others_land(&world, "later");
        assert_accepted(&world, "main moved after", &landing(&world, &squash, &head), &before);
    }
}

#[test]
fn a_single_commit_rebased_is_as_good_as_a_squash() {
    let world = World::new();
    let head = branch(&world, world.base(), &["a"]);
    let before = others_land(&world, "other");
    let landed = world.rebase_merge(&head);
    assert_ne!(landed, head);
    assert_accepted(&world, "rebased", &landing(&world, &landed, &head), &before);
}

#[test]
fn several_commits_rebased_are_refused_although_all_of_them_are_on_the_default_branch() {
    for options in [&[][..], &["--ignore-date"], &["--signoff"]] {
        for others in [0, 1] {
            let world = World::new();
            let head = branch(&world, world.base(), &["a", "b", "c"]);
            let before = if others == 0 { world.base().clone() } else { others_land(&world, "other") };
            let landed = world.rebase_merge_with(&head, options);
            let what = format!("{options:?} with {others} other commits");
            let refusal = assert_refused(&world, &what, &landing(&world, &landed, &head), &before);
            assert!(matches!(refusal, NotSquash::Rebase { .. }), "{what}: {refusal}");
            others_land(&world, "later");
            assert_refused(&world, &what, &landing(&world, &landed, &head), &before);
        }
    }
}

#[test]
fn rebased_commits_are_known_again_after_their_patches_changed() {
    let lines = |changed: &[(usize, &str)]| -> Vec<u8> {
        let line = |number| changed.iter().find(|(at, _)| *at == number).map_or("line", |(_, text)| text);
        (1..=20).map(|number| format!("{} {number}\n", line(number))).collect::<String>().into_bytes()
    };
    let world = World::with_base(&[Change::write("f", lines(&[]))]);
    let head = world
        .chain(
            world.base(),
            &[
                (vec![Change::write("f", lines(&[(2, "one")]))], "Change one".into()),
                (vec![Change::write("f", lines(&[(2, "one"), (12, "two")]))], "Change two".into()),
            ],
        )
        .pop()
        .unwrap();
    // What a person does in a conflict: the same commits, with other patches.
    let before =
        world.fast_forward(&world.commit(&[world.base()], &[Change::write("f", lines(&[(3, "theirs")]))], "x"));
    let landed = world.rebase_merge_with(&head, &["-Xignore-all-space", "-Xtheirs"]);
    let refusal = assert_refused(&world, "rebased", &landing(&world, &landed, &head), &before);
    assert!(matches!(refusal, NotSquash::Rebase { .. }));
}

#[test]
fn a_true_merge_is_refused() {
    let world = World::new();
    let head = branch(&world, world.base(), &["a"]);
    let before = others_land(&world, "other");
    let landed = world.true_merge(&head);
    let refusal = assert_refused(&world, "merged", &landing(&world, &landed, &head), &before);
    assert_eq!(refusal, NotSquash::Merge { pull: PULL });
}

#[test]
fn a_single_commit_fast_forwarded_is_accepted_once_it_is_known_to_be_single() {
    let world = World::new();
    let head = branch(&world, world.base(), &["a"]);
    let landed = world.fast_forward(&head);
    let landing = landing(&world, &landed, &head);
    assert_accepted(&world, "counted", &Landing { pull_commits: Some(1), ..landing.clone() }, world.base());
    let seen = Landing { known_before: Some(world.base().clone()), ..landing.clone() };
    assert!(verdict(&world, &seen).is_ok());
    assert_eq!(verdict(&world, &landing), Err(NotSquash::FastForward { pull: PULL }));
}

#[test]
fn several_commits_fast_forwarded_are_refused() {
    let world = World::new();
    let head = branch(&world, world.base(), &["a", "b"]);
    let landed = world.fast_forward(&head);
    for pull_commits in [None, Some(2)] {
        let landing = Landing { pull_commits, ..landing(&world, &landed, &head) };
        let refusal = assert_refused(&world, "fast-forwarded", &landing, world.base());
        assert_eq!(refusal, NotSquash::FastForward { pull: PULL });
    }
}

#[test]
fn a_squash_is_accepted_although_the_pull_request_had_merged_main() {
    let world = World::new();
    let head = branch(&world, world.base(), &["a", "b"]);
    let before = others_land(&world, "other");
    let merged = world.commit(&[&head, &before], &[Change::write("other", b"other\n")], "Merge main");
    let head = branch(&world, &merged, &["c"]);
    let squash = world.squash(&head, "Add a, b and c (#5)");
    // The parent is in the pull request's own history, and so is everything before it.
    assert_accepted(&world, "main merged", &landing(&world, &squash, &head), &before);
}

#[test]
fn a_squash_is_accepted_although_the_pull_request_holds_the_predecessors_commits() {
    for (first, second) in [(&["a"][..], &["b"][..]), (&["a", "b"], &["c"]), (&["a"], &["b", "c"])] {
        let world = World::new();
        let predecessor = branch(&world, world.base(), first);
        let head = branch(&world, &predecessor, second);
        // Squashed one after the other, and nobody reconciled: the first squash is much like the predecessor's commit.
        let before = world.squash(&predecessor, "Add a (#4)");
        let squash = world.squash(&head, "Add b (#5)");
        assert_accepted(&world, "not reconciled", &landing(&world, &squash, &head), &before);

        // The same with a squash whose message is that of its only commit.
        world.start_over();
        let before = world.squash(&predecessor, "Add a");
        let reconciled = world.commit(&[&head, &before], &[], "Relate with the squash");
        let squash = world.squash(&reconciled, "Add b");
        assert_accepted(&world, "reconciled", &landing(&world, &squash, &reconciled), &before);
    }
}

#[test]
fn a_squash_is_accepted_upon_a_commit_of_the_pull_request_that_was_picked_before() {
    let world = World::new();
    let head = branch(&world, world.base(), &["a", "b"]);
    let first = world.rev_parse(&format!("{head}^"));
    others_land(&world, "other");
    let picked = world.rebase_merge(&first);
    let squash = world.squash(&head, "Add a and b (#5)");
    assert_accepted(&world, "picked", &landing(&world, &squash, &head), &picked);
}

#[test]
fn what_landed_between_the_reading_of_main_and_the_merge_is_told_from_a_rebase() {
    let world = World::new();
    let head = branch(&world, world.base(), &["a", "b"]);
    others_land(&world, "one");
    let parent = others_land(&world, "two");
    let squash = world.squash(&head, "Add a and b (#5)");
    let known = Landing { known_before: Some(world.base().clone()), ..landing(&world, &squash, &head) };
    assert_eq!(verdict(&world, &known).unwrap().parent(), &parent);

    world.start_over();
    others_land(&world, "one");
    let landed = world.rebase_merge(&head);
    let known = Landing { known_before: Some(world.base().clone()), ..landing(&world, &landed, &head) };
    assert!(matches!(verdict(&world, &known), Err(NotSquash::Rebase { .. })));
}

#[test]
fn a_rebase_is_known_by_any_of_its_commits_when_main_before_it_is_known() {
    let world = World::new();
    let head = branch(&world, world.base(), &["a", "b"]);
    let first = world.rev_parse(&format!("{head}^"));
    // In the middle stands a commit that nobody would know again, as after an edit in the rebase.
    world.rebase_merge(&first);
    others_land(&world, "edited");
    let landed = world.rebase_merge(&head);
    let known = Landing { known_before: Some(world.base().clone()), ..landing(&world, &landed, &head) };
    assert!(matches!(verdict(&world, &known), Err(NotSquash::Rebase { .. })));
}

#[test]
fn a_head_of_main_that_was_read_after_the_merge_tells_nothing() {
    let world = World::new();
    let head = branch(&world, world.base(), &["a", "b"]);
    others_land(&world, "other");
    let squash = world.squash(&head, "Add a and b (#5)");
    let late = others_land(&world, "later");
    for known in [&squash, &late] {
        let known = Landing { known_before: Some(known.clone()), ..landing(&world, &squash, &head) };
        assert!(verdict(&world, &known).is_ok());
    }

    world.start_over();
    others_land(&world, "other");
    let landed = world.rebase_merge(&head);
    let known = Landing { known_before: Some(landed.clone()), ..landing(&world, &landed, &head) };
    assert!(matches!(verdict(&world, &known), Err(NotSquash::Rebase { .. })));
}

#[test]
fn a_main_that_was_rewound_is_refused() {
    let world = World::new();
    let head = branch(&world, world.base(), &["a", "b"]);
    let lost = others_land(&world, "lost");
    world.start_over();
    let squash = world.squash(&head, "Add a and b (#5)");
    let known = Landing { known_before: Some(lost.clone()), ..landing(&world, &squash, &head) };
    let refusal = verdict(&world, &known).unwrap_err();
    assert_eq!(refusal, NotSquash::Rewound { pull: PULL, parent: world.base().clone(), known_before: lost });
}

#[test]
fn a_commit_that_is_not_on_the_default_branch_is_refused() {
    let world = World::new();
    let head = branch(&world, world.base(), &["a", "b"]);
    let squash = world.squash(&head, "Add a and b (#5)");
    world.start_over();
    let gone = landing(&world, &squash, &head);
    assert_eq!(verdict(&world, &gone), Err(NotSquash::CommitElsewhere { pull: PULL, commit: squash }));

    let parent = others_land(&world, "other");
    let squash = world.squash(&head, "Add a and b (#5)");
    world.start_over();
    let gone = landing(&world, &squash, &head);
    assert_eq!(verdict(&world, &gone), Err(NotSquash::ParentElsewhere { pull: PULL, parent }));
}

#[test]
fn a_commit_upon_a_merge_that_somebody_pushed_is_no_squash() {
    let world = World::new();
    let head = branch(&world, world.base(), &["a", "b"]);
    let before = others_land(&world, "other");
    world.true_merge(&head);
    // GitHub names the head of the push that brought the pull request in.
    let pushed = others_land(&world, "upon it");
    let refusal = assert_refused(&world, "pushed", &landing(&world, &pushed, &head), &before);
    assert_eq!(refusal, NotSquash::HistoryKept { pull: PULL, commit: pushed });
}

#[test]
fn a_root_commit_is_no_squash() {
    let world = World::new();
    let head = branch(&world, world.base(), &["a"]);
    let refusal = verdict(&world, &landing(&world, world.base(), &head)).unwrap_err();
    assert_eq!(refusal, NotSquash::NoParent { pull: PULL, commit: world.base().clone() });
}

#[test]
fn every_refusal_names_the_pull_request_once_and_says_what_to_do() {
    let (pull, commit) = (PULL, World::new().base().clone());
    let (parent, known_before) = (commit.clone(), commit.clone());
    for refusal in [
        NotSquash::Merge { pull },
        NotSquash::NoParent { pull, commit: commit.clone() },
        NotSquash::ParentElsewhere { pull, parent: parent.clone() },
        NotSquash::CommitElsewhere { pull, commit: commit.clone() },
        NotSquash::Rebase { pull, parent: parent.clone() },
        NotSquash::FastForward { pull },
        NotSquash::HistoryKept { pull, commit },
        NotSquash::Rewound { pull, parent, known_before },
    ] {
        let text = refusal.to_string();
        assert_eq!(text.matches("#5").count(), 1, "{text}");
        assert_eq!(text.matches('#').count(), 1, "{text}");
        assert!(text.contains("Manual intervention required"), "{text}");
        assert!(!text.contains("  "), "{text}");
    }
    assert_eq!(
        NotSquash::Merge { pull }.to_string(),
        "Predecessor #5 was merged with merge (not squash). Late-addition reconciliation requires squash merge. \
         Manual intervention required: rebase the late PR onto main."
    );
}
