//! What a train asks of git, and what came of it, in the words of the deciders.

use merge_train_core::ids::{BranchName, Sha};
use merge_train_core::repo::trains::work::{
    AuthoredHead, BranchMergeOutcome, BranchPush, ExpectedTree, LandedSquash, LandedTreeProof, MergeStep, MergedWith,
    OwnChange, PushOutcome, PushProbeResult, WithdrawnCommits,
};

use crate::cascade::{Advance, Branch, CatchUp, Clash, Merging, Predecessor, Step};
use crate::proof::{Below, Candidate, LandedProof, Landing, NotSquash, Squash, TwoWays};
use crate::push::{self, PushProbe};
use crate::repository::{Heads, Wanted};
use crate::stack::{Claim, Pull, Stack};
use crate::{Error, Oid};

/// How many withdrawn commits are named in a comment.
const WITHDRAWN_NAMED: &str = "--max-count=10";

impl Stack {
    /// Computes a merge into the branch of a pull request. Nothing is pushed.
    ///
    /// **Invariant:** nothing is computed that would be pushed to the default branch: only squashes get there.
    pub async fn merge_for_train(
        &self,
        pull: &Pull,
        step: &MergeStep,
        default: &BranchName,
    ) -> Result<BranchMergeOutcome, Error> {
        if pull.branch == *default {
            let number = pull.number;
            return Err(Error::Refused(format!(
                "#{number} is a pull request of {default} itself, where only squashes may go"
            )));
        }
        let generation = self.repository().generation();
        let merged = match self.try_merge(pull, step, default).await {
            Err(error) => match self.repository().heal(generation, error).await {
                Ok(()) => self.try_merge(pull, step, default).await,
                Err(error) => Err(error),
            },
            merged => merged,
        };
        match merged {
            Err(Error::BranchGone(gone)) if gone == pull.branch => Ok(BranchMergeOutcome::BranchGone),
            Err(Error::PullRefGone(pull)) => Ok(BranchMergeOutcome::PullRefGone { pull }),
            merged => merged,
        }
    }

    async fn try_merge(
        &self,
        pull: &Pull,
        step: &MergeStep,
        default: &BranchName,
    ) -> Result<BranchMergeOutcome, Error> {
        match step {
            MergeStep::Prepare { predecessor, prepared_with, former_heads } => {
                let former_heads = former_heads.iter().map(oid).collect::<Result<Vec<_>, _>>()?;
                let step = self.prepare_on(pull, *predecessor, &former_heads, default).await?;
                let heads = self.heads().await?;
                let (head, below) = (heads.of(&pull.wanted())?, heads.of(&Wanted::Pull(*predecessor))?);
                if let Some(withdrawn) = self.withdrawn(head, below, prepared_with).await? {
                    return Ok(BranchMergeOutcome::Withdrawn(withdrawn));
                }
                let standing = match &step {
                    Step::Conflict(_) => {
                        let (pull, former_heads) = (*predecessor, former_heads.as_slice());
                        self.objects()
                            .standing_on_rewritten(head, Predecessor { pull, head: below, former_heads })
                            .await?
                    }
                    Step::Unchanged(_) | Step::Advance(_) => None,
                };
                Ok(merged(step, vec![Sha::from(below)], standing))
            }
            MergeStep::UpdateRoot => {
                let step = self.update_root(pull, default).await?;
                let heads = self.heads().await?;
                Ok(merged(step, vec![Sha::from(heads.of(&Wanted::Default(default.clone()))?)], None))
            }
            MergeStep::Reconcile { landed } => self.reconcile_for_train(pull, landed, default).await,
            MergeStep::CatchUp { change } => self.relate(pull, change, default, CatchUp::Always).await,
            MergeStep::AddLate { change } => self.relate(pull, change, default, CatchUp::IfRelatedAnew).await,
        }
    }

    /// Moves a branch as it was intended, or says what was in the way.
    pub async fn push_for_train(&self, push: &BranchPush) -> Result<PushOutcome, Error> {
        let advance = Advance { from: oid(&push.from)?, to: oid(&push.to)?, tree: oid(&push.tree)? };
        if !self.objects().contains(&advance.to, &advance.to).await? {
            let (to, pull) = (&push.to, push.pull);
            let message = format!("{to}, the commit to push for #{pull}, is not in the clone any more");
            return Err(self.unreachable(&message));
        }
        Ok(match self.push(&push.branch, &advance).await? {
            push::Pushed::Landed => PushOutcome::Landed,
            push::Pushed::ForeignAdvance { head } => {
                let tree = self.tree_on_remote(push, &head).await;
                PushOutcome::Foreign { head: Sha::from(&head), tree }
            }
            push::Pushed::BranchGone => PushOutcome::BranchGone,
            push::Pushed::Rejected { reason } => PushOutcome::Rejected { reason },
            push::Pushed::Transient { reason } => {
                return Err(self.unreachable(&format!("the push to {} did not get through: {reason}", push.branch)));
            }
        })
    }

    /// Finds out what became of a push that was intended.
    pub async fn probe_for_train(&self, push: &BranchPush) -> Result<PushProbeResult, Error> {
        let contains = push.contains.iter().map(oid).collect::<Result<_, _>>()?;
        let expected = push::Expected { from: oid(&push.from)?, tree: oid(&push.tree)?, contains };
        let branch = Wanted::Branch(push.pull, push.branch.clone());
        Ok(match self.probe_push(&branch, &expected).await? {
            PushProbe::Landed { head } => PushProbeResult::Landed { head: Sha::from(&head) },
            PushProbe::NotYet => PushProbeResult::NotYet,
            PushProbe::Foreign { head } => {
                let tree = self.objects().commit(&head).await.ok().map(|commit| Sha::from(&commit.tree));
                PushProbeResult::Foreign { head: Sha::from(&head), tree }
            }
            PushProbe::Rewound { .. } => PushProbeResult::Rewound,
            PushProbe::BranchGone => PushProbeResult::BranchGone,
        })
    }

    /// What a squash of `head` is to put on the default branch, computed in two ways.
    ///
    /// **Invariant:** what was stacked on a pull request that landed is squashed only if its head contains that squash.
    pub async fn expect_for_train(
        &self,
        change: &OwnChange,
        head: &Sha,
        default: &BranchName,
    ) -> Result<ExpectedTree, Error> {
        let own = Wanted::Pull(change.pull);
        let (heads, below) = match self.fetch_with_below(std::slice::from_ref(&own), change, default).await {
            Err(Error::PullRefGone(gone)) if gone == change.pull => return Ok(ExpectedTree::PullRefGone),
            fetched => fetched?,
        };
        let default_head = heads.of(&Wanted::Default(default.clone()))?;
        let found = heads.of(&own)?;
        if *found != oid(head)? {
            return Ok(ExpectedTree::HeadChanged { head: Sha::from(found) });
        }
        let objects = self.objects();
        let below = match objects.still_landed(below, found, default_head).await? {
            Ok(below) => below,
            Err(gone) => return Ok(ExpectedTree::Rewound { pull: gone.pull, commit: Sha::from(&gone.squash) }),
        };
        if let Some(missing) = objects.lacking(found, &below).await? {
            return Ok(ExpectedTree::NotRelated { pull: missing.pull });
        }
        let people_head = change.people_head.as_ref().map(oid).transpose()?;
        let candidate = Candidate { head: found, people_head: people_head.as_ref(), below: &below, default_head };
        Ok(match objects.two_ways(candidate).await? {
            TwoWays::Same { tree, standing } => {
                ExpectedTree::Tree { default_head: Sha::from(default_head), tree: Sha::from(&tree), standing }
            }
            TwoWays::Differ(difference) => ExpectedTree::Differs(difference),
            TwoWays::Conflict(conflict) => ExpectedTree::Conflict(conflict),
        })
    }

    /// Whether what landed is the squash of what was to land, and what landed before is still there.
    pub async fn prove_for_train(
        &self,
        landed: &LandedSquash,
        earlier: &[LandedSquash],
        default: &BranchName,
    ) -> Result<LandedTreeProof, Error> {
        let squash = match self.validated(landed, default).await? {
            Ok(squash) => squash,
            Err(NotSquash::CommitElsewhere { commit, pull }) => {
                return Ok(LandedTreeProof::Missing { pull, commit: Sha::from(&commit) });
            }
            Err(refusal) => return Ok(LandedTreeProof::NotASquash { reason: refusal.how() }),
        };
        let heads = self.heads().await?;
        let objects = self.objects();
        let default_head = heads.of(&Wanted::Default(default.clone()))?;
        let earlier = earlier.iter().map(|landed| below(landed, None)).collect::<Result<Vec<_>, _>>()?;
        if let Some(missing) = objects.lacking(default_head, &earlier).await? {
            return Ok(LandedTreeProof::Missing { pull: missing.pull, commit: Sha::from(&missing.squash) });
        }
        let on_github = heads.of(&Wanted::Pull(landed.pull))?.clone();
        let head = landed.head.as_ref().map_or_else(|| Ok(on_github.clone()), oid)?;
        if !objects.contains(&head, &head).await? {
            let pull = landed.pull;
            let reason = format!("{head}, the head of #{pull} that was squashed, can no longer be fetched");
            return Ok(LandedTreeProof::CannotTell { reason });
        }
        let proof = objects.prove_landed(&squash, &head).await?;
        if proof != LandedProof::Proven
            && on_github != head
            && objects.prove_landed(&squash, &on_github).await? == LandedProof::Proven
        {
            // Somebody merged what was pushed after the last look. GitHub did nothing wrong.
            return Ok(LandedTreeProof::OtherHead { head: Sha::from(&on_github) });
        }
        Ok(match proof {
            LandedProof::Proven => LandedTreeProof::Proven,
            LandedProof::WrongTree { expected, found, files, .. } => {
                LandedTreeProof::WrongTree { expected: Sha::from(&expected), found: Sha::from(&found), files }
            }
            LandedProof::CannotTell(conflict) => {
                let reason = format!("merging it here conflicts, although GitHub merged it: {conflict}");
                LandedTreeProof::CannotTell { reason }
            }
        })
    }

    /// **Invariant:** only what was prepared is related to the squash; anything else would lose what it lacks.
    async fn reconcile_for_train(
        &self,
        pull: &Pull,
        landed: &LandedSquash,
        default: &BranchName,
    ) -> Result<BranchMergeOutcome, Error> {
        let squash = match self.validated(landed, default).await? {
            Ok(squash) => squash,
            Err(refusal) => {
                let wanted = [pull.wanted(), Wanted::Default(default.clone())];
                let heads = self.fetch(&wanted).await?;
                let (head, default_head) = (heads.of(&wanted[0])?, heads.of(&wanted[1])?);
                let below = [below(landed, heads.of(&Wanted::Pull(landed.pull)).ok())?];
                let candidate = Candidate { head, people_head: None, below: &below, default_head };
                return Ok(not_a_squash(&refusal, self.objects().standing(candidate).await?));
            }
        };
        let step = self.reconcile(pull, &squash, default).await?;
        if let Step::Unchanged(head) = &step {
            return Ok(BranchMergeOutcome::Unchanged { head: Sha::from(&head.commit) });
        }
        // Of the very head that the step was computed from: nothing is fetched in between.
        let heads = self.heads().await?;
        let head = heads.of(&pull.wanted())?;
        let below = [below(landed, heads.of(&Wanted::Pull(landed.pull)).ok())?];
        let objects = self.objects();
        let is_prepared = objects.contains(head, &below[0].head).await?;
        if is_prepared && !matches!(step, Step::Conflict(_)) {
            return Ok(merged(step, vec![Sha::from(squash.commit())], None));
        }
        let default_head = heads.of(&Wanted::Default(default.clone()))?;
        let standing = objects.standing(Candidate { head, people_head: None, below: &below, default_head }).await?;
        match is_prepared {
            true => Ok(merged(step, Vec::new(), Some(standing))),
            false => Ok(BranchMergeOutcome::NotPrepared(standing)),
        }
    }

    /// Relates a pull request to all that landed below it, as far as it lacks any of it, and holds what comes of that against
    /// its own change alone.
    async fn relate(
        &self,
        pull: &Pull,
        change: &OwnChange,
        default: &BranchName,
        catch_up: CatchUp,
    ) -> Result<BranchMergeOutcome, Error> {
        let (heads, below) = self.fetch_with_below(&[pull.wanted()], change, default).await?;
        let (head, default_head) = (heads.of(&pull.wanted())?, heads.of(&Wanted::Default(default.clone()))?);
        let objects = self.objects();
        // To merge a default branch that was rewound would bring back what this branch deleted of what is gone from it.
        let below = match objects.still_landed(below, head, default_head).await? {
            Ok(below) => below,
            Err(gone) => return Ok(BranchMergeOutcome::Missing { pull: gone.pull, commit: Sha::from(&gone.squash) }),
        };
        let lacked = objects.lacked(head, &below).await?;
        let is_related = lacked.is_empty();
        if is_related && catch_up == CatchUp::IfRelatedAnew {
            return Ok(BranchMergeOutcome::Unchanged { head: Sha::from(head) });
        }
        let people_head = change.people_head.as_ref().map(oid).transpose()?;
        let candidate = Candidate { head, people_head: people_head.as_ref(), below: &below, default_head };
        // What landed below it was on the default branch before: two squashes in a row look like one rebase otherwise.
        let known_before = |pull| {
            let index = change.below.iter().position(|landed| landed.pull == pull)?;
            let read = change.below[index].known_before.as_ref();
            read.or_else(|| index.checked_sub(1).map(|before| &change.below[before].commit))
        };
        let mut squashes: Vec<(&Below, Squash)> = Vec::new();
        for below in lacked {
            let landing = Landing {
                pull: below.pull,
                merge_commit: below.squash.clone(),
                pull_head: below.head.clone(),
                pull_commits: None,
                default_head: default_head.clone(),
                known_before: known_before(below.pull).map(oid).transpose()?,
            };
            match objects.validate_squash(&landing).await? {
                Ok(squash) => squashes.push((below, squash)),
                Err(refusal) => return Ok(not_a_squash(&refusal, objects.standing(candidate).await?)),
            }
        }
        let branch = Branch { name: &pull.branch, head, default };
        let related: Vec<(&Below, &Squash)> = squashes.iter().map(|(below, squash)| (*below, squash)).collect();
        let step = objects.relate_to_all(branch, &related, default_head, catch_up).await?;
        if let Some(head) = step.head() {
            self.show(&head.commit).await?;
        }
        let mut brought_in = vec![Sha::from(default_head)];
        brought_in.extend(related.iter().map(|(_, squash)| Sha::from(squash.commit())));
        match &step {
            Step::Advance(advance) if !related.is_empty() => {
                let candidate = Candidate { head: &advance.to, ..candidate };
                if let TwoWays::Differ(mut difference) = objects.second_way(candidate, advance.tree.clone()).await? {
                    // What was computed is in no branch.
                    difference.standing.head = Some(Sha::from(head));
                    difference.commits = objects.own_commits(head, default_head).await?;
                    return Ok(BranchMergeOutcome::Differs(difference));
                }
                Ok(merged(step, brought_in, None))
            }
            Step::Conflict(_) if !related.is_empty() => {
                Ok(merged(step, brought_in, Some(objects.standing(candidate).await?)))
            }
            Step::Advance(_) | Step::Conflict(_) | Step::Unchanged(_) => Ok(merged(step, brought_in, None)),
        }
    }

    /// Fetches these, the default branch, and the heads of what landed below a pull request. The ref of a pull request that
    /// landed long ago may be gone: then what is remembered of it counts.
    pub(crate) async fn fetch_with_below(
        &self,
        wanted: &[Wanted],
        change: &OwnChange,
        default: &BranchName,
    ) -> Result<(Heads, Vec<Below>), Error> {
        let mut gone = Vec::new();
        loop {
            let mut all = wanted.to_vec();
            all.push(Wanted::Default(default.clone()));
            let there = |landed: &&LandedSquash| !gone.contains(&landed.pull);
            all.extend(change.below.iter().filter(there).map(|landed| Wanted::Pull(landed.pull)));
            let heads = match self.fetch(&all).await {
                Err(Error::PullRefGone(pull))
                    if pull != change.pull
                        && change.below.iter().any(|below| below.pull == pull && below.head.is_some()) =>
                {
                    gone.push(pull);
                    continue;
                }
                heads => heads?,
            };
            let head = |landed: &LandedSquash| {
                let wanted = Wanted::Pull(landed.pull);
                below(landed, heads.of(&wanted).ok().filter(|_| all.contains(&wanted)))
            };
            let below = change.below.iter().map(head).collect::<Result<_, _>>()?;
            return Ok((heads, below));
        }
    }

    /// The commits that the descendant got from a former head of its predecessor, and that the predecessor no longer has.
    async fn withdrawn(
        &self,
        descendant: &Oid,
        predecessor: &Oid,
        prepared_with: &[Sha],
    ) -> Result<Option<WithdrawnCommits>, Error> {
        let objects = self.objects();
        for former in prepared_with.iter().rev() {
            let head = oid(former)?;
            if head == *predecessor
                || !objects.contains(descendant, &head).await?
                || objects.is_ancestor(&head, predecessor).await?
            {
                continue;
            }
            let walk = [WITHDRAWN_NAMED, "--topo-order", head.as_str(), &format!("^{predecessor}")];
            let commits = objects.named_commits(&walk).await?;
            return Ok(Some(WithdrawnCommits { head: former.clone(), commits }));
        }
        Ok(None)
    }

    /// Whether what landed is a squash; if not, why.
    async fn validated(&self, landed: &LandedSquash, default: &BranchName) -> Result<Result<Squash, NotSquash>, Error> {
        let known_before = landed.known_before.as_ref().map(oid).transpose()?;
        let claim = Claim { pull: landed.pull, merge_commit: oid(&landed.commit)?, commits: None, known_before };
        self.validate(&claim, default).await
    }

    /// The tree of what somebody else pushed; none if it cannot be fetched, or is not there any more.
    async fn tree_on_remote(&self, push: &BranchPush, head: &Oid) -> Option<Sha> {
        self.fetch(&[Wanted::Branch(push.pull, push.branch.clone())]).await.ok()?;
        Some(Sha::from(&self.objects().commit(head).await.ok()?.tree))
    }

    fn unreachable(&self, message: &str) -> Error {
        Error::Unreachable { url: self.repository().remote().url().to_owned(), message: message.to_owned() }
    }
}

/// By the head that GitHub has, else by the one that is remembered.
fn below(landed: &LandedSquash, on_github: Option<&Oid>) -> Result<Below, Error> {
    let remembered = landed.head.as_ref().map(oid).transpose()?;
    let head = on_github.cloned().or_else(|| remembered.clone());
    let Some(head) = head else { return Err(Error::PullRefGone(landed.pull)) };
    let mut former_heads = landed.former_heads.iter().map(oid).collect::<Result<Vec<_>, _>>()?;
    former_heads.extend(remembered.filter(|remembered| *remembered != head));
    Ok(Below { pull: landed.pull, squash: oid(&landed.commit)?, head, former_heads })
}

fn not_a_squash(refusal: &NotSquash, standing: AuthoredHead) -> BranchMergeOutcome {
    if let NotSquash::CommitElsewhere { pull, commit } = refusal {
        return BranchMergeOutcome::Missing { pull: *pull, commit: Sha::from(commit) };
    }
    BranchMergeOutcome::NotASquash {
        pull: refusal.pull(),
        reason: refusal.how(),
        advice: refusal.to_string(),
        standing,
    }
}

fn merged(step: Step, contains: Vec<Sha>, standing: Option<AuthoredHead>) -> BranchMergeOutcome {
    match step {
        Step::Unchanged(head) => BranchMergeOutcome::Unchanged { head: Sha::from(&head.commit) },
        Step::Advance(Advance { from, to, tree }) => {
            BranchMergeOutcome::Advance { from: Sha::from(&from), to: Sha::from(&to), tree: Sha::from(&tree), contains }
        }
        Step::Conflict(Clash { merging, conflict }) => {
            let with = match merging {
                Merging::Predecessor(_) => MergedWith::Predecessor,
                Merging::BeforeSquash => MergedWith::BeforeSquash,
                Merging::Default => MergedWith::Default,
            };
            BranchMergeOutcome::Conflict { with, conflict, standing }
        }
    }
}

/// The name of an object, as git takes it.
fn oid(sha: &Sha) -> Result<Oid, Error> {
    Oid::try_from(sha).map_err(|error| Error::Refused(error.to_string()))
}
