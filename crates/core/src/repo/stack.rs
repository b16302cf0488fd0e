//! Stacks, as the declarations form them: which pull request is at the bottom, and what stands on it.

use std::collections::BTreeSet;

use super::state::{CachedPr, PrState, RepoState};
use crate::ids::PrNumber;
use crate::plan::Member;

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
    pub fn stack_above(&self, root: PrNumber) -> Vec<Member> {
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
            members.push(Member { pull: number, branch, base: pr.base_ref.clone(), predecessor });
        }
        members
    }

    fn open_predecessor(&self, pr: &CachedPr) -> Below {
        let Some(number) = pr.predecessor else { return Below::Nothing };
        match self.prs.get(&number).map(|below| &below.state) {
            Some(PrState::Open) => Below::Open(number),
            Some(PrState::Merged { .. }) => Below::Landed,
            Some(PrState::Closed { .. }) | None => Below::Broken,
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
