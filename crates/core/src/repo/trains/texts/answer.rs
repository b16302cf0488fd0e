//! Answers to commands.

use crate::ids::{PrNumber, RunId};
use crate::markdown::code_span;
use crate::repo::commands::{Command, CommandMisuse, CommandVerb, MOST_HEARD};
use crate::repo::trains::plan::LandingPlan;
use crate::workflow::Decision;

/// Who may give a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowedPeople {
    Author,
    AuthorOrMaintainer,
    Maintainer,
    Admin,
}

impl AllowedPeople {
    fn whom(self) -> &'static str {
        match self {
            Self::Author => "the author of this pull request",
            Self::AuthorOrMaintainer => "the author of this pull request or an admin or maintainer of the repository",
            Self::Maintainer => "an admin or maintainer of the repository",
            Self::Admin => "an admin of the repository",
        }
    }
}

/// The command was given by somebody else.
pub fn not_authorized(command: &Command, allowed: AllowedPeople) -> String {
    let whom = allowed.whom();
    format!("Only {whom} can use `@merge-train {command}`, so nothing was done. Please ask them to comment it.")
}

/// A workflow was started.
pub fn run_started(workflow: &str, run: &RunId) -> String {
    let workflow = code_span(workflow);
    format!("The workflow {workflow} has started. Its run is `{run}`: `merge-train runs watch {run}` follows it.")
}

/// A workflow will be started, which takes longer than anybody waits here.
pub fn run_starts_later(workflow: &str, run: &RunId) -> String {
    let workflow = code_span(workflow);
    format!(
        "The workflow {workflow} will start soon. Its run will be `{run}`: `merge-train runs watch {run}` follows it."
    )
}

/// A workflow was not started, or a run does not do what is asked of it.
pub fn run_refused(command: &str, why: &str) -> String {
    let why = why.trim_end_matches('.');
    format!("Could not run {}: {why}.", code_span(&format!("@merge-train {command}")))
}

/// What was decided about a run has been taken down.
pub fn run_decided(run: &RunId, decision: Decision) -> String {
    let done = if decision == Decision::Approved { "approved" } else { "rejected" };
    format!("Run `{run}` was {done}.")
}

/// What was decided about a run was taken in; what the run makes of it takes longer than anybody waits here.
pub fn run_decides_later(run: &RunId, decision: Decision) -> String {
    let what = if decision == Decision::Approved { "approval" } else { "rejection" };
    format!(
        "Your {what} of run `{run}` is recorded, but the run has not handled it yet. `merge-train runs show {run}` shows the \
         result."
    )
}

/// Others have to approve it as well.
pub fn run_needs_more(run: &RunId, missing: &[String]) -> String {
    let missing: Vec<String> = missing.iter().map(|name| code_span(name)).collect();
    format!(
        "Your approval of run `{run}` is recorded. The run continues once these people have approved it too: {}.",
        missing.join(", ")
    )
}

/// The run that is to go on is a train, which thinks before it starts.
pub fn train_approved(run: &RunId, root: PrNumber) -> String {
    format!(
        "Run `{run}` was approved: the train of PR #{root} starts again once merge-train has read the repository's \
         rules and computed the plan. If it cannot start, a comment on PR #{root} says why."
    )
}

/// The run that was rejected is a train.
pub fn train_rejected(run: &RunId, root: PrNumber) -> String {
    format!("Run `{run}` was rejected: the train of PR #{root} is stopped. `@merge-train start` starts a new one.")
}

/// Nothing is declared, and nothing started.
pub fn not_in_a_train(pr: PrNumber) -> String {
    format!(
        "PR #{pr} is not in a merge train. To start one, comment `@merge-train start` on the root of its stack. To add \
         this pull request to a stack, comment `@merge-train predecessor #N`."
    )
}

/// There is no train to stop, or it was stopped before.
pub fn nothing_to_stop(pr: PrNumber) -> String {
    format!("There is nothing to stop: no merge train is running for the stack of PR #{pr}.")
}

/// There is no train to try again, or it is not waiting.
pub fn nothing_to_retry(pr: PrNumber) -> String {
    format!(
        "There is nothing to retry: no merge train is waiting in the stack of PR #{pr}. To start one, comment \
         `@merge-train start`."
    )
}

/// What a start would do.
pub fn plan(plan: &LandingPlan) -> String {
    let next = if plan.lands_everything() {
        format!("Nothing has been done. To land it, comment `@merge-train start` on PR #{}.", plan.root)
    } else {
        "Nothing has been done, and `@merge-train start` would be refused. Resolve the conflicts in the branches named \
         above and push, then ask for the plan again."
            .to_owned()
    };
    format!("**Merge Train Plan** for PR #{}\n\n{plan}\n\n{next}", plan.root)
}

/// There is no plan for a pull request that does not lead down to the default branch.
pub fn no_stack(pr: PrNumber) -> String {
    format!(
        "There is nothing to plan: PR #{pr} is not in a stack based on the default branch. Comment `@merge-train \
         predecessor #N` with the pull request it is based on, then ask again."
    )
}

/// Something was said to the bot that it does not understand. `help` is the list of what it does.
pub fn unknown_command(text: &str, nearest: Option<&str>, help: &str) -> String {
    let guess = match nearest {
        Some(nearest) => format!(" Did you mean {}?", code_span(&format!("@merge-train {nearest}"))),
        None => String::new(),
    };
    format!("Unknown command {}.{guess}\n\n{help}", code_span(text))
}

/// A command with words after it that it does not take.
pub fn misused(verb: CommandVerb, why: &CommandMisuse) -> String {
    format!("I cannot run `@merge-train {}`: {why}. Usage: {}.", verb.name(), verb.usage())
}

/// More commands in one comment than are heard.
pub fn too_many() -> String {
    format!(
        "This comment has more than {MOST_HEARD} commands. Only the first {MOST_HEARD} were run. Please put the rest \
         into another comment."
    )
}
