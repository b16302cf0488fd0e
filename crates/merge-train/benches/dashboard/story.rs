//! The past of a repository, in the events that a daemon writes of it: stacks that landed, trains under way, fixers that were sent.

use fastrand::Rng;
use jiff::{SignedDuration, Timestamp};
use merge_train_core::facts::{Check, CheckConclusion, CheckProgress, CiFacts, HeadRepo, MergeState, ReviewDecision};
use merge_train_core::ids::{BranchName, CheckSuiteId, CommentId, DeliveryId, PrNumber, Sha, UserId};
use merge_train_core::repo::ratchet::{
    self, Fix, FixExit, FixIssue, FixPhase, FixPush, FixResult, TransitionLogAction, WorkspaceReason, WorkspaceStatus,
};
use merge_train_core::repo::trains::{CascadePhase, TrainError, blockers};
use merge_train_core::repo::{Attribution, CommentRef, DeliveryOutcome, Event, PushDetail, SyncReason, mirror, trains};

const DAY: SignedDuration = SignedDuration::from_hours(24);
/// Neither history nor runs of that age are forgotten yet.
const LONGEST_AGO: i64 = 25;

/// How many of each there are to be.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub trains_under_way: usize,
    pub trains_ended: usize,
    pub workspaces: usize,
    /// How often a fixer was sent to each workspace.
    pub fixers_each: usize,
}

/// What becomes of a train.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Lands,
    Aborts,
    IsStopped,
    WaitsForCi,
    WaitsForReview,
    IsPreparing,
    IsSquashing,
    NeedsReview,
}

pub struct Story {
    rng: Rng,
    now: Timestamp,
    last_pr: u64,
    events: Vec<(Timestamp, Event)>,
    /// The root of the largest stack that is under way.
    pub largest: (usize, PrNumber),
    pub last_workspace: PrNumber,
}

/// Pull requests, each with the place of the one that it stands on.
type Stack = Vec<(PrNumber, Option<usize>)>;

impl Story {
    pub fn tell(seed: u64, now: Timestamp, size: Size) -> Self {
        let none = PrNumber::new(1);
        let mut story = Self {
            rng: Rng::with_seed(seed),
            now,
            last_pr: 0,
            events: Vec::new(),
            largest: (0, none),
            last_workspace: none,
        };
        let begin = now - DAY * i32::try_from(LONGEST_AGO + 1).expect("a month at most");
        story.sync(begin);
        for number in 0..size.trains_ended {
            let fate = match number % 12 {
                10 => Fate::Aborts,
                11 => Fate::IsStopped,
                _ => Fate::Lands,
            };
            let at = story.ago(24, 24 * LONGEST_AGO);
            story.train(at, fate);
        }
        for number in 0..size.trains_under_way {
            let fate = match number % 20 {
                0..9 => Fate::WaitsForCi,
                9..13 => Fate::WaitsForReview,
                13..16 => Fate::IsPreparing,
                16..18 => Fate::IsSquashing,
                _ => Fate::NeedsReview,
            };
            let at = story.ago(1, 20);
            story.train(at, fate);
        }
        for number in 0..size.workspaces {
            story.workspace(number, size.fixers_each);
        }
        story.sync(now);
        let expired = now - DAY;
        story.note(
            now,
            Event::Mirror(mirror::Event::Pruned {
                prs: Vec::new(),
                dedupe_keys_before: expired,
                brief_keys_before: now,
            }),
        );
        story.events.sort_by_key(|(at, _)| *at);
        story
    }

    /// As many pull requests that are open, and nothing else: most repositories are like that.
    pub fn quiet(seed: u64, now: Timestamp, pulls: usize) -> Self {
        let size = Size { trains_under_way: 0, trains_ended: 0, workspaces: 0, fixers_each: 0 };
        let mut story = Self::tell(seed, now - SignedDuration::from_secs(60), size);
        story.now = now;
        for _ in 0..pulls {
            story.open(&mut now.clone(), "main");
        }
        story
    }

    pub fn into_events(self) -> Vec<(Timestamp, Event)> {
        self.events
    }

    fn note(&mut self, at: Timestamp, event: impl Into<Event>) {
        self.events.push((at.min(self.now), event.into()));
    }

    fn ago(&mut self, from_hours: i64, to_hours: i64) -> Timestamp {
        self.now - SignedDuration::from_secs(self.rng.i64(from_hours * 3600..to_hours * 3600))
    }

    fn sha(&mut self) -> Sha {
        Sha::parse(format!("{:040x}", self.rng.u128(..))).expect("forty digits")
    }

    /// Lets some time pass.
    fn pass(&mut self, at: &mut Timestamp, seconds: std::ops::Range<i64>) -> Timestamp {
        *at += SignedDuration::from_secs(self.rng.i64(seconds));
        *at
    }

    fn sync(&mut self, at: Timestamp) {
        self.note(at, Event::Mirror(mirror::Event::BotKnown { user: UserId::new(99) }));
        self.note(at, Event::Mirror(mirror::Event::DefaultBranchChanged { default_branch: branch("main") }));
        self.note(at, Event::Mirror(mirror::Event::SyncRequested { reason: SyncReason::Bootstrap }));
        self.note(at, Event::Mirror(mirror::Event::RepositoryListed { unread: Vec::new() }));
        self.note(at, Event::Mirror(mirror::Event::SyncCompleted {}));
    }

    fn delivery(&mut self, at: Timestamp, event: &str, action: &str, pr: PrNumber) {
        let id = format!("{:032x}", self.rng.u128(..));
        let dedupe_key = format!("{event}:{action}:{pr}:{id}");
        let outcome = DeliveryOutcome::Applied { dedupe_key };
        let delivery = DeliveryId::parse(id).expect("letters and digits");
        let (event, action) = (event.to_owned(), Some(action.to_owned()));
        self.note(
            at,
            Event::Mirror(mirror::Event::DeliveryProcessed {
                delivery,
                event,
                action,
                pr: Some(pr),
                received_at: at,
                outcome,
            }),
        );
    }

    /// Somebody opens a pull request, and CI is content with it.
    fn open(&mut self, at: &mut Timestamp, base: &str) -> PrNumber {
        const SUBJECTS: [&str; 6] =
            ["Take orders twice", "Cache the catalogue", "Speak of prices", "Move the till", "Count again", "Let go"];
        self.last_pr += 1;
        let (pr, head_sha) = (PrNumber::new(self.last_pr), self.sha());
        let observed = Event::Mirror(mirror::Event::PrObserved {
            pr,
            head_ref: branch(&format!("topic-{pr}")),
            head_sha: head_sha.clone(),
            base_ref: branch(base),
            draft: false,
            head_repo: HeadRepo::Same,
            author: UserId::new(7),
            updated_at: *at,
            stack_position: None,
            title: format!("{} ({pr})", SUBJECTS[self.rng.usize(..SUBJECTS.len())]),
        });
        self.note(*at, observed);
        self.delivery(*at, "pull_request", "opened", pr);
        self.pass(at, 1..30);
        let checks = ["build", "lint", "test (linux)", "test (windows)"];
        let passed = Check { verdict: CheckConclusion::Passed, required: true };
        let ci = CiFacts {
            suites: [(CheckSuiteId::new(self.rng.u64(1..1 << 40)), CheckProgress::Complete)].into(),
            checks: checks.map(|name| (name.to_owned(), passed)).into(),
            began: Some((*at).min(self.now)),
            overall: None,
        };
        let (state, review) = (MergeState::Clean, Some(ReviewDecision::Approved));
        self.note(
            *at,
            Event::Mirror(mirror::Event::MergeStateObserved { pr, head_sha, state, draft: false, review, ci }),
        );
        self.delivery(*at, "check_suite", "completed", pr);
        pr
    }

    fn stack(&mut self, at: &mut Timestamp) -> Stack {
        let size = [1, 1, 2, 2, 3, 3, 4, 5, 6][self.rng.usize(..9)];
        let mut stack = Stack::new();
        for place in 0..size {
            // Every other stack of more than three parts after its second.
            let below = match place {
                0 => None,
                3 if self.rng.bool() => Some(1),
                place => Some(place - 1),
            };
            let base = below.map_or("main".to_owned(), |below| format!("topic-{}", stack[below].0));
            let pr = self.open(at, &base);
            if let Some(below) = below {
                let (predecessor, comment) = (stack[below].0, Some(self.comment()));
                self.note(*at, Event::Mirror(mirror::Event::PredecessorDeclared { pr, predecessor, comment }));
                self.delivery(*at, "issue_comment", "created", pr);
            }
            stack.push((pr, below));
        }
        stack
    }

    fn comment(&mut self) -> CommentId {
        CommentId::new(self.rng.u64(1..1 << 40))
    }

    fn train(&mut self, mut at: Timestamp, fate: Fate) {
        let at = &mut at;
        let stack = self.stack(at);
        let root = stack[0].0;
        let comment = CommentRef { pr: root, id: self.comment() };
        let behest = Attribution { by: Some("github:maintainer".to_owned()), ..Attribution::default() };
        self.pass(at, 5..60);
        self.note(
            *at,
            Event::Trains(trains::Event::StartAsked { pr: root, comment: Some(comment), behest: behest.clone() }),
        );
        self.pass(at, 1..5);
        self.note(*at, Event::Trains(trains::Event::StartSettled { pr: root }));
        self.note(*at, Event::Trains(trains::Event::TrainStarted { root_pr: root, current_pr: root, behest }));
        self.pass(at, 1..5);
        let status = self.comment();
        self.note(
            *at,
            Event::Trains(trains::Event::StatusWritten { train_root: root, comment: status, status_seq: 1 }),
        );
        // Before it parts, if it does: what is under way is one train.
        let halts_at = (fate != Fate::Lands).then(|| self.rng.usize(..stack.len().min(2)));
        if !matches!(fate, Fate::Lands | Fate::Aborts | Fate::IsStopped) && stack.len() > self.largest.0 {
            self.largest = (stack.len(), root);
        }
        self.ride(at, &stack, (root, 0), fate, halts_at);
    }

    /// From one pull request to the next, until the train ends, parts, or halts.
    fn ride(
        &mut self,
        at: &mut Timestamp,
        stack: &Stack,
        (root, mut place): (PrNumber, usize),
        fate: Fate,
        halts_at: Option<usize>,
    ) {
        let mut before: Option<(PrNumber, Sha)> = None;
        loop {
            let pr = stack[place].0;
            let above: Vec<usize> = (0..stack.len()).filter(|up| stack[*up].1 == Some(place)).collect();
            if halts_at == Some(place) {
                return self.halt(at, stack, (root, pr), &above, fate, before.as_ref());
            }
            let head = self.sha();
            let reason = blockers::checks_running(pr, &["build", "test (linux)"], &head);
            self.note(*at, Event::Trains(trains::Event::TrainWaiting { train_root: root, why: reason.since(*at) }));
            self.pass(at, 120..2400);
            self.delivery(*at, "check_suite", "completed", pr);
            self.note(*at, Event::Trains(trains::Event::TrainResumed { train_root: root }));
            let frozen: Vec<PrNumber> = above.iter().map(|up| stack[*up].0).collect();
            let preparing = CascadePhase::preparing(frozen.clone());
            self.phase(at, root, pr, before.as_ref(), preparing.clone());
            for child in &frozen {
                self.push(at, root, *child, "prep");
            }
            let done = frozen.iter().fold(preparing, |phase, child| phase.having_completed(*child));
            self.phase(at, root, pr, before.as_ref(), done.squash_pending());
            let sha = self.squash(at, root, pr);
            before = Some((pr, sha));
            for (kind, phase) in [("reconcile", done.reconciling()), ("catchup", done.catching_up())] {
                self.phase(at, root, pr, before.as_ref(), phase);
                for child in &frozen {
                    self.push(at, root, *child, kind);
                }
            }
            self.phase(at, root, pr, before.as_ref(), done.retargeting());
            for child in &frozen {
                self.note(
                    *at,
                    Event::Trains(trains::Event::IntentRetarget {
                        train_root: root,
                        pr: *child,
                        new_base: branch("main"),
                    }),
                );
                self.pass(at, 1..3);
                self.note(*at, Event::Trains(trains::Event::DoneRetarget { train_root: root, pr: *child }));
            }
            match above.as_slice() {
                [] => return self.note(*at, Event::Trains(trains::Event::TrainCompleted { root_pr: root })),
                [next] => {
                    self.phase(at, root, stack[*next].0, before.as_ref(), CascadePhase::Idle);
                    place = *next;
                }
                several => {
                    self.note(
                        *at,
                        Event::Trains(trains::Event::FanOutCompleted {
                            old_root: root,
                            new_roots: frozen,
                            original_root_pr: root,
                        }),
                    );
                    for next in several {
                        self.ride(at, stack, (stack[*next].0, *next), fate, halts_at);
                    }
                    return;
                }
            }
        }
    }

    fn phase(
        &mut self,
        at: &mut Timestamp,
        root: PrNumber,
        pr: PrNumber,
        before: Option<&(PrNumber, Sha)>,
        phase: CascadePhase,
    ) {
        self.pass(at, 1..8);
        let event = Event::Trains(trains::Event::PhaseTransition {
            train_root: root,
            current_pr: pr,
            predecessor_pr: before.map(|(pr, _)| *pr),
            last_squash_sha: before.map(|(_, sha)| sha.clone()),
            phase,
            predecessor_head_sha: None,
        });
        self.note(*at, event);
    }

    fn push(&mut self, at: &mut Timestamp, root: PrNumber, pr: PrNumber, kind: &str) {
        let (train_root, name, commit) = (root, branch(&format!("topic-{pr}")), self.sha());
        let (pre_push_sha, expected_tree) = (self.sha(), self.sha());
        let more = PushDetail { pr: Some(pr), commit: Some(commit.clone()), contains: vec![self.sha()] };
        let (pr, head_sha, branch) = (Some(pr), Some(commit), name);
        let (intent, done) = match kind {
            "prep" => (
                Event::Trains(trains::Event::IntentPushPrep {
                    train_root,
                    branch: branch.clone(),
                    pre_push_sha,
                    expected_tree,
                    more,
                }),
                Event::Trains(trains::Event::DonePushPrep { train_root, branch, pr, head_sha }),
            ),
            "reconcile" => (
                Event::Trains(trains::Event::IntentPushReconcile {
                    train_root,
                    branch: branch.clone(),
                    pre_push_sha,
                    expected_tree,
                    more,
                }),
                Event::Trains(trains::Event::DonePushReconcile { train_root, branch, pr, head_sha }),
            ),
            _ => (
                Event::Trains(trains::Event::IntentPushCatchup {
                    train_root,
                    branch: branch.clone(),
                    pre_push_sha,
                    expected_tree,
                    more,
                }),
                Event::Trains(trains::Event::DonePushCatchup { train_root, branch, pr, head_sha }),
            ),
        };
        self.note(*at, intent);
        self.pass(at, 1..5);
        self.note(*at, done);
    }

    fn squash(&mut self, at: &mut Timestamp, root: PrNumber, pr: PrNumber) -> Sha {
        let [head_sha, default_head, expected_tree] = [self.sha(), self.sha(), self.sha()].map(Some);
        self.note(
            *at,
            Event::Trains(trains::Event::IntentSquash {
                train_root: root,
                pr,
                head_sha,
                default_head,
                expected_tree,
                people_head: None,
                stands_on: None,
            }),
        );
        self.pass(at, 1..5);
        let sha = self.sha();
        self.note(*at, Event::Trains(trains::Event::SquashCommitted { train_root: root, pr, sha: sha.clone() }));
        self.note(
            *at,
            Event::Mirror(mirror::Event::PrMerged { pr, sha: Some(sha.clone()), at: Some((*at).min(self.now)) }),
        );
        self.delivery(*at, "pull_request", "closed", pr);
        self.note(*at, Event::Trains(trains::Event::SquashProven { train_root: root, sha: sha.clone() }));
        sha
    }

    fn halt(
        &mut self,
        at: &mut Timestamp,
        stack: &Stack,
        (root, pr): (PrNumber, PrNumber),
        above: &[usize],
        fate: Fate,
        before: Option<&(PrNumber, Sha)>,
    ) {
        let frozen: Vec<PrNumber> = above.iter().map(|up| stack[*up].0).collect();
        let head = self.sha();
        let error = |kind: &str, message: String| TrainError { error_type: kind.to_owned(), message };
        match fate {
            Fate::Lands => {}
            Fate::Aborts => {
                let message = format!("PR #{pr} conflicts with main in src/till.rs and src/prices.rs.");
                self.note(
                    *at,
                    Event::Trains(trains::Event::TrainAborted {
                        root_pr: root,
                        error: Some(error("merge_conflict", message)),
                    }),
                );
            }
            Fate::IsStopped => {
                let behest = Attribution { by: Some("github:maintainer".to_owned()), ..Attribution::default() };
                self.note(*at, Event::Trains(trains::Event::TrainStopped { root_pr: root, behest }));
            }
            Fate::WaitsForCi => {
                let reason = blockers::checks_running(pr, &["build", "test (linux)"], &head);
                self.note(
                    *at,
                    Event::Trains(trains::Event::TrainWaiting {
                        train_root: root,
                        why: reason.since((*at).min(self.now)),
                    }),
                );
            }
            Fate::WaitsForReview => {
                let reason = blockers::review_required(pr);
                self.note(
                    *at,
                    Event::Trains(trains::Event::TrainWaiting {
                        train_root: root,
                        why: reason.since((*at).min(self.now)),
                    }),
                );
            }
            Fate::IsPreparing => self.phase(at, root, pr, before, CascadePhase::preparing(frozen)),
            Fate::IsSquashing => {
                let done = frozen
                    .iter()
                    .fold(CascadePhase::preparing(frozen.clone()), |phase, child| phase.having_completed(*child));
                self.phase(at, root, pr, before, done.squash_pending());
            }
            Fate::NeedsReview => {
                let message = format!("What landed of PR #{pr} is not the tree that was tested.");
                self.note(
                    *at,
                    Event::Trains(trains::Event::TrainFrozen {
                        root_pr: root,
                        error: error("landed_tree_differs", message),
                    }),
                );
            }
        }
    }

    fn workspace(&mut self, number: usize, fixers: usize) {
        let mut at = self.ago(24, 24 * 20);
        let at = &mut at;
        let pr = self.open(at, "main");
        self.last_workspace = pr;
        let behest = Attribution { by: Some("github:author".to_owned()), ..Attribution::default() };
        self.note(*at, ratchet::Event::RatchetToggled { pr: Some(pr), on: true, behest });
        let (overview, mark) = (format!("{:016x}", self.rng.u64(..)), format!("{:016x}", self.rng.u64(..)));
        self.note(*at, ratchet::Event::TalkObserved { pr, overview, mark, points: Vec::new() });
        for round in 0..fixers {
            self.pass(at, 600..14_400);
            let is_last = round + 1 == fixers;
            self.fixer(at, pr, if is_last { number % 20 } else { usize::MAX });
        }
        let (action, status, reason) = match number % 20 {
            0..4 => return,
            4..9 => (TransitionLogAction::Pause, WorkspaceStatus::PausedDone, WorkspaceReason::AllGreen),
            9..14 => (TransitionLogAction::Wait, WorkspaceStatus::WaitingForCi, WorkspaceReason::CiInProgress),
            14..17 => {
                (TransitionLogAction::Pause, WorkspaceStatus::PausedWaitHumanReview, WorkspaceReason::HumanReview)
            }
            17 => (TransitionLogAction::Pause, WorkspaceStatus::PausedWaitConflictOnly, WorkspaceReason::ConflictOnly),
            _ => (
                TransitionLogAction::Pause,
                WorkspaceStatus::PausedAttentionTerminalFailed,
                WorkspaceReason::TooManyAttempts,
            ),
        };
        self.pass(at, 60..600);
        self.moved(*at, pr, action, status, reason);
    }

    fn moved(
        &mut self,
        at: Timestamp,
        pr: PrNumber,
        action: TransitionLogAction,
        status: WorkspaceStatus,
        reason: WorkspaceReason,
    ) {
        let (told, activity, snapshot, consumed) = (None, None, None, None);
        self.note(at, ratchet::Event::RatchetMoved { pr, action, status, reason, told, activity, snapshot, consumed });
    }

    /// A fixer is sent. Of the last ones some are still under way: two are held, one waits for its turn, one is at work.
    fn fixer(&mut self, at: &mut Timestamp, pr: PrNumber, which: usize) {
        self.moved(*at, pr, TransitionLogAction::FixCi, WorkspaceStatus::FixingCi, WorkspaceReason::CiFailed);
        let head = self.sha();
        let mut fix = Fix {
            at: (*at).min(self.now),
            issue: FixIssue::FixCi,
            branch: branch(&format!("topic-{pr}")),
            base: branch("main"),
            head: head.clone(),
            run: None,
            conflicts: false,
            points: Default::default(),
            signature: Some(format!("{:016x}", self.rng.u64(..))),
            phase: FixPhase::Queued,
            started_at: None,
            starts: 0,
            failures: 0,
            retry_at: None,
            exit: None,
            exited_at: None,
            approved: None,
        };
        self.note(*at, ratchet::Event::FixDispatched { pr, fix: Box::new(fix.clone()) });
        if which == 2 {
            return;
        }
        self.pass(at, 1..60);
        self.note(*at, ratchet::Event::FixStarted { pr });
        if which == 3 {
            return;
        }
        self.pass(at, 60..1200);
        let files = vec!["src/till.rs".to_owned(), ".github/workflows/ci.yml".to_owned()];
        let push = FixPush { from: head, to: self.sha(), tree: self.sha(), files, unlisted: 0 };
        if which < 2 {
            let (exit, path) = (FixExit::Done, ".github/workflows/ci.yml".to_owned());
            self.note(*at, ratchet::Event::FixHeld { pr, exit, push, path, diff: Some(diff()) });
            return self.moved(
                *at,
                pr,
                TransitionLogAction::Pause,
                WorkspaceStatus::PausedAttentionPushApproval,
                WorkspaceReason::PushApproval,
            );
        }
        fix.starts = 1;
        fix.started_at = Some(fix.at);
        let settled = if self.rng.u8(..4) == 0 {
            FixResult::by_itself(WorkspaceReason::FixerFailed, Some("it ended with exit code 1".to_owned()))
        } else {
            let (exit, behest) = (FixExit::Done, Attribution::default());
            self.note(*at, ratchet::Event::FixPushIntended { pr, exit, push: push.clone(), behest });
            self.pass(at, 1..5);
            FixResult { pushed: Some(push.to), ..FixResult::by_itself(WorkspaceReason::FixerPushed, None) }
        };
        let sent_at = fix.at;
        self.note(*at, ratchet::Event::FixSettled { pr, fix: Box::new(fix), settled });
        self.note(*at, ratchet::Event::FixCleared { pr, at: sent_at });
        self.moved(*at, pr, TransitionLogAction::Wait, WorkspaceStatus::WaitingForCi, WorkspaceReason::CiInProgress);
    }
}

fn branch(name: &str) -> BranchName {
    BranchName::parse(name).expect("a branch")
}

/// What a fixer wants to push, as somebody has to read it.
fn diff() -> String {
    let mut text = String::from(
        "diff --git a/src/till.rs b/src/till.rs\n--- a/src/till.rs\n+++ b/src/till.rs\n@@ -1,80 +1,80 @@\n",
    );
    for line in 0..80 {
        text.push_str(&format!("-    let sum_{line} = prices.iter().sum::<u32>();\n+    let sum_{line} = prices.iter().copied().sum::<u64>();\n"));
    }
    text
}
