//! GitHub, the remote and the clone, as far as a train needs them: small enough to be part of a state that is explored.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use super::super::{at, branch, comment, merge_facts, pr, pull};
use super::objects::{Changes, Objects, tree};
use crate::facts::{CommentFacts, MergeFacts, MergeState, PullFacts, PullState};
use crate::ids::{BranchName, CommentId, PrNumber, Sha, UserId};
use crate::repo::trains::work::{
    AuthoredHead, ExpectedTree, LandedSquash, LandedTreeProof, ObservedSquash, OwnChange, RetargetOutcome,
    SquashOutcome, TrainTask, TrainTaskOutcome,
};
use crate::repo::{EffectFailure, EffectFailureKind};

/// Where GitHub's own clock begins: far from the worker's, and never compared with it.
const GITHUB_TIME: i64 = -1_000_000;
/// The first of the changes that are made by pushes of others; those below are the pull requests' own.
const FIRST_FOREIGN: u64 = 2 * MOST_PULLS + 1;
const MOST_PULLS: u64 = 3;
/// As whom GitHub knows merge-train.
const BOT: u64 = 900;
/// Commits that GitHub or somebody else made, and not the clone.
const BY_GITHUB: u8 = 100;
const BY_ANOTHER: u8 = 101;

#[derive(Debug, Clone)]
pub struct GitHub {
    pub main: Sha,
    pub pulls: BTreeMap<u64, Pull>,
    /// What the clone has computed last for each branch and not pushed. It is gone with the process.
    pub(super) computed: BTreeMap<u64, Sha>,
    /// The status comments, by the pull request that each is on.
    pub statuses: BTreeMap<u64, Status>,
    ways: Ways,
    pushed_by_others: u64,
    /// What must never happen, and did.
    pub flaw: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pull {
    pub head: Sha,
    pub base: BranchName,
    pub below: Option<u64>,
    /// The head that landed, and the commit that it landed as.
    pub landed: Option<(Sha, Sha)>,
    /// How often it changed: its `updated_at`.
    changed: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Which state of the record it shows.
    pub seq: u64,
    body: String,
}

/// What kind of a GitHub it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ways {
    pub rules: Rules,
    pub clock: Clock,
}

/// How well GitHub's `updated_at` tells the later of two changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    Exact,
    /// Everything happens within one second, and GitHub counts whole ones.
    Coarse,
}

/// What the default branch asks of a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    None,
    /// Branches must be up to date before they are merged.
    UpToDate,
}

impl Hash for GitHub {
    /// Without the texts of the status comments: what they say follows from the record that they show.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (&self.main, &self.pulls, &self.computed, self.pushed_by_others).hash(hasher);
    }
}

impl GitHub {
    /// Pull requests 1, 2, …, each on the one named, 0 being the default branch. Each makes a change of its own and has grown by
    /// another since those that stand on it were begun, so that they have to be prepared.
    pub fn new(git: &Objects, on: &[u64], ways: Ways) -> Self {
        let main = git.commit(&[], 1, 0);
        let (mut pulls, mut begun) = (BTreeMap::new(), BTreeMap::new());
        for (number, below) in (1..).zip(on) {
            let start = begun.get(below).unwrap_or(&main);
            let first = git.commit(&[start], git.changes(start) | begun_with(number), BY_ANOTHER);
            let head = git.commit(&[&first], git.changes(&first) | own(number), BY_ANOTHER);
            begun.insert(number, first);
            let base = if *below == 0 { branch("main") } else { branch_of(*below) };
            let below = (*below != 0).then_some(*below);
            pulls.insert(number, Pull { head, base, below, landed: None, changed: 0 });
        }
        Self {
            main,
            pulls,
            computed: BTreeMap::new(),
            statuses: BTreeMap::new(),
            ways,
            pushed_by_others: 0,
            flaw: None,
        }
    }

    pub fn facts(&self, number: u64) -> PullFacts {
        let Pull { head, base, landed, changed, .. } = self.pulls[&number].clone();
        let now = at(match self.ways.clock {
            Clock::Exact => GITHUB_TIME + changed,
            Clock::Coarse => GITHUB_TIME,
        });
        let state = match landed {
            Some((_, commit)) => PullState::Merged { merge_commit_sha: Some(commit), at: now },
            None => PullState::Open,
        };
        PullFacts { head_sha: head, base_ref: base, state, updated_at: now, ..pull(number) }
    }

    pub fn merge_facts(&self, git: &Objects, prs: &[PrNumber]) -> Vec<MergeFacts> {
        let fact = |pr: &PrNumber| {
            let number = pr.get();
            let Pull { head, base, .. } = self.pulls[&number].clone();
            let is_behind =
                self.ways.rules == Rules::UpToDate && base == branch("main") && !git.contains(&head, &self.main);
            let state = if is_behind { MergeState::Behind } else { MergeState::Clean };
            MergeFacts { is_open: self.is_open(number), head_sha: head, base_ref: base, ..merge_facts(number, state) }
        };
        prs.iter().map(fact).collect()
    }

    pub fn is_open(&self, number: u64) -> bool {
        self.pulls[&number].landed.is_none()
    }

    pub fn write_status(&mut self, root: PrNumber, seq: u64, body: String) -> CommentId {
        self.statuses.insert(root.get(), Status { seq, body });
        status_id(root)
    }

    pub fn status(&self, root: PrNumber, id: CommentId) -> Option<CommentFacts> {
        let Status { body, .. } = self.statuses.get(&root.get()).filter(|_| id == status_id(root))?;
        Some(CommentFacts { author: UserId::new(BOT), ..comment(root.get(), id.get(), body) })
    }

    /// Somebody else pushes something new to the branch of a pull request, or to the default branch.
    pub fn push_of_another(&mut self, git: &Objects, to: Option<u64>) {
        let new: Changes = 1 << (FIRST_FOREIGN + self.pushed_by_others);
        self.pushed_by_others += 1;
        let head = to.map_or(&mut self.main, |number| &mut self.pulls.get_mut(&number).expect("there").head);
        *head = git.commit(&[head], git.changes(head) | new, BY_ANOTHER);
        self.touch(to);
    }

    /// The process dies: what it computed and did not push may never be found again.
    pub fn lose_clone(&mut self) {
        self.computed.clear();
    }

    pub(super) fn touch(&mut self, number: Option<u64>) {
        if let Some(pull) = number.and_then(|number| self.pulls.get_mut(&number)) {
            pull.changed += 1;
        }
    }

    /// Does what a train asks for, while these things may still be done that it asked for before.
    pub fn work(
        &mut self,
        git: &Objects,
        work: &TrainTask,
        late: &[TrainTask],
    ) -> Result<TrainTaskOutcome, EffectFailure> {
        Ok(match work {
            TrainTask::Plan { members, default } => TrainTaskOutcome::Planned(crate::repo::trains::plan::LandingPlan {
                root: members[0].pull,
                default_branch: default.clone(),
                steps: Vec::new(),
                conflicts: Vec::new(),
                differences: Vec::new(),
                unreached: Vec::new(),
            }),
            TrainTask::Merge { step, pull, .. } => {
                // A merge that is computed again is another commit: their dates differ.
                let is_of_it = |work: &&TrainTask| matches!(work, TrainTask::Push(push) if push.pull == *pull);
                let attempt = u8::try_from(late.iter().filter(is_of_it).count()).expect("a few");
                TrainTaskOutcome::Merged(self.merge(git, step, pull.get(), attempt))
            }
            TrainTask::Push(push) if self.computed.get(&push.pull.get()) != Some(&push.to) => {
                return Err(failure("the commit is not in the clone any more"));
            }
            TrainTask::Push(push) => TrainTaskOutcome::Pushed(self.push(git, push)),
            TrainTask::Probe(push) => TrainTaskOutcome::Probed(self.probe(git, push)),
            TrainTask::Expect { change, head, .. } => TrainTaskOutcome::Expected(self.expect(git, change, head)),
            TrainTask::Squash { pull, head, base, .. } => {
                TrainTaskOutcome::Squashed(self.look_and_squash(git, *pull, head, base))
            }
            TrainTask::Look { pull } => TrainTaskOutcome::Seen(self.seen(*pull)),
            TrainTask::Prove { landed, .. } => TrainTaskOutcome::Proved(self.prove(git, landed)),
            TrainTask::Retarget { pull, base } => TrainTaskOutcome::Retargeted(self.retarget(pull.get(), base)),
            TrainTask::Worktrees(_) => TrainTaskOutcome::Tidied,
        })
    }

    /// Both ways: the branch, and what people pushed to it upon a default branch that contains what landed below.
    fn expect(&mut self, git: &Objects, change: &OwnChange, head: &Sha) -> ExpectedTree {
        let found = self.pulls[&change.pull.get()].head.clone();
        if found != *head {
            return ExpectedTree::HeadChanged { head: found };
        }
        if let Some(missing) = change.below.iter().find(|landed| !git.contains(head, &landed.commit)) {
            return ExpectedTree::NotRelated { pull: missing.pull };
        }
        let heads: Vec<Sha> = change.below.iter().map(|landed| self.landed_head(landed)).collect();
        let parents: Vec<&Sha> = std::iter::once(&self.main).chain(&heads).collect();
        let containing = git.commit(&parents, git.changes(&self.main), BY_ANOTHER);
        let people_head = change.people_head.clone().unwrap_or_else(|| head.clone());
        let (tree_of_branch, alone) = (git.merged(&self.main, head), git.merged(&containing, &people_head));
        if tree_of_branch != alone {
            self.flaw = Some("the two ways to compute what lands do not agree");
        }
        let standing = AuthoredHead::new(people_head, self.main.clone());
        ExpectedTree::Tree { default_head: self.main.clone(), tree: tree(tree_of_branch), standing }
    }

    fn seen(&self, pull: PrNumber) -> ObservedSquash {
        let Pull { head, landed, .. } = self.pulls[&pull.get()].clone();
        match landed {
            Some((_, commit)) => ObservedSquash::Merged { commit: Some(commit) },
            None => ObservedSquash::Open { head },
        }
    }

    /// What the client does: it looks just before it asks.
    fn look_and_squash(&mut self, git: &Objects, pull: PrNumber, head: &Sha, base: &BranchName) -> SquashOutcome {
        let now = &self.pulls[&pull.get()];
        match &now.landed {
            Some((_, commit)) => SquashOutcome::Merged { commit: commit.clone() },
            None if now.base != *base => SquashOutcome::BaseChanged { base: now.base.clone() },
            None => self.squash(git, pull.get(), head),
        }
    }

    /// What GitHub does: it guards the head, and not the base.
    pub fn squash(&mut self, git: &Objects, number: u64, head: &Sha) -> SquashOutcome {
        let pull = self.pulls[&number].clone();
        if pull.landed.is_some() {
            return SquashOutcome::Refused { message: "Pull Request is not mergeable".to_owned() };
        }
        if pull.head != *head {
            return SquashOutcome::HeadChanged;
        }
        if pull.base != branch("main") {
            self.flaw = Some("a pull request was squashed into another branch than the default branch");
        }
        let after = git.merged(&self.main, head);
        self.flaw = self.flaw.or(self.wrong_with_squash(git, number, after));
        let commit = git.commit(&[&self.main], after, BY_GITHUB);
        self.main = commit.clone();
        self.pulls.get_mut(&number).expect("there").landed = Some((head.clone(), commit.clone()));
        self.touch(Some(number));
        SquashOutcome::Merged { commit }
    }

    /// What a squash of a pull request must not do to the default branch.
    fn wrong_with_squash(&self, git: &Objects, number: u64, after: Changes) -> Option<&'static str> {
        let pull = &self.pulls[&number];
        if let Some(below) = pull.below {
            match &self.pulls[&below].landed {
                None => return Some("a pull request landed before the one that it stands on"),
                Some((_, squash)) if !git.contains(&pull.head, squash) => {
                    return Some("a pull request landed without being related to the squash of the one below");
                }
                Some(_) => {}
            }
        }
        let open = self.pulls.keys().filter(|other| **other != number && self.is_open(**other));
        let of_others = open.fold(0, |changes, other| changes | own(*other));
        if self.clash(git, &self.main, &pull.head) {
            Some("a squash conflicts that would not where everything is related to what landed")
        } else if git.changes(&self.main) & !after != 0 {
            Some("a squash took back what had landed")
        } else if git.changes(&pull.head) & !after != 0 {
            Some("a squash left out what was in the branch")
        } else if of_others & after != 0 {
            Some("a squash landed what belongs to another pull request")
        } else {
            None
        }
    }

    fn prove(&mut self, git: &Objects, landed: &LandedSquash) -> LandedTreeProof {
        let on_github = self.landed_head(landed);
        let head = landed.head.clone().unwrap_or_else(|| on_github.clone());
        let before = git.below(&landed.commit);
        let (expected, found) = (git.merged(&before, &head), git.changes(&landed.commit));
        match expected == found {
            true => LandedTreeProof::Proven,
            false if on_github != head => LandedTreeProof::OtherHead { head: on_github },
            false => LandedTreeProof::WrongTree { expected: tree(expected), found: tree(found), files: Vec::new() },
        }
    }

    pub fn retarget(&mut self, number: u64, base: &BranchName) -> RetargetOutcome {
        if !self.is_open(number) {
            return RetargetOutcome::NotOpen;
        }
        let pull = self.pulls.get_mut(&number).expect("there");
        if pull.base != *base {
            pull.base = base.clone();
            self.touch(Some(number));
        }
        RetargetOutcome::Done
    }

    /// Whether something that is done late can still do anything: no branch is ever again where it was before.
    pub fn would_change_by(&self, work: &TrainTask) -> bool {
        let Some(pull) = irreversible(work).and_then(|pull| self.pulls.get(&pull.get())) else { return false };
        pull.landed.is_none()
            && match work {
                TrainTask::Push(push) => pull.head == push.from,
                TrainTask::Squash { head, .. } => pull.head == *head,
                TrainTask::Retarget { base, .. } => pull.base != *base,
                _ => false,
            }
    }

    /// Whether all that was in the branches of these has come to the default branch.
    pub fn has_everything(&self, git: &Objects) -> bool {
        let all = self.pulls.values().fold(0, |all, pull| all | git.changes(&pull.head));
        all & !git.changes(&self.main) == 0
    }
}

fn status_id(root: PrNumber) -> CommentId {
    CommentId::new(5_000 + root.get())
}

/// The changes that a pull request makes, by itself and before anybody else pushes.
fn own(number: u64) -> Changes {
    begun_with(number) | 1 << (MOST_PULLS + number)
}

/// The one of them that those that stand on it have seen.
pub(super) fn begun_with(number: u64) -> Changes {
    1 << number
}

fn branch_of(number: u64) -> BranchName {
    pull(number).head_ref
}

/// Something that may pass.
pub fn failure(reason: &str) -> EffectFailure {
    EffectFailure { reason: reason.to_owned(), kind: EffectFailureKind::Transient, retry_at: None }
}

/// The pull request that something is to be done to, if it is something that cannot be undone.
pub fn irreversible(work: &TrainTask) -> Option<PrNumber> {
    match work {
        TrainTask::Push(push) => Some(pr(push.pull.get())),
        TrainTask::Squash { pull, .. } | TrainTask::Retarget { pull, .. } => Some(*pull),
        TrainTask::Plan { .. }
        | TrainTask::Merge { .. }
        | TrainTask::Probe(_)
        | TrainTask::Expect { .. }
        | TrainTask::Look { .. }
        | TrainTask::Prove { .. }
        | TrainTask::Worktrees(_) => None,
    }
}
