//! What people say to the bot in a comment.

use crate::ids::PrNumber;

/// How a comment addresses the bot.
const MENTION: &str = "@merge-train";

/// A command, as it was typed. Whether its author may give it is decided elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    Predecessor(PrNumber),
    Start,
    Stop,
    StopForce { close_prs: ClosePrs },
}

/// Whether a forced stop also closes the pull requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// The first command in a comment. A command is a line of its own; quotations and code are talk about commands.
pub fn parse(body: &str) -> Option<Command> {
    let mut in_code = false;
    for line in body.lines() {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            in_code = !in_code;
        } else if !in_code && let Some(command) = parse_line(line) {
            return Some(command);
        }
    }
    None
}

fn parse_line(line: &str) -> Option<Command> {
    let mut words = line.split_whitespace();
    if !words.next()?.eq_ignore_ascii_case(MENTION) {
        return None;
    }
    let verb = words.next()?.to_ascii_lowercase();
    let rest: Vec<&str> = words.collect();
    match (verb.as_str(), rest.as_slice()) {
        ("predecessor", [number]) => {
            let number = number.strip_prefix('#').unwrap_or(number).parse().ok().filter(|&number| number > 0)?;
            Some(Command::Predecessor(PrNumber::new(number)))
        }
        ("start", []) => Some(Command::Start),
        ("stop", []) => Some(Command::Stop),
        ("stop", ["--force"]) => Some(Command::StopForce { close_prs: ClosePrs::No }),
        ("stop", ["--force", "--close-prs"] | ["--close-prs", "--force"]) => {
            Some(Command::StopForce { close_prs: ClosePrs::Yes })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_from_a_line_of_their_own() {
        let predecessor = |number| Some(Command::Predecessor(PrNumber::new(number)));
        for (body, expected) in [
            ("@merge-train predecessor #123", predecessor(123)),
            ("@merge-train predecessor 123", predecessor(123)),
            ("Based on that one.\n\n  @Merge-Train  Predecessor  #7  \nthanks", predecessor(7)),
            ("@merge-train start", Some(Command::Start)),
            ("@merge-train stop", Some(Command::Stop)),
            ("@merge-train stop --force", Some(Command::StopForce { close_prs: ClosePrs::No })),
            ("@merge-train stop --force --close-prs", Some(Command::StopForce { close_prs: ClosePrs::Yes })),
            ("please @merge-train stop", None),
            ("> @merge-train stop", None),
            ("```\n@merge-train stop\n```", None),
            ("```\ncode\n```\n@merge-train stop", Some(Command::Stop)),
            ("@merge-train predecessor #0", None),
            ("@merge-train predecessor #-1", None),
            ("@merge-train predecessor #12 #13", None),
            ("@merge-train dance", None),
            ("@merge-trainer stop", None),
            ("", None),
        ] {
            assert_eq!(parse(body), expected, "{body:?}");
        }
    }
}
