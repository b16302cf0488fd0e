//! What landing a stack would do, computed before anything is done.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::conflict::Conflict;
use super::difference::Difference;
use super::texts::train_end::{ManualBranchMove, ManualMerge};
use super::work::{AuthoredHead, LandedSquash};
use crate::ids::{BranchName, PrNumber, Sha};

/// A pull request of a stack that is to be planned.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StackMember {
    pub pull: PrNumber,
    pub branch: BranchName,
    /// What GitHub has as its base.
    pub base: BranchName,
    /// What it stands on; none for the root.
    pub predecessor: Option<PrNumber>,
    /// What people last pushed, where its head is a push of merge-train; and the heads that it had before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub people_head: Option<Sha>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former_heads: Vec<Sha>,
    /// Of the root: the landed pull requests that it was stacked on, the lowest first, as far as they are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub landed_below: Vec<LandedSquash>,
}

impl StackMember {
    /// Of which no more is known than what GitHub shows.
    pub fn new(pull: PrNumber, branch: BranchName, base: BranchName, predecessor: Option<PrNumber>) -> Self {
        Self { pull, branch, base, predecessor, people_head: None, former_heads: Vec::new(), landed_below: Vec::new() }
    }
}

/// A whole cascade, from the stack as it is to its last squash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingPlan {
    pub root: PrNumber,
    pub default_branch: BranchName,
    /// In the order in which they would be done, as far as nothing conflicts. Trains that part at a fan-out are listed one
    /// after the other; in truth whichever is ready first lands first.
    pub steps: Vec<PlannedStep>,
    /// Where it would stop.
    pub conflicts: Vec<PredictedConflict>,
    /// Where the branch of a pull request would land something else than its own change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<PredictedDifference>,
    /// The pull requests that would not land because of those.
    pub unreached: Vec<PrNumber>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum PlannedStep {
    /// A push to the pull request's branch, which starts its CI.
    Push {
        pull: PrNumber,
        branch: BranchName,
        why: PushReason,
        tree: Sha,
    },
    /// The default branch gets the pull request, and this tree.
    Squash {
        pull: PrNumber,
        tree: Sha,
    },
    Retarget {
        pull: PrNumber,
        from: BranchName,
        to: BranchName,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PushReason {
    /// To take in the head of this predecessor, before it is squashed.
    Prepare(PrNumber),
    /// To be related to the squash of this predecessor.
    Reconcile(PrNumber),
    /// To take in what landed on the default branch meanwhile.
    CatchUp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PredictedConflict {
    pub pull: PrNumber,
    pub branch: BranchName,
    /// The branch that does not merge into it.
    pub from: BranchName,
    /// What is to be merged first, the lowest first: each into the branch above it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<PredictedMerge>,
    /// What the pull request was written on, where it is to be stacked on something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<AuthoredHead>,
    pub with: ConflictsWith,
    pub conflict: Conflict,
}

/// A branch, and what is to be merged into it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PredictedMerge {
    pub branch: BranchName,
    pub from: BranchName,
    /// Where `from` was rewritten since the branch was written on it: then it is moved, and not merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<AuthoredHead>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PredictedDifference {
    pub pull: PrNumber,
    pub branch: BranchName,
    /// What the commits of the pull request are to be moved onto: the branch that it is based on.
    pub base: BranchName,
    pub difference: Difference,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictsWith {
    /// Another pull request on the same predecessor, which lands first.
    Sibling(PrNumber),
    Predecessor(PrNumber),
    DefaultBranch,
}

impl LandingPlan {
    /// Whether every pull request would land.
    pub fn lands_everything(&self) -> bool {
        self.conflicts.is_empty() && self.differences.is_empty()
    }

    /// How often CI would start for each pull request: once for each push to its branch.
    pub fn ci_runs(&self) -> BTreeMap<PrNumber, usize> {
        let mut runs = BTreeMap::new();
        for step in &self.steps {
            if let PlannedStep::Push { pull, .. } = step {
                *runs.entry(*pull).or_default() += 1;
            }
        }
        runs
    }

    fn fmt_steps(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let squashes = self.count(|step| matches!(step, PlannedStep::Squash { .. }));
        let retargets = self.count(|step| matches!(step, PlannedStep::Retarget { .. }));
        let pushes = self.count(|step| matches!(step, PlannedStep::Push { .. }));
        writeln!(
            f,
            "Landing this stack takes {}, {}, and {}; CI would {}.",
            times(squashes, "squash", "squashes"),
            times(pushes, "push", "pushes"),
            times(retargets, "retarget", "retargets"),
            runs_of_ci(pushes),
        )?;
        for (index, step) in self.steps.iter().enumerate() {
            write!(f, "\n{}. {}", index + 1, Described { step, default: &self.default_branch })?;
        }
        Ok(())
    }

    fn count(&self, kind: fn(&PlannedStep) -> bool) -> usize {
        self.steps.iter().filter(|step| kind(step)).count()
    }
}

/// A conflict with the commands that resolve it.
struct ToldConflict<'a> {
    predicted: &'a PredictedConflict,
    default: &'a BranchName,
}

impl fmt::Display for ToldConflict<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PredictedConflict { pull, branch, from, first, standing, with, conflict } = self.predicted;
        let with = match (with, standing) {
            (ConflictsWith::Sibling(number), Some(standing)) => {
                let moved = ManualBranchMove::of(branch, standing, from);
                return write!(
                    f,
                    "**#{pull} conflicts with #{number}, which lands before it:**\n{conflict}\n\nStack it on #{number}:\n\n\
                     {}\n\nThen change the base branch of PR #{pull} to `{from}`, and edit its declaration to \
                     `@merge-train predecessor #{number}`.",
                    moved.commands()
                );
            }
            (ConflictsWith::Predecessor(number) | ConflictsWith::Sibling(number), _) => format!("#{number}"),
            (ConflictsWith::DefaultBranch, _) => format!("`{}`", self.default),
        };
        write!(f, "**#{pull} conflicts with {with}:**\n{conflict}")?;
        for PredictedMerge { branch, from, standing } in first {
            match standing {
                Some(standing) => {
                    let commands = ManualBranchMove::of(branch, standing, from).commands();
                    write!(f, "\n\nMove only the commits of `{branch}` onto `{from}`:\n\n{commands}")?;
                }
                None => {
                    let commands = ManualMerge::new(branch, from).commands();
                    write!(f, "\n\nMerge `{from}` into `{branch}`:\n\n{commands}")?;
                }
            }
        }
        if let Some(standing) = standing {
            // What it is stacked on was rewritten: a merge would bring back what it deleted of that.
            let commands = ManualBranchMove::of(branch, standing, from).commands();
            return write!(f, "\n\nMove its own commits onto `{from}`:\n\n{commands}");
        }
        let commands = ManualMerge::new(branch, from).commands();
        write!(f, "\n\nMerge `{from}` into its branch:\n\n{commands}")
    }
}

/// As Markdown, fit for a comment and for a terminal.
impl fmt::Display for LandingPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lands_everything() {
            return self.fmt_steps(f);
        }
        f.write_str("This stack cannot land as it is.")?;
        for predicted in &self.conflicts {
            write!(f, "\n\n{}", ToldConflict { predicted, default: &self.default_branch })?;
        }
        for PredictedDifference { pull, branch, base, difference } in &self.differences {
            let moved = ManualBranchMove::of(branch, &difference.standing, base);
            write!(f, "\n\n**#{pull} would land changes that are not its own.** {difference}")?;
            write!(f, "\n\nMove its own commits onto `{base}`:\n\n{}", moved.commands())?;
        }
        if !self.unreached.is_empty() {
            let numbers: Vec<String> = self.unreached.iter().map(|number| format!("#{number}")).collect();
            write!(f, "\n\nNot landed because of this: {}.", numbers.join(", "))?;
        }
        Ok(())
    }
}

struct Described<'a> {
    step: &'a PlannedStep,
    default: &'a BranchName,
}

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            PlannedStep::Push { pull, branch, why, .. } => {
                write!(f, "push to `{branch}` (#{pull}): ")?;
                match why {
                    PushReason::Prepare(predecessor) => write!(f, "merge the head of #{predecessor}"),
                    PushReason::Reconcile(predecessor) => write!(f, "reconcile it with the squash of #{predecessor}"),
                    PushReason::CatchUp => write!(f, "catch up with `{}`", self.default),
                }
            }
            PlannedStep::Squash { pull, .. } => write!(f, "squash #{pull} into `{}`", self.default),
            PlannedStep::Retarget { pull, from, to } => write!(f, "retarget #{pull} from `{from}` to `{to}`"),
        }
    }
}

fn runs_of_ci(count: usize) -> String {
    match count {
        0 => "not run again".to_owned(),
        1 => "run once".to_owned(),
        count => format!("run {count} times"),
    }
}

fn times(count: usize, one: &str, many: &str) -> String {
    match count {
        0 => format!("no {many}"),
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::trains::conflict::{ConflictKind, ConflictedFile};

    fn pr(number: u64) -> PrNumber {
        PrNumber::new(number)
    }

    fn branch(name: &str) -> BranchName {
        BranchName::parse(name).unwrap()
    }

    fn plan(steps: Vec<PlannedStep>) -> LandingPlan {
        let (conflicts, differences, unreached) = (Vec::new(), Vec::new(), Vec::new());
        LandingPlan { root: pr(1), default_branch: branch("main"), steps, conflicts, differences, unreached }
    }

    fn two_pulls() -> Vec<PlannedStep> {
        let tree = Sha::parse("a".repeat(40)).unwrap();
        let push = |why| PlannedStep::Push { pull: pr(2), branch: branch("two"), why, tree: tree.clone() };
        vec![
            push(PushReason::Prepare(pr(1))),
            PlannedStep::Squash { pull: pr(1), tree: tree.clone() },
            push(PushReason::Reconcile(pr(1))),
            PlannedStep::Retarget { pull: pr(2), from: branch("one"), to: branch("main") },
            PlannedStep::Squash { pull: pr(2), tree: tree.clone() },
        ]
    }

    #[test]
    fn a_plan_reads_as_a_list_of_what_happens() {
        assert_eq!(
            plan(two_pulls()).to_string(),
            "Landing this stack takes 2 squashes, 2 pushes, and 1 retarget; CI would run 2 times.\n\n1. push to `two` \
             (#2): merge the head of #1\n2. squash #1 into `main`\n3. push to `two` (#2): reconcile it with the squash \
             of #1\n4. retarget #2 from `one` to `main`\n5. squash #2 into `main`"
        );
    }

    #[test]
    fn a_conflict_comes_before_everything_else() {
        let file = ConflictedFile {
            path: "a.rs".into(),
            kind: ConflictKind::Content,
            message: String::new(),
            versions: Vec::new(),
        };
        let conflict = Conflict { files: vec![file] };
        let mut plan = plan(Vec::new());
        plan.conflicts.push(PredictedConflict {
            pull: pr(2),
            branch: branch("two"),
            from: branch("main"),
            first: Vec::new(),
            standing: None,
            with: ConflictsWith::DefaultBranch,
            conflict,
        });
        plan.unreached = vec![pr(2), pr(3)];
        assert!(!plan.lands_everything());
        assert_eq!(
            plan.to_string(),
            "This stack cannot land as it is.\n\n**#2 conflicts with `main`:**\n- `a.rs`: both sides changed the same \
             lines\n\nMerge `main` into its branch:\n\n```sh\ngit fetch origin &&\ngit checkout -B two origin/two &&\ngit \
             merge origin/main &&\n# Resolve the conflicts, `git add` the files, `git commit`, then run the last \
             command.\ngit push origin HEAD:refs/heads/two\n```\n\nNot landed because of this: #2, #3."
        );
    }

    #[test]
    fn a_conflict_with_a_sibling_is_resolved_by_stacking_on_it() {
        let (kind, message, versions) = (ConflictKind::Content, String::new(), Vec::new());
        let file = ConflictedFile { path: "a.rs".into(), kind, message, versions };
        let sha = |c: char| Sha::parse(c.to_string().repeat(40)).unwrap();
        let mut plan = plan(two_pulls());
        plan.conflicts.push(PredictedConflict {
            pull: pr(3),
            branch: branch("three"),
            from: branch("two"),
            first: Vec::new(),
            standing: Some(AuthoredHead::new(sha('b'), sha('a'))),
            with: ConflictsWith::Sibling(pr(2)),
            conflict: Conflict { files: vec![file] },
        });
        let told = plan.to_string();
        assert!(told.contains("**#3 conflicts with #2, which lands before it:**"), "{told}");
        assert!(told.contains(&format!("git rebase --onto origin/two {}", "a".repeat(40))), "{told}");
        assert!(told.ends_with("edit its declaration to `@merge-train predecessor #2`."), "{told}");
    }

    #[test]
    fn ci_starts_once_for_each_push() {
        assert_eq!(plan(two_pulls()).ci_runs(), BTreeMap::from([(pr(2), 2)]));
    }

    #[test]
    fn a_plan_survives_json() {
        let plan = plan(two_pulls());
        let text = serde_json::to_string(&plan).unwrap();
        assert!(text.contains(r#"{"do":"retarget","pull":2,"from":"one","to":"main"}"#), "{text}");
        assert_eq!(serde_json::from_str::<LandingPlan>(&text).unwrap(), plan);
    }
}
