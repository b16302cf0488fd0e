//! One line in the log for each operation on a train: what was merged, pushed, squashed and retargeted, by number and SHA.

use merge_train_core::ids::{PrNumber, RepoId};
use merge_train_core::repo::trains::work::{
    BranchMergeOutcome, MergeStep, PushOutcome, RetargetOutcome, SquashOutcome, TrainTask, TrainTaskOutcome,
};

pub(super) fn log(repo: &RepoId, train: PrNumber, work: &TrainTask, outcome: &TrainTaskOutcome) {
    let operation = work.name();
    match (work, outcome) {
        (TrainTask::Merge { step, pull, branch, .. }, TrainTaskOutcome::Merged(merged)) => {
            let step = name(step);
            match merged {
                BranchMergeOutcome::Advance { from, to, tree, .. } => {
                    tracing::info!(%repo, %train, operation, step, %pull, %branch, %from, %to, %tree, "merged in git");
                }
                BranchMergeOutcome::Unchanged { head } => {
                    tracing::info!(%repo, %train, operation, step, %pull, %branch, %head, "nothing to merge in git");
                }
                other => {
                    tracing::info!(%repo, %train, operation, step, %pull, %branch, outcome = ?other, "not merged in git");
                }
            }
        }
        (TrainTask::Push(push), TrainTaskOutcome::Pushed(pushed)) => {
            let (pull, branch, from, to) = (push.pull, &push.branch, &push.from, &push.to);
            match pushed {
                PushOutcome::Landed => tracing::info!(%repo, %train, operation, %pull, %branch, %from, %to, "pushed"),
                other => {
                    tracing::info!(%repo, %train, operation, %pull, %branch, %from, %to, outcome = ?other, "not pushed");
                }
            }
        }
        (TrainTask::Squash { pull, head, .. }, TrainTaskOutcome::Squashed(squashed)) => match squashed {
            SquashOutcome::Merged { commit } => {
                tracing::info!(%repo, %train, operation, %pull, %head, %commit, "squashed");
            }
            other => tracing::info!(%repo, %train, operation, %pull, %head, outcome = ?other, "not squashed"),
        },
        (TrainTask::Retarget { pull, base }, TrainTaskOutcome::Retargeted(retargeted)) => match retargeted {
            RetargetOutcome::Done => tracing::info!(%repo, %train, operation, %pull, %base, "retargeted"),
            RetargetOutcome::NotOpen => {
                tracing::info!(%repo, %train, operation, %pull, %base, "not retargeted: it is closed");
            }
        },
        (TrainTask::Probe(push), TrainTaskOutcome::Probed(probed)) => {
            let (pull, branch, from) = (push.pull, &push.branch, &push.from);
            tracing::info!(%repo, %train, operation, %pull, %branch, %from, outcome = ?probed, "looked for a push");
        }
        (TrainTask::Look { pull }, TrainTaskOutcome::Seen(seen)) => {
            tracing::info!(%repo, %train, operation, %pull, outcome = ?seen, "looked for a squash");
        }
        (TrainTask::Prove { landed, .. }, TrainTaskOutcome::Proved(proof)) => {
            let (pull, commit) = (landed.pull, &landed.commit);
            tracing::info!(%repo, %train, operation, %pull, %commit, outcome = ?proof, "compared what landed");
        }
        _ => {}
    }
}

fn name(step: &MergeStep) -> &'static str {
    match step {
        MergeStep::Prepare { .. } => "prepare",
        MergeStep::Reconcile { .. } => "reconcile",
        MergeStep::CatchUp { .. } => "catch_up",
        MergeStep::UpdateRoot => "update_root",
        MergeStep::AddLate { .. } => "add_late",
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;

    use merge_train_core::ids::{BranchName, Sha};
    use merge_train_core::repo::trains::message::SquashMessageTemplates;
    use merge_train_core::repo::trains::work::{BranchPush, MergeEndpoint, PushKind};
    use parking_lot::Mutex;

    use super::*;

    /// What is written to the log.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn logged(work: &TrainTask, outcome: &TrainTaskOutcome) -> String {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        let repo = RepoId::new("acme", "widgets").unwrap();
        tracing::subscriber::with_default(subscriber, || log(&repo, PrNumber::new(1), work, outcome));
        String::from_utf8(lines.0.lock().clone()).unwrap()
    }

    #[test]
    fn each_operation_is_one_line_with_its_pull_request_and_its_shas() {
        let (sha, branch) = (|text: &str| Sha::parse(text).unwrap(), |name: &str| BranchName::parse(name).unwrap());
        let squash = TrainTask::Squash {
            pull: PrNumber::new(2),
            head: sha("aaaa1"),
            base: BranchName::parse("main").unwrap(),
            via: MergeEndpoint::Now,
            wording: SquashMessageTemplates::default(),
        };
        let push = TrainTask::Push(BranchPush {
            kind: PushKind::Prep,
            pull: PrNumber::new(3),
            branch: branch("three"),
            from: sha("bbbb1"),
            to: sha("bbbb2"),
            tree: sha("bbbb3"),
            contains: Vec::new(),
        });
        let retarget = TrainTask::Retarget { pull: PrNumber::new(3), base: branch("main") };
        for (work, outcome, expected) in [
            (
                &squash,
                TrainTaskOutcome::Squashed(SquashOutcome::Merged { commit: sha("cccc1") }),
                "squashed repo=acme/widgets train=1 operation=\"squash\" pull=2 head=aaaa1 commit=cccc1",
            ),
            (
                &squash,
                TrainTaskOutcome::Squashed(SquashOutcome::HeadChanged),
                "not squashed repo=acme/widgets train=1 operation=\"squash\" pull=2 head=aaaa1 outcome=HeadChanged",
            ),
            (
                &push,
                TrainTaskOutcome::Pushed(PushOutcome::Landed),
                "pushed repo=acme/widgets train=1 operation=\"push\" pull=3 branch=three from=bbbb1 to=bbbb2",
            ),
            (
                &retarget,
                TrainTaskOutcome::Retargeted(RetargetOutcome::Done),
                "retargeted repo=acme/widgets train=1 operation=\"retarget\" pull=3 base=main",
            ),
        ] {
            let line = logged(work, &outcome);
            assert!(line.contains(" INFO ") && line.trim_end().ends_with(expected), "{line}");
            assert_eq!(line.lines().count(), 1, "{line}");
        }
    }
}
