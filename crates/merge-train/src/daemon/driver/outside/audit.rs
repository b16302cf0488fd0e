//! One line in the log for each operation on a train: what was merged, pushed, squashed and retargeted, by number and SHA.

use merge_train_core::ids::{PrNumber, RepoId};
use merge_train_core::repo::trains::work::{Merged, Outcome, Pushed, Retargeted, Squashed, Step, Work};

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
        Step::CatchUp { .. } => "catch_up",
        Step::UpdateRoot => "update_root",
        Step::AddLate { .. } => "add_late",
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;

    use merge_train_core::ids::{BranchName, Sha};
    use merge_train_core::repo::trains::message::Wording;
    use merge_train_core::repo::trains::work::{Push, PushKind, Via};
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

    fn logged(work: &Work, outcome: &Outcome) -> String {
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
        let squash = Work::Squash {
            pull: PrNumber::new(2),
            head: sha("aaaa1"),
            base: BranchName::parse("main").unwrap(),
            via: Via::Now,
            wording: Wording::default(),
        };
        let push = Work::Push(Push {
            kind: PushKind::Prep,
            pull: PrNumber::new(3),
            branch: branch("three"),
            from: sha("bbbb1"),
            to: sha("bbbb2"),
            tree: sha("bbbb3"),
            contains: Vec::new(),
        });
        let retarget = Work::Retarget { pull: PrNumber::new(3), base: branch("main") };
        for (work, outcome, expected) in [
            (
                &squash,
                Outcome::Squashed(Squashed::Merged { commit: sha("cccc1") }),
                "squashed repo=acme/widgets train=1 operation=\"squash\" pull=2 head=aaaa1 commit=cccc1",
            ),
            (
                &squash,
                Outcome::Squashed(Squashed::HeadChanged),
                "not squashed repo=acme/widgets train=1 operation=\"squash\" pull=2 head=aaaa1 outcome=HeadChanged",
            ),
            (
                &push,
                Outcome::Pushed(Pushed::Landed),
                "pushed repo=acme/widgets train=1 operation=\"push\" pull=3 branch=three from=bbbb1 to=bbbb2",
            ),
            (
                &retarget,
                Outcome::Retargeted(Retargeted::Done),
                "retargeted repo=acme/widgets train=1 operation=\"retarget\" pull=3 base=main",
            ),
        ] {
            let line = logged(work, &outcome);
            assert!(line.contains(" INFO ") && line.trim_end().ends_with(expected), "{line}");
            assert_eq!(line.lines().count(), 1, "{line}");
        }
    }
}
