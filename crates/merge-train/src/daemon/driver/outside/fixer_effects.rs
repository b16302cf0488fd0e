//! Fixers: what is wrong, the checkout, the process in it, and the way of its push to GitHub.

use std::collections::BTreeMap;

use git::cascade::Advance;
use git::gateway::{self, Gateway, Taken};
use git::push::{Expected, PushProbe, Pushed as Sent};
use git::repository::{Repository, Wanted};
use git::{Error, Oid};
use jiff::Timestamp;
use merge_train_core::ids::{BranchName, PrNumber, Sha};
use merge_train_core::repo::ratchet::brief::{prompt, signature};
use merge_train_core::repo::ratchet::{FixEnd, FixExit, FixIssue, FixPush, fixer_run_id};
use merge_train_core::repo::trains::work::{PushOutcome, PushProbeResult};
use merge_train_core::repo::{CiDiagnosis, EffectFailure, ForwardedPush, Input};

use super::brief::{BriefRequest, gather};
use super::failure::{is_for_want_of_room, of_git, of_github, oid, permanent, transient};
use super::{EffectRun, ProgressReports};
use crate::daemon::failpoint;
use crate::daemon::fixers::{FixerFolder, FixerStart, Fixers, PromptKey};

/// As much of a push is shown to whoever has to approve it.
const MOST_DIFF: usize = 64 << 10;

/// What a fixer is sent for.
pub(super) struct FixerAssignment {
    pub pr: PrNumber,
    pub issue: FixIssue,
    pub branch: BranchName,
    pub base: BranchName,
    pub head: Sha,
    pub conflicts: bool,
    pub handled: BTreeMap<String, Timestamp>,
}

impl EffectRun<'_> {
    fn fixers(&self) -> Result<&Fixers, EffectFailure> {
        let missing = || permanent("no fixer is configured: set agent or command in [ratchet.fixer]");
        self.github.fixers.as_deref().ok_or_else(missing)
    }

    fn subject(&self, case: &FixerAssignment) -> PromptKey {
        PromptKey { repo: self.name.clone(), pr: case.pr, head: case.head.clone(), issue: case.issue }
    }

    /// Finds out what is wrong, and keeps what a fixer is to be told of it.
    pub(super) async fn diagnose(&self, case: &FixerAssignment) -> Result<CiDiagnosis, EffectFailure> {
        let (told, diagnosis) = self.told(case).await?;
        self.fixers()?.remember(self.subject(case), told);
        Ok(diagnosis)
    }

    async fn told(&self, case: &FixerAssignment) -> Result<(String, CiDiagnosis), EffectFailure> {
        let ask = BriefRequest {
            issue: case.issue,
            repo: self.name.clone(),
            pr: case.pr,
            branch: case.branch.clone(),
            base: case.base.clone(),
            head: case.head.clone(),
            conflicts: case.conflicts,
            handled: case.handled.clone(),
        };
        let brief = gather(&self.repo, &ask).await.map_err(of_github)?;
        Ok((prompt(&brief), CiDiagnosis { signature: signature(&brief) }))
    }

    /// Lets a fixer work. Asked again, whatever happened to whoever asked first, it goes on from what is there.
    pub(super) async fn fix(
        &self,
        case: &FixerAssignment,
        at: Timestamp,
        reports: &ProgressReports,
    ) -> Result<FixEnd, EffectFailure> {
        let (fixers, run) = (self.fixers()?, fixer_run_id(case.pr, at, &case.head));
        let place = fixers.place(&run);
        let repository = self.github.clones.open(self.name).await.map_err(of_git)?;
        if let Some(exit) = place.ended().await {
            return self.collect(case, at, &repository, &place, exit).await;
        }
        // The process that ran it ended with the daemon. What it had pushed by then counts.
        if repository.open_gateway(&place.own(), &case.branch).is_ok() {
            let end = self.collect(case, at, &repository, &place, FixExit::Stopped).await?;
            if end.push.is_some() {
                return Ok(end);
            }
        }
        place.clear().await.map_err(|error| transient(format!("what a fixer left could not be removed: {error}")))?;
        let stopped = FixEnd { exit: FixExit::Stopped, push: None, refused: None, diff: None };
        let Some(_turn) = fixers.turn(self.cancel).await else { return Ok(stopped) };
        let told = match fixers.recall(&self.subject(case)) {
            Some(told) => told,
            None => self.told(case).await?.0,
        };
        let gateway = self.checkout(case, at, &repository, &place).await?;
        let started = Input::FixStarted { pr: case.pr, at };
        let _ = reports.send(started);
        failpoint::reach("fixer.start");
        let start = FixerStart {
            run: &run,
            place: &place,
            checkout: &gateway.checkout(),
            prompt: &told,
            environment: self.variables(case),
        };
        let exit = fixers.run(start, self.cancel.clone()).await;
        failpoint::reach("fixer.end");
        let exit = exit.map_err(|error| transient(format!("the fixer's folder could not be written: {error}")))?;
        self.collect(case, at, &repository, &place, exit).await
    }

    /// What it may want to know of what it works on.
    fn variables(&self, case: &FixerAssignment) -> Vec<(String, String)> {
        let issue = match case.issue {
            FixIssue::FixCi => "FIX_CI",
            FixIssue::FixReview => "FIX_REVIEW",
        };
        let told = [
            ("MERGE_TRAIN_REPO", self.name.to_string()),
            ("MERGE_TRAIN_PR", case.pr.to_string()),
            ("MERGE_TRAIN_BRANCH", case.branch.to_string()),
            ("MERGE_TRAIN_BASE", case.base.to_string()),
            ("MERGE_TRAIN_ISSUE", issue.to_owned()),
        ];
        told.map(|(name, value)| (name.to_owned(), value)).to_vec()
    }

    /// A checkout of the pull request, with a gateway for its pushes.
    async fn checkout(
        &self,
        case: &FixerAssignment,
        at: Timestamp,
        repository: &std::sync::Arc<Repository>,
        place: &FixerFolder,
    ) -> Result<Gateway, EffectFailure> {
        let view = repository.glance(self.cancel.clone()).await.map_err(of_git)?;
        let made = async {
            let (branch, base) = (Wanted::Branch(case.pr, case.branch.clone()), Wanted::Default(case.base.clone()));
            let heads = match view.fetch(&[branch.clone(), base.clone()]).await {
                // The base may be a branch that landed and is gone; then there is nothing to bring in.
                Err(Error::BranchGone(gone)) if gone == case.base => {
                    view.fetch(std::slice::from_ref(&branch)).await.map_err(of_git)?
                }
                heads => heads.map_err(of_git)?,
            };
            let head = heads.of(&branch).map_err(of_git)?.clone();
            if head != oid(&case.head)? {
                return Err(transient(format!(
                    "somebody pushed to {} in the meantime: it is now at {head}",
                    case.branch
                )));
            }
            let base = heads.of(&base).ok().cloned();
            let base = base.as_ref().map(|base| (&case.base, base));
            let made = repository
                .make_gateway(&place.own(), (&case.branch, &head), base, &kept(case.pr, at), self.cancel)
                .await;
            made.map_err(of_gateway)
        };
        let gateway = made.await;
        if let Err(error) = view.close().await {
            tracing::warn!(repo = %self.name, %error, "something of a fixer's start is left behind; housekeeping removes it");
        }
        gateway
    }

    /// What the fixer pushed, into the clone.
    async fn collect(
        &self,
        case: &FixerAssignment,
        at: Timestamp,
        repository: &std::sync::Arc<Repository>,
        place: &FixerFolder,
        exit: FixExit,
    ) -> Result<FixEnd, EffectFailure> {
        let nothing = |exit, refused| FixEnd { exit, push: None, refused, diff: None };
        let gateway = match repository.open_gateway(&place.own(), &case.branch) {
            Ok(gateway) => gateway,
            Err(_) if matches!(exit, FixExit::Stopped) => return Ok(nothing(exit, None)),
            // It was there when the fixer began.
            Err(gone) => return Ok(nothing(exit, Some(gone.to_string()))),
        };
        let from = oid(&case.head)?;
        let taken = gateway.take(&repository.clone_dir(), &from, &kept_as(case.pr, at)).await;
        let to = match taken {
            Ok(Taken::Unchanged) => return Ok(nothing(exit, None)),
            Ok(Taken::Advanced(to)) => to,
            Err(gateway::Error::Git(error)) => return Err(of_git(error)),
            Err(gateway::Error::Unreadable { cause, .. }) if is_for_want_of_room(&cause) => return Err(of_git(cause)),
            Err(refused) => return Ok(nothing(exit, Some(refused.to_string()))),
        };
        let objects = repository.objects(self.cancel.clone());
        let tree = objects.commit(&to).await.map_err(of_git)?.tree;
        let files = objects.changed_files(&from, &to).await.map_err(of_git)?;
        // Only for people to look at.
        let diff = objects.diff(&from, &to, MOST_DIFF).await.ok();
        let push = FixPush { from: Sha::from(&from), to: Sha::from(&to), tree: Sha::from(&tree), files, unlisted: 0 };
        Ok(FixEnd { exit, push: Some(push), refused: None, diff })
    }

    /// Brings a fixer's push to GitHub; or only looks whether it is there.
    pub(super) async fn forward(
        &self,
        pr: PrNumber,
        at: Timestamp,
        branch: &BranchName,
        push: &FixPush,
        doubted: bool,
    ) -> Result<ForwardedPush, EffectFailure> {
        let repository = self.github.clones.open(self.name).await.map_err(of_git)?;
        let (from, to, tree) = (oid(&push.from)?, oid(&push.to)?, oid(&push.tree)?);
        // Looked for at GitHub alone: what is to be pushed may be lost here.
        if doubted {
            let view = repository.glance(self.cancel.clone()).await.map_err(of_git)?;
            let expected = Expected { from, tree, contains: vec![to] };
            let probed = view.probe_push(&Wanted::Branch(pr, branch.clone()), &expected).await;
            let _ = view.close().await;
            return Ok(ForwardedPush::Probed(match probed.map_err(of_git)? {
                PushProbe::Landed { head } => PushProbeResult::Landed { head: Sha::from(&head) },
                PushProbe::NotYet => PushProbeResult::NotYet,
                PushProbe::Foreign { head } => PushProbeResult::Foreign { head: Sha::from(&head), tree: None },
                PushProbe::Rewound { .. } => PushProbeResult::Rewound,
                PushProbe::BranchGone => PushProbeResult::BranchGone,
            }));
        }
        self.have(pr, at, branch, &repository, (&from, &to)).await?;
        let advance = Advance { from, to, tree };
        Ok(ForwardedPush::Pushed(match repository.push(branch, &advance, self.cancel).await.map_err(of_git)? {
            Sent::Landed => PushOutcome::Landed,
            Sent::ForeignAdvance { head } => PushOutcome::Foreign { head: Sha::from(&head), tree: None },
            Sent::BranchGone => PushOutcome::BranchGone,
            Sent::Rejected { reason } => PushOutcome::Rejected { reason },
            Sent::Transient { reason } => return Err(transient(reason)),
        }))
    }

    /// The clone may have been made again since: then the gateway still has what was taken from it.
    async fn have(
        &self,
        pr: PrNumber,
        at: Timestamp,
        branch: &BranchName,
        repository: &std::sync::Arc<Repository>,
        (from, to): (&Oid, &Oid),
    ) -> Result<(), EffectFailure> {
        let objects = repository.objects(self.cancel.clone());
        if objects.contains(to, to).await.map_err(of_git)? {
            return Ok(());
        }
        let place = self.fixers()?.place(&fixer_run_id(pr, at, &Sha::from(from)));
        let gateway = repository.open_gateway(&place.own(), branch).map_err(of_gateway)?;
        match gateway.take(&repository.clone_dir(), from, &kept_as(pr, at)).await.map_err(of_gateway)? {
            Taken::Advanced(found) if found == *to => Ok(()),
            _ => Err(permanent(format!("{to}, which a fixer wanted to push, no longer exists"))),
        }
    }

    pub(super) async fn clear_fixer(&self, pr: PrNumber, at: Timestamp, head: &Sha) -> Result<(), EffectFailure> {
        let run = fixer_run_id(pr, at, head);
        let failed = |error| transient(format!("what {run} left could not be removed: {error}"));
        self.fixers()?.place(&run).clear().await.map_err(failed)?;
        self.github.clones.open(self.name).await.map_err(of_git)?.forget_gateway(&kept(pr, at)).await.map_err(of_git)
    }
}

/// The refs of the clone under which all is kept that a fixer was given, and that was taken from it.
fn kept(pr: PrNumber, at: Timestamp) -> String {
    format!("refs/merge-train/fixers/{pr}-{}", at.as_millisecond())
}

fn kept_as(pr: PrNumber, at: Timestamp) -> String {
    format!("{}/taken", kept(pr, at))
}

fn of_gateway(error: gateway::Error) -> EffectFailure {
    match error {
        gateway::Error::Git(error) => of_git(error),
        other => permanent(other.to_string()),
    }
}
