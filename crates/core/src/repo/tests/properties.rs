//! Whatever comes in: what was applied live is what a replay gives, and a compaction changes nothing.

use proptest::prelude::*;

use super::*;
use crate::facts::{CheckSuiteFacts, ReviewState, ReviewedPull, StatusState};
use crate::ids::CheckSuiteId;

/// A step of a story: some seconds pass, then something comes in.
#[derive(Debug, Clone)]
struct Step {
    pause: i64,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    Pull(&'static str, PullFacts),
    Comment(CommentChange, CommentFacts),
    Suite(u64),
    Status(u64),
    Review(u64),
    Unusable,
    Surveyed(Vec<PullFacts>, Vec<CommentFacts>),
    SurveyFailed,
    Fetched(u64, Option<PullFacts>),
    FetchFailed(u64),
    MergeStates(Vec<(u64, u64, MergeState)>),
    Tick,
    Resume,
    Housekeeping,
    Compact,
    /// A train's events, as later deciders write them.
    Train(u64, u8),
}

fn any_pull() -> impl Strategy<Value = PullFacts> {
    let state = prop_oneof![
        4 => Just(PullState::Open),
        1 => (0..2000_i64).prop_map(|second| PullState::Closed { at: at(second) }),
        1 => (0..2000_i64, proptest::option::of(1..20_u64))
            .prop_map(|(second, commit)| PullState::Merged { merge_commit_sha: commit.map(sha), at: at(second) }),
    ];
    (1..8_u64, 1..12_u64, state, any::<bool>(), 0..5_u8, 0..2000_i64, prop_oneof![Just("main"), Just("feature-1")])
        .prop_map(|(number, head, state, draft, fork, updated, base)| PullFacts {
            head_sha: sha(head),
            head_repo: if fork == 0 { HeadRepo::Fork } else { HeadRepo::Same },
            base_ref: branch(base),
            state,
            draft,
            updated_at: at(updated),
            ..pull(number)
        })
}

fn any_comment() -> impl Strategy<Value = CommentFacts> {
    let body = prop_oneof![
        (1..8_u64).prop_map(|number| format!("@merge-train predecessor #{number}")),
        Just("@merge-train stop".to_owned()),
        Just("thanks".to_owned()),
    ];
    (1..8_u64, 1..6_u64, body, 1..3_u64, 0..2000_i64).prop_map(|(on, id, body, author, updated)| CommentFacts {
        author: UserId::new(author),
        updated_at: at(updated),
        ..comment(on, id, &body)
    })
}

fn any_merge_state() -> impl Strategy<Value = MergeState> {
    prop_oneof![Just(MergeState::Clean), Just(MergeState::Blocked), Just(MergeState::Unknown), Just(MergeState::Dirty)]
}

fn any_step() -> impl Strategy<Value = Step> {
    let actions =
        prop_oneof![Just("opened"), Just("synchronize"), Just("edited"), Just("closed"), Just("ready_for_review")];
    let changes = prop_oneof![Just(CommentChange::Created), Just(CommentChange::Edited), Just(CommentChange::Deleted)];
    let what = prop_oneof![
        6 => (actions, any_pull()).prop_map(|(action, pull)| What::Pull(action, pull)),
        4 => (changes, any_comment()).prop_map(|(change, comment)| What::Comment(change, comment)),
        1 => (1..12_u64).prop_map(What::Suite),
        1 => (1..12_u64).prop_map(What::Status),
        2 => (1..8_u64).prop_map(What::Review),
        1 => Just(What::Unusable),
        2 => (proptest::collection::vec(any_pull(), 0..6), proptest::collection::vec(any_comment(), 0..4))
            .prop_map(|(pulls, comments)| What::Surveyed(pulls, comments)),
        1 => Just(What::SurveyFailed),
        2 => (1..8_u64, proptest::option::of(any_pull())).prop_map(|(number, pull)| What::Fetched(number, pull)),
        1 => (1..8_u64).prop_map(What::FetchFailed),
        3 => proptest::collection::vec((1..8_u64, 1..12_u64, any_merge_state()), 0..5).prop_map(What::MergeStates),
        1 => Just(What::Tick),
        1 => Just(What::Resume),
        1 => Just(What::Housekeeping),
        2 => Just(What::Compact),
        1 => (1..8_u64, 0..4_u8).prop_map(|(root, step)| What::Train(root, step)),
    ];
    (prop_oneof![4 => 0..10_i64, 1 => 0..200_000_i64], what).prop_map(|(pause, what)| Step { pause, what })
}

/// A worker that is compacted now and then, as the store does it.
struct Compacted {
    worker: Worker,
    snapshots: Vec<(String, usize)>,
}

impl Compacted {
    fn step(&mut self, step: Step) {
        let worker = &mut self.worker;
        worker.clock += step.pause;
        let now = at(worker.clock);
        match step.what {
            What::Pull(action, pull) => drop(worker.pull_event(action, pull)),
            What::Comment(change, comment) => drop(worker.comment_event(change, comment)),
            What::Suite(head) => {
                let suite = CheckSuiteFacts {
                    id: CheckSuiteId::new(head),
                    head_sha: sha(head),
                    conclusion: None,
                    updated_at: now,
                    pulls: vec![pr(head)],
                };
                worker.heard("check_suite", Some("completed"), WebhookEvent::CheckSuite(suite));
            }
            What::Status(head) => {
                let status =
                    WebhookEvent::Status { sha: sha(head), state: StatusState::Failure, context: "ci".to_owned() };
                worker.heard("status", None, status);
            }
            What::Review(number) => {
                let pull = ReviewedPull { number: pr(number), head_sha: sha(number) };
                worker.heard(
                    "pull_request_review",
                    Some("submitted"),
                    WebhookEvent::Review { pull, state: ReviewState::Approved },
                );
            }
            What::Unusable => {
                let id = DeliveryId::parse("odd").unwrap();
                let (event, reason) = ("status".to_owned(), "odd".to_owned());
                worker.feed(&Input::Unusable { id, event, received_at: now, reason });
            }
            What::Surveyed(pulls, comments) => {
                worker.surveyed(now, &pulls, &comments);
            }
            What::SurveyFailed => drop(worker.feed(&surveyed(now, Err(failure())))),
            What::Fetched(number, pull) => {
                let result = Ok(pull.map(|pull| PullFacts { number: pr(number), ..pull }));
                worker.feed(&fetched(pr(number), now, result));
            }
            What::FetchFailed(number) => {
                worker.feed(&fetched(pr(number), now, Err(failure())));
            }
            What::MergeStates(states) => {
                let prs = states.iter().map(|(number, ..)| pr(*number)).collect();
                let fact = |(number, head, state)| MergeFacts { head_sha: sha(head), ..merge_facts(number, state) };
                let result = Ok(states.into_iter().map(fact).collect());
                worker.feed(&merge_states(prs, now, result));
            }
            What::Tick => drop(worker.feed(&Input::Tick)),
            What::Resume => drop(worker.feed(&Input::Resume)),
            What::Housekeeping => drop(worker.feed(&Input::Housekeeping)),
            What::Train(root, step) => self.train(pr(root), step),
            What::Compact => {
                let position = Position { generation: 1, next_seq: worker.log.len() as u64 + 1, taken_at: now };
                let json = serde_json::to_string(&Snapshot::of(&worker.state, position)).unwrap();
                self.snapshots.push((json, worker.log.len()));
            }
        }
    }

    fn train(&mut self, root: PrNumber, step: u8) {
        let event = match step {
            0 => Event::Trains(TrainsEvent::TrainStarted {
                root_pr: root,
                current_pr: root,
                behest: Attribution::default(),
            }),
            1 => Event::Trains(TrainsEvent::SquashCommitted { train_root: root, pr: root, sha: sha(5) }),
            2 => Event::Trains(TrainsEvent::TrainAborted { root_pr: root, error: None }),
            _ => Event::Trains(TrainsEvent::TrainCompleted { root_pr: root }),
        };
        let ts = at(self.worker.clock);
        apply(&mut self.worker.state, &event, ts);
        self.worker.log.push(RecordedEvent { seq: self.worker.log.len() as u64 + 1, ts, event });
    }
}

fn failure() -> EffectFailure {
    EffectFailure { reason: "502".to_owned(), kind: EffectFailureKind::Transient, retry_at: None }
}

fn replay(mut state: RepoState, log: &[RecordedEvent]) -> RepoState {
    for recorded in log {
        let line = serde_json::to_string(recorded).unwrap();
        let read: RecordedEvent = serde_json::from_str(&line).unwrap();
        assert_eq!(&read, recorded, "{line}");
        apply(&mut state, &read.event, read.ts);
    }
    state
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn live_equals_replayed_and_compaction_changes_nothing(steps in proptest::collection::vec(any_step(), 1..60)) {
        let mut told = Compacted { worker: Worker::default(), snapshots: Vec::new() };
        for step in steps {
            told.step(step);
        }
        let live = &told.worker.state;
        prop_assert_eq!(live, &replay(RepoState::default(), &told.worker.log));
        for (json, position) in &told.snapshots {
            let restored = serde_json::from_str::<Snapshot>(json).unwrap().restore();
            prop_assert_eq!(live, &replay(restored, &told.worker.log[*position..]));
        }
        // What is derived is derived right.
        let mut indexed = live.clone();
        indexed.index();
        prop_assert_eq!(live, &indexed);
    }

    #[test]
    fn every_delivery_ends_in_exactly_one_line_of_the_log(steps in proptest::collection::vec(any_step(), 1..40)) {
        let mut told = Compacted { worker: Worker::default(), snapshots: Vec::new() };
        for step in steps {
            let is_delivery = matches!(
                step.what,
                What::Pull(..) | What::Comment(..) | What::Suite(_) | What::Status(_) | What::Review(_) | What::Unusable
            );
            let before = told.worker.log.len();
            told.step(step);
            let ends = |line: &RecordedEvent| matches!(line.event, Event::Mirror(MirrorEvent::DeliveryProcessed { .. }));
            let count = told.worker.log[before..].iter().filter(|line| ends(line)).count();
            prop_assert_eq!(count, usize::from(is_delivery));
        }
    }
}
