//! What a repository says about itself: what is read when, what counts, and what is shown.

use super::*;
use crate::repo::ratchet;
use crate::repo::settings::{
    RepositoryBehavior, RepositoryRatchet, RepositorySettings, SettingsFile, SettingsFileProblem, SettingsFileVerdict,
    SettingsProposal,
};

fn own(max_attempts: u32) -> RepositorySettings {
    let ratchet =
        RepositoryRatchet { enabled: Some(true), max_attempts: Some(max_attempts), ..RepositoryRatchet::default() };
    RepositorySettings { ratchet, ..RepositorySettings::default() }
}

fn problem(line: u32) -> SettingsFileProblem {
    SettingsFileProblem { line, column: 1, text: "no".to_owned() }
}

fn file(head: u64, blob: u64, said: Result<RepositorySettings, Vec<SettingsFileProblem>>) -> SettingsFile {
    SettingsFile { at: sha(head), blob: Some(sha(blob)), said }
}

/// A push to the default branch touches the file, and this is found.
fn lands(worker: &mut Worker, file: SettingsFile) -> Plan {
    let after = 500 + u64::try_from(worker.clock).unwrap();
    let plan = push(worker, "main", after, true);
    assert_eq!(plan.effects, [Effect::Settings(SettingsEffect::ReadSettings { default: branch("main") })]);
    read(worker, file)
}

fn read(worker: &mut Worker, file: SettingsFile) -> Plan {
    let requested_at = at(worker.clock);
    worker.feed(&settings_read(requested_at, Ok(file)))
}

fn push(worker: &mut Worker, name: &str, after: u64, touches_own_file: bool) -> Plan {
    worker.clock += 1;
    worker.heard("push", None, WebhookEvent::Push { branch: branch(name), after: sha(after), touches_own_file })
}

fn merge_states(worker: &mut Worker, facts: Vec<MergeFacts>) -> Plan {
    let prs = facts.iter().map(|fact| fact.number).collect();
    let requested_at = at(worker.clock);
    worker.feed(&inputs::merge_states(prs, requested_at, Ok(facts)))
}

fn with_file(number: u64, own_file: SettingsFileContent) -> MergeFacts {
    MergeFacts { own_file, ..merge_facts(number, MergeState::Clean) }
}

fn proposes(worker: &mut Worker, number: u64, head: u64, proposal: SettingsProposal) -> Plan {
    worker.feed(&proposal_read(pr(number), sha(head), Ok(proposal)))
}

fn shown(worker: &mut Worker, head: u64, result: Result<CheckPublication, EffectFailure>) -> Plan {
    worker.feed(&check_shown(sha(head), result))
}

fn failure(kind: EffectFailureKind) -> EffectFailure {
    EffectFailure { reason: "no".to_owned(), kind, retry_at: None }
}

fn checks(plan: &Plan) -> Vec<(Sha, SettingsFileVerdict)> {
    let check = |effect: &Effect| match effect {
        Effect::Settings(SettingsEffect::ShowCheck { head, verdict }) => Some((head.clone(), verdict.clone())),
        _ => None,
    };
    plan.effects.iter().filter_map(check).collect()
}

/// What whoever comes later reads from the log, and from a snapshot.
fn is_the_same_after_a_replay(worker: &Worker) {
    let mut replayed = RepoState::default();
    for recorded in &worker.log {
        let json = serde_json::to_string(recorded).unwrap();
        let read: RecordedEvent = serde_json::from_str(&json).unwrap();
        assert_eq!(read, *recorded, "{json}");
        apply(&mut replayed, &read.event, read.ts);
    }
    assert_eq!(replayed, worker.state);
    let position = Position { generation: 1, next_seq: 1, taken_at: at(0) };
    let json = serde_json::to_string(&Snapshot::of(&worker.state, position)).unwrap();
    assert_eq!(serde_json::from_str::<Snapshot>(&json).unwrap().restore(), worker.state);
}

#[test]
fn every_full_look_reads_the_file_again_and_what_is_known_changes_nothing() {
    let mut worker = Worker::default();
    worker.heard("ping", None, WebhookEvent::Other);
    let plan = worker.feed(&surveyed(at(0), Ok(listing(&[]))));
    assert!(
        plan.effects.contains(&Effect::Settings(SettingsEffect::ReadSettings { default: branch("main") })),
        "{plan:?}"
    );
    let plan = read(&mut worker, file(1, 2, Ok(own(2))));
    assert_eq!(checks(&plan), [], "that all is well is nothing to show where nobody changed anything");
    assert_eq!(worker.state.settings(&worker.settings).ratchet.max_attempts, 2);
    worker.clock += 3600;
    worker.feed(&Input::Tick);
    worker.feed(&surveyed(at(worker.clock), Ok(listing(&[]))));
    let plan = read(&mut worker, file(1, 2, Ok(own(2))));
    assert_eq!(plan.events, [Event::Settings(SettingsEvent::SettingsConfirmed {})]);
    is_the_same_after_a_replay(&worker);
}

#[test]
fn a_file_that_is_not_valid_leaves_the_last_that_was_in_force_and_is_shown_as_a_failure() {
    let mut worker = Worker::ready(&[]);
    let plan = lands(&mut worker, file(10, 20, Ok(own(2))));
    assert_eq!(checks(&plan), [(sha(10), SettingsFileVerdict::Valid { limited: Vec::new() })], "somebody changed it");
    shown(&mut worker, 10, Ok(CheckPublication::Shown));
    let plan = lands(&mut worker, file(11, 21, Err(vec![problem(3)])));
    assert_eq!(checks(&plan), [(sha(11), SettingsFileVerdict::Invalid { problems: vec![problem(3)] })]);
    assert_eq!(worker.state.settings(&worker.settings).ratchet.max_attempts, 2);
    assert_eq!(worker.state.own_file().map(|read| read.problems.len()), Some(1));
    shown(&mut worker, 11, Ok(CheckPublication::Shown));
    let plan = lands(&mut worker, file(12, 22, Ok(own(1))));
    assert_eq!(checks(&plan).len(), 1);
    assert_eq!(worker.state.settings(&worker.settings).ratchet.max_attempts, 1);
    let gone = SettingsFile { at: sha(13), blob: None, said: Ok(RepositorySettings::default()) };
    let plan = lands(&mut worker, gone);
    assert_eq!(checks(&plan), [(sha(13), SettingsFileVerdict::Removed {})]);
    assert_eq!(*worker.state.settings(&worker.settings), worker.settings);
    is_the_same_after_a_replay(&worker);
}

#[test]
fn what_the_operator_allows_less_of_is_valid_and_told() {
    let mut worker = Worker::ready(&[]);
    let plan = lands(&mut worker, file(10, 20, Ok(own(99))));
    let checks = checks(&plan);
    let [(_, SettingsFileVerdict::Valid { limited })] = checks.as_slice() else { panic!("it is valid: {checks:?}") };
    assert_eq!(*limited, ["`ratchet.max_attempts`: `99` is requested, `3` applies."]);
}

#[test]
fn settings_count_from_the_moment_on_that_they_are_read() {
    let mut worker = Worker::ready(&[pull(1), pull(2)]);
    worker.settings.ratchet = ratchet::Settings { has_fixer: true, ..ratchet::Settings::default() };
    let plan = lands(&mut worker, file(10, 20, Ok(own(2))));
    let opened = |event: &&Event| matches!(event, Event::Ratchet(ratchet::Event::WorkspaceOpened { .. }));
    assert_eq!(plan.events.iter().filter(opened).count(), 2, "the ratchet is on: {plan:?}");
    assert!(candidate(&worker.state, pr(1), &worker.settings));
    let gone = SettingsFile { at: sha(13), blob: None, said: Ok(RepositorySettings::default()) };
    lands(&mut worker, gone);
    assert!(!candidate(&worker.state, pr(1), &worker.settings));
}

#[test]
fn a_stack_is_as_large_as_the_stricter_of_both_allows() {
    let behavior = RepositoryBehavior { max_stack_size: Some(1), ..RepositoryBehavior::default() };
    let mut worker = Worker::ready(&[pull(1), stacked(2, 1)]);
    lands(&mut worker, file(10, 20, Ok(RepositorySettings { behavior, ..RepositorySettings::default() })));
    worker.comment_event(CommentChange::Created, comment(2, 70, "@merge-train predecessor #1"));
    worker.comment_event(CommentChange::Created, comment(1, 71, "@merge-train start"));
    let refused = worker.log.iter().any(|recorded| match &recorded.event {
        Event::Outbox(OutboxEvent::NoteOwed { say: NoteContent::Comment { body }, .. }) => body.contains("maximum"),
        _ => false,
    });
    let said: Vec<&Event> = worker.log.iter().map(|recorded| &recorded.event).collect();
    assert!(refused, "{said:#?}");
}

#[test]
fn an_answer_from_before_the_last_push_is_asked_for_again() {
    let mut worker = Worker::ready(&[]);
    push(&mut worker, "main", 500, true);
    let requested_at = at(worker.clock - 1);
    let plan = worker.feed(&settings_read(requested_at, Ok(file(1, 2, Ok(own(2))))));
    assert_eq!(plan.events, []);
    assert_eq!(plan.effects, [Effect::Settings(SettingsEffect::ReadSettings { default: branch("main") })]);
}

#[test]
fn a_reading_that_fails_is_tried_again_and_outlives_a_restart() {
    let mut worker = Worker::ready(&[]);
    push(&mut worker, "main", 500, true);
    let result = Err(failure(EffectFailureKind::Transient));
    worker.feed(&settings_read(at(worker.clock), result));
    let wake = next_wake(&worker.state, &worker.settings, at(worker.clock)).expect("something is owed");
    assert_eq!(wake, at(worker.clock + 2));
    assert_eq!(attention(&worker.state, &worker.settings), Some(wake));
    worker.clock += 2;
    assert_eq!(
        worker.feed(&Input::Tick).effects,
        [Effect::Settings(SettingsEffect::ReadSettings { default: branch("main") })]
    );
    assert_eq!(
        worker.feed(&Input::Resume).effects,
        [Effect::Settings(SettingsEffect::ReadSettings { default: branch("main") })]
    );
}

#[test]
fn pushes_that_do_not_touch_the_file_cost_nothing() {
    let mut worker = Worker::ready(&[pull(1)]);
    for name in ["main", "feature-1"] {
        let plan = push(&mut worker, name, 500, false);
        assert_eq!(plan.effects, []);
        assert!(matches!(worker.outcome(), DeliveryOutcome::Ignored { .. }));
    }
    assert_eq!(push(&mut worker, "somewhere-else", 500, true).effects, []);
}

#[test]
fn a_pull_request_that_changes_the_file_gets_a_check_and_its_settings_do_not_count() {
    let mut worker = Worker::ready(&[pull(1), pull(2)]);
    let facts = vec![with_file(1, SettingsFileContent::Blob(sha(20))), with_file(2, SettingsFileContent::Absent)];
    let plan = merge_states(&mut worker, facts);
    assert_eq!(
        plan.effects,
        [Effect::Settings(SettingsEffect::ReadProposal { pr: pr(1), head: sha(1) })],
        "the other is as the default branch"
    );
    let plan = proposes(&mut worker, 1, 1, SettingsProposal::Written(Err(vec![problem(2)])));
    assert_eq!(checks(&plan), [(sha(1), SettingsFileVerdict::Invalid { problems: vec![problem(2)] })]);
    assert_eq!(*worker.state.settings(&worker.settings), worker.settings);
    shown(&mut worker, 1, Ok(CheckPublication::Shown));
    // Somebody fixes it.
    let plan = push(&mut worker, "feature-1", 101, true);
    assert_eq!(plan.effects, [Effect::Settings(SettingsEffect::ReadProposal { pr: pr(1), head: sha(101) })]);
    let plan = proposes(&mut worker, 1, 101, SettingsProposal::Written(Ok(own(2))));
    assert_eq!(checks(&plan), [(sha(101), SettingsFileVerdict::Valid { limited: Vec::new() })]);
    shown(&mut worker, 101, Ok(CheckPublication::Shown));
    // And pushes something else: the new head has no check yet.
    let plan = push(&mut worker, "feature-1", 102, false);
    assert_eq!(plan.effects, [Effect::Settings(SettingsEffect::ReadProposal { pr: pr(1), head: sha(102) })]);
    let plan = proposes(&mut worker, 1, 102, SettingsProposal::Removed);
    assert_eq!(checks(&plan), [(sha(102), SettingsFileVerdict::Removed {})]);
    is_the_same_after_a_replay(&worker);
    worker.pull_event("closed", PullFacts { updated_at: at(9), state: PullState::Closed { at: at(9) }, ..pull(1) });
    assert_eq!(push(&mut worker, "feature-1", 103, true).effects, [], "nobody wants to know any more");
}

#[test]
fn one_that_only_is_behind_the_default_branch_is_asked_about_once() {
    let mut worker = Worker::ready(&[pull(1)]);
    lands(&mut worker, file(10, 20, Ok(own(2))));
    let plan = merge_states(&mut worker, vec![with_file(1, SettingsFileContent::Absent)]);
    assert!(
        plan.effects.contains(&Effect::Settings(SettingsEffect::ReadProposal { pr: pr(1), head: sha(1) })),
        "{plan:?}"
    );
    let plan = proposes(&mut worker, 1, 1, SettingsProposal::Untouched);
    assert_eq!(checks(&plan), []);
    worker.feed(&Input::Resume);
    let plan = merge_states(&mut worker, vec![with_file(1, SettingsFileContent::Absent)]);
    let asks = |effect: &Effect| matches!(effect, Effect::Settings(SettingsEffect::ReadProposal { .. }));
    assert!(!plan.effects.iter().any(asks), "{plan:?}");
}

#[test]
fn an_answer_about_another_head_is_asked_for_again() {
    let mut worker = Worker::ready(&[pull(1)]);
    push(&mut worker, "feature-1", 101, true);
    push(&mut worker, "feature-1", 102, true);
    let plan = proposes(&mut worker, 1, 101, SettingsProposal::Written(Ok(own(2))));
    assert_eq!(plan.events, []);
    assert_eq!(plan.effects, [Effect::Settings(SettingsEffect::ReadProposal { pr: pr(1), head: sha(102) })]);
}

#[test]
fn a_check_is_tried_again_until_it_is_shown_and_two_wait_for_each_other() {
    let mut worker = Worker::ready(&[pull(1)]);
    lands(&mut worker, file(10, 20, Err(vec![problem(1)])));
    push(&mut worker, "feature-1", 101, true);
    proposes(&mut worker, 1, 101, SettingsProposal::Written(Ok(own(2))));
    let plan = shown(&mut worker, 10, Err(failure(EffectFailureKind::Transient)));
    assert_eq!(checks(&plan).iter().map(|(head, _)| head.clone()).collect::<Vec<_>>(), [sha(101)]);
    assert_eq!(checks(&shown(&mut worker, 101, Ok(CheckPublication::Shown))), []);
    worker.clock += 2;
    assert_eq!(checks(&worker.feed(&Input::Tick)).len(), 1);
    assert_eq!(checks(&worker.feed(&Input::Resume)).len(), 1, "a worker that comes later owes it, too");
    shown(&mut worker, 10, Ok(CheckPublication::Shown));
    assert_eq!(checks(&worker.feed(&Input::Resume)), []);
    is_the_same_after_a_replay(&worker);
}

#[test]
fn where_no_check_may_be_shown_one_comment_says_it() {
    let mut worker = Worker::ready(&[pull(1), merged(2)]);
    let refused = || Ok(CheckPublication::NotAllowed { reason: "Resource not accessible".to_owned() });
    push(&mut worker, "feature-1", 101, true);
    proposes(&mut worker, 1, 101, SettingsProposal::Written(Err(vec![problem(2)])));
    let plan = shown(&mut worker, 101, refused());
    let comments: Vec<(PrNumber, String)> = plan
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Outbox(OutboxEffect::Say { pr, say: NoteContent::Comment { body }, .. }) => {
                Some((*pr, body.clone()))
            }
            _ => None,
        })
        .collect();
    let [(on, body)] = comments.as_slice() else { panic!("one comment: {comments:?}") };
    assert_eq!(*on, pr(1));
    assert!(body.contains("line 2, column 1"), "{body}");
    assert_eq!(shown(&mut worker, 101, refused()).events, [], "it is not owed any more");
    // What broke the default branch is told where it came from.
    lands(&mut worker, file(92, 20, Err(vec![problem(1)])));
    let plan = shown(&mut worker, 92, refused());
    assert!(
        plan.events
            .iter()
            .any(|event| matches!(event, Event::Outbox(OutboxEvent::NoteOwed { pr: on, .. }) if *on == pr(2))),
        "{plan:?}"
    );
}

#[test]
fn a_check_that_github_does_not_take_is_left() {
    let mut worker = Worker::ready(&[]);
    lands(&mut worker, file(10, 20, Err(vec![problem(1)])));
    let plan = shown(&mut worker, 10, Err(failure(EffectFailureKind::Permanent)));
    assert!(matches!(plan.events.as_slice(), [Event::Settings(SettingsEvent::CheckDropped { .. })]), "{plan:?}");
    assert_eq!(checks(&worker.feed(&Input::Resume)), []);
}
