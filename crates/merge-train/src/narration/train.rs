//! What happened to a train, in words.

use merge_train_core::ids::{BranchName, PrNumber, Sha};
use merge_train_core::repo::trains::{CascadePhase, Event};
use merge_train_core::repo::{self, Attribution};

use crate::terminal::{line, moment};

/// None for what is told by what comes before or after it, and for what is between the train and its status comment.
pub fn words(event: &repo::Event) -> Option<String> {
    let repo::Event::Trains(event) = event else { return None };
    Some(match event {
        Event::TrainStarted { root_pr, behest, .. } => format!("the train of #{root_pr} starts{}", wanted(behest)),
        Event::TrainStopped { behest, .. } => format!("the train was stopped{}", wanted(behest)),
        Event::TrainCompleted { .. } => "the train has completed".to_owned(),
        Event::TrainAborted { error: Some(error), .. } => format!("the train was aborted: {}", line(&error.message)),
        Event::TrainAborted { error: None, .. } => "the train was aborted".to_owned(),
        Event::TrainFrozen { error, .. } => format!("someone has to review it: {}", line(&error.message)),
        Event::TrainRecovered { .. } => "the train continues from its status comment".to_owned(),
        Event::TrainForgotten { reason, .. } => format!("the train has ended: {}", line(reason)),
        Event::FanOutCompleted { new_roots, .. } => {
            format!("the train splits into the trains of {}", numbers(new_roots))
        }
        Event::PhaseTransition { current_pr, phase, .. } => return entered(*current_pr, phase),
        Event::SquashCommitted { pr, sha, .. } => format!("#{pr} has landed as {}", short(sha)),
        Event::SquashProven { sha, .. } => format!("{} has the expected tree", short(sha)),
        Event::SquashRefused { reason, .. } => format!("GitHub does not squash it yet: {}", line(reason)),
        Event::DonePushPrep { branch, pr, .. } => pushed(branch, *pr, "prepared"),
        Event::DonePushReconcile { branch, pr, .. } => pushed(branch, *pr, "reconciled"),
        Event::DonePushCatchup { branch, pr, .. } => pushed(branch, *pr, "caught up"),
        Event::DoneRetarget { pr, .. } => format!("#{pr} is retargeted"),
        Event::TrainWaiting { why, .. } => format!("waits: {} {}", line(&why.blocker), line(&why.who)),
        Event::TrainResumed { .. } => "it no longer waits".to_owned(),
        Event::TrainHeld { .. } => "GitHub refuses for now; waiting for its next event".to_owned(),
        Event::TrainNudged { behest, .. } => {
            let who = behest.by.as_deref().map_or_else(|| "somebody".to_owned(), line);
            let why = behest.reason.as_deref().map(|why| format!(": {}", line(why))).unwrap_or_default();
            format!("{who} wants it to retry now{why}")
        }
        Event::WaitTimedOut { .. } => "GitHub has not settled something for too long".to_owned(),
        Event::WorkDelayed { reason, retry_at, .. } => {
            format!("it failed: {}; the next attempt is at {}", line(reason), moment(*retry_at))
        }
        Event::WorkDropped { reason, .. } => format!("deciding again: {}", line(reason)),
        Event::WorkDoubted { .. } => "the last effect may have happened; checking on GitHub".to_owned(),
        Event::BehindAfterPreparation { pr, .. } => format!("#{pr} is behind; preparing it again"),
        Event::LateJoined { pr, .. } => format!("#{pr} has joined"),
        _ => return None,
    })
}

/// Who wanted it, and why, as far as that is known.
fn wanted(behest: &Attribution) -> String {
    let by = behest.by.as_deref().map(|who| format!(" at the request of {}", line(who))).unwrap_or_default();
    let why = behest.reason.as_deref().map(|why| format!(": {}", line(why))).unwrap_or_default();
    format!("{by}{why}")
}

/// None where the phase passes at once, because nothing stands on the pull request.
fn entered(pr: PrNumber, phase: &CascadePhase) -> Option<String> {
    let above = numbers(phase.frozen_descendants());
    match phase {
        CascadePhase::Idle => Some(format!("#{pr} is next")),
        CascadePhase::SquashPending { .. } => Some(format!("#{pr} is ready: squash")),
        _ if above.is_empty() => None,
        CascadePhase::Preparing { .. } => Some(format!("#{pr} is ready: prepare {above} for its squash")),
        CascadePhase::Reconciling { .. } => Some(format!("reconcile {above} with the squash of #{pr}")),
        CascadePhase::CatchingUp { .. } => Some(format!("catch {above} up with the default branch")),
        CascadePhase::Retargeting { .. } => Some(format!("retarget {above} to the default branch")),
    }
}

fn pushed(branch: &BranchName, pr: Option<PrNumber>, how: &str) -> String {
    match pr {
        Some(pr) => format!("#{pr} is {how}"),
        None => format!("{branch} is {how}"),
    }
}

fn numbers(pulls: &[PrNumber]) -> String {
    pulls.iter().map(|pull| format!("#{pull}")).collect::<Vec<_>>().join(", ")
}

fn short(sha: &Sha) -> String {
    sha.as_str().chars().take(12).collect()
}
