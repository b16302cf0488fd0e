//! From the words after the mention to a command, or to what is wrong with them.

use super::{AddressedLine, ClosePrs, Command, CommandMisuse, CommandVerb, QuotedInput, RatchetCommand};
use crate::ids::{PrNumber, RunId};
use crate::workflow::Decision;

/// GitHub's API gives the number of a pull request as a 32-bit integer.
const LARGEST_NUMBER: u64 = i32::MAX as u64;

/// One line, without the mention. A mention with nothing after it asks for help.
pub(super) fn understand(line: &str) -> AddressedLine {
    let words: Vec<&str> = line.split_whitespace().collect();
    let bare: Vec<&str> = words.iter().map(|word| without_punctuation(word)).filter(|word| !word.is_empty()).collect();
    let Some((first, arguments)) = bare.split_first() else { return AddressedLine::Command(Command::Help) };
    let Some(verb) = CommandVerb::named(first) else {
        return AddressedLine::Unknown { text: QuotedInput::of(&words), nearest: CommandVerb::nearest(first) };
    };
    let understood = match verb {
        CommandVerb::Predecessor => predecessor(arguments),
        CommandVerb::Stop => stop(arguments),
        CommandVerb::Start => alone(Command::Start, arguments),
        CommandVerb::Plan => alone(Command::Plan, arguments),
        CommandVerb::Status => alone(Command::Status, arguments),
        CommandVerb::Help => alone(Command::Help, arguments),
        CommandVerb::Retry => alone(Command::Retry, arguments),
        // What is given to a workflow, and a reason, are taken as they are.
        CommandVerb::Run => run(&words[1..]),
        CommandVerb::Approve => decide(Decision::Approved, &words[1..]),
        CommandVerb::Reject => decide(Decision::Rejected, &words[1..]),
        CommandVerb::Ratchet => ratchet(arguments),
    };
    understood.map_or_else(|why| AddressedLine::Misused { verb, why }, AddressedLine::Command)
}

fn alone(command: Command, arguments: &[&str]) -> Result<Command, CommandMisuse> {
    match arguments {
        [] => Ok(command),
        surplus => Err(CommandMisuse::Unexpected { text: QuotedInput::of(surplus) }),
    }
}

fn predecessor(arguments: &[&str]) -> Result<Command, CommandMisuse> {
    match arguments {
        [] => Err(CommandMisuse::NumberMissing),
        [number, surplus @ ..] => {
            let number =
                pull_request(number).ok_or_else(|| CommandMisuse::NotANumber { text: QuotedInput::of(&[number]) })?;
            alone(Command::Predecessor(number), surplus)
        }
    }
}

fn pull_request(word: &str) -> Option<PrNumber> {
    let digits = word.strip_prefix('#').unwrap_or(word);
    // Rust would also take a sign.
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| digits.parse().ok()).flatten()?;
    (1..=LARGEST_NUMBER).contains(&number).then(|| PrNumber::new(number))
}

fn run(arguments: &[&str]) -> Result<Command, CommandMisuse> {
    let Some((workflow, inputs)) = arguments.split_first() else { return Err(CommandMisuse::WorkflowMissing) };
    let workflow = if inputs.is_empty() { without_punctuation(workflow) } else { workflow };
    if workflow.is_empty() {
        return Err(CommandMisuse::WorkflowMissing);
    }
    let input = |word: &&str| match word.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(CommandMisuse::NotAnInput { text: QuotedInput::of(&[word]) }),
    };
    let inputs = inputs.iter().map(input).collect::<Result<_, _>>()?;
    Ok(Command::Run { workflow: workflow.to_owned(), inputs })
}

fn decide(decision: Decision, arguments: &[&str]) -> Result<Command, CommandMisuse> {
    let Some((run, reason)) = arguments.split_first() else { return Err(CommandMisuse::RunMissing) };
    let run = without_punctuation(run.trim_matches('`'));
    let run = RunId::parse(run).map_err(|_| CommandMisuse::NotARun { text: QuotedInput::of(&[run]) })?;
    let reason = (!reason.is_empty()).then(|| reason.join(" "));
    if decision == Decision::Rejected && reason.is_none() {
        return Err(CommandMisuse::ReasonMissing);
    }
    Ok(Command::Decide { run, decision, reason })
}

fn ratchet(arguments: &[&str]) -> Result<Command, CommandMisuse> {
    let Some((word, surplus)) = arguments.split_first() else { return Err(CommandMisuse::SwitchMissing) };
    let switch = match word.to_ascii_lowercase().as_str() {
        "on" => RatchetCommand::On,
        "off" => RatchetCommand::Off,
        "status" => RatchetCommand::Status,
        _ => return Err(CommandMisuse::NotASwitch { text: QuotedInput::of(&[word]) }),
    };
    alone(Command::Ratchet(switch), surplus)
}

fn stop(arguments: &[&str]) -> Result<Command, CommandMisuse> {
    let flags: Vec<String> = arguments.iter().map(|word| flag(word)).collect();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    match flags.as_slice() {
        [] => Ok(Command::Stop),
        ["--force"] => Ok(Command::StopForce { close_prs: ClosePrs::No }),
        ["--force", "--close-prs"] | ["--close-prs", "--force"] => Ok(Command::StopForce { close_prs: ClosePrs::Yes }),
        ["--close-prs"] => Err(CommandMisuse::ForceMissing),
        _ => Err(CommandMisuse::Unexpected { text: QuotedInput::of(arguments) }),
    }
}

/// Telephones make one long dash of two short ones.
fn flag(word: &str) -> String {
    let name = word.strip_prefix(['\u{2014}', '\u{2013}']).map(|name| format!("--{name}"));
    name.unwrap_or_else(|| word.to_owned()).to_ascii_lowercase()
}

/// People end sentences. A question mark is left: a question is no command.
fn without_punctuation(word: &str) -> &str {
    word.trim_end_matches(['.', ',', ':', ';', '!'])
}
