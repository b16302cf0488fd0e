//! What an operator reads in the log of what happens to trains. The events hold all of it; this is the part for eyes.

mod ratchet;

use jiff::Timestamp;
use merge_train_core::ids::RepoId;
use merge_train_core::repo::settings::FILE;
use merge_train_core::repo::trains::TrainError;
use merge_train_core::repo::{
    CommandOutcome, Event, Input, RepoState, Settings, StatusCommentPart, commands, mirror, settings, trains,
};

/// What made the worker look at its trains.
pub(super) fn trigger(input: &Input) -> &'static str {
    match input {
        Input::Delivery { .. } | Input::Unusable { .. } => "webhook",
        Input::Tick => "poll",
        Input::Resume => "resume",
        Input::Asked { .. } => "api",
        Input::Completed { .. } | Input::FixStarted { .. } | Input::Housekeeping => "result",
    }
}

/// Logs an event that was just applied, if it is worth a line.
pub(super) fn tell(
    repo: &RepoId,
    (state, settings): (&RepoState, &Settings),
    (event, trigger): (&Event, &'static str),
    now: Timestamp,
) {
    match event {
        Event::Ratchet(event) => ratchet::tell(repo, state, settings, event, now),
        Event::Trains(trains::Event::TrainStarted { root_pr, current_pr, behest }) => {
            let by = behest.by.as_deref();
            tracing::info!(%repo, train_root = %root_pr, %current_pr, trigger, by, "train started");
        }
        Event::Trains(trains::Event::TrainStopped { root_pr, behest }) => {
            let (by, reason) = (behest.by.as_deref(), behest.reason.as_deref());
            tracing::info!(%repo, train_root = %root_pr, trigger, by, reason, "train stopped");
        }
        Event::Trains(trains::Event::TrainCompleted { root_pr }) => {
            tracing::info!(%repo, train_root = %root_pr, "train completed");
        }
        Event::Trains(trains::Event::FanOutCompleted { old_root, new_roots, .. }) => {
            tracing::info!(%repo, train_root = %old_root, ?new_roots, "train parted");
        }
        Event::Trains(trains::Event::TrainAborted { root_pr, error }) => {
            let error = error.as_ref().map(|error| error.message.as_str()).unwrap_or_default();
            tracing::warn!(%repo, train_root = %root_pr, error, "train aborted");
        }
        Event::Trains(trains::Event::TrainRecovered { record, .. }) => {
            let (train_root, current_pr, phase) = (record.original_root_pr, record.current_pr, &record.cascade_phase);
            let (recovery_seq, state) = (record.recovery_seq, record.state);
            tracing::warn!(%repo, %train_root, %current_pr, ?phase, ?state, recovery_seq, "the train goes on from its status comment");
        }
        Event::Trains(trains::Event::TrainForgotten { root_pr, reason }) => {
            tracing::info!(%repo, train_root = %root_pr, reason, "the train is forgotten");
        }
        Event::Mirror(mirror::Event::ConversationsHeard { traces, .. }) => {
            for trace in traces.iter().filter(|trace| trace.shown == StatusCommentPart::ByAnother) {
                tracing::warn!(%repo, pr = %trace.pr, "a status comment by another account is not believed");
            }
        }
        Event::Trains(trains::Event::TrainFrozen { root_pr, error }) if error.error_type == TrainError::STATE_LOST => {
            tracing::error!(%repo, train_root = %root_pr, "the state of a train was lost: a person has to look at it");
        }
        Event::Trains(trains::Event::TrainFrozen { root_pr, error }) => {
            let error = error.message.as_str();
            tracing::error!(%repo, train_root = %root_pr, error, "what landed is not what should have: the train is frozen");
        }
        Event::Trains(trains::Event::PhaseTransition { train_root, current_pr, phase, .. }) => {
            tracing::info!(%repo, %train_root, %current_pr, ?phase, "phase transition");
        }
        Event::Trains(trains::Event::SquashCommitted { train_root, pr, sha }) => {
            tracing::info!(%repo, %train_root, %pr, %sha, "squash committed");
        }
        Event::Trains(trains::Event::TrainWaiting { train_root, why }) => {
            tracing::info!(%repo, %train_root, blocker = why.blocker, who = why.who, "train waits");
        }
        Event::Trains(trains::Event::WorkDelayed { train_root, reason, retry_at }) => {
            tracing::warn!(%repo, %train_root, reason, %retry_at, "something did not succeed and is tried again");
        }
        Event::Trains(trains::Event::WaitTimedOut { train_root }) => {
            tracing::warn!(%repo, %train_root, "Timed out waiting for GitHub state propagation");
        }
        Event::Trains(trains::Event::BehindAfterPreparation { train_root, pr }) => {
            tracing::warn!(%repo, %train_root, "Descendant #{pr} is BEHIND after preparation — unexpected state");
        }
        Event::Mirror(mirror::Event::MergeStateOutdated { prs }) => {
            for train in state.active_trains().values().filter(|train| prs.contains(&train.current_pr)) {
                let (train_root, about) =
                    (train.original_root_pr, if trigger == "poll" { " (poll fallback)" } else { "" });
                tracing::info!(%repo, %train_root, trigger, "evaluating cascade{about}");
            }
        }
        Event::Settings(settings::Event::SettingsObserved { head_sha, settings: Some(_), .. }) => {
            tracing::info!(%repo, %head_sha, "the repository has other settings of its own");
        }
        Event::Settings(settings::Event::SettingsObserved { head_sha, problems, .. }) => {
            let problems: Vec<String> = problems.iter().map(|it| format!("{FILE}:{}: {}", it.line, it.text)).collect();
            tracing::warn!(%repo, %head_sha, ?problems, "the repository's own settings are not valid: those before stay in force");
        }
        Event::Settings(settings::Event::CheckDropped { head_sha, reason }) => {
            tracing::warn!(%repo, %head_sha, reason, "a check cannot be shown; a GitHub App needs write access to checks for that");
        }
        Event::Commands(commands::Event::CommandHandled { comment, user, command, permission, outcome }) => {
            let command = command.to_string();
            let (outcome, reason) = match outcome {
                CommandOutcome::Done => ("done", ""),
                CommandOutcome::Refused { reason } => ("refused", reason.as_str()),
            };
            tracing::info!(%repo, pr = %comment.pr, command, %user, permission, outcome, reason, "command");
        }
        _ => {}
    }
}
