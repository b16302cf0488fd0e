//! The words that commands begin with, and how each is used.

use super::MENTION;

/// Below this a word is another word, not a slip of the finger.
const LIKENESS: f64 = 0.7;
/// No slip makes a verb longer than this, and comparing costs the product of the lengths.
const LONGEST_SLIP: usize = 20;

/// What a command begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandVerb {
    Predecessor,
    Start,
    Stop,
    Plan,
    Status,
    Retry,
    Run,
    Approve,
    Reject,
    Ratchet,
    Help,
}

/// One way to use a verb.
struct Usage {
    words: &'static str,
    /// Ends the sentence that the words begin; Markdown.
    meaning: &'static str,
}

impl CommandVerb {
    /// In the order in which help lists them.
    pub const ALL: [Self; 11] = [
        Self::Predecessor,
        Self::Start,
        Self::Stop,
        Self::Plan,
        Self::Status,
        Self::Retry,
        Self::Run,
        Self::Approve,
        Self::Reject,
        Self::Ratchet,
        Self::Help,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Predecessor => "predecessor",
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Plan => "plan",
            Self::Status => "status",
            Self::Retry => "retry",
            Self::Run => "run",
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Ratchet => "ratchet",
            Self::Help => "help",
        }
    }

    /// What to type, in Markdown: each way to use the verb as code.
    pub fn usage(self) -> String {
        let ways: Vec<String> = self.usages().iter().map(|usage| format!("`{MENTION} {}`", usage.words)).collect();
        match ways.split_last() {
            Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
            _ => ways.concat(),
        }
    }

    pub(super) fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.name().eq_ignore_ascii_case(word))
    }

    /// What may have been meant by a word that is no verb.
    pub(super) fn nearest(word: &str) -> Option<Self> {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        if word.len() > LONGEST_SLIP {
            return None;
        }
        let likeness = |verb: Self| strsim::normalized_damerau_levenshtein(&word, verb.name());
        let likely =
            Self::ALL.into_iter().map(|verb| (likeness(verb), verb)).filter(|(likeness, _)| *likeness >= LIKENESS);
        likely.max_by(|left, right| left.0.total_cmp(&right.0)).map(|(_, verb)| verb)
    }

    fn usages(self) -> &'static [Usage] {
        match self {
            Self::Predecessor => &[Usage {
                words: "predecessor #123",
                meaning: "declare that this pull request is stacked on that one (author)",
            }],
            Self::Start => &[Usage {
                words: "start",
                meaning: "land this pull request and all pull requests stacked on it (author)",
            }],
            Self::Stop => &[
                Usage { words: "stop", meaning: "stop this pull request's train (author, maintainers, admins)" },
                Usage { words: "stop --force", meaning: "stop the train and close its status comment (admins)" },
                Usage {
                    words: "stop --force --close-prs",
                    meaning: "the same, and close the train's pull requests (admins)",
                },
            ],
            Self::Plan => &[Usage { words: "plan", meaning: "show what `start` would do, without doing it" }],
            Self::Status => {
                &[Usage { words: "status", meaning: "show the train's progress, what it waits for and who can help" }]
            }
            Self::Retry => &[Usage { words: "retry", meaning: "retry now instead of later" }],
            Self::Run => &[Usage {
                words: "run NAME input=value",
                meaning: "start a configured workflow (author, maintainers, admins)",
            }],
            Self::Approve => &[Usage {
                words: "approve RUN",
                meaning: "approve a waiting run (maintainers and admins; if the workflow names approvers, only those \
                     among them)",
            }],
            Self::Reject => &[Usage { words: "reject RUN REASON", meaning: "reject a waiting run (the same people)" }],
            Self::Ratchet => &[
                Usage {
                    words: "ratchet on",
                    meaning: "start a fixer whenever CI fails or a reviewer requests changes (author, maintainers, \
                         admins)",
                },
                Usage { words: "ratchet off", meaning: "turn the ratchet off for this pull request (the same people)" },
                Usage { words: "ratchet status", meaning: "show what the ratchet does here and what it waits for" },
            ],
            Self::Help => &[Usage { words: "help", meaning: "this list" }],
        }
    }
}

/// The list of commands, in Markdown, for an answer.
pub fn help() -> String {
    let mut text = "Commands (put each on its own line):\n".to_owned();
    for usage in CommandVerb::ALL.into_iter().flat_map(CommandVerb::usages) {
        text.push_str(&format!("\n- `{MENTION} {}`: {}", usage.words, usage.meaning));
    }
    text
}
