//! Comments that declare a predecessor or give a command: which of them count.

use super::*;

fn declares(number: u64) -> String {
    format!("@merge-train predecessor #{number}")
}

#[test]
fn the_first_declaration_counts_and_a_second_changes_nothing() {
    let mut worker = Worker::ready(&[pull(1), stacked(2, 1), pull(3)]);
    worker.comment_event(CommentChange::Created, comment(2, 20, &declares(1)));
    worker.comment_event(CommentChange::Created, comment(2, 21, &declares(3)));
    assert_eq!(worker.known(2).predecessor, Some(pr(1)));
    assert_eq!(worker.state.descendants(pr(1)).collect::<Vec<_>>(), [pr(2)]);
    assert_eq!(worker.state.descendants(pr(3)).count(), 0);
}

#[test]
fn only_the_declaring_comment_can_take_it_back() {
    let mut worker = Worker::ready(&[pull(1), stacked(2, 1)]);
    worker.comment_event(CommentChange::Created, comment(2, 20, &declares(1)));
    worker.comment_event(CommentChange::Deleted, comment(2, 99, &declares(1)));
    assert_eq!(worker.known(2).predecessor, Some(pr(1)));
    worker.comment_event(CommentChange::Deleted, comment(2, 20, &declares(1)));
    assert_eq!(worker.known(2).predecessor, None);
    assert_eq!(worker.state.descendants(pr(1)).count(), 0);
}

#[test]
fn an_edit_that_removes_the_command_removes_the_predecessor() {
    let mut worker = Worker::ready(&[pull(1), stacked(2, 1)]);
    worker.comment_event(CommentChange::Created, comment(2, 20, &declares(1)));
    assert_eq!(worker.known(2).predecessor, Some(pr(1)));
    let edited = CommentFacts { updated_at: at(1), ..comment(2, 20, "never mind") };
    worker.comment_event(CommentChange::Edited, edited);
    assert_eq!(worker.known(2).predecessor, None);
}

#[test]
fn nobody_but_the_author_declares_and_nothing_stands_on_itself() {
    let mut worker = Worker::ready(&[pull(1), stacked(2, 1)]);
    let stranger = CommentFacts { author: UserId::new(666), ..comment(2, 20, &declares(1)) };
    worker.comment_event(CommentChange::Created, stranger);
    assert_eq!(worker.known(2).predecessor, None);
    worker.comment_event(CommentChange::Created, comment(2, 21, &declares(2)));
    assert_eq!(worker.known(2).predecessor, None);
}

#[test]
fn a_command_on_an_unknown_pull_request_waits_until_it_is_fetched() {
    let mut worker = Worker::ready(&[pull(1)]);
    let plan = worker.comment_event(CommentChange::Created, comment(2, 20, &declares(1)));
    assert_eq!(plan.effects, [Effect::Mirror(MirrorEffect::FetchPull { pr: pr(2) })]);
    worker.feed(&fetched(pr(2), at(0), Ok(Some(stacked(2, 1)))));
    assert_eq!(worker.known(2).predecessor, Some(pr(1)));
}

/// Two pushes and another base within one second, which GitHub's time cannot put in order.
fn doubtful() -> (Worker, PullFacts) {
    let mut worker = Worker::ready(&[pull(1), pull(2)]);
    worker.clock = 2;
    let pushed = |head: u64| PullFacts { head_sha: sha(head), updated_at: at(2), ..pull(2) };
    worker.pull_event("synchronize", pushed(21));
    worker.pull_event("synchronize", pushed(22));
    worker.clock = 3;
    let now = PullFacts { base_ref: branch("feature-1"), ..pushed(22) };
    worker.pull_event("edited", now.clone());
    assert_eq!(worker.known(2).base_ref, branch("main"), "not known yet");
    (worker, now)
}

#[test]
fn a_declaration_is_not_refused_for_what_is_in_doubt() {
    let (mut worker, now) = doubtful();
    worker.clock = 4;
    worker.comment_event(CommentChange::Created, comment(2, 20, &format!("{}\n@merge-train status", declares(1))));
    let refused = |event: &Event| {
        matches!(event, Event::Commands(CommandsEvent::CommandHandled { outcome: CommandOutcome::Refused { .. }, .. }))
    };
    assert!(!worker.log.iter().any(|line| refused(&line.event)));
    worker.clock = 5;
    worker.feed(&fetched(pr(2), at(4), Ok(Some(now))));
    assert_eq!(worker.known(2).predecessor, Some(pr(1)));
    let answered = worker
        .log
        .iter()
        .filter(|line| matches!(line.event, Event::Commands(CommandsEvent::CommandHandled { .. })))
        .count();
    assert_eq!(answered, 2, "the declaration and the question, each once");
}

#[test]
fn a_declaration_that_waited_in_vain_is_refused_then() {
    let (mut worker, now) = doubtful();
    worker.clock = 4;
    worker.comment_event(CommentChange::Created, comment(2, 20, &declares(1)));
    let other = PullFacts { base_ref: branch("main"), ..now };
    worker.feed(&fetched(pr(2), at(4), Ok(Some(other))));
    assert_eq!(worker.known(2).predecessor, None);
    assert_eq!(worker.state.outbox.owed.len(), 1, "it is told why");
    assert!(worker.state.wanted.is_empty());
}

#[test]
fn a_full_look_finds_declarations_made_and_taken_back_while_nobody_listened() {
    let mut worker = Worker::ready(&[pull(1), stacked(2, 1), stacked(3, 1)]);
    worker.comment_event(CommentChange::Created, comment(2, 20, &declares(1)));
    worker.clock = 3600;
    worker.feed(&Input::Tick);
    worker.surveyed(
        at(3600),
        &[pull(1), stacked(2, 1), stacked(3, 1)],
        &[comment(3, 30, &declares(1)), comment(3, 31, &declares(2))],
    );
    assert_eq!(worker.known(2).predecessor, None, "its comment is gone");
    assert_eq!(worker.known(3).predecessor, Some(pr(1)), "the first one counts");
}

#[test]
fn a_stop_cancels_what_is_under_way_for_that_train_and_no_other() {
    let mut worker = Worker::ready(&[pull(1), stacked(2, 1), stacked(3, 2), pull(7)]);
    worker.comment_event(CommentChange::Created, comment(2, 20, &declares(1)));
    worker.comment_event(CommentChange::Created, comment(3, 30, &declares(2)));
    for root in [1, 7] {
        apply(
            &mut worker.state,
            &Event::Trains(TrainsEvent::TrainStarted {
                root_pr: pr(root),
                current_pr: pr(root),
                behest: Attribution::default(),
            }),
            at(0),
        );
    }
    let stranger = CommentFacts { author: UserId::new(666), ..comment(3, 31, "@merge-train stop") };
    assert_eq!(worker.comment_event(CommentChange::Created, stranger).cancels, []);
    let plan = worker.comment_event(CommentChange::Created, comment(3, 32, "@merge-train stop"));
    assert_eq!(plan.cancels, [EffectOwner::Train(pr(1))], "anywhere in the stack");
    assert_eq!(
        Effect::Mirror(MirrorEffect::FetchPull { pr: pr(2) }).served(&worker.state),
        Some(EffectOwner::Train(pr(1)))
    );
    assert_eq!(Effect::Mirror(MirrorEffect::Survey).served(&worker.state), None);
}

#[test]
fn a_command_that_is_the_first_thing_ever_heard_waits_until_the_repository_is_known() {
    let mut worker = Worker::default();
    worker.comment_event(CommentChange::Created, comment(1, 10, "@merge-train start"));
    // Fetched before the repository was looked at: still nobody knows what stands on it.
    worker.feed(&fetched(pr(1), at(0), Ok(Some(pull(1)))));
    assert!(worker.state.starts.is_empty());
    worker.surveyed(at(1), &[pull(1), stacked(2, 1)], &[comment(2, 20, &declares(1))]);
    assert!(worker.state.starts.contains_key(&pr(1)));
}

#[test]
fn commands_that_waited_for_the_first_look_are_each_answered() {
    let mut worker = Worker::default();
    for (number, id) in [(1, 10), (2, 20)] {
        worker.comment_event(CommentChange::Created, comment(number, id, "@merge-train dance"));
    }
    let plan = worker.surveyed(at(1), &[pull(1), pull(2)], &[]);
    let said = plan.effects.iter().filter(|effect| matches!(effect, Effect::Outbox(OutboxEffect::Say { .. }))).count();
    assert_eq!((said, worker.state.outbox.owed.len()), (2, 2));
}
