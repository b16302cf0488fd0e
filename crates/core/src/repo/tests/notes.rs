//! What the bot answers to a declaration, and that it says everything once.

use super::*;
use crate::repo::outbox::mark;

fn declares(number: u64) -> String {
    format!("@merge-train predecessor #{number}")
}

/// What is said to a comment: the effects that say something.
fn answers(plan: &Plan) -> Vec<(PrNumber, NoteContent)> {
    let say = |effect: &Effect| match effect {
        Effect::Outbox(OutboxEffect::Say { pr, say, .. }) => Some((*pr, say.clone())),
        _ => None,
    };
    plan.effects.iter().filter_map(say).collect()
}

fn refusal(plan: &Plan) -> String {
    match answers(plan).as_slice() {
        [(_, NoteContent::Comment { body })] => body.clone(),
        other => panic!("one comment: {other:?}"),
    }
}

fn declare(worker: &mut Worker, on: u64, id: u64, predecessor: u64) -> Plan {
    worker.comment_event(CommentChange::Created, comment(on, id, &declares(predecessor)))
}

fn said(worker: &mut Worker, note: u64, result: Result<(), EffectFailure>) -> Plan {
    worker.feed(&inputs::said(NoteId(note), result))
}

fn failure(kind: EffectFailureKind) -> EffectFailure {
    EffectFailure { reason: "no".to_owned(), kind, retry_at: None }
}

#[test]
fn a_valid_declaration_is_acknowledged_under_its_comment() {
    let mut worker = Worker::ready(&[pull(1), stacked(2, 1), stacked(3, 2)]);
    let plan = declare(&mut worker, 2, 20, 1);
    assert_eq!(answers(&plan), [(pr(2), NoteContent::Acknowledge { comment: CommentId::new(20) })]);
    let plan = declare(&mut worker, 3, 30, 2);
    assert_eq!(answers(&plan), [(pr(3), NoteContent::Acknowledge { comment: CommentId::new(30) })]);
}

#[test]
fn every_refusal_says_why_and_leaves_things_as_they_were() {
    let fork = PullFacts { head_repo: HeadRepo::Fork, ..pull(5) };
    let closed = PullFacts { state: PullState::Closed { at: at(0) }, ..pull(6) };
    let adrift = PullFacts { base_ref: branch("elsewhere"), ..pull(7) };
    let pulls = [pull(1), stacked(2, 1), pull(3), fork, closed, adrift, stacked(8, 7), stacked(9, 9)];
    for (on, predecessor, expected) in [
        (
            3,
            1,
            "PR #3 declares predecessor #1, but its base branch `main` doesn't match #1's head branch `feature-1`. The PR must be based on the predecessor's branch.",
        ),
        (2, 2, "PR #2 cannot be its own predecessor. Name the pull request that it is based on."),
        (
            2,
            5,
            "PR #5 comes from a fork, where merge-train cannot push, so nothing can be stacked on it. Open it from a branch of this repository.",
        ),
        (2, 6, "PR #6 was closed without being merged. Reopen it, or declare another predecessor."),
        (
            8,
            7,
            "PR #7 is based on `elsewhere`, not on `main`, and declares no predecessor itself. Declare the predecessor \
             of #7 first, then declare this one again.",
        ),
    ] {
        let mut worker = Worker::ready(&pulls);
        let plan = declare(&mut worker, on, 50, predecessor);
        assert!(refusal(&plan).starts_with(expected), "{}", refusal(&plan));
        assert_eq!(worker.known(on).predecessor, None);
    }
}

#[test]
fn who_is_not_the_author_and_who_declares_twice_is_told() {
    let mut worker = Worker::ready(&[pull(1), stacked(2, 1)]);
    let stranger = CommentFacts { author: UserId::new(666), ..comment(2, 20, &declares(1)) };
    let plan = worker.comment_event(CommentChange::Created, stranger);
    let told = refusal(&plan);
    assert!(told.starts_with("Only the author of this pull request can use `@merge-train predecessor #1`"), "{told}");
    said(&mut worker, 1, Ok(()));
    declare(&mut worker, 2, 21, 1);
    said(&mut worker, 2, Ok(()));
    let plan = declare(&mut worker, 2, 22, 1);
    assert_eq!(
        refusal(&plan),
        "PR already has predecessor declaration in comment #21 pointing to #1. Edit that comment to change predecessors, \
         or delete it first."
    );
}

#[test]
fn nothing_can_stand_on_what_stands_on_it() {
    let mut worker = Worker::ready(&[stacked(1, 2), stacked(2, 1)]);
    apply(
        &mut worker.state,
        &Event::Mirror(MirrorEvent::PredecessorDeclared { pr: pr(1), predecessor: pr(2), comment: None }),
        at(0),
    );
    let plan = declare(&mut worker, 2, 20, 1);
    let told = refusal(&plan);
    assert!(told.starts_with("Cycle: #1 is already stacked on #2, so #2 cannot be stacked on it."), "{told}");
}

#[test]
fn an_edit_that_is_refused_leaves_the_declaration_as_it_was() {
    let mut worker = Worker::ready(&[pull(1), stacked(2, 1), pull(3)]);
    declare(&mut worker, 2, 20, 1);
    said(&mut worker, 1, Ok(()));
    let edited = CommentFacts { updated_at: at(1), ..comment(2, 20, &declares(3)) };
    let plan = worker.comment_event(CommentChange::Edited, edited);
    let told = refusal(&plan);
    assert!(told.starts_with("The edit was not accepted: the predecessor of this PR is still #1."), "{told}");
    assert!(told.contains("doesn't match #3's head branch"), "{told}");
    assert_eq!(worker.known(2).predecessor, Some(pr(1)));
}

#[test]
fn a_declaration_waits_until_its_predecessor_is_known() {
    let mut worker = Worker::ready(&[stacked(2, 1)]);
    let plan = declare(&mut worker, 2, 20, 1);
    assert_eq!(plan.effects, [Effect::Mirror(MirrorEffect::FetchPull { pr: pr(1) })]);
    let plan = worker.feed(&fetched(pr(1), at(0), Ok(Some(pull(1)))));
    assert_eq!(answers(&plan), [(pr(2), NoteContent::Acknowledge { comment: CommentId::new(20) })]);
    assert_eq!(worker.known(2).predecessor, Some(pr(1)));
}

#[test]
fn a_predecessor_that_does_not_exist_is_told() {
    let mut worker = Worker::ready(&[stacked(2, 1)]);
    declare(&mut worker, 2, 20, 1);
    let plan = worker.feed(&fetched(pr(1), at(0), Ok(None)));
    assert_eq!(refusal(&plan), "There is no pull request #1 in this repository. Check the number, then declare again.");
}

#[test]
fn comments_on_pull_requests_from_forks_are_left_alone() {
    let fork = PullFacts { head_repo: HeadRepo::Fork, ..stacked(2, 1) };
    let mut worker = Worker::ready(&[pull(1), fork]);
    let plan = declare(&mut worker, 2, 20, 1);
    assert_eq!(plan.effects, []);
    assert_eq!(worker.known(2).predecessor, None);
}

#[test]
fn on_one_pull_request_notes_are_said_one_after_the_other() {
    let mut worker = Worker::ready(&[pull(1), stacked(2, 1), pull(3)]);
    assert_eq!(answers(&declare(&mut worker, 2, 20, 1)).len(), 1);
    assert_eq!(answers(&declare(&mut worker, 2, 21, 1)), [], "it waits for the first");
    assert_eq!(answers(&declare(&mut worker, 3, 30, 3)).len(), 1, "another pull request does not");
    let plan = said(&mut worker, 1, Ok(()));
    let [Effect::Outbox(OutboxEffect::Say { note: NoteId(2), tried: PostAttempt::Never, .. })] =
        plan.effects.as_slice()
    else {
        panic!("the second: {plan:?}")
    };
    assert_eq!(said(&mut worker, 2, Ok(())).effects, []);
    assert_eq!(said(&mut worker, 2, Ok(())), Plan::default(), "an answer that comes twice");
}

#[test]
fn a_note_that_may_have_been_said_is_looked_for() {
    let mut worker = Worker::ready(&[pull(1), stacked(2, 1)]);
    declare(&mut worker, 2, 20, 1);
    let tried = |plan: &Plan| {
        plan.effects.iter().find_map(|effect| match effect {
            Effect::Outbox(OutboxEffect::Say { tried, .. }) => Some(*tried),
            _ => None,
        })
    };
    assert_eq!(tried(&worker.feed(&Input::Resume)), Some(PostAttempt::Perhaps), "after a crash");
    let plan = said(&mut worker, 1, Err(failure(EffectFailureKind::Transient)));
    assert_eq!(tried(&plan), None, "not at once");
    let wake = next_wake(&worker.state, &worker.settings, at(worker.clock)).expect("a time");
    worker.clock += wake.duration_since(at(worker.clock)).as_secs();
    assert_eq!(tried(&worker.feed(&Input::Tick)), Some(PostAttempt::Perhaps), "after a failure");
    said(&mut worker, 1, Err(failure(EffectFailureKind::Permanent)));
    assert_eq!(tried(&worker.feed(&Input::Resume)), None, "a locked conversation stays locked");
}

#[test]
fn a_mark_tells_notes_of_one_number_apart() {
    assert_ne!(mark(NoteId(1), at(0)), mark(NoteId(1), at(1)));
    assert_ne!(mark(NoteId(1), at(0)), mark(NoteId(2), at(0)));
}
