//! The settings and rules that a train depends on, from the several places where GitHub keeps them.

use std::collections::BTreeSet;

use github::{BranchProtection, BranchRule, Class, Error, RepoSettings};
use merge_train_core::ids::BranchName;
use merge_train_core::repo::EffectFailure;
use merge_train_core::repo::trains::{MergeMethods, MergePolicy, StaleApprovals};

use super::EffectRun;
use super::failure::{of_github, permanent};

/// What one place says of a branch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct BranchPolicySource {
    dismisses: bool,
    required: BTreeSet<String>,
}

/// A place that GitHub shows, or does not show.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ReadablePlace {
    Seen(BranchPolicySource),
    Hidden,
}

impl EffectRun<'_> {
    pub(super) async fn read_policy(&self, default: &BranchName) -> Result<MergePolicy, EffectFailure> {
        let (settings, protection, rules) =
            tokio::join!(self.repo.settings(), self.repo.branch_protection(default), self.rules(default));
        let methods = merge_methods(&settings.map_err(of_github)?)?;
        let protection = place(protection, |protection| protection.as_ref().map(of_protection).unwrap_or_default())?;
        let rules = place(rules, |rules| of_rules(&rules))?;
        if protection == ReadablePlace::Hidden || rules == ReadablePlace::Hidden {
            tracing::warn!(repo = %self.name, branch = %default,
                "merge-train may not read the rules of the branch; grant it `administration: read`");
        }
        Ok(combined(methods, &protection, &rules))
    }

    /// The rules of all rulesets that bind the branch.
    async fn rules(&self, default: &BranchName) -> Result<Vec<BranchRule>, Error> {
        match self.repo.branch_rules(default).await {
            Err(Error::NotFound { .. }) => {}
            answered => return answered,
        }
        // An older server has no such address; one that is older still has no rulesets at all.
        let rulesets = match self.repo.rulesets().await {
            Err(Error::NotFound { .. }) => return Ok(Vec::new()),
            answered => answered?,
        };
        let mut rules = Vec::new();
        for listed in rulesets {
            let ruleset = self.repo.ruleset(listed.id).await?;
            rules
                .extend(ruleset.filter(|ruleset| ruleset.binds_default(default)).into_iter().flat_map(|one| one.rules));
        }
        Ok(rules)
    }
}

fn merge_methods(settings: &RepoSettings) -> Result<MergeMethods, EffectFailure> {
    settings.merge_methods().ok_or_else(|| {
        permanent(
            "GitHub does not show which merge methods the repository allows; grant merge-train `contents: write` on \
             it, or a token that may push",
        )
    })
}

/// What is said there. A lack of permission hides the place; all else that fails is a failure.
fn place<T>(
    answer: Result<T, Error>,
    said: impl FnOnce(T) -> BranchPolicySource,
) -> Result<ReadablePlace, EffectFailure> {
    match answer {
        Ok(answer) => Ok(ReadablePlace::Seen(said(answer))),
        Err(error) if matches!(error.class(), Class::Forbidden | Class::NotFound) => Ok(ReadablePlace::Hidden),
        Err(error) => Err(of_github(error)),
    }
}

fn of_protection(protection: &BranchProtection) -> BranchPolicySource {
    let reviews = protection.required_pull_request_reviews.as_ref();
    let checks = protection.required_status_checks.as_ref();
    BranchPolicySource {
        dismisses: reviews.is_some_and(|reviews| reviews.dismiss_stale_reviews),
        required: checks.into_iter().flat_map(|checks| checks.contexts.iter().cloned()).collect(),
    }
}

fn of_rules(rules: &[BranchRule]) -> BranchPolicySource {
    BranchPolicySource {
        dismisses: rules.iter().any(BranchRule::dismisses_stale_reviews),
        required: rules.iter().flat_map(BranchRule::required_checks).map(str::to_owned).collect(),
    }
}

/// What one place forbids is forbidden; that nothing is, only all of them together can say.
fn combined(methods: MergeMethods, protection: &ReadablePlace, rules: &ReadablePlace) -> MergePolicy {
    let places = [protection, rules];
    let said: Vec<&BranchPolicySource> = places
        .iter()
        .filter_map(|place| match place {
            ReadablePlace::Seen(said) => Some(said),
            ReadablePlace::Hidden => None,
        })
        .collect();
    let all_seen = said.len() == places.len();
    let required: BTreeSet<String> = said.iter().flat_map(|said| said.required.iter().cloned()).collect();
    MergePolicy {
        methods,
        stale_approvals: match said.iter().any(|said| said.dismisses) {
            true => StaleApprovals::Dismissed,
            false if all_seen => StaleApprovals::Kept,
            false => StaleApprovals::Unverified,
        },
        required_checks: (all_seen || !required.is_empty()).then_some(required),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METHODS: MergeMethods =
        MergeMethods { allow_squash_merge: true, allow_merge_commit: false, allow_rebase_merge: false };

    fn seen(dismisses: bool, required: &[&str]) -> ReadablePlace {
        ReadablePlace::Seen(BranchPolicySource {
            dismisses,
            required: required.iter().map(ToString::to_string).collect(),
        })
    }

    #[test]
    fn what_either_place_says_holds_and_what_is_hidden_leaves_it_open() {
        let all = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect::<BTreeSet<_>>());
        for (protection, rules, stale, required) in [
            (seen(false, &[]), seen(false, &[]), StaleApprovals::Kept, all(&[])),
            (seen(false, &["a"]), seen(false, &["a", "b"]), StaleApprovals::Kept, all(&["a", "b"])),
            (seen(true, &[]), seen(false, &[]), StaleApprovals::Dismissed, all(&[])),
            (seen(false, &[]), seen(true, &[]), StaleApprovals::Dismissed, all(&[])),
            (ReadablePlace::Hidden, seen(true, &[]), StaleApprovals::Dismissed, None),
            (ReadablePlace::Hidden, seen(false, &[]), StaleApprovals::Unverified, None),
            (ReadablePlace::Hidden, seen(false, &["b"]), StaleApprovals::Unverified, all(&["b"])),
            (seen(false, &["a"]), ReadablePlace::Hidden, StaleApprovals::Unverified, all(&["a"])),
            (ReadablePlace::Hidden, ReadablePlace::Hidden, StaleApprovals::Unverified, None),
        ] {
            let policy = combined(METHODS, &protection, &rules);
            assert_eq!((policy.stale_approvals, policy.required_checks), (stale, required), "{protection:?} {rules:?}");
        }
    }
}
