//! A whole cascade, computed in the object store: the same steps as the real one, and no remote hears of it.

use std::collections::BTreeMap;

use merge_train_core::ids::{BranchName, PrNumber, Sha};
use merge_train_core::plan::{ConflictsWith, Member, Plan, PlannedStep, PredictedConflict, PushReason};

use crate::cascade::{Branch, Clash, Merging, Step};
use crate::merge::{Attributes, Head};
use crate::proof::Squash;
use crate::repository::{Repository, Wanted};
use crate::stack::Stack;
use crate::{Error, Objects, Oid};

impl Stack {
    /// What landing the stack that `members` form would do. The root is the one without a predecessor among them.
    pub async fn plan(&self, members: &[Member], default: &BranchName) -> Result<Plan, Error> {
        let mut all: Vec<Wanted> = members.iter().map(wanted).collect();
        all.push(Wanted::Default(default.clone()));
        let heads = self.fetch(&all).await?;
        let mut at = BTreeMap::new();
        for member in members {
            at.insert(member.pull, heads.of(&wanted(member))?.clone());
        }
        let main = heads.of(&Wanted::Default(default.clone()))?.clone();
        let generation = self.repository().generation();
        match self.plan_from(members, default, &at, &main).await {
            Ok(plan) => Ok(plan),
            Err(error) => {
                self.repository().heal(generation, error).await?;
                self.fetch(&all).await?;
                self.plan_from(members, default, &at, &main).await
            }
        }
    }

    async fn plan_from(
        &self,
        members: &[Member],
        default: &BranchName,
        heads: &BTreeMap<PrNumber, Oid>,
        main: &Oid,
    ) -> Result<Plan, Error> {
        let aside = self.repository().aside()?;
        let objects = self.objects().unsigned().writing_into(aside.path());
        let root = root_of(members)?;
        let plan = Plan {
            root: root.pull,
            default_branch: default.clone(),
            steps: Vec::new(),
            conflicts: Vec::new(),
            unreached: Vec::new(),
        };
        Planner { objects, members, heads, main: main.clone(), plan }.run(root).await
    }
}

impl Repository {
    /// A folder for objects that are only looked at.
    fn aside(&self) -> Result<tempfile::TempDir, Error> {
        let folder = tempfile::Builder::new().prefix(".plan-").tempdir_in(self.folder());
        folder.map_err(Error::io("making a folder to plan in"))
    }
}

fn wanted(member: &Member) -> Wanted {
    Wanted::Branch(member.pull, member.branch.clone())
}

fn root_of(members: &[Member]) -> Result<&Member, Error> {
    let known = |number: PrNumber| members.iter().any(|member| member.pull == number);
    let mut roots = members.iter().filter(|member| !member.predecessor.is_some_and(known));
    match (roots.next(), roots.next()) {
        (Some(root), None) => Ok(root),
        (None, _) => Err(Error::Refused("a stack whose pull requests all have a predecessor in it is a cycle".into())),
        (Some(one), Some(other)) => {
            Err(Error::Refused(format!("#{} and #{} do not belong to one stack", one.pull, other.pull)))
        }
    }
}

struct Planner<'a> {
    objects: Objects,
    members: &'a [Member],
    heads: &'a BTreeMap<PrNumber, Oid>,
    /// The default branch, as it would be by now.
    main: Oid,
    plan: Plan,
}

/// A pull request that is the root of what is left of its stack.
struct Ready<'a> {
    member: &'a Member,
    head: Oid,
    /// The default branch as it last saw it.
    saw: Oid,
}

impl<'a> Planner<'a> {
    async fn run(mut self, root: &'a Member) -> Result<Plan, Error> {
        let head = self.head_of(root)?;
        let mut ready = vec![Ready { member: root, head, saw: self.main.clone() }];
        while let Some(next) = ready.pop() {
            // The last is taken first: the first-born of a fan-out goes on before its siblings.
            ready.extend(self.land(next).await?.into_iter().rev());
        }
        Ok(self.plan)
    }

    /// Lands one pull request; what comes back are its descendants, ready to land.
    async fn land(&mut self, ready: Ready<'a>) -> Result<Vec<Ready<'a>>, Error> {
        let Ready { member, mut head, saw } = ready;
        if saw != self.main {
            let step = self.objects.catch_up(self.branch(member, &head), &self.main).await?;
            let Some(caught_up) = self.record(member, step, PushReason::CatchUp) else { return Ok(Vec::new()) };
            head = caught_up.commit;
        }
        let descendants = self.descendants(member);
        let mut prepared = Vec::new();
        let number = member.pull;
        for descendant in descendants {
            let old = self.head_of(descendant)?;
            let step = self.objects.prepare(self.branch(descendant, &old), number, &head).await?;
            if let Some(head) = self.record(descendant, step, PushReason::Prepare(number)) {
                prepared.push((descendant, head.commit));
            }
        }
        let Some(squash) = self.squash(member, &head).await? else {
            prepared.iter().for_each(|(descendant, _)| self.give_up(descendant));
            return Ok(Vec::new());
        };
        let mut ready = Vec::new();
        for (descendant, head) in prepared {
            let step = self.objects.reconcile(self.branch(descendant, &head), &squash).await?;
            let Some(reconciled) = self.record(descendant, step, PushReason::Reconcile(number)) else { continue };
            self.plan.steps.push(PlannedStep::Retarget {
                pull: descendant.pull,
                from: descendant.base.clone(),
                to: self.plan.default_branch.clone(),
            });
            ready.push(Ready { member: descendant, head: reconciled.commit, saw: self.main.clone() });
        }
        Ok(ready)
    }

    /// Squashes as GitHub would.
    async fn squash(&mut self, member: &Member, head: &Oid) -> Result<Option<Squash>, Error> {
        let tree = match self.objects.merge_trees(&self.main, head, Attributes::Ignored).await? {
            Ok(tree) => tree,
            Err(conflict) => {
                self.conflict(member, Clash { merging: Merging::Default, conflict });
                return Ok(None);
            }
        };
        let pull = member.pull;
        let commit = self.objects.write_commit(&tree, &[&self.main], &format!("Squash of #{pull}")).await?;
        let parent = std::mem::replace(&mut self.main, commit.clone());
        self.plan.steps.push(PlannedStep::Squash { pull, tree: Sha::from(&tree) });
        Ok(Some(Squash::planned(commit, parent, tree)))
    }

    /// Notes what a step would do; where the branch is then, if the step can be done.
    fn record(&mut self, member: &Member, step: Step, why: PushReason) -> Option<Head> {
        let head = step.head();
        match step {
            Step::Unchanged(_) => {}
            Step::Advance(advance) => {
                let tree = Sha::from(&advance.tree);
                let (pull, branch) = (member.pull, member.branch.clone());
                self.plan.steps.push(PlannedStep::Push { pull, branch, why, tree });
            }
            Step::Conflict(clash) => self.conflict(member, clash),
        }
        head
    }

    fn conflict(&mut self, member: &Member, clash: Clash) {
        let with = match clash.merging {
            Merging::Predecessor(number) => ConflictsWith::Predecessor(number),
            Merging::BeforeSquash | Merging::Default => ConflictsWith::DefaultBranch,
        };
        let pull = member.pull;
        self.plan.conflicts.push(PredictedConflict { pull, with, conflict: clash.conflict });
        self.give_up(member);
    }

    /// Neither `member` nor what stands on it would land.
    fn give_up(&mut self, member: &Member) {
        let mut left = vec![member.pull];
        while let Some(number) = left.pop() {
            if !self.plan.unreached.contains(&number) {
                self.plan.unreached.push(number);
                let above = self.members.iter().filter(|member| member.predecessor == Some(number));
                left.extend(above.map(|member| member.pull));
            }
        }
        self.plan.unreached.sort();
    }

    fn descendants(&self, member: &Member) -> Vec<&'a Member> {
        self.members.iter().filter(|other| other.predecessor == Some(member.pull)).collect()
    }

    fn head_of(&self, member: &Member) -> Result<Oid, Error> {
        let head = self.heads.get(&member.pull);
        head.cloned().ok_or_else(|| Error::BranchGone(member.branch.clone()))
    }

    fn branch<'b>(&'b self, member: &'b Member, head: &'b Oid) -> Branch<'b> {
        Branch { name: &member.branch, head, default: &self.plan.default_branch }
    }
}
