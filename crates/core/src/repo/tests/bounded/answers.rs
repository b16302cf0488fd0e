//! What GitHub and git can answer, whether it is true or not.

use proptest::prelude::*;

use super::super::hub::Hub;
use super::super::*;
use crate::repo::trains::conflict::{Conflict, ConflictKind, ConflictedFile};
use crate::repo::trains::difference::Difference;
use crate::repo::trains::work::{
    Expected, Merged, MergedWith, Outcome, Probed, Proof, Push, Pushed, Retargeted, Seen, Squashed, Standing,
    Withdrawn, Work,
};
use crate::repo::trains::{Policy, StaleApprovals};

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
                    PolicyLie::ChecksUnseen => Policy { required_checks: None, ..policy },
                    PolicyLie::CheckRequired => {
                        Policy { required_checks: Some(BTreeSet::from(["build".to_owned()])), ..policy }
                    }
                    PolicyLie::Dismisses => Policy { stale_approvals: StaleApprovals::Dismissed, ..policy },
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
            Self::Transient | Self::Later | Self::Lost => FailureKind::Transient,
            Self::Permanent => FailureKind::Permanent,
        };
        if matches!(self, Self::Lost) {
            hub.perform(effect, asked);
        }
        let later = asked + SignedDuration::from_mins(10);
        let retry_at = matches!(self, Self::Later).then_some(later);
        failed(effect.clone(), asked, Failure { reason: "502".to_owned(), kind, retry_at })
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
fn possible(work: &Work, hub: &mut Hub) -> Vec<Outcome> {
    let main = hub.main.clone();
    let standing = Standing::new(main.clone(), main.clone());
    let difference = Difference {
        conflict: None,
        files: vec!["a.txt".to_owned()],
        unnamed: 0,
        lines: String::new(),
        commits: Vec::new(),
        standing: standing.clone(),
    };
    match work {
        Work::Plan { members, default } => {
            let plan = |unreached| crate::repo::trains::plan::Plan {
                root: members[0].pull,
                default_branch: default.clone(),
                steps: Vec::new(),
                conflicts: Vec::new(),
                differences: Vec::new(),
                unreached,
            };
            vec![Outcome::Planned(plan(Vec::new())), Outcome::Planned(plan(vec![members[0].pull]))]
        }
        Work::Merge { pull, .. } => {
            merges(*pull, hub, &standing, difference).into_iter().map(Outcome::Merged).collect()
        }
        Work::Push(push) => pushes(push, &main).into_iter().map(Outcome::Pushed).collect(),
        Work::Probe(push) => probes(push, &main).into_iter().map(Outcome::Probed).collect(),
        Work::Expect { change, head, .. } => {
            let below = change.below.last().map_or(change.pull, |below| below.pull);
            let tree = Expected::Tree { default_head: main.clone(), tree: head.clone(), standing };
            let answers = vec![
                tree,
                Expected::Differs(difference),
                Expected::NotRelated { pull: below },
                Expected::Rewound { pull: below, commit: main.clone() },
                Expected::HeadChanged { head: main },
                Expected::Conflict(conflict()),
                Expected::PullRefGone,
            ];
            answers.into_iter().map(Outcome::Expected).collect()
        }
        Work::Squash { .. } => {
            let answers = vec![
                Squashed::Merged { commit: hub.commit(&[&main]) },
                Squashed::HeadChanged,
                Squashed::BaseChanged { base: branch("elsewhere") },
                Squashed::Refused { message: "Base branch was modified. Review and try the merge again.".to_owned() },
                Squashed::Refused { message: "Repository rule violations found".to_owned() },
            ];
            answers.into_iter().map(Outcome::Squashed).collect()
        }
        Work::Look { pull } => {
            let head = hub.pulls[&pull.get()].head.clone();
            let answers = vec![
                Seen::Open { head },
                Seen::Open { head: main.clone() },
                Seen::Closed,
                Seen::Merged { commit: None },
                Seen::Merged { commit: Some(main) },
            ];
            answers.into_iter().map(Outcome::Seen).collect()
        }
        Work::Prove { landed, .. } => {
            let (pull, commit) = (landed.pull, landed.commit.clone());
            let answers = vec![
                Proof::Proven,
                Proof::WrongTree { expected: main.clone(), found: commit.clone(), files: Vec::new() },
                Proof::NotASquash { reason: "it has two parents".to_owned() },
                Proof::OtherHead { head: main },
                Proof::CannotTell { reason: "they conflict".to_owned() },
                Proof::Missing { pull, commit },
            ];
            answers.into_iter().map(Outcome::Proved).collect()
        }
        Work::Retarget { .. } => {
            vec![Outcome::Retargeted(Retargeted::Done), Outcome::Retargeted(Retargeted::NotOpen)]
        }
        Work::Worktrees(_) => vec![Outcome::Tidied],
    }
}

fn merges(pull: PrNumber, hub: &mut Hub, standing: &Standing, difference: Difference) -> Vec<Merged> {
    let (head, main) = (hub.pulls[&pull.get()].head.clone(), hub.main.clone());
    let new = hub.commit(&[&head, &main]);
    let advance = |from: &Sha| Merged::Advance {
        from: from.clone(),
        to: new.clone(),
        tree: new.clone(),
        contains: vec![main.clone()],
    };
    let conflicting = |with, standing| Merged::Conflict { with, conflict: conflict(), standing };
    vec![
        Merged::Unchanged { head: head.clone() },
        Merged::Unchanged { head: main.clone() },
        advance(&head),
        advance(&main),
        conflicting(MergedWith::Predecessor, None),
        conflicting(MergedWith::BeforeSquash, Some(standing.clone())),
        conflicting(MergedWith::Default, Some(standing.clone())),
        Merged::BranchGone,
        Merged::PullRefGone { pull },
        Merged::NotPrepared(standing.clone()),
        Merged::Withdrawn(Withdrawn { head: main.clone(), commits: Vec::new() }),
        Merged::Differs(difference),
        Merged::Missing { pull, commit: main.clone() },
        Merged::NotASquash {
            pull,
            reason: "it has two parents".to_owned(),
            advice: "it has two parents".to_owned(),
            standing: standing.clone(),
        },
    ]
}

fn pushes(push: &Push, other: &Sha) -> Vec<Pushed> {
    vec![
        Pushed::Landed,
        Pushed::Foreign { head: other.clone(), tree: None },
        Pushed::Foreign { head: other.clone(), tree: Some(push.tree.clone()) },
        Pushed::BranchGone,
        Pushed::Rejected { reason: "protected branch hook declined".to_owned() },
    ]
}

fn probes(push: &Push, other: &Sha) -> Vec<Probed> {
    vec![
        Probed::Landed { head: push.to.clone() },
        Probed::Landed { head: other.clone() },
        Probed::NotYet,
        Probed::Foreign { head: other.clone(), tree: None },
        Probed::Foreign { head: other.clone(), tree: Some(push.tree.clone()) },
        Probed::Rewound,
        Probed::BranchGone,
    ]
}

/// The number of an answer among all that there are. No wildcard: whoever adds an answer is led here.
fn place(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Planned(_) => 0,
        Outcome::Tidied => 1,
        Outcome::Merged(Merged::Unchanged { .. }) => 2,
        Outcome::Merged(Merged::Advance { .. }) => 3,
        Outcome::Merged(Merged::Conflict { with: MergedWith::Predecessor, .. }) => 4,
        Outcome::Merged(Merged::Conflict { with: MergedWith::BeforeSquash, .. }) => 5,
        Outcome::Merged(Merged::Conflict { with: MergedWith::Default, .. }) => 6,
        Outcome::Merged(Merged::BranchGone) => 7,
        Outcome::Merged(Merged::PullRefGone { .. }) => 8,
        Outcome::Merged(Merged::NotPrepared(_)) => 9,
        Outcome::Merged(Merged::Withdrawn(_)) => 10,
        Outcome::Merged(Merged::Differs(_)) => 11,
        Outcome::Merged(Merged::NotASquash { .. }) => 12,
        Outcome::Pushed(Pushed::Landed) => 13,
        Outcome::Pushed(Pushed::Foreign { .. }) => 14,
        Outcome::Pushed(Pushed::BranchGone) => 15,
        Outcome::Pushed(Pushed::Rejected { .. }) => 16,
        Outcome::Probed(Probed::Landed { .. }) => 17,
        Outcome::Probed(Probed::NotYet) => 18,
        Outcome::Probed(Probed::Foreign { .. }) => 19,
        Outcome::Probed(Probed::Rewound) => 20,
        Outcome::Probed(Probed::BranchGone) => 21,
        Outcome::Expected(Expected::Tree { .. }) => 22,
        Outcome::Expected(Expected::Differs(_)) => 23,
        Outcome::Expected(Expected::NotRelated { .. }) => 24,
        Outcome::Expected(Expected::Rewound { .. }) => 25,
        Outcome::Expected(Expected::HeadChanged { .. }) => 26,
        Outcome::Expected(Expected::Conflict(_)) => 27,
        Outcome::Expected(Expected::PullRefGone) => 28,
        Outcome::Squashed(Squashed::Merged { .. }) => 29,
        Outcome::Squashed(Squashed::HeadChanged) => 30,
        Outcome::Squashed(Squashed::BaseChanged { .. }) => 31,
        Outcome::Squashed(Squashed::Refused { .. }) => 32,
        Outcome::Seen(Seen::Open { .. }) => 33,
        Outcome::Seen(Seen::Closed) => 34,
        Outcome::Seen(Seen::Merged { .. }) => 35,
        Outcome::Proved(Proof::Proven) => 36,
        Outcome::Proved(Proof::WrongTree { .. }) => 37,
        Outcome::Proved(Proof::NotASquash { .. }) => 38,
        Outcome::Proved(Proof::OtherHead { .. }) => 39,
        Outcome::Proved(Proof::CannotTell { .. }) => 40,
        Outcome::Proved(Proof::Missing { .. }) => 41,
        Outcome::Retargeted(Retargeted::Done) => 42,
        Outcome::Retargeted(Retargeted::NotOpen) => 43,
        Outcome::Merged(Merged::Missing { .. }) => 44,
    }
}

/// One work of each kind, in the order of `WORKS`.
fn one_of_each() -> Vec<Work> {
    use crate::repo::trains::work::{Landed, OwnChange, PushKind, Step, Tidying, Via};
    let (pull, head, base) = (pr(1), sha(1), branch("main"));
    let push = Push {
        kind: PushKind::Prep,
        pull,
        branch: branch("feature-1"),
        from: sha(1),
        to: sha(2),
        tree: sha(3),
        contains: Vec::new(),
    };
    let change = OwnChange { pull, people_head: None, below: Vec::new() };
    let landed = Landed { pull, commit: sha(1), head: None, known_before: None, former_heads: Vec::new() };
    let member = crate::repo::trains::plan::Member::new(pull, branch("feature-1"), base.clone(), None);
    vec![
        Work::Plan { members: vec![member], default: base.clone() },
        Work::Merge { step: Step::UpdateRoot, pull, branch: branch("feature-1"), default: base.clone() },
        Work::Push(push.clone()),
        Work::Probe(push),
        Work::Expect { change, head: head.clone(), default: base.clone() },
        Work::Squash { pull, head, base: base.clone(), via: Via::Now, wording: Wording::default() },
        Work::Look { pull },
        Work::Prove { landed, earlier: Vec::new(), default: base.clone() },
        Work::Retarget { pull, base },
        Work::Worktrees(Tidying::Clean),
    ]
}

#[test]
fn every_answer_that_there_is_can_be_given() {
    let mut hub = Hub::new(&[0]);
    let works = one_of_each();
    assert_eq!(works.iter().map(Work::name).collect::<Vec<_>>(), WORKS);
    let places: BTreeSet<usize> = works.iter().flat_map(|work| possible(work, &mut hub)).map(|it| place(&it)).collect();
    assert_eq!(places, (0..=44).collect());
}

/// Whether an effect is one that can fail here.
pub(super) fn is_listed(effect: &Effect) -> bool {
    WORKS.contains(&effect.name()) || READS_AND_WRITES.contains(&effect.name())
}
