//! Commands that somebody gave: whether they may, and what is done.

use super::{ClosePrs, Command, Effect, Switch};
use crate::facts::Permission;
use crate::ids::PrNumber;
use crate::repo::effect::EffectOutcome;
use crate::repo::event::{Behest, CommandOutcome, Event, ReadKind};
use crate::repo::mirror::reads;
use crate::repo::outbox::Say;
use crate::repo::ratchet::texts;
use crate::repo::state::{CachedPr, Given, RepoState};
use crate::repo::trains::TrainState;
use crate::repo::trains::detail::is_live;
use crate::repo::trains::texts::answer::{self, Allowed};
use crate::repo::trains::texts::notice;
use crate::repo::trains::{self, Stopping};
use crate::repo::transaction::Draft;
use crate::repo::{Failure, FailureKind, ratchet};

/// By which right somebody gives a command.
enum Right {
    Author,
    Permission(Permission),
    /// GitHub could not be asked.
    Unverified,
}

impl Right {
    fn name(&self) -> String {
        match self {
            Self::Author => "author".to_owned(),
            Self::Permission(permission) => format!("{permission:?}").to_lowercase(),
            Self::Unverified => "unverified".to_owned(),
        }
    }
}

/// Handles those commands that what was asked about their author decides.
pub(in crate::repo) fn completed(draft: &mut Draft<'_>, effect: &Effect, outcome: &EffectOutcome<'_>) {
    match effect {
        Effect::ReadPermission { comment, .. } => {
            let commands = draft.state.commands.iter();
            let given: Vec<Given> = commands.filter(|given| given.comment.id == *comment).cloned().collect();
            for given in given {
                permitted(draft, &given, outcome.answer());
            }
        }
    }
}

/// Handles what was given and can be judged; asks GitHub about the rest.
pub(in crate::repo) fn handle(draft: &mut Draft<'_>) {
    for given in draft.state.commands.clone() {
        judge(draft, &given);
    }
}

fn judge(draft: &mut Draft<'_>, given: &Given) {
    let Some(command) = super::parse(&format!("@merge-train {}", given.command)) else {
        // Written by another version, which knew other commands.
        return handled(draft, given, &Right::Unverified, Err("no such command".to_owned()));
    };
    if draft.state.is_bootstrapping() {
        // The repository is not known yet, and no train of it moves: what is asked of it waits until it is.
        return;
    }
    let is_author = draft.state.pr(given.comment.pr).is_some_and(|pr| pr.author == Some(given.user));
    match (allowed(&command), is_author) {
        (None, _) => carry_out(draft, given, &command, &Right::Author),
        (Some(Allowed::Author | Allowed::AuthorOrMaintainer), true) => {
            carry_out(draft, given, &command, &Right::Author);
        }
        (Some(Allowed::Author), false) => refuse(draft, given, &command, Allowed::Author, &Right::Unverified),
        (Some(Allowed::AuthorOrMaintainer | Allowed::Maintainer | Allowed::Admin), _)
            if given.backoff.is_due(draft.now) =>
        {
            draft.effect(Effect::ReadPermission { comment: given.comment.id, login: given.login.clone() });
        }
        (Some(Allowed::AuthorOrMaintainer | Allowed::Maintainer | Allowed::Admin), _) => {}
    }
}

/// Who may give it; none for what anybody may.
fn allowed(command: &Command) -> Option<Allowed> {
    match command {
        Command::Start | Command::Predecessor(_) => Some(Allowed::Author),
        Command::Stop | Command::Retry | Command::Run { .. } | Command::Ratchet(Switch::On | Switch::Off) => {
            Some(Allowed::AuthorOrMaintainer)
        }
        Command::Decide { .. } => Some(Allowed::Maintainer),
        Command::StopForce { .. } => Some(Allowed::Admin),
        Command::Plan | Command::Status | Command::Help | Command::Ratchet(Switch::Status) => None,
    }
}

fn permitted(draft: &mut Draft<'_>, given: &Given, result: Result<&Permission, &Failure>) {
    let Some(command) = super::parse(&format!("@merge-train {}", given.command)) else { return };
    let Some(allowed) = allowed(&command) else { return };
    match result {
        Ok(permission) => {
            let least = if allowed == Allowed::Admin { Permission::Admin } else { Permission::Maintain };
            let right = Right::Permission(*permission);
            if *permission >= least {
                carry_out(draft, given, &command, &right);
            } else {
                refuse(draft, given, &command, allowed, &right);
            }
        }
        Err(failure) if failure.kind == FailureKind::Permanent => {
            refuse(draft, given, &command, allowed, &Right::Unverified);
        }
        Err(failure) => {
            let retry_at = reads::retry_at(failure, given.backoff.attempts, draft.now);
            let read = ReadKind::Permission(given.comment.id);
            draft.record(Event::ReadFailed { read, reason: failure.reason.clone(), retry_at });
        }
    }
}

fn refuse(draft: &mut Draft<'_>, given: &Given, command: &Command, allowed: Allowed, right: &Right) {
    let told = answer::not_authorized(command, allowed);
    draft.comment(given.comment.pr, told.clone());
    handled(draft, given, right, Err(told));
}

fn handled(draft: &mut Draft<'_>, given: &Given, right: &Right, result: Result<(), String>) {
    draft.record(Event::CommandHandled {
        comment: given.comment,
        user: given.user,
        command: given.command.clone(),
        permission: right.name(),
        outcome: match result {
            Ok(()) => CommandOutcome::Done,
            Err(reason) => CommandOutcome::Refused { reason },
        },
    });
}

fn carry_out(draft: &mut Draft<'_>, given: &Given, command: &Command, right: &Right) {
    let pr = given.comment.pr;
    let result = match command {
        // The thumbs up comes when the train has started.
        Command::Start => trains::ask_for_start(draft, pr, Some(given.comment), &given.behest()),
        Command::Stop => stop(draft, pr, &given.behest()).map(|()| acknowledge(draft, given)),
        Command::StopForce { close_prs } => {
            force(draft, pr, *close_prs, &given.behest()).map(|()| acknowledge(draft, given))
        }
        Command::Retry => retry(draft, pr, &given.behest()).map(|()| acknowledge(draft, given)),
        Command::Status => {
            let told = told(&draft.state, pr);
            draft.comment(pr, told);
            Ok(())
        }
        Command::Plan => {
            let plan = crate::repo::mirror::comments::planned(&draft.state, pr);
            draft.say(pr, plan);
            Ok(())
        }
        Command::Help => {
            draft.comment(pr, super::help());
            Ok(())
        }
        // Whether it can be done is told when it is tried.
        Command::Run { .. } | Command::Decide { .. } => {
            let (command, login, delivery) = (given.command.clone(), given.login.clone(), given.delivery.clone());
            draft.say(pr, Say::Order { comment: given.comment.id, command, login, delivery });
            Ok(())
        }
        Command::Ratchet(Switch::Status) => {
            let is_on = draft.state.ratchet_is_on(pr, draft.settings);
            let told = texts::status(draft.state.workspaces().get(&pr), is_on);
            draft.comment(pr, told);
            Ok(())
        }
        Command::Ratchet(switch) => {
            let is_on = *switch == Switch::On;
            ratchet::toggle(draft, Some(pr), is_on, &given.behest()).map(|()| acknowledge(draft, given))
        }
        // Declarations are judged where comments are read.
        Command::Predecessor(_) => Ok(()),
    };
    if let Err(told) = &result {
        draft.comment(pr, told.clone());
    }
    handled(draft, given, right, result);
}

fn acknowledge(draft: &mut Draft<'_>, given: &Given) {
    draft.say(given.comment.pr, Say::Acknowledge { comment: given.comment.id });
}

fn stop(draft: &mut Draft<'_>, pr: PrNumber, behest: &Behest) -> Result<(), String> {
    let train = train_of(&draft.state, pr);
    if !trains::stop(draft, pr, Stopping::Usual, behest) {
        return Err(answer::nothing_to_stop(pr));
    }
    if let Some((root, current)) = train {
        draft.comment(pr, notice::stopped(root, current));
    }
    Ok(())
}

/// Stops, says who did it in the status comment, and closes what is left, if that is wanted.
fn force(draft: &mut Draft<'_>, pr: PrNumber, close_prs: ClosePrs, behest: &Behest) -> Result<(), String> {
    let train = train_of(&draft.state, pr);
    if !trains::stop(draft, pr, Stopping::Forced, behest) {
        return Err(answer::nothing_to_stop(pr));
    }
    let Some((root, current)) = train else { return Ok(()) };
    let closed: Vec<PrNumber> = match close_prs {
        ClosePrs::No => Vec::new(),
        ClosePrs::Yes => {
            let above = draft.state.stack_above(current).into_iter().map(|member| member.pull);
            above.filter(|number| draft.state.pr(*number).is_some_and(CachedPr::is_ours)).collect()
        }
    };
    let text = notice::forced_stop(&closed);
    draft.record(Event::StatusClosing { train_root: root, text, new_roots: Vec::new() });
    // From the top down: what still stands on something would be told that it is orphaned.
    for number in closed.into_iter().rev() {
        draft.say(number, Say::Close {});
    }
    Ok(())
}

fn train_of(state: &RepoState, pr: PrNumber) -> Option<(PrNumber, PrNumber)> {
    let root = state.train_of(pr)?;
    state.active_trains.get(&root).map(|train| (root, train.current_pr))
}

/// Does not wait any longer before it asks again.
pub(in crate::repo) fn retry(draft: &mut Draft<'_>, pr: PrNumber, behest: &Behest) -> Result<(), String> {
    let root = draft.state.train_of(pr);
    let train = root.and_then(|root| draft.state.active_trains.get(&root)).filter(|train| is_live(train.state));
    let Some(train) = train else { return Err(answer::nothing_to_retry(pr)) };
    let (train_root, current, is_waiting) =
        (train.original_root_pr, train.current_pr, train.state == TrainState::WaitingCi);
    let has_failed = draft.state.details.get(&train_root).is_some_and(|detail| detail.retry_at.is_some());
    if !is_waiting && !has_failed {
        return Err(answer::nothing_to_retry(pr));
    }
    draft.record(Event::TrainNudged { train_root, behest: behest.clone() });
    draft.record(Event::MergeStateOutdated { prs: vec![current] });
    Ok(())
}

/// What the status command is answered.
fn told(state: &RepoState, pr: PrNumber) -> String {
    let train = state.train_of(pr).and_then(|root| state.active_trains.get(&root));
    match train {
        Some(train) => format!("**Merge Train Status**\n\n{}", state.train_told(train)),
        None => answer::not_in_a_train(pr),
    }
}
