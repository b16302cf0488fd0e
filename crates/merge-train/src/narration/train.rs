//! What happened to a train, in words.

use merge_train_core::ids::{BranchName, PrNumber, Sha};
use merge_train_core::repo::trains::{CascadePhase, Event};
use merge_train_core::repo::{self, Behest};

use crate::terminal::{line, moment};

/// None for what is told by what comes before or after it, and for what is between the train and its status comment.
pub fn words(event: &repo::Event) -> Option<String> {
    let repo::Event::Trains(event) = event else { return None };
    Some(match event {
        Event::TrainStarted { root_pr, behest, .. } => format!("the train of #{root_pr} starts{}", wanted(behest)),
        Event::TrainStopped { behest, .. } => format!("the train was stopped{}", wanted(behest)),
        Event::TrainCompleted { .. } => "the train has arrived".to_owned(),
        Event::TrainAborted { error: Some(error), .. } => format!("the train was aborted: {}", line(&error.message)),
        Event::TrainAborted { error: None, .. } => "the train was aborted".to_owned(),
        Event::TrainFrozen { error, .. } => format!("a person has to look at it: {}", line(&error.message)),
        Event::TrainRecovered { .. } => "the train goes on from its status comment".to_owned(),
        Event::TrainForgotten { reason, .. } => format!("the train is over: {}", line(reason)),
        Event::FanOutCompleted { new_roots, .. } => format!("the train parts into those of {}", numbers(new_roots)),
        Event::PhaseTransition { current_pr, phase, .. } => return entered(*current_pr, phase),
        Event::SquashCommitted { pr, sha, .. } => format!("#{pr} has landed as {}", short(sha)),
        Event::SquashProven { sha, .. } => format!("{} is what it should be", short(sha)),
        Event::SquashRefused { reason, .. } => format!("GitHub does not squash it yet: {}", line(reason)),
        Event::DonePushPrep { branch, pr, .. } => pushed(branch, *pr, "prepared"),
        Event::DonePushReconcile { branch, pr, .. } => pushed(branch, *pr, "reconciled"),
        Event::DonePushCatchup { branch, pr, .. } => pushed(branch, *pr, "caught up"),
        Event::DoneRetarget { pr, .. } => format!("#{pr} is retargeted"),
        Event::TrainWaiting { why, .. } => format!("waits: {} {}", line(&why.blocker), line(&why.who)),
        Event::TrainResumed { .. } => "what it waited for has come".to_owned(),
        Event::TrainHeld { .. } => "GitHub refuses for now; its next word is waited for".to_owned(),
        Event::TrainNudged { behest, .. } => {
            let who = behest.by.as_deref().map_or_else(|| "somebody".to_owned(), line);
            let why = behest.reason.as_deref().map(|why| format!(": {}", line(why))).unwrap_or_default();
            format!("{who} wants it to try again at once{why}")
        }
        Event::WaitTimedOut { .. } => "GitHub has not settled something for too long".to_owned(),
        Event::WorkDelayed { reason, retry_at, .. } => {
            format!("it did not succeed: {}; the next attempt is at {}", line(reason), moment(*retry_at))
        }
        Event::WorkDropped { reason, .. } => format!("it is thought over: {}", line(reason)),
        Event::WorkDoubted { .. } => "what was begun may have been done; it is looked for".to_owned(),
        Event::BehindAfterPreparation { pr, .. } => format!("#{pr} is behind; it is prepared once more"),
        Event::LateJoined { pr, .. } => format!("#{pr} has joined"),
        _ => return None,
    })
}

/// Who wanted it, and why, as far as that is known.
fn wanted(behest: &Behest) -> String {
    let by = behest.by.as_deref().map(|who| format!(" because {} said so", line(who))).unwrap_or_default();
    let why = behest.reason.as_deref().map(|why| format!(": {}", line(why))).unwrap_or_default();
    format!("{by}{why}")
}

/// None where the phase passes at once, because nothing stands on the pull request.
fn entered(pr: PrNumber, phase: &CascadePhase) -> Option<String> {
    let above = numbers(phase.frozen_descendants());
    match phase {
        CascadePhase::Idle => Some(format!("#{pr} is next")),
        CascadePhase::SquashPending { .. } => Some(format!("#{pr} is ready: squash it")),
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
