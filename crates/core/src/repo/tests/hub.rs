//! A GitHub and a git that exist in memory only, as far as a train needs them.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::repo::trains::status;
use crate::repo::trains::work::{
    AuthoredHead, BranchMergeOutcome, BranchPush, ExpectedTree, LandedSquash, LandedTreeProof, MergeStep,
    ObservedSquash, PushOutcome, PushProbeResult, RetargetOutcome, SquashOutcome, TrainTask, TrainTaskOutcome,
};
use crate::repo::trains::{MergeMethods, MergePolicy, StaleApprovals};

/// A pull request as GitHub has it.
#[derive(Clone)]
pub(super) struct HubPull {
    pub head: Sha,
    pub base: BranchName,
    pub predecessor: Option<u64>,
    pub landed: Option<Sha>,
    pub closed: bool,
    /// The comment that declares the predecessor; somebody may have deleted it.
    pub comment: Option<u64>,
}

#[derive(Clone)]
pub(super) struct Hub {
    pub pulls: BTreeMap<u64, HubPull>,
    pub main: Sha,
    /// What each commit has in its history.
    history: BTreeMap<Sha, BTreeSet<Sha>>,
    /// In the order in which they landed.
    pub squashes: Vec<u64>,
    /// The status comments, by the pull request they are on.
    pub statuses: BTreeMap<u64, String>,
    /// When each was last written.
    written_at: BTreeMap<u64, Timestamp>,
    /// What people said to the bot, and what of it the bot gave a thumbs up.
    pub said: Vec<CommentFacts>,
    acknowledged: BTreeSet<CommentId>,
    /// Landed too long ago to be listed.
    pub unlisted: BTreeSet<u64>,
    /// Whether it tells lies: then nothing that lands can be held against trains.
    pub lies: bool,
    made: u64,
    pub seconds: i64,
}

impl Hub {
    /// Pull requests 1, 2, …, each on the one named, 0 being the default branch.
    pub fn new(on: &[u64]) -> Self {
        let main = sha(1_000);
        let mut history = BTreeMap::from([(main.clone(), BTreeSet::from([main.clone()]))]);
        let mut pulls = BTreeMap::new();
        for (index, below) in on.iter().enumerate() {
            let number = index as u64 + 1;
            let head = sha(number);
            let mut own: BTreeSet<Sha> = match pulls.get(below) {
                Some(HubPull { head, .. }) => history[head].clone(),
                None => history[&main].clone(),
            };
            own.insert(head.clone());
            history.insert(head.clone(), own);
            let base = if *below == 0 { branch("main") } else { branch(&format!("feature-{below}")) };
            let predecessor = (*below != 0).then_some(*below);
            let comment = predecessor.map(|_| 100 + number);
            pulls.insert(number, HubPull { head, base, predecessor, landed: None, closed: false, comment });
        }
        Self {
            pulls,
            main,
            history,
            squashes: Vec::new(),
            statuses: BTreeMap::new(),
            written_at: BTreeMap::new(),
            said: Vec::new(),
            acknowledged: BTreeSet::new(),
            unlisted: BTreeSet::new(),
            lies: false,
            made: 2_000,
            seconds: 0,
        }
    }

    /// A worker that knows it all, and heard the declarations.
    pub fn worker(&self) -> Worker {
        let facts: Vec<PullFacts> = self.pulls.keys().map(|number| self.facts(*number)).collect();
        let mut worker = Worker::ready(&facts);
        for declaration in self.pulls.keys().filter_map(|number| self.declaration(*number)) {
            worker.comment_event(CommentChange::Created, declaration);
        }
        worker
    }

    /// The comment by which a pull request declares what it stands on.
    pub fn declaration(&self, number: u64) -> Option<CommentFacts> {
        let HubPull { predecessor, comment: id, .. } = self.pulls[&number].clone();
        let below = predecessor?;
        Some(comment(number, id?, &format!("@merge-train predecessor #{below}")))
    }

    /// What a status comment shows never goes back.
    fn show(&mut self, root: u64, body: String) {
        let bot = UserId::new(900);
        let seq = |body: &str| status::parse(body, bot, bot).ok().map(|record| record.recovery_seq);
        if let (Some(before), Some(after)) = (self.statuses.get(&root).and_then(|body| seq(body)), seq(&body)) {
            assert!(after >= before, "the status of #{root} goes back from {before} to {after}");
        }
        self.statuses.insert(root, body);
    }

    /// The status comment on a pull request.
    pub fn status(&self, number: u64) -> Option<CommentFacts> {
        let body = self.statuses.get(&number)?;
        let updated_at = self.written_at.get(&number).copied().unwrap_or(at(0));
        Some(CommentFacts { author: UserId::new(900), updated_at, ..comment(number, 5_000 + number, body) })
    }

    fn conversation(&self, number: u64) -> ConversationFacts {
        let said = self.said.iter().filter(|comment| comment.pr == pr(number)).cloned();
        let comments = self.declaration(number).into_iter().chain(said).chain(self.status(number)).collect();
        let merged_by = self.squashes.contains(&number).then_some(UserId::new(900));
        let acknowledged = self.acknowledged.clone();
        ConversationFacts { pr: pr(number), merged_by, comments, acknowledged, former_heads: Vec::new() }
    }

    pub fn facts(&self, number: u64) -> PullFacts {
        let HubPull { head, base, landed, closed, .. } = self.pulls[&number].clone();
        let state = match landed {
            Some(commit) => PullState::Merged { merge_commit_sha: Some(commit), at: at(self.seconds) },
            None if closed => PullState::Closed { at: at(self.seconds) },
            None => PullState::Open,
        };
        PullFacts { head_sha: head, base_ref: base, state, updated_at: at(self.seconds), ..pull(number) }
    }

    pub fn contains(&self, commit: &Sha, other: &Sha) -> bool {
        self.history[commit].contains(other)
    }

    pub fn commit(&mut self, of: &[&Sha]) -> Sha {
        self.made += 1;
        let new = sha(self.made);
        let mut history: BTreeSet<Sha> = of.iter().flat_map(|parent| self.history[*parent].clone()).collect();
        history.insert(new.clone());
        self.history.insert(new.clone(), history);
        new
    }

    /// Somebody pushes to a pull request.
    pub fn push(&mut self, number: u64) {
        self.seconds += 1;
        let head = self.pulls[&number].head.clone();
        let new = self.commit(&[&head]);
        self.pulls.get_mut(&number).expect("there").head = new;
    }

    /// Somebody changes a pull request in the web interface.
    pub fn edit(&mut self, number: u64, how: impl FnOnce(&mut HubPull)) {
        self.seconds += 1;
        how(self.pulls.get_mut(&number).expect("there"));
    }

    /// Does what an effect asks for, and answers.
    pub fn perform(&mut self, effect: &Effect, requested_at: Timestamp) -> Input {
        self.seconds += 1;
        Input::Completed { effect: effect.clone(), requested_at, result: Ok(self.answer(effect.clone(), requested_at)) }
    }

    fn answer(&mut self, effect: Effect, requested_at: Timestamp) -> Answer {
        match effect {
            Effect::Mirror(MirrorEffect::Survey) => {
                let listed = self.pulls.keys().filter(|number| !self.unlisted.contains(number));
                let pulls = listed.map(|number| self.facts(*number)).collect();
                RepoListing { default_branch: branch("main"), pulls, bot: UserId::new(900) }.into()
            }
            Effect::Mirror(MirrorEffect::ReadConversations { prs }) => {
                Answer::Conversations(prs.iter().map(|pr| self.conversation(pr.get())).collect())
            }
            Effect::Trains(TrainsEffect::ReadStatus { root, comment }) => {
                self.status(root.get()).filter(|status| status.id == comment).into()
            }
            Effect::Mirror(MirrorEffect::FetchPull { pr }) => Some(self.facts(pr.get())).into(),
            Effect::Mirror(MirrorEffect::ReadMergeStates { prs }) => {
                let fact = |pr: &PrNumber| {
                    let HubPull { head, base, landed, closed, .. } = &self.pulls[&pr.get()];
                    MergeFacts {
                        is_open: landed.is_none() && !closed,
                        head_sha: head.clone(),
                        base_ref: base.clone(),
                        ..merge_facts(pr.get(), MergeState::Clean)
                    }
                };
                Answer::MergeStates(prs.iter().map(fact).collect())
            }
            Effect::Outbox(OutboxEffect::Say { say, .. }) => {
                if let NoteContent::Acknowledge { comment } = say {
                    self.acknowledged.insert(comment);
                }
                ().into()
            }
            Effect::Trains(TrainsEffect::WriteStatus { root, body, .. }) => {
                self.show(root.get(), body);
                self.written_at.insert(root.get(), requested_at);
                CommentId::new(5_000 + root.get()).into()
            }
            Effect::Trains(TrainsEffect::ReadPolicy { .. }) => {
                let methods =
                    MergeMethods { allow_squash_merge: true, allow_merge_commit: false, allow_rebase_merge: false };
                let stale_approvals = StaleApprovals::Kept;
                let required_checks = Some(BTreeSet::new());
                MergePolicy { methods, stale_approvals, required_checks }.into()
            }
            Effect::Commands(CommandsEffect::ReadPermission { .. }) => crate::facts::Permission::Read.into(),
            Effect::Trains(TrainsEffect::DeleteBranch { .. }) => ().into(),
            Effect::Trains(TrainsEffect::Work { work, .. }) => self.work(&work).into(),
            Effect::Settings(SettingsEffect::ReadSettings { .. }) => no_settings().into(),
            Effect::Settings(SettingsEffect::ReadProposal { .. }) => {
                crate::repo::settings::SettingsProposal::Untouched.into()
            }
            Effect::Settings(SettingsEffect::ShowCheck { .. }) => {
                unreachable!("nobody says anything about the repository here")
            }
            Effect::Ratchet(_) => unreachable!("nothing is under ratchet here"),
        }
    }

    fn work(&mut self, work: &TrainTask) -> TrainTaskOutcome {
        match work {
            TrainTask::Plan { members, default } => TrainTaskOutcome::Planned(crate::repo::trains::plan::LandingPlan {
                root: members[0].pull,
                default_branch: default.clone(),
                steps: Vec::new(),
                conflicts: Vec::new(),
                differences: Vec::new(),
                unreached: Vec::new(),
            }),
            TrainTask::Merge { step, pull, .. } => TrainTaskOutcome::Merged(self.merge(step, pull.get())),
            TrainTask::Push(push) => TrainTaskOutcome::Pushed(self.take_push(push)),
            TrainTask::Probe(push) => TrainTaskOutcome::Probed(self.probe(push)),
            TrainTask::Expect { change, head, .. } => {
                TrainTaskOutcome::Expected(match &self.pulls[&change.pull.get()].head {
                    found if found != head => ExpectedTree::HeadChanged { head: found.clone() },
                    _ => match change.below.iter().find(|landed| !self.contains(head, &landed.commit)) {
                        Some(missing) => ExpectedTree::NotRelated { pull: missing.pull },
                        None => ExpectedTree::Tree {
                            default_head: self.main.clone(),
                            tree: head.clone(),
                            standing: AuthoredHead::new(head.clone(), self.main.clone()),
                        },
                    },
                })
            }
            TrainTask::Squash { pull, head, base, .. } => {
                TrainTaskOutcome::Squashed(self.squash(pull.get(), head, base))
            }
            TrainTask::Look { pull } => {
                let HubPull { head, landed, closed, .. } = &self.pulls[&pull.get()];
                TrainTaskOutcome::Seen(match landed {
                    Some(commit) => ObservedSquash::Merged { commit: Some(commit.clone()) },
                    None if *closed => ObservedSquash::Closed,
                    None => ObservedSquash::Open { head: head.clone() },
                })
            }
            TrainTask::Prove { .. } => TrainTaskOutcome::Proved(LandedTreeProof::Proven),
            TrainTask::Retarget { pull, base } => {
                let pull = self.pulls.get_mut(&pull.get()).expect("there");
                if pull.closed || pull.landed.is_some() {
                    return TrainTaskOutcome::Retargeted(RetargetOutcome::NotOpen);
                }
                pull.base = base.clone();
                TrainTaskOutcome::Retargeted(RetargetOutcome::Done)
            }
            TrainTask::Worktrees(_) => TrainTaskOutcome::Tidied,
        }
    }

    fn merge(&mut self, step: &MergeStep, number: u64) -> BranchMergeOutcome {
        let head = self.pulls[&number].head.clone();
        let main = self.main.clone();
        let theirs: Vec<Sha> = match step {
            MergeStep::Prepare { predecessor, .. } => vec![self.pulls[&predecessor.get()].head.clone()],
            MergeStep::Reconcile { landed: LandedSquash { commit, pull, .. } } => {
                if !self.contains(&head, &self.pulls[&pull.get()].head) {
                    return BranchMergeOutcome::NotPrepared(AuthoredHead::new(head, main));
                }
                vec![commit.clone()]
            }
            MergeStep::AddLate { change } => {
                let lacked = change.below.iter().filter(|landed| !self.contains(&head, &landed.commit));
                let lacked: Vec<Sha> = lacked
                    .flat_map(|landed| [self.pulls[&landed.pull.get()].head.clone(), landed.commit.clone()])
                    .collect();
                if lacked.is_empty() { lacked } else { lacked.into_iter().chain([main]).collect() }
            }
            MergeStep::CatchUp { .. } | MergeStep::UpdateRoot => vec![main],
        };
        if theirs.iter().all(|theirs| self.contains(&head, theirs)) {
            return BranchMergeOutcome::Unchanged { head };
        }
        let mut parents = vec![&head];
        parents.extend(&theirs);
        let to = self.commit(&parents);
        BranchMergeOutcome::Advance { from: head, tree: to.clone(), to, contains: theirs }
    }

    fn take_push(&mut self, push: &BranchPush) -> PushOutcome {
        let pull = self.pulls.get_mut(&push.pull.get()).expect("there");
        if pull.head == push.to {
            return PushOutcome::Landed;
        }
        if pull.head != push.from {
            return PushOutcome::Foreign { head: pull.head.clone(), tree: Some(pull.head.clone()) };
        }
        pull.head = push.to.clone();
        PushOutcome::Landed
    }

    fn probe(&self, push: &BranchPush) -> PushProbeResult {
        let head = self.pulls[&push.pull.get()].head.clone();
        match head {
            head if head == push.to => PushProbeResult::Landed { head },
            head if head == push.from => PushProbeResult::NotYet,
            head => PushProbeResult::Foreign { tree: Some(head.clone()), head },
        }
    }

    fn squash(&mut self, number: u64, head: &Sha, base: &BranchName) -> SquashOutcome {
        let pull = self.pulls[&number].clone();
        if pull.base != *base {
            return SquashOutcome::BaseChanged { base: pull.base };
        }
        assert_eq!(pull.base, branch("main"), "#{number} is squashed into another branch");
        if pull.closed {
            return SquashOutcome::Refused { message: "Pull Request is closed".to_owned() };
        }
        if let Some(below) = pull.predecessor.filter(|_| pull.comment.is_some() && !self.lies) {
            let landed = self.pulls[&below].landed.clone().expect("its predecessor landed first");
            assert!(self.contains(&pull.head, &landed), "#{number} lands without being related to #{below}");
        }
        if pull.landed.is_some() {
            return SquashOutcome::Refused { message: "Pull Request is not mergeable".to_owned() };
        }
        if pull.head != *head {
            return SquashOutcome::HeadChanged;
        }
        let main = self.main.clone();
        let commit = self.commit(&[&main]);
        self.main = commit.clone();
        self.pulls.get_mut(&number).expect("there").landed = Some(commit.clone());
        self.squashes.push(number);
        SquashOutcome::Merged { commit }
    }
}
