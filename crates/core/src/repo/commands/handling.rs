//! Commands that somebody gave: whether they may, and what is done.

use super::{ClosePrs, Command, Effect, Event, NoSuchCommand, RatchetCommand, StoredCommand};
use crate::facts::Permission;
use crate::ids::PrNumber;
use crate::repo::effect::EffectOutcome;
use crate::repo::event::{Attribution, CommandOutcome, ReadKind};
use crate::repo::mirror::reads;
use crate::repo::outbox::NoteContent;
use crate::repo::ratchet::texts;
use crate::repo::state::{Backoff, CachedPr, PendingCommand, RepoState};
use crate::repo::trains::TrainState;
use crate::repo::trains::detail::is_live;
use crate::repo::trains::texts::answer::{self, AllowedPeople};
use crate::repo::trains::texts::notice;
use crate::repo::trains::{self, Stopping};
use crate::repo::transaction::Transaction;
use crate::repo::{EffectFailure, EffectFailureKind, mirror, ratchet};

/// By which right somebody gives a command.
enum CommandRight {
    Author,
    Permission(Permission),
    /// GitHub could not be asked.
    Unverified,
}

impl CommandRight {
    fn name(&self) -> String {
        match self {
            Self::Author => "author".to_owned(),
            Self::Permission(permission) => format!("{permission:?}").to_lowercase(),
            Self::Unverified => "unverified".to_owned(),
        }
    }
}

/// Handles those commands that what was asked about their author decides.
pub(in crate::repo) fn completed(transaction: &mut Transaction<'_>, effect: &Effect, outcome: &EffectOutcome<'_>) {
    match effect {
        Effect::ReadPermission { comment, .. } => {
            let commands = transaction.state.commands.iter();
            let given: Vec<PendingCommand> = commands.filter(|given| given.comment.id == *comment).cloned().collect();
            for given in given {
                permitted(transaction, &given, outcome.answer());
            }
        }
    }
}

/// Handles what was given and can be judged; asks GitHub about the rest.
pub(in crate::repo) fn handle(transaction: &mut Transaction<'_>) {
    for given in transaction.state.commands.clone() {
        judge(transaction, &given);
    }
}

fn judge(transaction: &mut Transaction<'_>, given: &PendingCommand) {
    let command = match &given.command {
        StoredCommand::Known(command) => command,
        StoredCommand::Unknown(_) => {
            return handled(transaction, given, &CommandRight::Unverified, Err(NoSuchCommand.to_string()));
        }
    };
    if transaction.state.is_bootstrapping() {
        // The repository is not known yet, and no train of it moves: what is asked of it waits until it is.
        return;
    }
    let is_author = transaction.state.pr(given.comment.pr).is_some_and(|pr| pr.author == Some(given.user));
    match (allowed(command), is_author) {
        (None, _) => carry_out(transaction, given, command, &CommandRight::Author),
        (Some(AllowedPeople::Author | AllowedPeople::AuthorOrMaintainer), true) => {
            carry_out(transaction, given, command, &CommandRight::Author);
        }
        (Some(AllowedPeople::Author), false) => {
            refuse(transaction, given, command, AllowedPeople::Author, &CommandRight::Unverified);
        }
        (Some(AllowedPeople::AuthorOrMaintainer | AllowedPeople::Maintainer | AllowedPeople::Admin), _)
            if given.backoff.is_due(transaction.now) =>
        {
            transaction.effect(Effect::ReadPermission { comment: given.comment.id, login: given.login.clone() });
        }
        (Some(AllowedPeople::AuthorOrMaintainer | AllowedPeople::Maintainer | AllowedPeople::Admin), _) => {}
    }
}

/// Who may give it; none for what anybody may.
fn allowed(command: &Command) -> Option<AllowedPeople> {
    match command {
        Command::Start | Command::Predecessor(_) => Some(AllowedPeople::Author),
        Command::Stop
        | Command::Retry
        | Command::Run { .. }
        | Command::Ratchet(RatchetCommand::On | RatchetCommand::Off) => Some(AllowedPeople::AuthorOrMaintainer),
        Command::Decide { .. } => Some(AllowedPeople::Maintainer),
        Command::StopForce { .. } => Some(AllowedPeople::Admin),
        Command::Plan | Command::Status | Command::Help | Command::Ratchet(RatchetCommand::Status) => None,
    }
}

fn permitted(transaction: &mut Transaction<'_>, given: &PendingCommand, result: Result<&Permission, &EffectFailure>) {
    let StoredCommand::Known(command) = &given.command else { return };
    let Some(allowed) = allowed(command) else { return };
    match result {
        Ok(permission) => {
            let least = if allowed == AllowedPeople::Admin { Permission::Admin } else { Permission::Maintain };
            let right = CommandRight::Permission(*permission);
            if *permission >= least {
                carry_out(transaction, given, command, &right);
            } else {
                refuse(transaction, given, command, allowed, &right);
            }
        }
        Err(failure) if failure.kind == EffectFailureKind::Permanent => {
            refuse(transaction, given, command, allowed, &CommandRight::Unverified);
        }
        Err(failure) => {
            let retry_at = reads::retry_at(failure, given.backoff.attempts, transaction.now);
            let read = ReadKind::Permission(given.comment.id);
            transaction.record(mirror::Event::ReadFailed { read, reason: failure.reason.clone(), retry_at });
        }
    }
}

fn refuse(
    transaction: &mut Transaction<'_>,
    given: &PendingCommand,
    command: &Command,
    allowed: AllowedPeople,
    right: &CommandRight,
) {
    let told = answer::not_authorized(command, allowed);
    transaction.comment(given.comment.pr, told.clone());
    handled(transaction, given, right, Err(told));
}

fn handled(
    transaction: &mut Transaction<'_>,
    given: &PendingCommand,
    right: &CommandRight,
    result: Result<(), String>,
) {
    transaction.record(Event::CommandHandled {
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

fn carry_out(transaction: &mut Transaction<'_>, given: &PendingCommand, command: &Command, right: &CommandRight) {
    let pr = given.comment.pr;
    let result = match command {
        // The thumbs up comes when the train has started.
        Command::Start => trains::ask_for_start(transaction, pr, Some(given.comment), &given.behest()),
        Command::Stop => stop(transaction, pr, &given.behest()).map(|()| acknowledge(transaction, given)),
        Command::StopForce { close_prs } => {
            force(transaction, pr, *close_prs, &given.behest()).map(|()| acknowledge(transaction, given))
        }
        Command::Retry => retry(transaction, pr, &given.behest()).map(|()| acknowledge(transaction, given)),
        Command::Status => {
            let told = told(&transaction.state, pr);
            transaction.comment(pr, told);
            Ok(())
        }
        Command::Plan => {
            let plan = crate::repo::mirror::comments::planned(&transaction.state, pr);
            transaction.say(pr, plan);
            Ok(())
        }
        Command::Help => {
            transaction.comment(pr, super::help());
            Ok(())
        }
        // Whether it can be done is told when it is tried.
        Command::Run { .. } | Command::Decide { .. } => {
            let (command, login, delivery) = (given.command.clone(), given.login.clone(), given.delivery.clone());
            transaction.say(pr, NoteContent::Order { comment: given.comment.id, command, login, delivery });
            Ok(())
        }
        Command::Ratchet(RatchetCommand::Status) => {
            let is_on = transaction.state.ratchet_is_on(pr, &transaction.settings);
            let told = texts::status(transaction.state.workspaces().get(&pr), is_on);
            transaction.comment(pr, told);
            Ok(())
        }
        Command::Ratchet(switch) => {
            let is_on = *switch == RatchetCommand::On;
            ratchet::toggle(transaction, Some(pr), is_on, &given.behest()).map(|()| acknowledge(transaction, given))
        }
        // Declarations are judged where comments are read.
        Command::Predecessor(_) => Ok(()),
    };
    if let Err(told) = &result {
        transaction.comment(pr, told.clone());
    }
    handled(transaction, given, right, result);
}

fn acknowledge(transaction: &mut Transaction<'_>, given: &PendingCommand) {
    transaction.say(given.comment.pr, NoteContent::Acknowledge { comment: given.comment.id });
}

fn stop(transaction: &mut Transaction<'_>, pr: PrNumber, behest: &Attribution) -> Result<(), String> {
    let train = train_of(&transaction.state, pr);
    if !trains::stop(transaction, pr, Stopping::Usual, behest) {
        return Err(answer::nothing_to_stop(pr));
    }
    if let Some((root, current)) = train {
        transaction.comment(pr, notice::stopped(root, current));
    }
    Ok(())
}

/// Stops, says who did it in the status comment, and closes what is left, if that is wanted.
fn force(
    transaction: &mut Transaction<'_>,
    pr: PrNumber,
    close_prs: ClosePrs,
    behest: &Attribution,
) -> Result<(), String> {
    let train = train_of(&transaction.state, pr);
    if !trains::stop(transaction, pr, Stopping::Forced, behest) {
        return Err(answer::nothing_to_stop(pr));
    }
    let Some((root, current)) = train else { return Ok(()) };
    let closed: Vec<PrNumber> = match close_prs {
        ClosePrs::No => Vec::new(),
        ClosePrs::Yes => {
            let above = transaction.state.stack_above(current).into_iter().map(|member| member.pull);
            above.filter(|number| transaction.state.pr(*number).is_some_and(CachedPr::is_ours)).collect()
        }
    };
    let text = notice::forced_stop(&closed);
    transaction.record(trains::Event::StatusClosing { train_root: root, text, new_roots: Vec::new() });
    // From the top down: what still stands on something would be told that it is orphaned.
    for number in closed.into_iter().rev() {
        transaction.say(number, NoteContent::Close {});
    }
    Ok(())
}

fn train_of(state: &RepoState, pr: PrNumber) -> Option<(PrNumber, PrNumber)> {
    let root = state.train_of(pr)?;
    state.active_trains.get(&root).map(|train| (root, train.current_pr))
}

/// Does not wait any longer before it asks again.
pub(in crate::repo) fn retry(
    transaction: &mut Transaction<'_>,
    pr: PrNumber,
    behest: &Attribution,
) -> Result<(), String> {
    let root = transaction.state.train_of(pr);
    let train = root.and_then(|root| transaction.state.active_trains.get(&root)).filter(|train| is_live(train.state));
    let Some(train) = train else { return Err(answer::nothing_to_retry(pr)) };
    let (train_root, current, is_waiting) =
        (train.original_root_pr, train.current_pr, train.state == TrainState::WaitingCi);
    let has_failed = transaction.state.details.get(&train_root).is_some_and(|detail| detail.retry_at.is_some());
    if !is_waiting && !has_failed {
        return Err(answer::nothing_to_retry(pr));
    }
    transaction.record(trains::Event::TrainNudged { train_root, behest: behest.clone() });
    transaction.record(mirror::Event::MergeStateOutdated { prs: vec![current] });
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

/// Folds one event in.
pub(in crate::repo) fn apply(state: &mut RepoState, event: &Event) {
    match event {
        Event::CommandGiven { comment, user, login, command, delivery } => state.commands.push(PendingCommand {
            comment: *comment,
            user: *user,
            login: login.clone(),
            command: command.clone(),
            delivery: delivery.clone(),
            backoff: Backoff::default(),
        }),
        Event::CommandHandled { comment, command, .. } => {
            let handled = |given: &PendingCommand| given.comment == *comment && given.command == *command;
            if let Some(at) = state.commands.iter().position(handled) {
                state.commands.remove(at);
            }
        }
        Event::RequestProcessed { .. } => {}
    }
}
