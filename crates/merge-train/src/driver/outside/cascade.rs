//! The cascade's own work in git: what a stack would come to, its merges and its pushes.

use git::cascade::{Advance, Clash, Merging, Step as Computed};
use git::proof::{NotSquash, Squash};
use git::push::{Expected as Intended, PushProbe, Pushed as Sent};
use git::repository::Wanted;
use git::stack::{Claim, Pull, Stack};
use git::{Error, Oid};
use merge_train_core::ids::{BranchName, PrNumber, Sha};
use merge_train_core::plan::{Member, Plan};
use merge_train_core::repo::Failure;
use merge_train_core::train::work::{Landed, Merged, MergedWith, Probed, Push, Pushed, Step};

use super::Errand;
use super::failure::{of_git, permanent, transient};

/// A branch that something is merged into, for a train.
pub(super) struct Target<'a> {
    pub root: PrNumber,
    pub pull: PrNumber,
    pub branch: &'a BranchName,
    pub default: &'a BranchName,
}

impl Target<'_> {
    fn pull(&self) -> Pull {
        Pull { number: self.pull, branch: self.branch.clone() }
    }
}

impl Errand<'_> {
    /// The train's view of the clone.
    pub(super) async fn stack(&self, root: PrNumber) -> Result<Stack, Failure> {
        let repository = self.github.clones.open(self.name).await.map_err(of_git)?;
        repository.stack(root, self.cancel.clone()).await.map_err(of_git)
    }

    /// What landing a stack would do. Nothing of it stays in the clone.
    pub(super) async fn plan(&self, members: &[Member], default: &BranchName) -> Result<Plan, Failure> {
        let computed = async {
            let view = self.github.clones.open(self.name).await?.glance(self.cancel.clone()).await?;
            let plan = view.plan(members, default).await;
            if let Err(error) = view.close().await {
                tracing::warn!(repo = %self.name, %error, "something of a plan is left behind; housekeeping removes it");
            }
            plan
        };
        computed.await.map_err(of_git)
    }

    pub(super) async fn merge(&self, target: &Target<'_>, step: &Step) -> Result<Merged, Failure> {
        let stack = self.stack(target.root).await?;
        match computed(&stack, target, step).await {
            Ok(merged) => Ok(merged),
            Err(Error::BranchGone(gone)) if gone == *target.branch => Ok(Merged::BranchGone),
            Err(Error::PullRefGone(pull)) => Ok(Merged::PullRefGone { pull }),
            Err(error) => Err(of_git(error)),
        }
    }

    pub(super) async fn push(&self, root: PrNumber, push: &Push) -> Result<Pushed, Failure> {
        let stack = self.stack(root).await?;
        let advance = Advance { from: oid(&push.from)?, to: oid(&push.to)?, tree: oid(&push.tree)? };
        if !stack.objects().contains(&advance.to, &advance.to).await.map_err(of_git)? {
            let (to, pull) = (&push.to, push.pull);
            return Err(transient(format!(
                "{to}, which was to be pushed for #{pull}, is not in the clone any more; it is computed anew"
            )));
        }
        Ok(match stack.push(&push.branch, &advance).await.map_err(of_git)? {
            Sent::Landed => Pushed::Landed,
            Sent::ForeignAdvance { head } => {
                let tree = tree_on_remote(&stack, push, &head).await;
                Pushed::Foreign { head: Sha::from(&head), tree }
            }
            Sent::BranchGone => Pushed::BranchGone,
            Sent::Rejected { reason } => Pushed::Rejected { reason },
            Sent::Transient { reason } => {
                return Err(transient(format!("the push to {} did not get through: {reason}", push.branch)));
            }
        })
    }

    pub(super) async fn probe(&self, root: PrNumber, push: &Push) -> Result<Probed, Failure> {
        let stack = self.stack(root).await?;
        let contains = push.contains.iter().map(oid).collect::<Result<_, _>>()?;
        let expected = Intended { from: oid(&push.from)?, tree: oid(&push.tree)?, contains };
        let branch = Wanted::Branch(push.pull, push.branch.clone());
        Ok(match stack.probe_push(&branch, &expected).await.map_err(of_git)? {
            PushProbe::Landed { head } => Probed::Landed { head: Sha::from(&head) },
            PushProbe::NotYet => Probed::NotYet,
            PushProbe::Foreign { head } => {
                let tree = stack.objects().commit(&head).await.ok().map(|commit| Sha::from(&commit.tree));
                Probed::Foreign { head: Sha::from(&head), tree }
            }
            PushProbe::Rewound { .. } => Probed::Rewound,
            PushProbe::BranchGone => Probed::BranchGone,
        })
    }
}

async fn computed(stack: &Stack, target: &Target<'_>, step: &Step) -> Result<Merged, Error> {
    let (pull, default) = (target.pull(), target.default);
    match step {
        Step::Prepare { predecessor } => {
            let step = stack.prepare(&pull, *predecessor, default).await?;
            let brought_in = brought_in(stack, &[Wanted::Pull(*predecessor)], None).await?;
            Ok(merged(step, brought_in))
        }
        Step::CatchUp => {
            let step = stack.catch_up(&pull, default).await?;
            Ok(merged(step, brought_in(stack, &[Wanted::Default(default.clone())], None).await?))
        }
        Step::UpdateRoot => {
            let step = stack.update_root(&pull, default).await?;
            Ok(merged(step, brought_in(stack, &[Wanted::Default(default.clone())], None).await?))
        }
        Step::Reconcile { landed } => match validated(stack, landed, default).await? {
            Err(refusal) => Ok(Merged::NotASquash { reason: refusal.how(), advice: refusal.to_string() }),
            Ok(squash) => reconciled(stack, &pull, landed, &squash, default).await,
        },
        Step::AddLate { landed } => match validated(stack, landed, default).await? {
            Err(refusal) => unrelated(stack, &pull, landed, &refusal).await,
            Ok(squash) => {
                let step = stack.add_late(&pull, landed.pull, &squash, default).await?;
                let wanted = [Wanted::Pull(landed.pull), Wanted::Default(default.clone())];
                Ok(merged(step, brought_in(stack, &wanted, Some(&squash)).await?))
            }
        },
    }
}

/// What landed is no squash. Somebody may have brought the branch into order by hand, however it landed: then it has the commit.
async fn unrelated(stack: &Stack, pull: &Pull, landed: &Landed, refusal: &NotSquash) -> Result<Merged, Error> {
    let wanted = [pull.wanted()];
    let heads = stack.fetch(&wanted).await?;
    let head = heads.of(&wanted[0])?;
    if stack.objects().contains(head, &known(&landed.commit)?).await? {
        return Ok(Merged::Unchanged { head: Sha::from(head) });
    }
    Ok(Merged::NotASquash { reason: refusal.how(), advice: refusal.to_string() })
}

/// **Invariant:** only what was prepared is related to the squash; anything else would lose what it lacks.
async fn reconciled(
    stack: &Stack,
    pull: &Pull,
    landed: &Landed,
    squash: &Squash,
    default: &BranchName,
) -> Result<Merged, Error> {
    let step = stack.reconcile(pull, squash, default).await?;
    if let Computed::Unchanged(head) = &step {
        return Ok(Merged::Unchanged { head: Sha::from(&head.commit) });
    }
    // Of the very head that the step was computed from: nothing is fetched in between.
    let heads = stack.heads().await?;
    let predecessor = match &landed.head {
        Some(head) => known(head)?,
        None => heads.of(&Wanted::Pull(landed.pull))?.clone(),
    };
    if !stack.objects().contains(heads.of(&pull.wanted())?, &predecessor).await? {
        return Ok(Merged::NotPrepared);
    }
    Ok(merged(step, vec![Sha::from(squash.commit())]))
}

/// Whether what landed is a squash; if not, why.
pub(super) async fn validated(
    stack: &Stack,
    landed: &Landed,
    default: &BranchName,
) -> Result<Result<Squash, NotSquash>, Error> {
    let known_before = landed.known_before.as_ref().map(known).transpose()?;
    let claim = Claim { pull: landed.pull, merge_commit: known(&landed.commit)?, commits: None, known_before };
    stack.validate(&claim, default).await
}

/// What a step that has just been computed brought into the branch.
async fn brought_in(stack: &Stack, wanted: &[Wanted], squash: Option<&Squash>) -> Result<Vec<Sha>, Error> {
    let heads = stack.heads().await?;
    let mut all = Vec::new();
    for wanted in wanted {
        all.push(Sha::from(heads.of(wanted)?));
    }
    all.extend(squash.map(|squash| Sha::from(squash.commit())));
    Ok(all)
}

fn merged(step: Computed, contains: Vec<Sha>) -> Merged {
    match step {
        Computed::Unchanged(head) => Merged::Unchanged { head: Sha::from(&head.commit) },
        Computed::Advance(Advance { from, to, tree }) => {
            Merged::Advance { from: Sha::from(&from), to: Sha::from(&to), tree: Sha::from(&tree), contains }
        }
        Computed::Conflict(Clash { merging, conflict }) => {
            let with = match merging {
                Merging::Predecessor(_) => MergedWith::Predecessor,
                Merging::BeforeSquash => MergedWith::BeforeSquash,
                Merging::Default => MergedWith::Default,
            };
            Merged::Conflict { with, conflict }
        }
    }
}

/// The tree of what somebody else pushed; none if it cannot be fetched, or is not there any more.
async fn tree_on_remote(stack: &Stack, push: &Push, head: &Oid) -> Option<Sha> {
    stack.fetch(&[Wanted::Branch(push.pull, push.branch.clone())]).await.ok()?;
    Some(Sha::from(&stack.objects().commit(head).await.ok()?.tree))
}

/// The name of an object, as git takes it.
pub(super) fn oid(sha: &Sha) -> Result<Oid, Failure> {
    Oid::try_from(sha).map_err(|error| permanent(error.to_string()))
}

fn known(sha: &Sha) -> Result<Oid, Error> {
    Oid::try_from(sha).map_err(|error| Error::Refused(error.to_string()))
}
