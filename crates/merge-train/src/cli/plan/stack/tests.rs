//! Stacks as they are found, and as they are found wanting.

use jiff::Timestamp;
use merge_train_core::facts::CommentFacts;
use merge_train_core::ids::{CommentId, Sha, UserId};

use super::*;

const AUTHOR: u64 = 7;

fn branch(name: &str) -> BranchName {
    BranchName::parse(name).unwrap()
}

fn pr(number: u64) -> PrNumber {
    PrNumber::new(number)
}

/// A repository on `main` with these pull requests: number, branch, base.
fn world(pulls: &[(u64, &str, &str)]) -> RepoFacts {
    let pull = |(number, head, base): &(u64, &str, &str)| PullFacts {
        number: pr(*number),
        head_ref: branch(head),
        head_sha: Sha::parse("a".repeat(40)).unwrap(),
        head_repo: HeadRepo::Same,
        base_ref: branch(base),
        state: PullState::Open,
        draft: false,
        author: UserId::new(AUTHOR),
        updated_at: Timestamp::UNIX_EPOCH,
        stack_position: None,
        title: String::new(),
        labels: std::collections::BTreeSet::new(),
    };
    RepoFacts {
        default_branch: branch("main"),
        pulls: pulls.iter().map(pull).collect(),
        comments: Vec::new(),
        bot: UserId::new(99),
    }
}

fn say(facts: &mut RepoFacts, number: u64, author: u64, body: &str) {
    facts.comments.push(CommentFacts {
        id: CommentId::new(facts.comments.len() as u64 + 1),
        pr: pr(number),
        author: UserId::new(author),
        login: String::new(),
        body: body.to_owned(),
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
    });
}

fn numbers(reading: &StackReading) -> Vec<(u64, Option<u64>)> {
    let bare = |number: PrNumber| number.to_string().parse().unwrap();
    reading.members.iter().map(|member| (bare(member.pull), member.predecessor.map(bare))).collect()
}

const TREE: &[(u64, &str, &str)] = &[
    (1, "one", "main"),
    (2, "two", "one"),
    (3, "three", "two"),
    (4, "four", "one"),
    (9, "nine", "main"),
    (10, "ten", "nine"),
];

#[test]
fn a_stack_is_the_same_whichever_of_its_pull_requests_is_named() {
    for number in 1..=4 {
        let reading = form(&world(TREE), pr(number)).unwrap();
        assert_eq!(numbers(&reading), [(1, None), (2, Some(1)), (3, Some(2)), (4, Some(1))]);
    }
    assert_eq!(numbers(&form(&world(TREE), pr(9)).unwrap()), [(9, None), (10, Some(9))]);
}

#[test]
fn what_is_not_declared_is_noted_and_what_is_declared_is_not() {
    let mut facts = world(&TREE[..3]);
    say(&mut facts, 2, AUTHOR, "@merge-train predecessor #1");
    // Only the author's word counts.
    say(&mut facts, 3, AUTHOR + 1, "@merge-train predecessor #2");
    let reading = form(&facts, pr(1)).unwrap();
    assert_eq!(
        reading.notes,
        ["#3 has not declared its predecessor yet: its author must comment `@merge-train predecessor #2`."]
    );
    assert_eq!(reading.refusals, [""; 0]);
}

#[test]
fn a_declaration_that_the_base_branch_contradicts_is_refused() {
    let mut facts = world(&TREE[..4]);
    say(&mut facts, 1, AUTHOR, "@merge-train predecessor #4");
    say(&mut facts, 3, AUTHOR, "@merge-train predecessor #1");
    say(&mut facts, 3, AUTHOR, "@merge-train predecessor #2");
    let refusals = form(&facts, pr(1)).unwrap().refusals;
    assert_eq!(
        refusals,
        [
            "PR #1 declares predecessor #4, but its base branch 'main' doesn't match #4's head branch 'four'",
            "PR #3 declares predecessor #1, but its base branch 'two' doesn't match #1's head branch 'one'",
        ]
    );
}

#[test]
fn a_predecessor_that_has_landed_is_none_any_more() {
    let mut facts = world(&[(1, "one", "main"), (2, "two", "main")]);
    facts.pulls[0].state = PullState::Merged { merge_commit_sha: None, at: Timestamp::UNIX_EPOCH };
    say(&mut facts, 2, AUTHOR, "@merge-train predecessor #1");
    let reading = form(&facts, pr(2)).unwrap();
    assert_eq!((numbers(&reading), reading.refusals, reading.notes), (vec![(2, None)], vec![], vec![]));
}

#[test]
fn the_missing_link_is_named_with_what_became_of_it() {
    let mut facts = world(&[(1, "one", "main"), (2, "two", "one"), (3, "three", "two")]);
    let refused = |facts: &RepoFacts| form(facts, pr(3)).unwrap_err().to_string();
    facts.pulls[0].state = PullState::Closed { at: Timestamp::UNIX_EPOCH };
    let told = refused(&facts);
    assert!(told.starts_with("#2 is based on `one`, which is neither the default branch `main` nor"), "{told}");
    assert!(told.contains("(#1, whose branch it was, is closed); retarget #2"), "{told}");
    facts.pulls[0].state = PullState::Merged { merge_commit_sha: None, at: Timestamp::UNIX_EPOCH };
    assert!(refused(&facts).contains("is merged)"), "{}", refused(&facts));
    facts.pulls[0] = PullFacts { state: PullState::Open, head_repo: HeadRepo::Fork, ..facts.pulls[0].clone() };
    assert!(refused(&facts).contains("(#1 has a branch of that name in a fork)"), "{}", refused(&facts));
    facts.pulls.remove(0);
    assert!(refused(&facts).contains("an open pull request; retarget #2"), "{}", refused(&facts));
}

#[test]
fn a_circle_is_told_without_what_only_leads_to_it() {
    let facts = world(&[(1, "one", "two"), (2, "two", "one"), (3, "three", "two")]);
    let told = form(&facts, pr(3)).unwrap_err().to_string();
    assert_eq!(told, "#2 and #1 form a cycle; retarget one of them to `main`");
}

#[test]
fn a_branch_with_two_pull_requests_needs_a_word_from_the_author() {
    let mut facts = world(&[(1, "one", "main"), (2, "two", "main"), (3, "two", "one"), (4, "four", "two")]);
    let told = form(&facts, pr(4)).unwrap_err().to_string();
    assert!(told.starts_with("#4 is based on `two`, which is the branch of #2 and #3;"), "{told}");
    let reading = form(&facts, pr(2)).unwrap();
    assert_eq!(numbers(&reading), [(2, None)]);
    assert!(reading.notes[0].starts_with("#4 is left out: #4 is based on `two`"), "{:?}", reading.notes);
    say(&mut facts, 4, AUTHOR, "@merge-train predecessor #3");
    assert_eq!(numbers(&form(&facts, pr(4)).unwrap()), [(1, None), (3, Some(1)), (4, Some(3))]);
    assert_eq!(numbers(&form(&facts, pr(2)).unwrap()), [(2, None)]);
}

#[test]
fn forks_are_left_alone_and_mentioned() {
    let mut facts = world(TREE);
    facts.pulls[2].head_repo = HeadRepo::Fork;
    let reading = form(&facts, pr(1)).unwrap();
    assert_eq!(numbers(&reading), [(1, None), (2, Some(1)), (4, Some(1))]);
    assert!(reading.notes.contains(&"#3 is stacked on #2 but comes from a fork: merge-train ignores it.".to_owned()));
    assert_eq!(form(&facts, pr(3)).unwrap_err(), StackError::Fork(pr(3)));
    assert_eq!(form(&facts, pr(77)).unwrap_err(), StackError::Gone(pr(77)));
}

#[test]
fn a_draft_is_part_of_the_stack_and_mentioned() {
    let mut facts = world(&TREE[..2]);
    facts.pulls[0].draft = true;
    let reading = form(&facts, pr(2)).unwrap();
    assert_eq!(reading.members.len(), 2);
    assert!(reading.notes[0].contains("#1 is a draft"), "{:?}", reading.notes);
}
