//! What GitHub and git can answer, whether it is true or not.

use proptest::prelude::*;

use super::super::hub::Hub;
use super::super::*;
use crate::repo::trains::conflict::{Conflict, ConflictKind, ConflictedFile};
use crate::repo::trains::difference::Difference;
use crate::repo::trains::work::{
    AuthoredHead, BranchMergeOutcome, BranchPush, ExpectedTree, LandedTreeProof, MergedWith, ObservedSquash,
    PushOutcome, PushProbeResult, RetargetOutcome, SquashOutcome, TrainTask, TrainTaskOutcome, WithdrawnCommits,
};
use crate::repo::trains::{MergePolicy, StaleApprovals};

/// What is answered from now on, every time, instead of the truth.
#[derive(Debug, Clone, Copy)]
pub(super) enum Lie {
    /// Every work of this name gets the one of its possible answers that has this number.
    Work(&'static str, usize),
    /// Every effect of this name fails.
    Fails(&'static str, Trouble),
    Pull(PullLie),
    MergeState(MergeLie),
    Policy(PolicyLie),
    /// The status comment is not there.
    NoStatus,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Trouble {
    Transient,
    Permanent,
    /// GitHub names a time, ten minutes ahead.
    Later,
    /// It was done, and the answer is lost.
    Lost,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum PullLie {
    /// As it was when the lies began: a replica that lags.
    Lagging,
    /// With a head that nobody else knows.
    OtherHead,
    Gone,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum MergeLie {
    State(MergeState),
    OtherHead,
    OtherBase,
    NotOpen,
    Absent,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum PolicyLie {
    ChecksUnseen,
    CheckRequired,
    Dismisses,
}

const WORKS: [&str; 10] = [
    "plan",
    "merge",
    "push",
    "probe_push",
    "expect_squash",
    "squash",
    "look_at_merge",
    "prove_landed",
    "retarget",
    "worktrees",
];
const READS_AND_WRITES: [&str; 11] = [
    "survey",
    "read_conversations",
    "fetch_pull",
    "read_merge_states",
    "say",
    "write_status",
    "read_status",
    "read_policy",
    "delete_branch",
    "read_settings",
    "read_proposal",
];

pub(super) fn lie() -> impl Strategy<Value = Lie> {
    let trouble = || {
        let all = vec![Trouble::Transient, Trouble::Permanent, Trouble::Later, Trouble::Lost];
        prop::sample::select(all)
    };
    prop_oneof![
        6 => (prop::sample::select(WORKS.to_vec()), 0..13_usize).prop_map(|(name, which)| Lie::Work(name, which)),
        2 => (prop::sample::select(WORKS.to_vec()), trouble()).prop_map(|(name, how)| Lie::Fails(name, how)),
        2 => (prop::sample::select(READS_AND_WRITES.to_vec()), trouble()).prop_map(|(name, how)| Lie::Fails(name, how)),
        1 => prop::sample::select(vec![PullLie::Lagging, PullLie::OtherHead, PullLie::Gone]).prop_map(Lie::Pull),
        2 => prop::sample::select(merge_lies()).prop_map(Lie::MergeState),
        1 => prop::sample::select(vec![PolicyLie::ChecksUnseen, PolicyLie::CheckRequired, PolicyLie::Dismisses])
            .prop_map(Lie::Policy),
        1 => Just(Lie::NoStatus),
    ]
}

fn merge_lies() -> Vec<MergeLie> {
    let states = [
        MergeState::Clean,
        MergeState::Unstable,
        MergeState::Blocked,
        MergeState::Behind,
        MergeState::Dirty,
        MergeState::HasHooks,
        MergeState::Draft,
        MergeState::Unknown,
    ];
    // Whoever adds one adds it here.
    states.iter().for_each(|state| match state {
        MergeState::Clean
        | MergeState::Unstable
        | MergeState::Blocked
        | MergeState::Behind
        | MergeState::Dirty
        | MergeState::HasHooks
        | MergeState::Draft
        | MergeState::Unknown => {}
    });
    let others = [MergeLie::OtherHead, MergeLie::OtherBase, MergeLie::NotOpen, MergeLie::Absent];
    states.into_iter().map(MergeLie::State).chain(others).collect()
}

/// What GitHub had when the lies began.
pub(super) type Then = BTreeMap<u64, PullFacts>;

impl Lie {
    /// The answer to an effect, if this is what the lie is about.
    pub fn answer(self, hub: &mut Hub, then: &Then, effect: &Effect, asked: Timestamp) -> Option<Input> {
        match (self, effect) {
            (Self::Work(name, which), Effect::Trains(TrainsEffect::Work { root, work })) if work.name() == name => {
                let mut possible = possible(work, hub);
                let outcome = possible.swap_remove(which % possible.len());
                Some(worked(*root, work.clone(), Ok(outcome)))
            }
            (Self::Fails(name, trouble), _) if effect.name() == name => Some(trouble.of(hub, effect, asked)),
            (Self::Pull(lie), Effect::Mirror(MirrorEffect::FetchPull { pr })) => {
                hub.seconds += 1;
                let facts = hub.facts(pr.get());
                let then = then[&pr.get()].clone();
                let result = match lie {
                    PullLie::Lagging => Some(PullFacts { updated_at: facts.updated_at, ..then }),
                    PullLie::OtherHead => Some(PullFacts { head_sha: sha(7_777), ..facts }),
                    PullLie::Gone => None,
                };
                Some(fetched(*pr, asked, Ok(result)))
            }
            (Self::MergeState(lie), Effect::Mirror(MirrorEffect::ReadMergeStates { .. })) => {
                let Input::Completed { result: Ok(Answer::MergeStates(facts)), .. } = hub.perform(effect, asked) else {
                    unreachable!("it answers what it is asked")
                };
                let facts: Vec<MergeFacts> = facts.into_iter().filter_map(|facts| lie.about(facts)).collect();
                Some(completed(effect.clone(), asked, Ok(facts)))
            }
            (Self::Policy(lie), Effect::Trains(TrainsEffect::ReadPolicy { .. })) => {
                let Input::Completed { result: Ok(Answer::Policy(policy)), .. } = hub.perform(effect, asked) else {
                    unreachable!("it answers what it is asked")
                };
                let policy = match lie {
                    PolicyLie::ChecksUnseen => MergePolicy { required_checks: None, ..policy },
                    PolicyLie::CheckRequired => {
                        MergePolicy { required_checks: Some(BTreeSet::from(["build".to_owned()])), ..policy }
                    }
                    PolicyLie::Dismisses => MergePolicy { stale_approvals: StaleApprovals::Dismissed, ..policy },
                };
                Some(policy_read(Ok(policy)))
            }
            (Self::NoStatus, Effect::Trains(TrainsEffect::ReadStatus { root, comment })) => {
                Some(status_read(*root, *comment, Ok(None)))
            }
            _ => None,
        }
    }
}

impl Trouble {
    fn of(self, hub: &mut Hub, effect: &Effect, asked: Timestamp) -> Input {
        let kind = match self {
            Self::Transient | Self::Later | Self::Lost => EffectFailureKind::Transient,
            Self::Permanent => EffectFailureKind::Permanent,
        };
        if matches!(self, Self::Lost) {
            hub.perform(effect, asked);
        }
        let later = asked + SignedDuration::from_mins(10);
        let retry_at = matches!(self, Self::Later).then_some(later);
        failed(effect.clone(), asked, EffectFailure { reason: "502".to_owned(), kind, retry_at })
    }
}

impl MergeLie {
    fn about(self, facts: MergeFacts) -> Option<MergeFacts> {
        match self {
            Self::State(state) => Some(MergeFacts { state, ..facts }),
            Self::OtherHead => Some(MergeFacts { head_sha: sha(7_778), ..facts }),
            Self::OtherBase => Some(MergeFacts { base_ref: branch("elsewhere"), ..facts }),
            Self::NotOpen => Some(MergeFacts { is_open: false, ..facts }),
            Self::Absent => None,
        }
    }
}

fn conflict() -> Conflict {
    let (path, message) = ("a.txt".to_owned(), "both changed it".to_owned());
    Conflict { files: vec![ConflictedFile { path, kind: ConflictKind::Content, message, versions: Vec::new() }] }
}

/// All that can be answered to a work.
fn possible(work: &TrainTask, hub: &mut Hub) -> Vec<TrainTaskOutcome> {
    let main = hub.main.clone();
    let standing = AuthoredHead::new(main.clone(), main.clone());
    let difference = Difference {
        conflict: None,
        files: vec!["a.txt".to_owned()],
        unnamed: 0,
        lines: String::new(),
        commits: Vec::new(),
        standing: standing.clone(),
    };
    match work {
        TrainTask::Plan { members, default } => {
            let plan = |unreached| crate::repo::trains::plan::LandingPlan {
                root: members[0].pull,
                default_branch: default.clone(),
                steps: Vec::new(),
                conflicts: Vec::new(),
                differences: Vec::new(),
                unreached,
            };
            vec![TrainTaskOutcome::Planned(plan(Vec::new())), TrainTaskOutcome::Planned(plan(vec![members[0].pull]))]
        }
        TrainTask::Merge { pull, .. } => {
            merges(*pull, hub, &standing, difference).into_iter().map(TrainTaskOutcome::Merged).collect()
        }
        TrainTask::Push(push) => pushes(push, &main).into_iter().map(TrainTaskOutcome::Pushed).collect(),
        TrainTask::Probe(push) => probes(push, &main).into_iter().map(TrainTaskOutcome::Probed).collect(),
        TrainTask::Expect { change, head, .. } => {
            let below = change.below.last().map_or(change.pull, |below| below.pull);
            let tree = ExpectedTree::Tree { default_head: main.clone(), tree: head.clone(), standing };
            let answers = vec![
                tree,
                ExpectedTree::Differs(difference),
                ExpectedTree::NotRelated { pull: below },
                ExpectedTree::Rewound { pull: below, commit: main.clone() },
                ExpectedTree::HeadChanged { head: main },
                ExpectedTree::Conflict(conflict()),
                ExpectedTree::PullRefGone,
            ];
            answers.into_iter().map(TrainTaskOutcome::Expected).collect()
        }
        TrainTask::Squash { .. } => {
            let answers = vec![
                SquashOutcome::Merged { commit: hub.commit(&[&main]) },
                SquashOutcome::HeadChanged,
                SquashOutcome::BaseChanged { base: branch("elsewhere") },
                SquashOutcome::Refused {
                    message: "Base branch was modified. Review and try the merge again.".to_owned(),
                },
                SquashOutcome::Refused { message: "Repository rule violations found".to_owned() },
            ];
            answers.into_iter().map(TrainTaskOutcome::Squashed).collect()
        }
        TrainTask::Look { pull } => {
            let head = hub.pulls[&pull.get()].head.clone();
            let answers = vec![
                ObservedSquash::Open { head },
                ObservedSquash::Open { head: main.clone() },
                ObservedSquash::Closed,
                ObservedSquash::Merged { commit: None },
                ObservedSquash::Merged { commit: Some(main) },
            ];
            answers.into_iter().map(TrainTaskOutcome::Seen).collect()
        }
        TrainTask::Prove { landed, .. } => {
            let (pull, commit) = (landed.pull, landed.commit.clone());
            let answers = vec![
                LandedTreeProof::Proven,
                LandedTreeProof::WrongTree { expected: main.clone(), found: commit.clone(), files: Vec::new() },
                LandedTreeProof::NotASquash { reason: "it has two parents".to_owned() },
                LandedTreeProof::OtherHead { head: main },
                LandedTreeProof::CannotTell { reason: "they conflict".to_owned() },
                LandedTreeProof::Missing { pull, commit },
            ];
            answers.into_iter().map(TrainTaskOutcome::Proved).collect()
        }
        TrainTask::Retarget { .. } => {
            vec![
                TrainTaskOutcome::Retargeted(RetargetOutcome::Done),
                TrainTaskOutcome::Retargeted(RetargetOutcome::NotOpen),
            ]
        }
        TrainTask::Worktrees(_) => vec![TrainTaskOutcome::Tidied],
    }
}

fn merges(pull: PrNumber, hub: &mut Hub, standing: &AuthoredHead, difference: Difference) -> Vec<BranchMergeOutcome> {
    let (head, main) = (hub.pulls[&pull.get()].head.clone(), hub.main.clone());
    let new = hub.commit(&[&head, &main]);
    let advance = |from: &Sha| BranchMergeOutcome::Advance {
        from: from.clone(),
        to: new.clone(),
        tree: new.clone(),
        contains: vec![main.clone()],
    };
    let conflicting = |with, standing| BranchMergeOutcome::Conflict { with, conflict: conflict(), standing };
    vec![
        BranchMergeOutcome::Unchanged { head: head.clone() },
        BranchMergeOutcome::Unchanged { head: main.clone() },
        advance(&head),
        advance(&main),
        conflicting(MergedWith::Predecessor, None),
        conflicting(MergedWith::BeforeSquash, Some(standing.clone())),
        conflicting(MergedWith::Default, Some(standing.clone())),
        BranchMergeOutcome::BranchGone,
        BranchMergeOutcome::PullRefGone { pull },
        BranchMergeOutcome::NotPrepared(standing.clone()),
        BranchMergeOutcome::Withdrawn(WithdrawnCommits { head: main.clone(), commits: Vec::new() }),
        BranchMergeOutcome::Differs(difference),
        BranchMergeOutcome::Missing { pull, commit: main.clone() },
        BranchMergeOutcome::NotASquash {
            pull,
            reason: "it has two parents".to_owned(),
            advice: "it has two parents".to_owned(),
            standing: standing.clone(),
        },
    ]
}

fn pushes(push: &BranchPush, other: &Sha) -> Vec<PushOutcome> {
    vec![
        PushOutcome::Landed,
        PushOutcome::Foreign { head: other.clone(), tree: None },
        PushOutcome::Foreign { head: other.clone(), tree: Some(push.tree.clone()) },
        PushOutcome::BranchGone,
        PushOutcome::Rejected { reason: "protected branch hook declined".to_owned() },
    ]
}

fn probes(push: &BranchPush, other: &Sha) -> Vec<PushProbeResult> {
    vec![
        PushProbeResult::Landed { head: push.to.clone() },
        PushProbeResult::Landed { head: other.clone() },
        PushProbeResult::NotYet,
        PushProbeResult::Foreign { head: other.clone(), tree: None },
        PushProbeResult::Foreign { head: other.clone(), tree: Some(push.tree.clone()) },
        PushProbeResult::Rewound,
        PushProbeResult::BranchGone,
    ]
}

/// The number of an answer among all that there are. No wildcard: whoever adds an answer is led here.
fn place(outcome: &TrainTaskOutcome) -> usize {
    match outcome {
        TrainTaskOutcome::Planned(_) => 0,
        TrainTaskOutcome::Tidied => 1,
        TrainTaskOutcome::Merged(BranchMergeOutcome::Unchanged { .. }) => 2,
        TrainTaskOutcome::Merged(BranchMergeOutcome::Advance { .. }) => 3,
        TrainTaskOutcome::Merged(BranchMergeOutcome::Conflict { with: MergedWith::Predecessor, .. }) => 4,
        TrainTaskOutcome::Merged(BranchMergeOutcome::Conflict { with: MergedWith::BeforeSquash, .. }) => 5,
        TrainTaskOutcome::Merged(BranchMergeOutcome::Conflict { with: MergedWith::Default, .. }) => 6,
        TrainTaskOutcome::Merged(BranchMergeOutcome::BranchGone) => 7,
        TrainTaskOutcome::Merged(BranchMergeOutcome::PullRefGone { .. }) => 8,
        TrainTaskOutcome::Merged(BranchMergeOutcome::NotPrepared(_)) => 9,
        TrainTaskOutcome::Merged(BranchMergeOutcome::Withdrawn(_)) => 10,
        TrainTaskOutcome::Merged(BranchMergeOutcome::Differs(_)) => 11,
        TrainTaskOutcome::Merged(BranchMergeOutcome::NotASquash { .. }) => 12,
        TrainTaskOutcome::Pushed(PushOutcome::Landed) => 13,
        TrainTaskOutcome::Pushed(PushOutcome::Foreign { .. }) => 14,
        TrainTaskOutcome::Pushed(PushOutcome::BranchGone) => 15,
        TrainTaskOutcome::Pushed(PushOutcome::Rejected { .. }) => 16,
        TrainTaskOutcome::Probed(PushProbeResult::Landed { .. }) => 17,
        TrainTaskOutcome::Probed(PushProbeResult::NotYet) => 18,
        TrainTaskOutcome::Probed(PushProbeResult::Foreign { .. }) => 19,
        TrainTaskOutcome::Probed(PushProbeResult::Rewound) => 20,
        TrainTaskOutcome::Probed(PushProbeResult::BranchGone) => 21,
        TrainTaskOutcome::Expected(ExpectedTree::Tree { .. }) => 22,
        TrainTaskOutcome::Expected(ExpectedTree::Differs(_)) => 23,
        TrainTaskOutcome::Expected(ExpectedTree::NotRelated { .. }) => 24,
        TrainTaskOutcome::Expected(ExpectedTree::Rewound { .. }) => 25,
        TrainTaskOutcome::Expected(ExpectedTree::HeadChanged { .. }) => 26,
        TrainTaskOutcome::Expected(ExpectedTree::Conflict(_)) => 27,
        TrainTaskOutcome::Expected(ExpectedTree::PullRefGone) => 28,
        TrainTaskOutcome::Squashed(SquashOutcome::Merged { .. }) => 29,
        TrainTaskOutcome::Squashed(SquashOutcome::HeadChanged) => 30,
        TrainTaskOutcome::Squashed(SquashOutcome::BaseChanged { .. }) => 31,
        TrainTaskOutcome::Squashed(SquashOutcome::Refused { .. }) => 32,
        TrainTaskOutcome::Seen(ObservedSquash::Open { .. }) => 33,
        TrainTaskOutcome::Seen(ObservedSquash::Closed) => 34,
        TrainTaskOutcome::Seen(ObservedSquash::Merged { .. }) => 35,
        TrainTaskOutcome::Proved(LandedTreeProof::Proven) => 36,
        TrainTaskOutcome::Proved(LandedTreeProof::WrongTree { .. }) => 37,
        TrainTaskOutcome::Proved(LandedTreeProof::NotASquash { .. }) => 38,
        TrainTaskOutcome::Proved(LandedTreeProof::OtherHead { .. }) => 39,
        TrainTaskOutcome::Proved(LandedTreeProof::CannotTell { .. }) => 40,
        TrainTaskOutcome::Proved(LandedTreeProof::Missing { .. }) => 41,
        TrainTaskOutcome::Retargeted(RetargetOutcome::Done) => 42,
        TrainTaskOutcome::Retargeted(RetargetOutcome::NotOpen) => 43,
        TrainTaskOutcome::Merged(BranchMergeOutcome::Missing { .. }) => 44,
    }
}

/// One work of each kind, in the order of `WORKS`.
fn one_of_each() -> Vec<TrainTask> {
    use crate::repo::trains::work::{LandedSquash, MergeEndpoint, MergeStep, OwnChange, PushKind, WorktreeCleanup};
    let (pull, head, base) = (pr(1), sha(1), branch("main"));
    let push = BranchPush {
        kind: PushKind::Prep,
        pull,
        branch: branch("feature-1"),
        from: sha(1),
        to: sha(2),
        tree: sha(3),
        contains: Vec::new(),
    };
    let change = OwnChange { pull, people_head: None, below: Vec::new() };
    let landed = LandedSquash { pull, commit: sha(1), head: None, known_before: None, former_heads: Vec::new() };
    let member = crate::repo::trains::plan::StackMember::new(pull, branch("feature-1"), base.clone(), None);
    vec![
        TrainTask::Plan { members: vec![member], default: base.clone() },
        TrainTask::Merge { step: MergeStep::UpdateRoot, pull, branch: branch("feature-1"), default: base.clone() },
        TrainTask::Push(push.clone()),
        TrainTask::Probe(push),
        TrainTask::Expect { change, head: head.clone(), default: base.clone() },
        TrainTask::Squash {
            pull,
            head,
            base: base.clone(),
            via: MergeEndpoint::Now,
            wording: SquashMessageTemplates::default(),
        },
        TrainTask::Look { pull },
        TrainTask::Prove { landed, earlier: Vec::new(), default: base.clone() },
        TrainTask::Retarget { pull, base },
        TrainTask::Worktrees(WorktreeCleanup::Clean),
    ]
}

#[test]
fn every_answer_that_there_is_can_be_given() {
    let mut hub = Hub::new(&[0]);
    let works = one_of_each();
    assert_eq!(works.iter().map(TrainTask::name).collect::<Vec<_>>(), WORKS);
    let places: BTreeSet<usize> = works.iter().flat_map(|work| possible(work, &mut hub)).map(|it| place(&it)).collect();
    assert_eq!(places, (0..=44).collect());
}

/// Whether an effect is one that can fail here.
pub(super) fn is_listed(effect: &Effect) -> bool {
    WORKS.contains(&effect.name()) || READS_AND_WRITES.contains(&effect.name())
}
