//! A world outside that does as it is told, and remembers what was asked of it.

use std::collections::{BTreeSet, HashMap, VecDeque};

use async_trait::async_trait;
use jiff::Timestamp;
use merge_train_core::facts::{
    CiFacts, HeadRepo, MergeFacts, MergeState, Permission, PullFacts, PullState, RepoListing, SettingsFileContent,
};
use merge_train_core::ids::{BranchName, CommentId, PrNumber, RepoId, Sha, UserId};
use merge_train_core::repo::settings::{RepositorySettings, SettingsFile, SettingsProposal};
use merge_train_core::repo::trains::plan::LandingPlan;
use merge_train_core::repo::trains::work::{
    self, BranchMergeOutcome, ExpectedTree, LandedTreeProof, PushOutcome, PushProbeResult, RetargetOutcome,
    SquashOutcome, TrainTask, TrainTaskOutcome,
};
use merge_train_core::repo::trains::{MergeMethods, MergePolicy, StaleApprovals};
use merge_train_core::repo::{Answer, CheckPublication, Effect, EffectFailure, EffectFailureKind, EffectKey};
use merge_train_core::repo::{commands, mirror, outbox, settings, trains};
use merge_train_core::workflow::CommandOutput;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::super::{OutsideWorld, StepRunner, StepTask};

const BOT: UserId = UserId::new(99);

/// Answers at once, unless it was told otherwise for the repository and the kind of effect.
#[derive(Default)]
pub struct Scripted {
    told: Mutex<HashMap<(RepoId, EffectKey), Told>>,
}

#[derive(Default)]
struct Told {
    /// Effects wait until this is cancelled.
    gate: Option<CancellationToken>,
    /// How the next ones end; the rest succeed.
    mishaps: VecDeque<Mishap>,
    seen: Seen,
}

/// How an effect ends that does not succeed.
#[derive(Debug, Clone, Copy)]
pub enum Mishap {
    /// It fails in a way that may pass.
    Fail,
    Panic,
    /// It never ends, and does not hear that it is cancelled.
    Deaf,
}

/// What became of the effects of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    pub begun: usize,
    pub under_way: usize,
    pub most_at_once: usize,
    pub cancelled: usize,
}

impl Scripted {
    /// From now on such effects wait, until they are released or cancelled.
    pub fn hold(&self, repo: &RepoId, key: EffectKey) {
        self.with(repo, key, |told| told.gate = Some(CancellationToken::new()));
    }

    /// Those that wait go on, and others do not wait any more.
    pub fn release(&self, repo: &RepoId, key: EffectKey) {
        self.with(repo, key, |told| told.gate.take()).expect("it was held").cancel();
    }

    /// The next such effect ends like this.
    pub fn next(&self, repo: &RepoId, key: EffectKey, mishap: Mishap) {
        self.with(repo, key, |told| told.mishaps.push_back(mishap));
    }

    pub fn seen(&self, repo: &RepoId, key: EffectKey) -> Seen {
        self.with(repo, key, |told| told.seen)
    }

    fn with<T>(&self, repo: &RepoId, key: EffectKey, what: impl FnOnce(&mut Told) -> T) -> T {
        what(self.told.lock().entry((repo.clone(), key)).or_default())
    }
}

/// Counts an effect as under way, however it ends.
struct Counted<'a> {
    outside: &'a Scripted,
    repo: &'a RepoId,
    key: EffectKey,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.outside.with(self.repo, self.key, |told| told.seen.under_way -= 1);
    }
}

#[async_trait]
impl OutsideWorld for Scripted {
    async fn perform(
        &self,
        repo: &RepoId,
        effect: Effect,
        _: Timestamp,
        cancel: CancellationToken,
        _: &crate::daemon::driver::ProgressReports,
    ) -> Result<Answer, EffectFailure> {
        let key = effect.key();
        let (gate, mishap) = self.with(repo, key, |told| {
            told.seen.begun += 1;
            told.seen.under_way += 1;
            told.seen.most_at_once = told.seen.most_at_once.max(told.seen.under_way);
            (told.gate.clone(), told.mishaps.pop_front())
        });
        let _counted = Counted { outside: self, repo, key };
        let failure = |reason: &str| EffectFailure {
            reason: reason.to_owned(),
            kind: EffectFailureKind::Transient,
            retry_at: None,
        };
        if let Some(gate) = gate {
            tokio::select! {
                () = gate.cancelled() => {}
                () = cancel.cancelled() => {
                    self.with(repo, key, |told| told.seen.cancelled += 1);
                    return Err(failure("it was cancelled"));
                }
            }
        }
        match mishap {
            Some(Mishap::Fail) => Err(failure("it was told to fail")),
            Some(Mishap::Panic) => panic!("it was told to panic"),
            Some(Mishap::Deaf) => std::future::pending().await,
            None => Ok(answer(effect)),
        }
    }
}

fn answer(effect: Effect) -> Answer {
    match effect {
        Effect::Mirror(effect) => mirror_answer(effect),
        Effect::Outbox(outbox::Effect::Say { .. }) => ().into(),
        Effect::Trains(effect) => train_answer(&effect),
        Effect::Commands(commands::Effect::ReadPermission { .. }) => Permission::Write.into(),
        Effect::Ratchet(_) => unreachable!("nothing is under ratchet here"),
        Effect::Settings(settings::Effect::ReadSettings { .. }) => {
            SettingsFile { at: head(PrNumber::new(9_999)), blob: None, said: Ok(RepositorySettings::default()) }.into()
        }
        Effect::Settings(settings::Effect::ReadProposal { .. }) => SettingsProposal::Untouched.into(),
        Effect::Settings(settings::Effect::ShowCheck { .. }) => CheckPublication::Shown.into(),
    }
}

fn mirror_answer(effect: mirror::Effect) -> Answer {
    match effect {
        mirror::Effect::Survey => RepoListing { default_branch: branch("main"), pulls: Vec::new(), bot: BOT }.into(),
        mirror::Effect::ReadConversations { .. } => Answer::Conversations(Vec::new()),
        mirror::Effect::FetchPull { pr } => Some(pull(pr)).into(),
        mirror::Effect::ReadMergeStates { prs } => {
            let clean = |pr: &PrNumber| MergeFacts {
                number: *pr,
                is_open: true,
                head_sha: head(*pr),
                base_ref: branch("main"),
                state: MergeState::Clean,
                draft: false,
                review: None,
                ci: CiFacts::default(),
                own_file: SettingsFileContent::Absent,
            };
            Answer::MergeStates(prs.iter().map(clean).collect())
        }
    }
}

fn train_answer(effect: &trains::Effect) -> Answer {
    match effect {
        trains::Effect::Work { work, .. } => done(work).into(),
        trains::Effect::WriteStatus { root, .. } => CommentId::new(root.get()).into(),
        trains::Effect::ReadStatus { .. } => Answer::StatusRead(None),
        trains::Effect::ReadPolicy { .. } => policy().into(),
        trains::Effect::DeleteBranch { .. } => ().into(),
    }
}

/// A train's work goes as smoothly as it can: branches have all they need, and GitHub squashes as it is told.
fn done(work: &TrainTask) -> TrainTaskOutcome {
    match work {
        TrainTask::Plan { members, default } => TrainTaskOutcome::Planned(LandingPlan {
            root: members[0].pull,
            default_branch: default.clone(),
            steps: Vec::new(),
            conflicts: Vec::new(),
            differences: Vec::new(),
            unreached: Vec::new(),
        }),
        TrainTask::Merge { pull, .. } => TrainTaskOutcome::Merged(BranchMergeOutcome::Unchanged { head: head(*pull) }),
        TrainTask::Push(_) => TrainTaskOutcome::Pushed(PushOutcome::Landed),
        TrainTask::Probe(push) => TrainTaskOutcome::Probed(PushProbeResult::Landed { head: push.to.clone() }),
        TrainTask::Expect { head, .. } => {
            let standing = work::AuthoredHead::new(head.clone(), head.clone());
            TrainTaskOutcome::Expected(ExpectedTree::Tree { default_head: head.clone(), tree: head.clone(), standing })
        }
        TrainTask::Squash { head, .. } => TrainTaskOutcome::Squashed(SquashOutcome::Merged { commit: head.clone() }),
        TrainTask::Look { pull } => TrainTaskOutcome::Seen(work::ObservedSquash::Open { head: head(*pull) }),
        TrainTask::Prove { .. } => TrainTaskOutcome::Proved(LandedTreeProof::Proven),
        TrainTask::Retarget { .. } => TrainTaskOutcome::Retargeted(RetargetOutcome::Done),
        TrainTask::Worktrees(_) => TrainTaskOutcome::Tidied,
    }
}

/// Rules under which trains run.
fn policy() -> MergePolicy {
    let methods = MergeMethods { allow_squash_merge: true, allow_merge_commit: false, allow_rebase_merge: false };
    MergePolicy { methods, stale_approvals: StaleApprovals::Kept, required_checks: Some(BTreeSet::new()) }
}

/// A pull request as all are here: open, with a head of its number, by user 7.
pub fn pull(number: PrNumber) -> PullFacts {
    PullFacts {
        number,
        head_ref: branch(&format!("feature-{number}")),
        head_sha: head(number),
        head_repo: HeadRepo::Same,
        base_ref: branch("main"),
        state: PullState::Open,
        draft: false,
        author: UserId::new(7),
        updated_at: "2026-01-01T00:00:00Z".parse().unwrap(),
        stack_position: None,
        title: String::new(),
        labels: std::collections::BTreeSet::new(),
    }
}

pub fn branch(name: &str) -> BranchName {
    BranchName::parse(name).unwrap()
}

fn head(pr: PrNumber) -> Sha {
    Sha::parse(format!("{:040x}", pr.get())).unwrap()
}

/// For drivers whose runs, if there are any, have no commands.
pub struct NoCommands;

#[async_trait]
impl StepRunner for NoCommands {
    async fn run(&self, task: StepTask, _: CancellationToken) -> Result<CommandOutput, String> {
        Err(format!("no command runs here, least of all {:?}", task.program.command))
    }
}
