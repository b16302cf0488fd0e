//! What becomes of trains whose state is lost, or older than what GitHub shows of them.

use proptest::prelude::*;

use super::trains::Yard;
use super::*;
use crate::repo::trains::{CascadePhase, TrainRecord, TrainState, status};

const BOT: UserId = UserId::new(900);

impl Yard {
    /// Everything that was remembered is gone, with all that was under way. A daemon that knows nothing is woken.
    fn lose_everything(&mut self) {
        self.under_way.clear();
        let clock = self.worker.clock + 1;
        let settings = self.worker.settings.clone();
        self.worker = Worker { clock, settings, ..Worker::default() };
        self.feed(&Input::Resume);
        let plan = self.worker.heard("ping", None, WebhookEvent::Other);
        self.begin(plan);
    }

    /// A backup is restored that holds the first of the events. The process was down for some hours.
    fn restore(&mut self, events: usize) {
        self.under_way.clear();
        // What was written at once is there as a whole or not at all.
        let is_cut_there = |log: &[RecordedEvent], at: usize| log.get(at).is_some_and(|next| next.ts == log[at - 1].ts);
        let mut events = events;
        while events > 1 && is_cut_there(&self.worker.log, events) {
            events -= 1;
        }
        self.worker.log.truncate(events);
        self.worker.state = RepoState::default();
        for recorded in &self.worker.log {
            apply(&mut self.worker.state, &recorded.event, recorded.ts);
        }
        self.worker.clock += 10_000;
        self.feed(&Input::Resume);
    }

    fn settle(&mut self) {
        for _ in 0..2_000 {
            if self.under_way.is_empty() && !self.runs() {
                return;
            }
            self.answer(0);
        }
        panic!("it never ends: {:?}\n{}", self.under_way, log(self).lines().take(300).collect::<Vec<_>>().join("\n"));
    }

    /// Goes on, with every word in the status comments as soon as it can be there, until this is shown.
    fn until_shown(&mut self, root: u64, met: impl Fn(&TrainRecord) -> bool) {
        for _ in 0..2_000 {
            if self.shown(root).is_some_and(|record| met(&record)) {
                return;
            }
            let first =
                self.under_way.keys().position(|key| matches!(key, EffectKey::Trains(TrainsKey::WriteStatus(_))));
            self.answer(first.unwrap_or_default());
        }
        panic!("it is never shown: {:?}", self.worker.state.active_trains);
    }

    /// What the status comment on a pull request shows.
    fn shown(&self, root: u64) -> Option<TrainRecord> {
        status::parse(&self.hub.status(root)?.body, BOT, BOT).ok()
    }

    fn state_of(&self, root: u64) -> Option<TrainState> {
        self.worker.state.active_trains.get(&pr(root)).map(|train| train.state)
    }
}

#[test]
fn with_everything_lost_a_train_goes_on_from_its_status_comment() {
    let mut yard = Yard::new(&[0, 1, 2]);
    yard.start(1);
    yard.until_shown(1, |record| record.current_pr == pr(2));
    yard.lose_everything();
    assert_eq!(yard.worker.state.lifecycle(), Lifecycle::Bootstrapping);
    yard.finish();
    assert_eq!(yard.landed(), [1, 2, 3]);
    let said = yard.worker.log.iter().find_map(|line| match &line.event {
        Event::Trains(TrainsEvent::StatusClosing { text, .. }) => Some(text.clone()),
        _ => None,
    });
    assert!(said.is_some_and(|text| text.contains("#1") && text.contains("#3")), "it knows what it landed before");
}

#[test]
fn with_the_comment_lost_too_a_person_has_to_look() {
    let mut yard = Yard::new(&[0, 1, 2]);
    yard.start(1);
    yard.until(|yard| yard.landed() == [1]);
    yard.hub.statuses.clear();
    yard.lose_everything();
    yard.settle();
    assert_eq!(yard.landed(), [1], "nobody knows how far it was");
    let train = yard.worker.state.active_trains[&pr(2)].clone();
    assert_eq!((train.state, train.current_pr), (TrainState::NeedsManualReview, pr(2)));
    let shown = yard.hub.status(2).expect("a new status comment").body;
    assert!(shown.contains("Train state was lost. Manual review required. The bot has identified #3 but"), "{shown}");
    yard.says(2, 900, "@merge-train stop");
    yard.settle();
    yard.start_as(2, 901);
    yard.finish();
    assert_eq!(yard.landed(), [1, 2, 3]);
}

#[test]
fn a_start_that_was_acknowledged_and_shows_nothing_is_lost_too() {
    let mut yard = Yard::new(&[0, 1]);
    yard.start(1);
    yard.until(|yard| {
        yard.state_of(1).is_some()
            && !yard.under_way.keys().any(|key| matches!(key, EffectKey::Outbox(OutboxKey::Say(_))))
    });
    yard.hub.statuses.clear();
    yard.lose_everything();
    yard.settle();
    assert_eq!(yard.state_of(1), Some(TrainState::NeedsManualReview));
    assert!(yard.landed().is_empty());
}

#[test]
fn a_stack_that_was_never_started_or_stopped_again_is_left_alone() {
    let mut yard = Yard::new(&[0, 1]);
    yard.lose_everything();
    yard.settle();
    assert!(yard.worker.state.active_trains.is_empty(), "nobody started it");
    yard.start(1);
    yard.until(|yard| yard.state_of(1).is_some());
    yard.worker.clock += 5;
    yard.says(1, 900, "@merge-train stop");
    yard.settle();
    assert_eq!(yard.shown(1).unwrap().state, TrainState::Running, "its comment has not come to say so");
    yard.lose_everything();
    yard.settle();
    assert_eq!(yard.state_of(1), Some(TrainState::Stopped), "but the stop was acknowledged");
    yard.hub.statuses.clear();
    yard.lose_everything();
    yard.settle();
    assert!(yard.worker.state.active_trains.is_empty(), "the last word of people was to stop");
    assert!(yard.landed().is_empty());
}

#[test]
fn a_pull_request_that_came_late_to_a_train_that_is_done_is_not_taken_for_a_lost_train() {
    let mut yard = Yard::new(&[0, 1]);
    yard.worker.comment_event(CommentChange::Deleted, comment(2, 102, "@merge-train predecessor #1"));
    yard.start(1);
    yard.until(|yard| yard.landed() == [1] && yard.worker.state.active_trains.is_empty());
    yard.settle();
    yard.lose_everything();
    yard.settle();
    assert!(yard.worker.state.active_trains.is_empty());
    assert!(yard.worker.known(2).predecessor_squash_reconciled.is_some(), "it is brought into order all the same");
}

#[test]
fn nobody_else_is_believed() {
    let mut yard = Yard::new(&[0, 1]);
    yard.start(1);
    yard.until_shown(1, |_| true);
    let genuine = yard.hub.status(1).unwrap();
    yard.lose_everything();
    let mut forged = comment(2, 700, &genuine.body.replace("\"original_root_pr\": 1", "\"original_root_pr\": 2"));
    forged.author = UserId::new(1);
    yard.hub.said.push(forged);
    yard.hub.statuses.clear();
    yard.settle();
    assert_eq!(yard.state_of(2), None);
    // And of the bot's own only what is about the pull request it is on.
    let elsewhere = CommentFacts { id: CommentId::new(701), pr: pr(2), ..genuine };
    yard.hub.said.push(elsewhere);
    yard.lose_everything();
    yard.settle();
    assert_eq!(yard.state_of(2), None);
}

#[test]
fn the_fan_out_of_a_train_that_was_cut_in_the_middle_is_completed() {
    let mut yard = Yard::new(&[0, 1, 1, 1]);
    yard.start(1);
    let shows = |yard: &Yard, root: u64| yard.shown(root).is_some();
    yard.until_shown(2, |_| true);
    assert!(yard.shown(1).is_some(), "the old one keeps its word until all new ones have given theirs");
    let missing: Vec<u64> = [2, 3, 4].into_iter().filter(|root| !shows(&yard, *root)).collect();
    assert!(!missing.is_empty());
    yard.lose_everything();
    yard.finish();
    let mut landed = yard.landed();
    landed.sort_unstable();
    assert_eq!(landed, [1, 2, 3, 4]);
    assert!(yard.shown(1).is_none(), "its comment has the last word");
}

#[test]
fn the_last_word_of_a_train_that_parted_names_all_however_old_its_comment_was() {
    let mut yard = Yard::new(&[0, 1, 1, 1]);
    yard.start(1);
    yard.until_shown(1, |record| record.cascade_phase == CascadePhase::Idle);
    let old = yard.hub.statuses[&1].clone();
    yard.until_shown(2, |_| true);
    assert!(yard.shown(3).is_none() && yard.shown(4).is_none());
    yard.hub.statuses.insert(1, old);
    yard.lose_everything();
    yard.finish();
    let body = &yard.hub.statuses[&1];
    assert!(body.contains("Descendants #2, #3, #4 are now independent trains."), "{body}");
    assert_eq!(yard.landed().len(), 4);
}

#[test]
fn a_restored_backup_goes_on_from_what_github_shows() {
    let mut yard = Yard::new(&[0, 1, 2, 3]);
    yard.start(1);
    yard.until_shown(1, |_| true);
    let backup = yard.worker.log.len();
    yard.until_shown(1, |record| record.current_pr == pr(3));
    let seq = yard.shown(1).unwrap().recovery_seq;
    yard.restore(backup);
    yard.until(|yard| !yard.worker.state.details[&pr(1)].status.doubted);
    let train = &yard.worker.state.active_trains[&pr(1)];
    assert!(train.recovery_seq >= seq && train.current_pr == pr(3), "{train:?}");
    yard.finish();
    assert_eq!(yard.landed(), [1, 2, 3, 4]);
}

#[test]
fn what_is_remembered_counts_where_the_comment_is_behind() {
    let mut yard = Yard::new(&[0, 1, 2]);
    yard.start(1);
    yard.until_shown(1, |_| true);
    let old = yard.hub.statuses[&1].clone();
    yard.until(|yard| yard.landed() == [1, 2]);
    yard.hub.statuses.insert(1, old);
    let seq = yard.worker.state.active_trains[&pr(1)].recovery_seq;
    yard.crash(&[]);
    yard.until(|yard| !yard.worker.state.details[&pr(1)].status.doubted);
    assert!(yard.worker.state.active_trains[&pr(1)].recovery_seq >= seq);
    yard.finish();
    assert_eq!(yard.landed(), [1, 2, 3]);
}

#[test]
fn a_backup_of_a_train_that_is_done_by_now_is_forgotten() {
    let mut yard = Yard::new(&[0, 1]);
    yard.start(1);
    yard.until_shown(1, |_| true);
    let backup = yard.worker.log.len();
    yard.finish();
    yard.restore(backup);
    yard.finish();
    assert_eq!(yard.landed(), [1, 2]);
    assert!(yard.worker.state.active_trains.is_empty());
}

#[test]
fn a_train_that_begins_anew_is_not_ended_by_the_last_word_on_the_one_before() {
    let mut yard = Yard::new(&[0, 1]);
    yard.start(1);
    yard.until_shown(1, |record| record.state == TrainState::Running);
    let closing = Event::Trains(TrainsEvent::StatusClosing {
        train_root: pr(1),
        text: "Stopped by force.".to_owned(),
        new_roots: Vec::new(),
    });
    yard.says(1, 900, "@merge-train stop");
    apply(&mut yard.worker.state, &closing, at(yard.worker.clock));
    yard.worker.log.push(RecordedEvent { seq: 0, ts: at(yard.worker.clock), event: closing });
    yard.settle();
    assert!(yard.shown(1).is_none());
    yard.start_as(1, 901);
    yard.until(|yard| yard.state_of(1).is_some_and(|state| state != TrainState::Stopped));
    yard.crash(&[]);
    yard.finish();
    assert_eq!(yard.landed(), [1, 2]);
}

#[test]
fn a_stop_that_came_while_the_comment_was_being_read_holds() {
    let mut yard = Yard::new(&[0, 1, 2]);
    yard.start(1);
    yard.until_shown(1, |_| true);
    let backup = yard.worker.log.len();
    yard.until_shown(1, |record| record.current_pr == pr(2));
    yard.restore(backup);
    assert!(yard.worker.state.details[&pr(1)].status.doubted);
    yard.says(1, 900, "@merge-train stop");
    let landed = yard.landed();
    yard.settle();
    let train = &yard.worker.state.active_trains[&pr(1)];
    assert_eq!((train.state, train.current_pr), (TrainState::Stopped, pr(2)));
    assert_eq!(yard.landed(), landed);
}

#[test]
fn a_stop_during_the_first_look_reaches_the_train_that_it_finds() {
    let mut yard = Yard::new(&[0, 1, 2]);
    yard.start(1);
    yard.until_shown(1, |record| record.current_pr == pr(2));
    yard.lose_everything();
    yard.says(1, 900, "@merge-train stop");
    let landed = yard.landed();
    yard.settle();
    assert_eq!(yard.state_of(1), Some(TrainState::Stopped));
    assert_eq!(yard.landed(), landed);
}

#[test]
fn a_crawl_that_is_cut_off_reads_only_the_rest() {
    let pulls: Vec<PullFacts> = (1..=120).map(pull).collect();
    let mut worker = Worker::default();
    worker.heard("ping", None, WebhookEvent::Other);
    let plan = worker.feed(&surveyed(at(0), Ok(listing(&pulls))));
    let batches = |plan: &Plan| -> Vec<Vec<PrNumber>> {
        let prs = |effect: &Effect| match effect {
            Effect::Mirror(MirrorEffect::ReadConversations { prs }) => Some(prs.clone()),
            _ => None,
        };
        plan.effects.iter().filter_map(prs).collect()
    };
    let all = batches(&plan);
    assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [50, 50, 20]);
    let heard = |prs: &[PrNumber]| {
        conversations_read(prs.to_vec(), at(0), Ok(prs.iter().map(|pr| conversation(pr.get(), &[])).collect()))
    };
    worker.feed(&heard(&all[1]));
    assert_eq!(worker.state.progress().unread, Some(70));
    let mut again = Worker { log: worker.log.clone(), ..Worker::default() };
    worker.log.iter().for_each(|line| apply(&mut again.state, &line.event, line.ts));
    let rest = batches(&again.feed(&Input::Resume));
    assert_eq!(rest.concat(), [all[0].clone(), all[2].clone()].concat(), "what was read is not read again");
    rest.iter().for_each(|prs| drop(again.feed(&heard(prs))));
    assert_eq!(again.state.lifecycle(), Lifecycle::Ready);
}

#[test]
fn what_a_stack_stands_on_is_looked_up_however_long_ago_it_landed() {
    let mut yard = Yard::new(&[0, 1, 2]);
    yard.start(1);
    yard.until_shown(1, |record| record.current_pr == pr(2));
    yard.hub.unlisted.insert(1);
    yard.lose_everything();
    yard.finish();
    assert_eq!(yard.landed(), [1, 2, 3]);
}

fn log(yard: &Yard) -> String {
    yard.worker.log.iter().map(|line| serde_json::to_string(line).unwrap()).collect::<Vec<_>>().join("\n")
}

/// When everything is lost, or an old backup comes back.
#[derive(Debug, Clone)]
enum Loss {
    Everything,
    /// So much of the log is left, in hundredths.
    Since(usize),
}

fn losses() -> impl Strategy<Value = Vec<(usize, Loss)>> {
    let loss = prop_oneof![Just(Loss::Everything), (20..100_usize).prop_map(Loss::Since)];
    proptest::collection::vec((1..60_usize, loss), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Whenever state is lost, and however old what comes back is: nothing lands twice or unrelated to what it stands on (the
    /// GitHub in memory sees to that), what the comments show never goes back, and in the end all has landed or a person
    /// is asked.
    #[test]
    fn whatever_is_lost_each_lands_once_or_a_person_is_asked(
        on in prop_oneof![Just(vec![0, 1, 2]), Just(vec![0, 1, 1]), Just(vec![0, 1, 1, 2]), Just(vec![0, 1, 1, 1])],
        losses in losses(),
        order in proptest::collection::vec(any::<usize>(), 200),
    ) {
        let mut yard = Yard::new(&on);
        yard.start(1);
        let mut order = order.into_iter().cycle();
        for (steps, loss) in losses {
            for _ in 0..steps {
                yard.answer(order.next().unwrap_or_default());
            }
            match loss {
                Loss::Everything => yard.lose_everything(),
                Loss::Since(part) => {
                    let kept = (yard.worker.log.len() * part / 100).max(1);
                    yard.restore(kept);
                }
            }
        }
        yard.settle();
        let mut once = yard.landed();
        once.sort_unstable();
        once.dedup();
        prop_assert_eq!(once.len(), yard.landed().len(), "each at most once");
        let trains = yard.worker.state.active_trains.values();
        let asks = |train: &&TrainRecord| matches!(train.state, TrainState::NeedsManualReview | TrainState::Aborted);
        let asked = trains.filter(asks).count();
        let never_began = yard.landed().is_empty() && yard.worker.state.active_trains.is_empty();
        // The start may be all that an old backup knows of, and what it was given on has landed since.
        let is_refusal = |line: &RecordedEvent| {
            matches!(&line.event, Event::Outbox(OutboxEvent::NoteOwed { say: outbox::NoteContent::Comment { body }, .. }) if body.starts_with("Cannot start"))
        };
        let was_refused = yard.worker.log.iter().any(is_refusal);
        prop_assert!(
            once.len() == on.len() || asked > 0 || was_refused || never_began,
            "landed {:?}, and nobody is asked: {:?}\n{}", yard.landed(), yard.worker.state.active_trains, log(&yard)
        );
        // What a person is asked about goes on when they say so.
        for round in 0..4 {
            let mut roots: Vec<u64> = yard.worker.state.active_trains.keys().map(|root| root.get()).collect();
            if roots.is_empty() && was_refused {
                roots.extend((1..=on.len() as u64).find(|number| !yard.landed().contains(number)));
            }
            for root in roots {
                yard.says(root, 10_000 + round * 100 + root, "@merge-train stop");
                yard.start_as(root, 11_000 + round * 100 + root);
            }
            yard.settle();
        }
        let mut once = yard.landed();
        once.sort_unstable();
        prop_assert!(never_began || once.len() == on.len(), "landed {:?}: {:?}", once, yard.worker.state.active_trains);
        super::runs::follow(&yard.worker.log);
    }
}

#[test]
fn a_record_in_reconciling_without_the_squash_gets_it_from_github() {
    let mut yard = Yard::new(&[0, 1]);
    yard.start(1);
    yard.until_shown(1, |record| matches!(record.cascade_phase, CascadePhase::Reconciling { .. }));
    let record = &yard.worker.state.active_trains[&pr(1)];
    let record = TrainRecord {
        cascade_phase: CascadePhase::preparing(vec![pr(2)]).reconciling(),
        last_squash_sha: None,
        recovery_seq: record.recovery_seq + 10,
        ..record.clone()
    };
    yard.hub.statuses.insert(1, status::body(&record, "").unwrap());
    yard.lose_everything();
    yard.finish();
    assert_eq!(yard.landed(), [1, 2]);
}

#[test]
fn a_record_in_reconciling_whose_squash_never_happened_goes_back_to_it() {
    let mut yard = Yard::new(&[0, 1]);
    yard.start(1);
    yard.until_shown(1, |record| matches!(record.cascade_phase, CascadePhase::SquashPending { .. }));
    assert!(yard.landed().is_empty());
    let record = yard.shown(1).unwrap();
    let record = TrainRecord { cascade_phase: record.cascade_phase.reconciling(), last_squash_sha: None, ..record };
    yard.hub.statuses.insert(1, status::body(&record, "").unwrap());
    yard.lose_everything();
    yard.finish();
    assert_eq!(yard.landed(), [1, 2]);
}
