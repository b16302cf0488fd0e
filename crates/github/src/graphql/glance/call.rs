//! One call: what it asks, and what each refusal in its answer means.

use merge_train_core::ids::RepoId;
use serde_json::{Map, Value};

use super::Wanted;
use crate::error::Error;
use crate::graphql::merge_states::Manner;
use crate::graphql::query::{Failure, Parts};
use crate::graphql::talk::Depth;

/// What one call asks about.
pub(super) struct Asking {
    /// `r0`, `r1`, … in the question.
    pub repos: Vec<RepoId>,
    /// Which of the repositories each is in; `p0`, `p1`, … in the question.
    pub wanted: Vec<(usize, Wanted)>,
}

/// What becomes of a pull request that was asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// The answer tells of it, or that it is not there.
    Told,
    Again(Manner),
    /// Its repository is closed to us.
    LeftOut,
}

/// As few calls as the manners allow.
pub(super) fn calls(mut wanted: Vec<Wanted>) -> Vec<Asking> {
    wanted.sort_by_key(|wanted| wanted.place);
    let (small, full): (Vec<Wanted>, Vec<Wanted>) =
        wanted.into_iter().partition(|wanted| wanted.manner == Manner::Small);
    let cut = |wanted: Vec<Wanted>, size: usize| {
        wanted.chunks(size).map(|chunk| Asking::new(chunk.to_vec())).collect::<Vec<_>>()
    };
    let mut calls = cut(full, Manner::Full.pulls_per_call());
    calls.extend(cut(small, Manner::Small.pulls_per_call()));
    calls
}

impl Asking {
    fn new(wanted: Vec<Wanted>) -> Self {
        let mut asking = Self { repos: Vec::new(), wanted: Vec::with_capacity(wanted.len()) };
        for wanted in wanted {
            let known = asking.repos.iter().position(|repo| *repo == wanted.repo);
            let repo = known.unwrap_or_else(|| {
                asking.repos.push(wanted.repo.clone());
                asking.repos.len() - 1
            });
            asking.wanted.push((repo, wanted));
        }
        asking
    }

    /// `query(…) { r0: repository(…) { p0: pullRequest(…) { … } … } … }`: names and numbers travel as variables.
    pub(super) fn question(&self, depth: Depth) -> (String, Map<String, Value>) {
        let (mut parameters, mut parts, mut variables) = (Vec::new(), String::new(), Map::new());
        for (repo, name) in self.repos.iter().enumerate() {
            parameters.push(format!("$o{repo}: String!, $r{repo}: String!"));
            variables.insert(format!("o{repo}"), name.owner().into());
            variables.insert(format!("r{repo}"), name.name().into());
            parts += &format!(" r{repo}: repository(owner: $o{repo}, name: $r{repo}) {{");
            for (index, (_, wanted)) in self.wanted.iter().enumerate().filter(|(_, (of, _))| *of == repo) {
                let fields = wanted.manner.fields().replace("$number", &format!("$n{index}"));
                parameters.push(format!("$n{index}: Int!"));
                parts += &format!(" p{index}: pullRequest(number: $n{index}) {{ {fields} ...talk }}");
                variables.insert(format!("n{index}"), wanted.pr.get().into());
            }
            parts += " }";
        }
        (format!("query({}) {{{parts} }} {}", parameters.join(", "), depth.fragment()), variables)
    }

    /// What becomes of each. An error if nothing that could be asked instead would help, as with failures that pass by
    /// themselves.
    pub(super) fn fates(&self, parts: &Parts) -> Result<Vec<Fate>, Error> {
        let mut fates = vec![Fate::Told; self.wanted.len()];
        for failure in &parts.failures {
            let Some(error) = parts.refusal(failure) else { continue };
            tracing::debug!(refusal = %error, path = ?failure.path, "GitHub refuses to return that many pull requests \
                 at once");
            match self.repo_of(failure) {
                Some(repo) => self.refused(repo, failure, error, &mut fates)?,
                None => self.all_refused(error, &mut fates)?,
            }
        }
        Ok(fates)
    }

    /// The repository that a failure is about; None where it is about the question.
    fn repo_of(&self, failure: &Failure) -> Option<usize> {
        let repo: usize = failure.path.first()?.as_str()?.strip_prefix('r')?.parse().ok()?;
        (repo < self.repos.len()).then_some(repo)
    }

    fn refused(&self, repo: usize, failure: &Failure, error: Error, fates: &mut [Fate]) -> Result<(), Error> {
        let forbidden = matches!(error, Error::Forbidden { .. });
        let pull = failure.path.get(1).and_then(Value::as_str);
        for (index, (of, wanted)) in self.wanted.iter().enumerate() {
            let concerned =
                *of == repo && (!forbidden || failure.path.len() != 2 || pull == Some(&format!("p{index}")));
            if !concerned {
                continue;
            }
            fates[index] = match wanted.manner.after(&error) {
                // All of the repository or of the pull request, not some part that need not be asked for.
                _ if forbidden && failure.path.len() < 3 => Fate::LeftOut,
                Some(next) => Fate::Again(next),
                None if forbidden => Fate::LeftOut,
                None => return Err(error),
            };
        }
        Ok(())
    }

    fn all_refused(&self, error: Error, fates: &mut [Fate]) -> Result<(), Error> {
        let next = |wanted: &Wanted| wanted.manner.after(&error);
        if self.wanted.iter().all(|(_, wanted)| next(wanted).is_none()) {
            return Err(error);
        }
        for (fate, (_, wanted)) in fates.iter_mut().zip(&self.wanted) {
            *fate = Fate::Again(next(wanted).unwrap_or(wanted.manner));
        }
        Ok(())
    }
}
