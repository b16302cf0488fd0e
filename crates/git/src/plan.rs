//! A whole cascade, computed in the object store: the same steps as the real one, and no remote hears of it.

use std::collections::BTreeMap;

use merge_train_core::ids::{BranchName, PrNumber, Sha};
use merge_train_core::repo::trains::plan as core_plan;
use merge_train_core::repo::trains::plan::{
    ConflictsWith, LandingPlan, PlannedStep, PredictedConflict, PredictedDifference, PushReason, StackMember,
};
use merge_train_core::repo::trains::work::{AuthoredHead, OwnChange};

use crate::cascade::{Branch, Clash, Merging, Predecessor, Step};
use crate::merge::Head;
use crate::proof::{Below, Candidate, Squash, TwoWays};
use crate::repository::{Repository, Wanted};
use crate::stack::Stack;
use crate::{Error, Objects, Oid};

impl Stack {
    /// What landing the stack that `members` form would do. The root is the one without a predecessor among them.
    pub async fn plan(&self, members: &[StackMember], default: &BranchName) -> Result<LandingPlan, Error> {
        let all: Vec<Wanted> = members.iter().map(wanted).collect();
        let root = root_of(members)?;
        let change = OwnChange { pull: root.pull, people_head: None, below: root.landed_below.clone() };
        let (heads, below) = self.fetch_with_below(&all, &change, default).await?;
        let mut at = BTreeMap::new();
        for member in members {
            at.insert(member.pull, heads.of(&wanted(member))?.clone());
        }
        let main = heads.of(&Wanted::Default(default.clone()))?.clone();
        let generation = self.repository().generation();
        match self.plan_from(members, default, &at, &main, &below).await {
            Ok(plan) => Ok(plan),
            Err(error) => {
                self.repository().heal(generation, error).await?;
                self.fetch_with_below(&all, &change, default).await?;
                self.plan_from(members, default, &at, &main, &below).await
            }
        }
    }

    async fn plan_from(
        &self,
        members: &[StackMember],
        default: &BranchName,
        heads: &BTreeMap<PrNumber, Oid>,
        main: &Oid,
        below: &[Below],
    ) -> Result<LandingPlan, Error> {
        let aside = self.repository().aside()?;
        let objects = self.objects().unsigned().writing_into(aside.path());
        let root = root_of(members)?;
        let plan = LandingPlan {
            root: root.pull,
            default_branch: default.clone(),
            steps: Vec::new(),
            conflicts: Vec::new(),
            differences: Vec::new(),
            unreached: Vec::new(),
        };
        Planner { objects, members, heads, main: main.clone(), landed: Vec::new(), rewritten: BTreeMap::new(), plan }
            .run(root, below)
            .await
    }
}

impl Repository {
    /// A folder for objects that are only looked at.
    fn aside(&self) -> Result<tempfile::TempDir, Error> {
        let folder = tempfile::Builder::new().prefix(".plan-").tempdir_in(self.folder());
        folder.map_err(Error::io("making a folder to plan in"))
    }
}

fn wanted(member: &StackMember) -> Wanted {
    Wanted::Branch(member.pull, member.branch.clone())
}

fn root_of(members: &[StackMember]) -> Result<&StackMember, Error> {
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
    members: &'a [StackMember],
    heads: &'a BTreeMap<PrNumber, Oid>,
    /// The default branch, as it would be by now.
    main: Oid,
    /// What it would have got, in order.
    landed: Vec<(Oid, PrNumber)>,
    /// Those whose predecessor was rewritten since they were written on it: by hand they are moved, and not merged.
    rewritten: BTreeMap<PrNumber, AuthoredHead>,
    plan: LandingPlan,
}

/// A pull request that is the root of what is left of its stack.
struct Ready<'a> {
    member: &'a StackMember,
    head: Oid,
    /// The default branch as it last saw it.
    saw: Oid,
    /// What landed below it, the lowest first.
    below: Vec<Below>,
}

impl<'a> Planner<'a> {
    async fn run(mut self, root: &'a StackMember, below: &[Below]) -> Result<LandingPlan, Error> {
        let head = self.head_of(root)?;
        let mut ready = vec![Ready { member: root, head, saw: self.main.clone(), below: below.to_vec() }];
        while let Some(next) = ready.pop() {
            // The last is taken first: the first-born of a fan-out goes on before its siblings.
            ready.extend(self.land(next).await?.into_iter().rev());
        }
        Ok(self.plan)
    }

    /// Lands one pull request; what comes back are its descendants, ready to land.
    async fn land(&mut self, ready: Ready<'a>) -> Result<Vec<Ready<'a>>, Error> {
        let Ready { member, mut head, saw, mut below } = ready;
        if saw != self.main {
            let step = self.objects.catch_up(self.branch(member, &head), &self.main).await?;
            if let Step::Conflict(_) = step
                && self.conflicts_with_sibling(member, &head, &saw, &below).await?
            {
                return Ok(Vec::new());
            }
            let Some(caught_up) = self.record(member, step, PushReason::CatchUp) else { return Ok(Vec::new()) };
            head = caught_up.commit;
        }
        let descendants = self.descendants(member);
        let mut prepared = Vec::new();
        let number = member.pull;
        let former_heads: Vec<Oid> = member.former_heads.iter().filter_map(|sha| Oid::try_from(sha).ok()).collect();
        for descendant in descendants {
            let old = self.head_of(descendant)?;
            let predecessor = Predecessor { pull: number, head: &head, former_heads: &former_heads };
            let step = self.objects.prepare_on(self.branch(descendant, &old), predecessor).await?;
            if let Some(standing) = self.objects.standing_on_rewritten(&old, predecessor).await? {
                self.rewritten.insert(descendant.pull, standing);
            }
            if let Step::Conflict(clash) = step {
                let standing = self.standing_above(descendant, &old).await?;
                self.conflict(descendant, clash, standing);
            } else if let Some(head) = self.record(descendant, step, PushReason::Prepare(number)) {
                prepared.push((descendant, head.commit));
            }
        }
        let Some(squash) = self.squash(member, &head, &below).await? else {
            prepared.iter().for_each(|(descendant, _)| self.give_up(descendant));
            return Ok(Vec::new());
        };
        below.push(Below { pull: number, squash: squash.commit().clone(), head, former_heads });
        let mut ready = Vec::new();
        for (descendant, head) in prepared {
            let step = self.objects.reconcile(self.branch(descendant, &head), &squash).await?;
            let Some(reconciled) = self.record(descendant, step, PushReason::Reconcile(number)) else { continue };
            self.plan.steps.push(PlannedStep::Retarget {
                pull: descendant.pull,
                from: descendant.base.clone(),
                to: self.plan.default_branch.clone(),
            });
            let (head, saw) = (reconciled.commit, self.main.clone());
            ready.push(Ready { member: descendant, head, saw, below: below.clone() });
        }
        Ok(ready)
    }

    /// Squashes as GitHub would, if that lands nothing but the pull request's own change.
    async fn squash(&mut self, member: &StackMember, head: &Oid, below: &[Below]) -> Result<Option<Squash>, Error> {
        let pull = member.pull;
        let first = self.head_of(member)?;
        let remembered = member.people_head.as_ref().and_then(|sha| Oid::try_from(sha).ok());
        // Of a root whose predecessors are not known, there is no second way.
        let people_head = (!below.is_empty()).then(|| remembered.as_ref().unwrap_or(&first));
        let candidate = Candidate { head, people_head, below, default_head: &self.main };
        let tree = match self.objects.two_ways(candidate).await? {
            TwoWays::Same { tree, .. } => tree,
            TwoWays::Conflict(conflict) => {
                self.conflict(member, Clash { merging: Merging::Default, conflict }, None);
                return Ok(None);
            }
            TwoWays::Differ(mut difference) => {
                // What the plan made up is in no branch.
                difference.commits = self.objects.own_commits(&first, &self.main).await?;
                difference.standing.head = Some(Sha::from(&first));
                let (branch, base) = (member.branch.clone(), member.base.clone());
                self.plan.differences.push(PredictedDifference { pull, branch, base, difference });
                self.give_up(member);
                return Ok(None);
            }
        };
        let commit = self.objects.write_commit(&tree, &[&self.main], &format!("Squash of #{pull}")).await?;
        let parent = std::mem::replace(&mut self.main, commit.clone());
        self.landed.push((commit.clone(), pull));
        self.plan.steps.push(PlannedStep::Squash { pull, tree: Sha::from(&tree) });
        Ok(Some(Squash::planned(commit, parent, tree)))
    }

    /// Notes what a step would do; where the branch is then, if the step can be done.
    fn record(&mut self, member: &StackMember, step: Step, why: PushReason) -> Option<Head> {
        let head = step.head();
        match step {
            Step::Unchanged(_) => {}
            Step::Advance(advance) => {
                let tree = Sha::from(&advance.tree);
                let (pull, branch) = (member.pull, member.branch.clone());
                self.plan.steps.push(PlannedStep::Push { pull, branch, why, tree });
            }
            Step::Conflict(clash) => self.conflict(member, clash, None),
        }
        head
    }

    fn conflict(&mut self, member: &StackMember, clash: Clash, standing: Option<AuthoredHead>) {
        let with = match clash.merging {
            Merging::Predecessor(number) => ConflictsWith::Predecessor(number),
            Merging::BeforeSquash | Merging::Default => ConflictsWith::DefaultBranch,
        };
        let below = |number| self.members.iter().find(|member| member.pull == number).map(|below| below.branch.clone());
        let from = match with {
            ConflictsWith::Predecessor(number) | ConflictsWith::Sibling(number) => below(number),
            ConflictsWith::DefaultBranch => None,
        };
        let from = from.unwrap_or_else(|| self.plan.default_branch.clone());
        let first = self.prepared_below(member);
        let (pull, branch, conflict) = (member.pull, member.branch.clone(), clash.conflict);
        self.plan.conflicts.push(PredictedConflict { pull, branch, from, first, standing, with, conflict });
        self.give_up(member);
    }

    /// What a pull request stands on by hand, if it, or anything below it in the plan, is to be moved and not merged.
    async fn standing_above(&self, member: &StackMember, head: &Oid) -> Result<Option<AuthoredHead>, Error> {
        if let Some(standing) = self.rewritten.get(&member.pull) {
            return Ok(Some(standing.clone()));
        }
        let is_moved = self.prepared_below(member).iter().any(|merging| merging.standing.is_some());
        let below = self.members.iter().find(|below| member.predecessor == Some(below.pull));
        match below.filter(|_| is_moved) {
            Some(below) => Ok(Some(self.objects.standing_upon(head, &self.head_of(below)?).await?)),
            None => Ok(None),
        }
    }

    /// What the plan itself merged into the branches below, and nobody has done yet: the conflict shows only after it.
    fn prepared_below(&self, member: &StackMember) -> Vec<core_plan::PredictedMerge> {
        let of = |number: PrNumber| self.members.iter().find(|member| member.pull == number);
        let is_prepared = |number: PrNumber| {
            self.plan.steps.iter().any(
                |step| matches!(step, PlannedStep::Push { pull, why: PushReason::Prepare(_), .. } if *pull == number),
            )
        };
        let mut first = Vec::new();
        let mut next = member.predecessor.and_then(of);
        while let Some(below) = next {
            next = below.predecessor.and_then(of);
            if let Some(from) = next.filter(|_| is_prepared(below.pull)) {
                let standing = self.rewritten.get(&below.pull).cloned();
                first.push(core_plan::PredictedMerge {
                    branch: below.branch.clone(),
                    from: from.branch.clone(),
                    standing,
                });
            }
        }
        first.reverse();
        first
    }

    /// Whether it is another pull request of the same stack, landed before this one, that it conflicts with: then it can only
    /// be stacked on that one.
    async fn conflicts_with_sibling(
        &mut self,
        member: &StackMember,
        head: &Oid,
        saw: &Oid,
        below: &[Below],
    ) -> Result<bool, Error> {
        let since = self.landed.iter().position(|(commit, _)| commit == saw).map_or(0, |index| index + 1);
        let landed_since: Vec<(Oid, PrNumber)> = self.landed[since..].to_vec();
        for (commit, number) in landed_since {
            let Step::Conflict(clash) = self.objects.catch_up(self.branch(member, head), &commit).await? else {
                continue;
            };
            let Some(sibling) = self.members.iter().find(|member| member.pull == number) else { continue };
            let (remembered, first) = (member.people_head.as_ref(), self.head_of(member)?);
            let people_head = remembered.and_then(|sha| Oid::try_from(sha).ok());
            let people_head = people_head.as_ref();
            let candidate = Candidate { head: &first, people_head, below, default_head: saw };
            let standing = Some(self.objects.standing(candidate).await?);
            let (pull, branch, from) = (member.pull, member.branch.clone(), sibling.branch.clone());
            let (with, conflict) = (ConflictsWith::Sibling(number), clash.conflict);
            let first = Vec::new();
            self.plan.conflicts.push(PredictedConflict { pull, branch, from, first, standing, with, conflict });
            self.give_up(member);
            return Ok(true);
        }
        Ok(false)
    }

    /// Neither `member` nor what stands on it would land.
    fn give_up(&mut self, member: &StackMember) {
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

    fn descendants(&self, member: &StackMember) -> Vec<&'a StackMember> {
        self.members.iter().filter(|other| other.predecessor == Some(member.pull)).collect()
    }

    fn head_of(&self, member: &StackMember) -> Result<Oid, Error> {
        let head = self.heads.get(&member.pull);
        head.cloned().ok_or_else(|| Error::BranchGone(member.branch.clone()))
    }

    fn branch<'b>(&'b self, member: &'b StackMember, head: &'b Oid) -> Branch<'b> {
        Branch { name: &member.branch, head, default: &self.plan.default_branch }
    }
}
