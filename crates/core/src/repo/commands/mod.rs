//! What people say to the bot in a comment.
//!
//! A command is a line whose first word is `@merge-train`, where a person wrote it as a sentence of their own. What is
//! shown as code, as a quotation, struck out or not at all is talk about commands.

mod effect;
mod event;
mod handling;
mod html;
mod lines;
mod quoted_input;
mod stored;
mod verb;
mod words;

#[cfg(test)]
mod tests;

use std::fmt;

use crate::ids::{PrNumber, RunId};
use crate::workflow::Decision;

pub use effect::{Effect, EffectKey};
pub use event::Event;
pub(super) use handling::{apply, completed, handle, retry};
pub use quoted_input::QuotedInput;
pub use stored::{NoSuchCommand, StoredCommand};
pub use verb::{CommandVerb, help};

/// How a comment addresses the bot.
const MENTION: &str = "@merge-train";

/// The most that is heard of one comment: nobody needs more, and each may cost an answer.
pub const MOST_HEARD: usize = 10;

/// A command, as it was typed. Whether its author may give it is decided elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Command {
    Predecessor(PrNumber),
    Start,
    Stop,
    StopForce {
        close_prs: ClosePrs,
    },
    Plan,
    Status,
    Help,
    Retry,
    /// Starts a workflow of the configuration; the values are as they were typed.
    Run {
        workflow: String,
        inputs: Vec<(String, String)>,
    },
    /// Says yes or no where a run waits for that.
    Decide {
        run: RunId,
        decision: Decision,
        reason: Option<String>,
    },
    /// About the fixers that are sent when something breaks.
    Ratchet(RatchetCommand),
}

/// What is wanted of the ratchet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RatchetCommand {
    On,
    Off,
    Status,
}

/// Whether a forced stop also closes the pull requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ClosePrs {
    Yes,
    No,
}

impl Command {
    /// Whether it halts a train, and so must not wait behind anything.
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Stop | Self::StopForce { .. })
    }
}

/// As it is typed, without the mention.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Predecessor(number) => write!(f, "predecessor #{number}"),
            Self::Start => f.write_str("start"),
            Self::Stop => f.write_str("stop"),
            Self::StopForce { close_prs: ClosePrs::No } => f.write_str("stop --force"),
            Self::StopForce { close_prs: ClosePrs::Yes } => f.write_str("stop --force --close-prs"),
            Self::Plan => f.write_str("plan"),
            Self::Status => f.write_str("status"),
            Self::Help => f.write_str("help"),
            Self::Retry => f.write_str("retry"),
            Self::Run { workflow, inputs } => {
                write!(f, "run {workflow}")?;
                inputs.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
            }
            Self::Decide { run, decision, reason } => {
                let verb = if *decision == Decision::Approved { "approve" } else { "reject" };
                write!(f, "{verb} {run}")?;
                reason.iter().try_for_each(|reason| write!(f, " {reason}"))
            }
            Self::Ratchet(RatchetCommand::On) => f.write_str("ratchet on"),
            Self::Ratchet(RatchetCommand::Off) => f.write_str("ratchet off"),
            Self::Ratchet(RatchetCommand::Status) => f.write_str("ratchet status"),
        }
    }
}

/// One line that was addressed to the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressedLine {
    Command(Command),
    /// A verb that exists, with words after it that it does not take. Nothing is done; [`CommandVerb::usage`] is what to type.
    Misused {
        verb: CommandVerb,
        why: CommandMisuse,
    },
    /// No command. `nearest` is the verb that may have been meant.
    Unknown {
        text: QuotedInput,
        nearest: Option<CommandVerb>,
    },
    /// The comment holds more than [`MOST_HEARD`] lines for the bot. Always the last; what follows was not read.
    TooMany,
}

/// What is wrong with the words after a verb. Its `Display` is a clause of Markdown for the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandMisuse {
    /// `predecessor`, and nothing after it.
    NumberMissing,
    /// Where the number of a pull request belongs is something that cannot be one: a word, zero, a number too large.
    NotANumber { text: QuotedInput },
    /// Words that the command does not take.
    Unexpected { text: QuotedInput },
    /// `--close-prs` without `--force`.
    ForceMissing,
    /// `run`, and nothing after it.
    WorkflowMissing,
    /// After the name of a workflow is something that sets no input.
    NotAnInput { text: QuotedInput },
    /// `approve` or `reject`, and no run after it.
    RunMissing,
    /// Where the id of a run belongs is something that cannot be one.
    NotARun { text: QuotedInput },
    /// `reject`, and no reason after the run.
    ReasonMissing,
    /// `ratchet`, and nothing after it.
    SwitchMissing,
    /// Where `on`, `off` or `status` belongs is something else.
    NotASwitch { text: QuotedInput },
}

impl fmt::Display for CommandMisuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NumberMissing => f.write_str("the number of a pull request is missing"),
            Self::NotANumber { text } => write!(f, "{text} is not the number of a pull request"),
            Self::Unexpected { text } => write!(f, "unexpected argument {text}"),
            Self::ForceMissing => f.write_str("`--close-prs` needs `--force`"),
            Self::WorkflowMissing => f.write_str("the name of a workflow is missing"),
            Self::NotAnInput { text } => {
                write!(f, "{text} is not an input: write `name=value`, without spaces")
            }
            Self::RunMissing => f.write_str("the id of a run is missing"),
            Self::NotARun { text } => write!(f, "{text} is not the id of a run"),
            Self::ReasonMissing => f.write_str("a reason is missing: say why, for the person who started the run"),
            Self::SwitchMissing => f.write_str("`on`, `off` or `status` is missing"),
            Self::NotASwitch { text } => write!(f, "{text} is neither `on` nor `off` nor `status`"),
        }
    }
}

/// Everything that a comment says to the bot, in the order of its lines.
pub fn parse_all(body: &str) -> Vec<AddressedLine> {
    if !mentions(body) {
        return Vec::new();
    }
    let lines = lines::addressed(body, MOST_HEARD + 1);
    let too_many = (lines.len() > MOST_HEARD).then_some(AddressedLine::TooMany);
    lines.iter().take(MOST_HEARD).map(|line| words::understand(line)).chain(too_many).collect()
}

/// What a comment declares its pull request to stand on; the first such line counts.
pub fn declared_predecessor(body: &str) -> Option<PrNumber> {
    parse_all(body).into_iter().find_map(|said| match said {
        AddressedLine::Command(Command::Predecessor(number)) => Some(number),
        AddressedLine::Command(_)
        | AddressedLine::Misused { .. }
        | AddressedLine::Unknown { .. }
        | AddressedLine::TooMany => None,
    })
}

/// Whether any line of a comment halts a train.
pub fn says_stop(body: &str) -> bool {
    parse_all(body).iter().any(|said| matches!(said, AddressedLine::Command(command) if command.is_stop()))
}

/// Most comments are not for the bot, and need not be parsed to know it.
fn mentions(body: &str) -> bool {
    let mut ats = body.match_indices('@');
    ats.any(|(at, _)| body.get(at..at + MENTION.len()).is_some_and(|word| word.eq_ignore_ascii_case(MENTION)))
}
