//! One line in the log for each operation on a train: what was merged, pushed, squashed and retargeted, by number and SHA.

use merge_train_core::ids::{PrNumber, RepoId};
use merge_train_core::train::work::{Merged, Outcome, Pushed, Retargeted, Squashed, Step, Work};

pub(super) fn log(repo: &RepoId, train: PrNumber, work: &Work, outcome: &Outcome) {
    let operation = work.name();
    match (work, outcome) {
        (Work::Merge { step, pull, branch, .. }, Outcome::Merged(merged)) => {
            let step = name(step);
            match merged {
                Merged::Advance { from, to, tree, .. } => {
                    tracing::info!(%repo, %train, operation, step, %pull, %branch, %from, %to, %tree, "merged in git");
                }
                Merged::Unchanged { head } => {
                    tracing::info!(%repo, %train, operation, step, %pull, %branch, %head, "nothing to merge in git");
                }
                other => {
                    tracing::info!(%repo, %train, operation, step, %pull, %branch, outcome = ?other, "not merged in git");
                }
            }
        }
        (Work::Push(push), Outcome::Pushed(pushed)) => {
            let (pull, branch, from, to) = (push.pull, &push.branch, &push.from, &push.to);
            match pushed {
                Pushed::Landed => tracing::info!(%repo, %train, operation, %pull, %branch, %from, %to, "pushed"),
                other => {
                    tracing::info!(%repo, %train, operation, %pull, %branch, %from, %to, outcome = ?other, "not pushed");
                }
            }
        }
        (Work::Squash { pull, head, .. }, Outcome::Squashed(squashed)) => match squashed {
            Squashed::Merged { commit } => {
                tracing::info!(%repo, %train, operation, %pull, %head, %commit, "squashed");
            }
            other => tracing::info!(%repo, %train, operation, %pull, %head, outcome = ?other, "not squashed"),
        },
        (Work::Retarget { pull, base }, Outcome::Retargeted(retargeted)) => match retargeted {
            Retargeted::Done => tracing::info!(%repo, %train, operation, %pull, %base, "retargeted"),
            Retargeted::NotOpen => {
                tracing::info!(%repo, %train, operation, %pull, %base, "not retargeted: it is closed");
            }
        },
        (Work::Probe(push), Outcome::Probed(probed)) => {
            let (pull, branch, from) = (push.pull, &push.branch, &push.from);
            tracing::info!(%repo, %train, operation, %pull, %branch, %from, outcome = ?probed, "looked for a push");
        }
        (Work::Look { pull }, Outcome::Seen(seen)) => {
            tracing::info!(%repo, %train, operation, %pull, outcome = ?seen, "looked for a squash");
        }
        (Work::Prove { landed, .. }, Outcome::Proved(proof)) => {
            let (pull, commit) = (landed.pull, &landed.commit);
            tracing::info!(%repo, %train, operation, %pull, %commit, outcome = ?proof, "compared what landed");
        }
        _ => {}
    }
}

fn name(step: &Step) -> &'static str {
    match step {
        Step::Prepare { .. } => "prepare",
        Step::Reconcile { .. } => "reconcile",
        Step::CatchUp => "catch_up",
        Step::UpdateRoot => "update_root",
        Step::AddLate { .. } => "add_late",
    }
}
