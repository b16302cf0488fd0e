//! What people do to pull requests while trains are under way.

use super::trains::Yard;
use super::*;
use crate::inbox::Key;
use crate::repo::trains::TrainState;
use crate::repo::trains::work::{LandedTreeProof, MergeStep, SquashOutcome, TrainTask, TrainTaskOutcome};

impl Yard {
    /// Goes on until the state is as asked for.
    pub(super) fn until(&mut self, what: impl Fn(&Yard) -> bool) {
        for _ in 0..2_000 {
            if what(self) {
                return;
            }
            self.answer(0);
        }
        panic!("it never comes to that: {:#?}", self.worker.state.active_trains);
    }

    /// Until a train is to do something like this next.
    fn until_next(&mut self, root: u64, what: impl Fn(&TrainTask) -> bool) {
        let key = EffectKey::Trains(TrainsKey::Work(pr(root)));
        self.until(|yard| matches!(yard.under_way.get(&key), Some(Effect::Trains(TrainsEffect::Work { work, .. })) if what(work)));
    }

    fn said(&mut self, on: u64, id: u64, body: &str) {
        let plan = self.worker.comment_event(CommentChange::Created, comment(on, id, body));
        self.take(plan);
    }

    fn told(&mut self, number: u64) {
        let facts = self.hub.facts(number);
        let plan = self.worker.pull_event("edited", facts);
        self.take(plan);
    }

    fn take(&mut self, plan: Plan) {
        for served in &plan.cancels {
            self.under_way.remove(&served.work());
        }
        self.begin(plan);
    }

    /// What the train asked for comes to this.
    fn answers(&mut self, root: u64, outcome: TrainTaskOutcome) {
        let effect = self.under_way.remove(&EffectKey::Trains(TrainsKey::Work(pr(root))));
        let Some(Effect::Trains(TrainsEffect::Work { root, work })) = effect else { panic!("nothing is under way") };
        self.feed(&worked(root, work, Ok(outcome)));
    }

    fn standing(&self, root: u64) -> Option<TrainState> {
        self.worker.state.active_trains.get(&pr(root)).map(|train| train.state)
    }

    fn error(&self, root: u64) -> Option<&str> {
        let train = self.worker.state.active_trains.get(&pr(root))?;
        train.error.as_ref().map(|error| error.error_type.as_str())
    }

    /// The comments that were owed on a pull request, in their order.
    fn notes(&self, on: u64) -> Vec<&str> {
        let note = |recorded: &RecordedEvent| matches!(&recorded.event, Event::Outbox(OutboxEvent::NoteOwed { pr: there, .. }) if *there == pr(on));
        let owed = self.worker.log.iter().filter(|recorded| note(recorded));
        owed.filter_map(|recorded| match &recorded.event {
            Event::Outbox(OutboxEvent::NoteOwed { say: NoteContent::Comment { body }, .. }) => Some(body.as_str()),
            _ => None,
        })
        .collect()
    }
}

#[test]
fn a_root_that_is_put_onto_an_open_pull_request_ends_its_own_train() {
    let mut yard = Yard::new(&[0, 0]);
    yard.start(2);
    yard.until(|yard| yard.standing(2).is_some());
    yard.hub.edit(2, |pull| pull.base = branch("feature-1"));
    yard.told(2);
    yard.said(2, 102, "@merge-train predecessor #1");
    assert_eq!(yard.error(2), Some("PredecessorDeclarationChanged"));
}

#[test]
fn a_train_that_halted_long_ago_does_not_hide_the_one_that_is_under_way() {
    let mut yard = Yard::new(&[0, 0]);
    yard.start(1);
    yard.until(|yard| yard.standing(1).is_some());
    yard.hub.edit(1, |pull| pull.closed = true);
    yard.told(1);
    assert_eq!(yard.standing(1), Some(TrainState::Aborted));
    // It is put onto another one, and lands with that.
    yard.hub.edit(1, |pull| {
        pull.closed = false;
        pull.base = branch("feature-2");
        (pull.predecessor, pull.comment) = (Some(2), Some(101));
    });
    yard.told(1);
    yard.said(1, 101, "@merge-train predecessor #2");
    yard.start(2);
    yard.until(|yard| yard.worker.state.active_trains.get(&pr(2)).is_some_and(|train| train.current_pr == pr(1)));
    yard.said(1, 901, "@merge-train start");
    assert!(yard.worker.state.starts.is_empty(), "it is on board already");
    yard.said(1, 902, "@merge-train stop");
    assert_eq!(yard.standing(2), Some(TrainState::Stopped));
}

#[test]
fn a_review_of_what_has_landed_ends_no_train() {
    let mut yard = Yard::new(&[0, 1]);
    yard.start(1);
    yard.until(|yard| !yard.landed().is_empty() && yard.worker.state.active_trains[&pr(1)].current_pr == pr(2));
    let pull = crate::facts::ReviewedPull { number: pr(1), head_sha: yard.hub.pulls[&1].head.clone() };
    let happening = WebhookEvent::Review { pull, state: crate::facts::ReviewState::Dismissed };
    let plan = yard.worker.heard("pull_request_review", Some("dismissed"), happening);
    yard.take(plan);
    assert_ne!(yard.standing(1), Some(TrainState::Aborted));
}

#[test]
fn a_command_beside_a_declaration_that_waits_for_its_predecessor_is_given_once() {
    let mut worker = Worker::ready(&[pull(1)]);
    let said = comment(1, 7, "@merge-train predecessor #5\n@merge-train status");
    worker.comment_event(CommentChange::Created, said);
    worker.feed(&fetched(pr(5), at(0), Ok(Some(pull(5)))));
    let given =
        |recorded: &&RecordedEvent| matches!(recorded.event, Event::Commands(CommandsEvent::CommandGiven { .. }));
    assert_eq!(worker.log.iter().filter(given).count(), 1);
}

#[test]
fn an_edit_that_waits_for_its_predecessor_gives_no_command() {
    let mut worker = Worker::ready(&[pull(1)]);
    let said = comment(1, 7, "@merge-train predecessor #5\n@merge-train start");
    worker.comment_event(CommentChange::Edited, said);
    worker.feed(&fetched(pr(5), at(0), Ok(Some(pull(5)))));
    assert!(
        !worker
            .log
            .iter()
            .any(|recorded| matches!(recorded.event, Event::Commands(CommandsEvent::CommandGiven { .. })))
    );
}

#[test]
fn who_is_left_out_is_told_once_however_often_the_squash_is_tried() {
    let mut yard = Yard::new(&[0, 1, 1]);
    yard.hub.edit(3, |pull| pull.base = branch("elsewhere"));
    yard.told(3);
    yard.until(|yard| !yard.notes(3).is_empty());
    let warned = yard.notes(3).len();
    yard.start(1);
    for _ in 0..2 {
        yard.until_next(1, |work| matches!(work, TrainTask::Squash { .. }));
        yard.answers(1, TrainTaskOutcome::Squashed(SquashOutcome::Refused { message: "Please try again".to_owned() }));
    }
    yard.until(|yard| !yard.landed().is_empty());
    assert_eq!(yard.notes(3).len(), warned + 1, "{:?}", yard.notes(3));
}

#[test]
fn a_descendant_that_is_given_another_base_after_the_freeze_is_left_out() {
    for phase in ["Preparing", "SquashPending"] {
        let mut yard = Yard::new(&[0, 1, 1]);
        yard.start(1);
        match phase {
            "Preparing" => {
                yard.until_next(1, |work| matches!(work, TrainTask::Merge { step: MergeStep::Prepare { .. }, .. }));
            }
            _ => yard.until_next(1, |work| matches!(work, TrainTask::Squash { .. })),
        }
        yard.hub.edit(3, |pull| pull.base = branch("elsewhere"));
        yard.told(3);
        yard.finish();
        assert_eq!(yard.landed(), [1, 2], "{phase}");
        assert_eq!(yard.hub.pulls[&3].base, branch("elsewhere"), "{phase}");
    }
}

#[test]
fn a_merge_commit_by_somebody_else_is_not_taken_for_a_wrong_squash_of_the_train() {
    let mut yard = Yard::new(&[0, 1, 2]);
    yard.start(1);
    yard.until(|yard| !yard.landed().is_empty());
    yard.until_next(1, |work| matches!(work, TrainTask::Expect { change, .. } if change.pull == pr(2)));
    yard.hub.edit(2, |pull| pull.landed = Some(sha(1_000)));
    yard.told(2);
    yard.until_next(1, |work| matches!(work, TrainTask::Prove { .. }));
    yard.answers(1, TrainTaskOutcome::Proved(LandedTreeProof::NotASquash { reason: "it has two parents".to_owned() }));
    assert_eq!(yard.error(1), Some("MergedOutsideCascade"));
}

#[test]
fn a_start_after_one_that_was_refused_because_the_rules_could_not_be_read_reads_them_at_once() {
    let mut yard = Yard::new(&[0]);
    yard.start(1);
    let denied = EffectFailure { reason: "403".to_owned(), kind: EffectFailureKind::Permanent, retry_at: None };
    yard.under_way.remove(&EffectKey::Trains(TrainsKey::ReadPolicy)).expect("the rules are read");
    yard.feed(&policy_read(Err(denied)));
    assert!(yard.worker.state.starts.is_empty(), "refused");
    yard.start_as(1, 900);
    assert!(yard.under_way.contains_key(&EffectKey::Trains(TrainsKey::ReadPolicy)));
    yard.finish();
    assert_eq!(yard.landed(), [1]);
}

#[test]
fn a_pull_request_that_github_does_not_have_any_more_ends_the_train() {
    let mut yard = Yard::new(&[0, 1]);
    yard.start(1);
    yard.until(|yard| yard.standing(1).is_some());
    yard.feed(&merge_states(vec![pr(1)], at(yard.worker.clock), Ok(Vec::new())));
    yard.feed(&fetched(pr(1), at(yard.worker.clock), Ok(None)));
    assert_eq!(yard.standing(1), Some(TrainState::Aborted));
}

#[test]
fn a_survey_that_was_asked_for_before_a_declaration_does_not_undo_it() {
    let mut yard = Yard::new(&[0, 1]);
    yard.worker.feed(&Input::Asked { key: key(), request: Request::Sync });
    let asked = at(yard.worker.clock);
    let before = yard.hub.perform(&Effect::Mirror(MirrorEffect::Survey), asked);
    yard.worker.clock += 1;
    // Deleted after GitHub answered, before the answer came.
    let said = yard.hub.declaration(2).expect("declared");
    yard.worker.comment_event(CommentChange::Deleted, said);
    yard.worker.feed(&before);
    assert_eq!(yard.worker.known(2).predecessor, None);
    yard.worker.feed(&Input::Asked { key: key(), request: Request::Sync });
    yard.hub.edit(2, |pull| pull.comment = None);
    let before = yard.hub.perform(&Effect::Mirror(MirrorEffect::Survey), at(yard.worker.clock));
    yard.worker.clock += 1;
    yard.said(2, 300, "@merge-train predecessor #1");
    yard.worker.feed(&before);
    assert_eq!(yard.worker.known(2).predecessor, Some(pr(1)));
}

#[test]
fn a_declaration_that_was_refused_does_not_count_after_the_next_survey() {
    let mut yard = Yard::new(&[0, 0]);
    yard.said(2, 102, "@merge-train predecessor #1");
    assert_eq!(yard.worker.known(2).predecessor, None, "its base is the default branch");
    yard.hub.edit(2, |pull| (pull.predecessor, pull.comment) = (Some(1), Some(102)));
    yard.worker.clock += 1;
    yard.worker.feed(&Input::Asked { key: key(), request: Request::Sync });
    let found = yard.hub.perform(&Effect::Mirror(MirrorEffect::Survey), at(yard.worker.clock));
    yard.worker.feed(&found);
    assert_eq!(yard.worker.known(2).predecessor, None);
}

#[test]
fn a_stack_that_starts_by_itself_and_is_refused_is_told_so_once() {
    let mut yard = Yard::new(&[0, 1]);
    yard.worker.settings.auto_start = true;
    let ready = |yard: &mut Yard| {
        let happening = WebhookEvent::Status {
            sha: yard.hub.pulls[&1].head.clone(),
            state: crate::facts::StatusState::Success,
            context: format!("ci-{}", yard.worker.clock),
        };
        let plan = yard.worker.heard("status", None, happening);
        yard.take(plan);
        let check = crate::facts::Check { verdict: crate::facts::CheckConclusion::Passed, required: true };
        let ci = CiFacts { checks: [("ci".to_owned(), check)].into(), ..CiFacts::default() };
        let requested_at = at(yard.worker.clock);
        let fact = MergeFacts { ci, ..merge_facts(1, MergeState::Clean) };
        yard.under_way.remove(&EffectKey::Mirror(MirrorKey::ReadMergeStates));
        yard.feed(&merge_states(vec![pr(1)], requested_at, Ok(vec![fact])));
        if yard.under_way.remove(&EffectKey::Trains(TrainsKey::ReadPolicy)).is_some() {
            let denied = EffectFailure { reason: "403".to_owned(), kind: EffectFailureKind::Permanent, retry_at: None };
            yard.feed(&policy_read(Err(denied)));
        }
        yard.worker.clock += 10_000;
    };
    for _ in 0..3 {
        ready(&mut yard);
    }
    assert_eq!(yard.notes(1).len(), 1, "{:?}", yard.notes(1));
}

/// What #2 is told whose other base is found by a look, once what it stands on was looked at, too.
fn told_of_another_base(below: PullState) -> Vec<String> {
    let mut yard = Yard::new(&[0, 1]);
    let (prs, requested_at) = (vec![pr(2)], at(yard.worker.clock));
    let fact = MergeFacts { base_ref: branch("main"), ..merge_facts(2, MergeState::Clean) };
    yard.worker.feed(&merge_states(prs, requested_at, Ok(vec![fact])));
    let retargeted = PullFacts { updated_at: at(yard.worker.clock + 5), ..pull(2) };
    yard.worker.clock += 6;
    let requested_at = at(yard.worker.clock);
    let plan = yard.worker.feed(&fetched(pr(2), requested_at, Ok(Some(retargeted))));
    assert!(plan.effects.contains(&Effect::Mirror(MirrorEffect::FetchPull { pr: pr(1) })), "{:?}", plan.effects);
    assert!(yard.notes(2).is_empty(), "what it stands on may have landed: {:?}", yard.notes(2));
    let below = PullFacts { state: below, updated_at: requested_at, ..pull(1) };
    yard.worker.feed(&fetched(pr(1), requested_at, Ok(Some(below))));
    yard.notes(2).iter().map(ToString::to_string).collect()
}

#[test]
fn another_base_is_told_of_however_it_is_found_unless_what_it_stood_on_has_landed() {
    let is_warning = |note: &String| note.contains("PR #2 was retargeted to `main`, which no longer matches");
    assert!(told_of_another_base(PullState::Open).iter().any(is_warning));
    let landed = PullState::Merged { merge_commit_sha: Some(sha(77)), at: at(1) };
    assert!(!told_of_another_base(landed).iter().any(is_warning));
}

#[test]
fn a_descendant_that_was_behind_is_looked_at_again_before_the_train_is_ended_for_it() {
    let mut yard = Yard::new(&[0, 1]);
    let (prs, requested_at) = (vec![pr(2)], at(yard.worker.clock));
    let fact = MergeFacts { base_ref: branch("feature-1"), ..merge_facts(2, MergeState::Behind) };
    yard.worker.feed(&merge_states(prs, requested_at, Ok(vec![fact])));
    assert_eq!(yard.worker.known(2).merge_state, MergeState::Behind);
    yard.start(1);
    yard.finish();
    assert_eq!(yard.landed(), [1, 2]);
}

#[test]
fn trains_that_parted_go_on_although_the_old_worktree_cannot_be_removed() {
    let mut yard = Yard::new(&[0, 1, 1]);
    yard.start(1);
    yard.until_next(1, |work| matches!(work, TrainTask::Worktrees(_)));
    for _ in 0..400 {
        let key = EffectKey::Trains(TrainsKey::Work(pr(1)));
        if let Some(Effect::Trains(TrainsEffect::Work { root, work: work @ TrainTask::Worktrees(_) })) =
            yard.under_way.remove(&key)
        {
            let reason = "No space left on device".to_owned();
            let result = Err(EffectFailure { reason, kind: EffectFailureKind::Transient, retry_at: None });
            yard.feed(&worked(root, work, result));
        } else {
            yard.answer(0);
        }
    }
    assert_eq!(yard.landed().len(), 3);
}

#[test]
fn a_train_that_cannot_read_how_its_pull_request_stands_says_so() {
    let mut yard = Yard::new(&[0]);
    yard.start(1);
    yard.until(|yard| yard.standing(1).is_some());
    for _ in 0..20 {
        if yard.under_way.remove(&EffectKey::Mirror(MirrorKey::ReadMergeStates)).is_some() {
            let reason = "502".to_owned();
            let result = Err(EffectFailure { reason, kind: EffectFailureKind::Transient, retry_at: None });
            yard.feed(&merge_states(vec![pr(1)], at(yard.worker.clock), result));
        } else {
            yard.answer(0);
        }
    }
    assert!(yard.worker.state.why(pr(1)).is_some());
    yard.finish();
    assert_eq!(yard.landed(), [1]);
}

#[test]
fn what_was_closed_while_its_predecessor_landed_is_brought_into_order_when_it_is_reopened() {
    let mut yard = Yard::new(&[0, 1]);
    yard.hub.edit(1, |pull| pull.landed = Some(sha(1_000)));
    yard.told(1);
    assert!(yard.under_way.contains_key(&EffectKey::Trains(TrainsKey::Work(pr(2)))), "it is late");
    yard.hub.edit(2, |pull| pull.closed = true);
    yard.told(2);
    yard.finish();
    yard.hub.edit(2, |pull| pull.closed = false);
    yard.told(2);
    yard.finish();
    assert!(yard.worker.known(2).predecessor_squash_reconciled.is_some());
}

fn key() -> Key {
    Key::api("test", "1").expect("a key")
}

#[test]
fn a_train_that_halted_after_its_root_had_landed_starts_again_from_there() {
    let mut yard = Yard::new(&[0, 1, 2]);
    yard.start(1);
    yard.until(|yard| yard.worker.state.active_trains.get(&pr(1)).is_some_and(|train| train.current_pr == pr(2)));
    yard.hub.edit(2, |pull| pull.closed = true);
    yard.told(2);
    assert_eq!(yard.standing(1), Some(TrainState::Aborted));
    yard.hub.edit(2, |pull| pull.closed = false);
    yard.told(2);
    // Where the status comment is, and where the train was started at first.
    yard.start_as(1, 900);
    yard.finish();
    assert_eq!(yard.landed(), [1, 2, 3]);
}

#[test]
fn what_stood_on_a_root_that_somebody_merged_after_its_train_had_halted_starts_from_the_root() {
    let mut yard = Yard::new(&[0, 1]);
    yard.start(1);
    yard.until(|yard| yard.standing(1).is_some());
    yard.said(1, 800, "@merge-train stop");
    let main = yard.hub.main.clone();
    yard.hub.edit(1, |pull| pull.landed = Some(main));
    yard.told(1);
    yard.start_as(1, 900);
    yard.until(|yard| !yard.landed().is_empty());
    assert_eq!(yard.landed(), [2]);
}

#[test]
fn a_train_is_not_stopped_by_what_stayed_behind_when_its_predecessor_landed() {
    let mut yard = Yard::new(&[0, 1, 1]);
    yard.hub.edit(3, |pull| pull.base = branch("elsewhere"));
    yard.told(3);
    yard.start(1);
    yard.until(|yard| yard.worker.state.active_trains.get(&pr(1)).is_some_and(|train| train.current_pr == pr(2)));
    yard.said(3, 900, "@merge-train stop");
    assert_ne!(yard.standing(1), Some(TrainState::Stopped));
    yard.finish();
    assert_eq!(yard.landed(), [1, 2]);
}

#[test]
fn a_retarget_that_was_begun_before_the_default_branch_was_renamed_goes_to_the_new_one() {
    let mut yard = Yard::new(&[0, 1]);
    yard.start(1);
    yard.until_next(1, |work| matches!(work, TrainTask::Retarget { .. }));
    let now = at(yard.worker.clock);
    let renamed = Event::Mirror(MirrorEvent::DefaultBranchChanged { default_branch: branch("trunk") });
    apply(&mut yard.worker.state, &renamed, now);
    yard.under_way.remove(&EffectKey::Trains(TrainsKey::Work(pr(1))));
    yard.feed(&Input::Tick);
    let base = branch("trunk");
    yard.until_next(1, |work| matches!(work, TrainTask::Retarget { base: to, .. } if *to == base));
}

#[test]
fn a_train_says_what_it_fails_at_even_if_it_waited_for_something_else_before() {
    let mut yard = Yard::new(&[0]);
    yard.start(1);
    yard.until(|yard| yard.standing(1).is_some());
    let observe = |yard: &mut Yard, state: MergeState| {
        yard.under_way.remove(&EffectKey::Mirror(MirrorKey::ReadMergeStates));
        let facts = MergeFacts { review: Some(crate::facts::ReviewDecision::ReviewRequired), ..merge_facts(1, state) };
        yard.feed(&merge_states(vec![pr(1)], at(yard.worker.clock), Ok(vec![facts])));
    };
    observe(&mut yard, MergeState::Blocked);
    let first = yard.worker.state.why(pr(1)).expect("it waits for a review").blocker;
    yard.worker.feed(&Input::Asked { key: key(), request: Request::Sync });
    let survey = yard.hub.perform(&Effect::Mirror(MirrorEffect::Survey), at(yard.worker.clock));
    yard.feed(&survey);
    observe(&mut yard, MergeState::Behind);
    for _ in 0..40 {
        match yard.under_way.remove(&EffectKey::Trains(TrainsKey::Work(pr(1)))) {
            Some(Effect::Trains(TrainsEffect::Work { root, work })) => {
                let result = Err(EffectFailure {
                    reason: "no route".to_owned(),
                    kind: EffectFailureKind::Transient,
                    retry_at: None,
                });
                yard.feed(&worked(root, work, result));
            }
            _ => yard.tick(),
        }
    }
    let now = yard.worker.state.why(pr(1)).expect("it fails at something").blocker;
    assert!(now != first && now.contains("no route"), "{now}");
}

#[test]
fn nothing_is_done_to_a_stack_that_was_stopped_although_somebody_merges_its_root() {
    let mut yard = Yard::new(&[0, 1]);
    yard.start(1);
    yard.until(|yard| yard.standing(1).is_some());
    yard.said(1, 800, "@merge-train stop");
    let (main, head) = (yard.hub.main.clone(), yard.hub.pulls[&2].head.clone());
    yard.hub.edit(1, |pull| pull.landed = Some(main));
    yard.told(1);
    for _ in 0..50 {
        yard.answer(0);
    }
    assert_eq!(yard.hub.pulls[&2].head, head, "nobody pushed to it");
    assert_eq!(yard.hub.pulls[&2].base, branch("feature-1"));
}

#[test]
fn a_declaration_that_was_taken_back_before_its_predecessor_was_found_does_not_count() {
    let mut worker = Worker::ready(&[stacked(2, 1)]);
    let said = comment(2, 7, "@merge-train predecessor #1");
    worker.comment_event(CommentChange::Created, said.clone());
    worker.comment_event(CommentChange::Deleted, said);
    worker.feed(&fetched(pr(1), at(0), Ok(Some(pull(1)))));
    assert_eq!(worker.known(2).predecessor, None);
}

#[test]
fn of_two_edits_that_wait_for_their_predecessors_the_later_counts() {
    let mut worker = Worker::ready(&[stacked(2, 1)]);
    worker.comment_event(CommentChange::Created, comment(2, 7, "@merge-train predecessor #3"));
    worker.comment_event(CommentChange::Edited, comment(2, 7, "@merge-train predecessor #1"));
    worker.feed(&fetched(pr(1), at(0), Ok(Some(pull(1)))));
    let third = PullFacts { head_ref: branch("feature-1"), ..pull(3) };
    worker.feed(&fetched(pr(3), at(0), Ok(Some(third))));
    assert_eq!(worker.known(2).predecessor, Some(pr(1)));
}

#[test]
fn a_stop_where_a_start_was_asked_for_takes_back_all_that_it_was_to_start() {
    let mut yard = Yard::new(&[0, 1, 1]);
    yard.start(1);
    yard.until(|yard| !yard.landed().is_empty());
    yard.said(1, 800, "@merge-train stop");
    yard.worker.clock += 7_200;
    yard.said(1, 801, "@merge-train start");
    assert_eq!(yard.worker.state.starts.len(), 2, "both wait for the rules");
    yard.said(1, 802, "@merge-train stop");
    assert!(yard.worker.state.starts.is_empty());
}

#[test]
fn what_cannot_be_brought_into_order_for_good_is_told_so_once() {
    let mut yard = Yard::new(&[0, 1]);
    let main = yard.hub.main.clone();
    yard.hub.edit(1, |pull| pull.landed = Some(main));
    yard.told(1);
    for _ in 0..30 {
        match yard.under_way.remove(&EffectKey::Trains(TrainsKey::Work(pr(2)))) {
            Some(Effect::Trains(TrainsEffect::Work { root, work: work @ TrainTask::Merge { .. } })) => {
                let result =
                    Err(EffectFailure { reason: "403".to_owned(), kind: EffectFailureKind::Permanent, retry_at: None });
                yard.feed(&worked(root, work, result));
            }
            Some(other) => {
                yard.under_way.insert(other.key(), other);
                yard.answer(0);
            }
            None => yard.tick(),
        }
    }
    assert_eq!(yard.notes(2).len(), 1, "{:?}", yard.notes(2));
    assert!(!yard.worker.state.details.contains_key(&pr(2)), "nothing more is tried with this head");
}
