//! Which pull requests form a stack: what each stands on, down to the default branch, and what stands on those.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use merge_train_core::facts::{HeadRepo, PullFacts, PullState, RepoFacts};
use merge_train_core::ids::{BranchName, PrNumber};
use merge_train_core::repo::commands;
use merge_train_core::repo::trains::plan::StackMember;

/// A stack, from the pull request at its bottom.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StackReading {
    /// The root first, and each before what stands on it.
    pub members: Vec<StackMember>,
    /// Why a start would be refused.
    pub refusals: Vec<String>,
    /// What is worth knowing besides.
    pub notes: Vec<String>,
}

/// Why there is no stack to land.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum StackError {
    #[error("GitHub no longer lists #{0} as an open pull request")]
    Gone(PrNumber),
    #[error("#{0} comes from a fork, where merge-train cannot push; open it from a branch of this repository")]
    Fork(PrNumber),
    #[error(
        "#{pull} is based on `{base}`, which is neither the default branch `{default}` nor the branch of an open pull \
         request{hint}; retarget #{pull}, or open a pull request for `{base}`"
    )]
    MissingLink { pull: PrNumber, base: BranchName, default: BranchName, hint: String },
    #[error("{} form a cycle; retarget one of them to `{default}`", list(pulls))]
    Cycle { pulls: Vec<PrNumber>, default: BranchName },
    #[error(
        "#{pull} is based on `{base}`, which is the branch of {}; its author can say which with a comment: \
         `@merge-train predecessor #{}`",
        list(candidates),
        candidates[0]
    )]
    Ambiguous { pull: PrNumber, base: BranchName, candidates: Vec<PrNumber> },
}

/// The stack that `number` is part of.
pub fn form(facts: &RepoFacts, number: PrNumber) -> Result<StackReading, StackError> {
    let open = OpenPullRequests { facts };
    let pull = open.any(number).ok_or(StackError::Gone(number))?;
    if pull.head_repo == HeadRepo::Fork {
        return Err(StackError::Fork(number));
    }
    let root = open.root_below(pull)?;
    let mut reading = StackReading::default();
    open.gather(root, None, &mut reading);
    Ok(reading)
}

/// The open pull requests, and what they say of each other.
struct OpenPullRequests<'a> {
    facts: &'a RepoFacts,
}

impl<'a> OpenPullRequests<'a> {
    /// An open one, whether merge-train has any business with it or not.
    fn any(&self, number: PrNumber) -> Option<&'a PullFacts> {
        self.all().find(|pull| pull.number == number)
    }

    fn all(&self) -> impl Iterator<Item = &'a PullFacts> + use<'a> {
        self.facts.pulls.iter().filter(|pull| pull.state == PullState::Open)
    }

    fn root_below(&self, pull: &'a PullFacts) -> Result<&'a PullFacts, StackError> {
        let mut path = vec![pull.number];
        let mut at = pull;
        while let Some(below) = self.predecessor(at)? {
            if let Some(met) = path.iter().position(|number| *number == below.number) {
                let default = self.facts.default_branch.clone();
                return Err(StackError::Cycle { pulls: path.split_off(met), default });
            }
            path.push(below.number);
            at = below;
        }
        Ok(at)
    }

    /// The pull request whose branch is this one's base; none for one that is based on the default branch.
    fn predecessor(&self, pull: &PullFacts) -> Result<Option<&'a PullFacts>, StackError> {
        if pull.base_ref == self.facts.default_branch {
            return Ok(None);
        }
        let ours = self.all().filter(|other| other.head_repo == HeadRepo::Same);
        let candidates: Vec<&PullFacts> = ours.filter(|other| other.head_ref == pull.base_ref).collect();
        let declared = self.declared(pull);
        match candidates.as_slice() {
            [] => Err(self.missing_link(pull)),
            [only] => Ok(Some(only)),
            several => match several.iter().find(|other| Some(other.number) == declared) {
                Some(meant) => Ok(Some(meant)),
                None => Err(StackError::Ambiguous {
                    pull: pull.number,
                    base: pull.base_ref.clone(),
                    candidates: several.iter().map(|other| other.number).collect(),
                }),
            },
        }
    }

    fn missing_link(&self, pull: &PullFacts) -> StackError {
        let candidates = self.facts.pulls.iter().filter(|other| other.head_ref == pull.base_ref);
        let mut hint = candidates.map(|other| match (&other.state, other.head_repo) {
            (PullState::Merged { .. }, _) => format!(" (#{}, whose branch it was, is merged)", other.number),
            (PullState::Closed { .. }, _) => format!(" (#{}, whose branch it was, is closed)", other.number),
            (PullState::Open, _) => format!(" (#{} has a branch of that name in a fork)", other.number),
        });
        StackError::MissingLink {
            pull: pull.number,
            base: pull.base_ref.clone(),
            default: self.facts.default_branch.clone(),
            hint: hint.next_back().unwrap_or_default(),
        }
    }

    /// What its author declared it to stand on. The first declaration counts.
    fn declared(&self, pull: &PullFacts) -> Option<PrNumber> {
        let own = self.facts.comments.iter().filter(|said| said.pr == pull.number && said.author == pull.author);
        own.filter_map(|said| commands::declared_predecessor(&said.body)).find(|number| *number != pull.number)
    }

    /// Adds a pull request and all that stands on it. What leads down to the root never leads in a circle.
    fn gather(&self, pull: &'a PullFacts, predecessor: Option<&PullFacts>, reading: &mut StackReading) {
        self.compare_with_declaration(pull, predecessor, reading);
        if pull.draft {
            reading
                .notes
                .push(format!("#{} is a draft: a train waits there until it is ready for review.", pull.number));
        }
        let below = predecessor.map(|below| below.number);
        reading.members.push(StackMember::new(pull.number, pull.head_ref.clone(), pull.base_ref.clone(), below));
        let above: BTreeSet<PrNumber> =
            self.all().filter(|other| other.base_ref == pull.head_ref).map(|other| other.number).collect();
        for other in above.into_iter().filter_map(|number| self.any(number)) {
            match self.predecessor(other) {
                _ if other.head_repo == HeadRepo::Fork => {
                    reading.notes.push(format!(
                        "#{} is stacked on #{} but comes from a fork: merge-train ignores it.",
                        other.number, pull.number
                    ));
                }
                Ok(Some(below)) if below.number == pull.number => self.gather(other, Some(pull), reading),
                Ok(_) => {}
                Err(unclear) => reading.notes.push(format!("#{} is left out: {unclear}.", other.number)),
            }
        }
    }

    fn compare_with_declaration(&self, pull: &PullFacts, predecessor: Option<&PullFacts>, reading: &mut StackReading) {
        let number = pull.number;
        match (self.declared(pull), predecessor) {
            (None, Some(below)) => reading.notes.push(format!(
                "#{number} has not declared its predecessor yet: its author must comment `@merge-train predecessor \
                 #{}`.",
                below.number
            )),
            (Some(declared), Some(below)) if declared == below.number => {}
            // A predecessor that has landed is no predecessor any more.
            (Some(declared), _) => {
                if let Some(other) = self.any(declared) {
                    reading.refusals.push(format!(
                        "PR #{number} declares predecessor #{declared}, but its base branch '{}' doesn't match #{declared}'s \
                         head branch '{}'",
                        pull.base_ref, other.head_ref
                    ));
                }
            }
            (None, None) => {}
        }
    }
}

fn list(pulls: &[PrNumber]) -> String {
    let numbers: Vec<String> = pulls.iter().map(|number| format!("#{number}")).collect();
    match numbers.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => numbers.concat(),
    }
}
