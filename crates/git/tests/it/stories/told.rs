//! The stories that were seen to lose a change, each with the guard and without it.

use super::blind::Belief;
use super::contents::Style;
use super::daemon::Moment;
use super::github::State;
use super::people::Act;
use super::story::{Story, Teller, When};

use Moment::{After, Before, Inside};

fn at(name: &'static str, number: u64, moment: Moment) -> When {
    When::At(name, number, moment)
}

/// Lands exactly, whatever it takes; and is lost when the guard is gone.
fn holds(belief: Belief, story: &Story) {
    let mut teller = Teller::new();
    let outcome = teller.tell(story);
    assert_eq!(outcome, Ok(()), "{}\n{}", teller.conversation(), teller.daemon.log());
    assert!(teller.is_told(), "nobody did anything: the story was not told");
    teller.belief = Some(belief);
    let Err(flaws) = teller.tell(story) else {
        panic!("no change is lost without the guard: {}\n{}", teller.conversation(), teller.daemon.log());
    };
    println!("{belief:?}: {flaws:?}");
    let is_lost = |flaw: &String| flaw.contains("lost: [") || flaw.contains("changes it");
    assert!(flaws.iter().any(is_lost), "{flaws:?}\n{}", teller.conversation());
}

#[test]
fn story_1_an_empty_commit_pushed_inside_the_reconcile_push_loses_nothing() {
    holds(Belief::OnceRelated, &Story::told(&[0, 1], &[(at("push", 2, Inside), 2, Act::EmptyPush)]));
}

#[test]
fn story_1_the_own_head_pushed_again_inside_the_reconcile_push_loses_nothing() {
    holds(Belief::OnceRelated, &Story::told(&[0, 1], &[(at("push", 2, Inside), 2, Act::AmendSameTree)]));
}

#[test]
fn story_2_an_amended_head_pushed_after_the_reconciliation_loses_nothing() {
    holds(Belief::OnceRelated, &Story::told(&[0, 1], &[(at("retarget", 2, After), 2, Act::AmendSameTree)]));
    holds(Belief::OnceRelated, &Story::told(&[0, 1], &[(at("expect_squash", 2, Before), 2, Act::ForcePushOwnHead)]));
}

#[test]
fn story_3_what_its_author_rebased_after_a_squash_by_hand_is_left_alone() {
    let when = || at("plan", 1, Before);
    let acts = [(when(), 1, Act::SquashByHand), (when(), 2, Act::Rebase), (when(), 2, Act::RetargetToMain)];
    let story = Story::told(&[0, 1], &acts);
    holds(Belief::AlwaysToBeRelated, &story);
    let story = Story { style: Style::ModifiesBelow, ..story };
    let mut teller = Teller::new();
    assert_eq!(teller.tell(&story), Ok(()), "{}", teller.conversation());
    assert!(teller.report.halts.is_empty(), "a clean pull request is aborted: {:?}", teller.report.halts);
}

#[test]
fn story_4_all_that_was_squashed_by_hand_below_is_related() {
    let when = || at("plan", 1, Before);
    let acts = [(when(), 1, Act::SquashByHand), (when(), 2, Act::RetargetToMain), (when(), 2, Act::SquashByHand)];
    let story = Story { style: Style::DeletesLowest, ..Story::told(&[0, 1, 2], &acts) };
    holds(Belief::OnlyTheLast, &story);
}

#[test]
fn story_5_what_is_restacked_after_it_was_reconciled_is_related_again() {
    let when = || at("retarget", 2, After);
    let acts = [
        (when(), 2, Act::Stop),
        (when(), 2, Act::RestackOn(3)),
        (when(), 2, Act::Push),
        (when(), 3, Act::SquashByHand),
    ];
    holds(Belief::OnceRelated, &Story::told(&[0, 1, 0], &acts));
}

#[test]
fn story_6_the_advice_for_an_unprepared_descendant_keeps_its_deletions() {
    let acts = [(at("plan", 1, After), 1, Act::Push), (at("squash", 1, After), 2, Act::ForcePushOwnHead)];
    holds(Belief::MergingMainHelps, &Story::told(&[0, 1], &acts));
}

#[test]
fn story_7_what_was_withdrawn_does_not_land_through_what_was_prepared_with_it() {
    let acts = [(at("plan", 1, After), 1, Act::Push), (at("expect_squash", 1, Before), 1, Act::Withdraw)];
    holds(Belief::NothingIsWithdrawn, &Story::told(&[0, 1], &acts));
    let stopped = [
        (at("plan", 1, After), 1, Act::Push),
        (at("expect_squash", 1, Before), 1, Act::Stop),
        (at("expect_squash", 1, Before), 1, Act::Withdraw),
        (at("expect_squash", 1, Before), 1, Act::Start),
    ];
    holds(Belief::NothingIsWithdrawn, &Story::told(&[0, 1], &stopped));
}

/// It says something else, or stands on a default branch that has moved: what was written on it is still what it was.
#[test]
fn a_predecessor_that_was_rewritten_brings_nothing_back_that_was_deleted_of_it() {
    let rewritten = (at("plan", 1, Before), 1, Act::AmendSameTree);
    let rebased = [(at("plan", 1, Before), 1, Act::MoveMain), (at("plan", 1, Before), 1, Act::Rebase)];
    let pushed_on_top = |act| (at("push", 2, After), 2, act);
    let stories = [
        vec![rewritten.clone()],
        rebased.to_vec(),
        vec![rewritten.clone(), pushed_on_top(Act::EmptyPush)],
        vec![rewritten.clone(), pushed_on_top(Act::Push)],
        [rebased.to_vec(), vec![pushed_on_top(Act::Push)]].concat(),
    ];
    for acts in stories {
        for shape in [&[0, 1][..], &[0, 1, 2], &[0, 1, 1]] {
            let mut teller = Teller::new();
            let outcome = teller.tell(&Story::told(shape, &acts));
            assert_eq!(outcome, Ok(()), "{acts:?}\n{}\n{}", teller.conversation(), teller.daemon.log());
            assert!(teller.is_told(), "nobody did anything: the story was not told");
            let differs = teller.report.halts.keys().any(|halt| halt.contains("own change"));
            assert!(!differs, "{acts:?}: {:?}", teller.report.halts);
        }
    }
}

#[test]
fn story_8_nothing_lands_without_a_start_after_the_bot_said_that_it_will_not() {
    let retargeted =
        [(at("plan", 1, After), 2, Act::RetargetElsewhere), (at("squash", 1, Inside), 2, Act::RetargetBack)];
    let closed = [(at("squash", 1, After), 2, Act::Close), (at("prove_landed", 1, After), 2, Act::Reopen)];
    for acts in [retargeted, closed] {
        let mut teller = Teller::new();
        teller.rounds = 0;
        let _ = teller.tell(&Story::told(&[0, 1, 2], &acts));
        let landed: Vec<bool> =
            teller.github.pulls.values().map(|pull| matches!(pull.state, State::Merged(_))).collect();
        assert_eq!(landed, [true, false, false], "{acts:?}: {}", teller.conversation());
        let mut said: Vec<&str> = teller.github.said.iter().map(|(_, body)| body.as_str()).collect();
        let count = said.len();
        said.dedup();
        assert!(count <= 3 && said.len() == count, "{}", teller.conversation());
    }
}

#[test]
fn a_base_that_is_changed_inside_the_merge_freezes_the_train_and_says_where_it_landed() {
    let mut teller = Teller::new();
    teller.rounds = 0;
    let _ = teller.tell(&Story::told(&[0, 1], &[(at("squash", 1, Inside), 1, Act::RetargetElsewhere)]));
    let told = teller.github.said.iter().any(|(_, body)| body.contains("was merged into `elsewhere`, not into main"));
    assert!(told, "{}", teller.conversation());
    assert!(teller.github.pulls[&2].is_open(), "{}", teller.conversation());
}

#[test]
fn story_10_what_stands_on_a_collapsed_pull_request_lands_exactly_with_the_advice() {
    let acts = [(at("plan", 1, Before), 2, Act::Collapse)];
    let mut teller = Teller::new();
    assert_eq!(teller.tell(&Story::told(&[0, 1, 2], &acts)), Ok(()), "{}", teller.conversation());
}
