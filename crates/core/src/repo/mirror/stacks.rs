//! Stacks, as the declarations form them: which pull request is at the bottom, and what stands on it.

use std::collections::BTreeSet;

use crate::ids::PrNumber;
use crate::repo::state::{CachedPr, PrState, RepoState};
use crate::repo::trains::plan::StackMember;
use crate::repo::trains::work::LandedSquash;

impl RepoState {
    /// From the pull request at the bottom of the stack that `pr` is in, up to `pr`. None where that does not stand on the
    /// default branch: a declaration is missing, leads in a circle, or leads to what was closed.
    pub fn path_from_root(&self, pr: PrNumber) -> Option<Vec<PrNumber>> {
        let default = self.default_branch.as_ref()?;
        let mut path = vec![pr];
        loop {
            let number = *path.last()?;
            let cached = self.prs.get(&number).filter(|pr| pr.is_ours())?;
            match self.open_predecessor(cached) {
                Below::Open(below) if path.contains(&below) => return None,
                Below::Open(below) => path.push(below),
                Below::Nothing if cached.base_ref == *default => break,
                // It is to be brought into order, and then stands on the default branch.
                Below::Landed => break,
                Below::Nothing | Below::Broken => return None,
            }
        }
        path.reverse();
        Some(path)
    }

    /// The stack above `root`, and `root` itself first: each pull request comes before those that stand on it. Those whose base
    /// is not the branch of what they declare are left out.
    pub fn stack_above(&self, root: PrNumber) -> Vec<StackMember> {
        let mut met = BTreeSet::from([root]);
        let mut members = Vec::new();
        let mut next = vec![(root, None)];
        while let Some((number, predecessor)) = next.pop() {
            let Some(pr) = self.prs.get(&number) else { continue };
            let Some(branch) = pr.head_ref.clone() else { continue };
            let stands_here =
                |above: &PrNumber| self.prs.get(above).is_some_and(|above| above.is_ours() && above.base_ref == branch);
            // The lowest number is taken first.
            let mut above: Vec<PrNumber> = self.descendants(number).filter(stands_here).collect();
            above.retain(|number| met.insert(*number));
            next.extend(above.into_iter().rev().map(|above| (above, Some(number))));
            let pushed = pr.pushed.as_ref() == Some(&pr.head_sha);
            let below = if number == root { self.landed_below(root) } else { Vec::new() };
            members.push(StackMember {
                pull: number,
                branch,
                base: pr.base_ref.clone(),
                predecessor,
                people_head: pr.people_head.clone().filter(|_| pushed),
                former_heads: pr.heads_seen(),
                landed_below: below.into_iter().filter_map(|below| self.landed_as(below)).collect(),
            });
        }
        members
    }

    /// Whether it has landed on the default branch. What was merged into the branch of its predecessor has not.
    pub fn has_landed(&self, number: PrNumber) -> bool {
        self.prs.get(&number).is_some_and(|pr| pr.is_merged() && self.collapsed_into(pr).is_none())
    }

    /// The pull request into whose branch this one was merged.
    pub fn collapsed_into(&self, pr: &CachedPr) -> Option<PrNumber> {
        let below = pr.predecessor.filter(|_| pr.is_merged())?;
        let branch = self.prs.get(&below)?.head_ref.as_ref()?;
        (pr.base_ref == *branch && self.default_branch.as_ref() != Some(branch)).then_some(below)
    }

    /// What has landed below a pull request, the lowest first.
    pub fn landed_below(&self, number: PrNumber) -> Vec<PrNumber> {
        let mut landed = Vec::new();
        self.collect_landed_below(number, &mut BTreeSet::from([number]), &mut landed);
        landed
    }

    /// A pull request that has landed, as far as GitHub said as which commit.
    pub fn landed_as(&self, number: PrNumber) -> Option<LandedSquash> {
        let pr = self.prs.get(&number)?;
        let (commit, head) = (pr.merge_commit()?, Some(pr.head_sha.clone()));
        Some(LandedSquash { pull: number, commit, head, known_before: None, former_heads: pr.former_heads.clone() })
    }

    fn collect_landed_below(&self, number: PrNumber, met: &mut BTreeSet<PrNumber>, landed: &mut Vec<PrNumber>) {
        let Some(pr) = self.prs.get(&number) else { return };
        for below in pr.former_predecessors.iter().copied().chain(pr.predecessor) {
            if self.has_landed(below) && met.insert(below) {
                self.collect_landed_below(below, met, landed);
                landed.push(below);
            }
        }
    }

    fn open_predecessor(&self, pr: &CachedPr) -> Below {
        let Some(number) = pr.predecessor else { return Below::Nothing };
        match self.prs.get(&number).map(|below| &below.state) {
            Some(PrState::Open) => Below::Open(number),
            Some(PrState::Merged { .. }) if self.has_landed(number) => Below::Landed,
            Some(PrState::Merged { .. } | PrState::Closed { .. }) | None => Below::Broken,
        }
    }
}

/// What a pull request stands on.
enum Below {
    Open(PrNumber),
    /// What it stood on is on the default branch.
    Landed,
    Nothing,
    Broken,
}
