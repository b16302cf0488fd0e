//! The commands that the documentation tells people to type, and which of them a test cannot run.

use std::collections::{BTreeMap, BTreeSet};

use crate::docs::pages::guides;

/// Programs that are not run, and why. Each line of the documentation that needs one of them is left out as a whole.
pub const NOT_RUN: &[(&str, &str)] = &[
    ("cargo", "builds the very program that is tested"),
    ("make", "builds and tests all of the project"),
    ("useradd", "changes the machine"),
    ("install", "changes the machine"),
    ("chgrp", "needs the daemon's own account"),
    ("systemctl", "needs a machine with systemd"),
    ("journalctl", "needs a machine with systemd"),
    ("timedatectl", "needs a machine with systemd"),
    ("docker", "needs a daemon of its own"),
    ("kubectl", "needs a cluster"),
];

/// Programs that are run as they are, besides `merge-train`.
const RUN: &[&str] = &[
    "base64",
    "cat",
    "curl",
    "df",
    "export",
    "gpg",
    "grep",
    "head",
    "jq",
    "mkdir",
    "printf",
    "rm",
    "sha256sum",
    "ssh-keygen",
    "tar",
];

/// What is typed at once, and what was typed before it in the same block.
#[derive(Clone, Debug)]
pub struct Typed {
    pub page: String,
    pub line: usize,
    pub text: String,
    /// Variables that were set above it.
    pub set: String,
    /// As the documentation says behind it; 0 where it says nothing.
    pub exit_code: i32,
}

/// A block of commands, in its order.
pub struct Session {
    pub commands: Vec<Typed>,
    /// Something in it goes on while the rest is done, so that it is one script.
    pub is_script: bool,
}

/// How a line is treated.
#[derive(PartialEq, Eq, Debug)]
pub enum Lot {
    /// It needs this program of [`NOT_RUN`].
    NotRun(&'static str),
    /// It needs nothing but the program itself.
    Alone,
    /// It is run in the world that the documentation is about.
    InTheWorld,
}

pub fn sessions() -> Vec<Session> {
    let mut sessions = Vec::new();
    for page in guides() {
        for block in page.blocks_of(&["sh", "bash", "console"]) {
            let text = if block.language == "console" { prompted(&block.text) } else { block.text.clone() };
            let mut commands: Vec<Typed> = Vec::new();
            let mut set = String::new();
            for (offset, text, comment) in lines(&text) {
                let (page, line) = (page.name.clone(), block.line + offset);
                commands.push(Typed {
                    page,
                    line,
                    text: text.clone(),
                    set: set.clone(),
                    exit_code: exit_code(&comment),
                });
                if assigns(&text) {
                    set += &format!("{text}\n");
                }
            }
            let is_script = commands.iter().any(|command| command.text.ends_with('&'));
            sessions.push(Session { commands, is_script });
        }
        let inside = page.spans().into_iter().filter_map(|(line, span)| {
            let text = complete(&span)?;
            Some(Typed { page: page.name.clone(), line, text, set: String::new(), exit_code: 0 })
        });
        sessions.extend(inside.map(|command| Session { commands: vec![command], is_script: false }));
    }
    sessions
}

/// A command in the middle of a sentence, if it can be typed as it stands: the name of a command alone is a name, and what has a
/// placeholder in it has to be filled in first.
fn complete(span: &str) -> Option<String> {
    let words: Vec<&str> = span.strip_prefix("merge-train ")?.split(' ').collect();
    let is_placeholder =
        |word: &&str| word.chars().any(|c| c.is_ascii_uppercase()) && !word.contains(|c: char| c.is_ascii_lowercase());
    let is_run = |word: &str| word == "RUN" || word.starts_with("run-");
    let words: Vec<&str> = words.into_iter().map(|word| if is_run(word) { "run-1" } else { word }).collect();
    let is_name = words.iter().all(|word| word.chars().all(|c| c.is_ascii_lowercase()));
    let is_pattern = span.contains(['[', '|', '…', '<']) || words.iter().any(is_placeholder);
    (!is_name && !is_pattern).then(|| format!("merge-train {}", words.join(" ")))
}

/// Of what a terminal shows, what was typed.
fn prompted(shown: &str) -> String {
    let typed = shown.lines().map(|line| line.strip_prefix("$ ").unwrap_or_default());
    typed.collect::<Vec<_>>().join("\n")
}

/// A comment may say what comes of it: `# exit code 2`.
fn exit_code(comment: &str) -> i32 {
    let said = comment.split("exit code ").nth(1).and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    said.and_then(|code| code.parse().ok()).unwrap_or_default()
}

fn assigns(text: &str) -> bool {
    let first = text.trim_start_matches("export ").split(' ').next().unwrap_or_default();
    first
        .split_once('=')
        .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
}

/// The commands of a script, each with the number of its first line and the comment behind it. Quotes may span lines.
pub fn lines(script: &str) -> Vec<(usize, String, String)> {
    let mut found = Vec::new();
    let (mut text, mut comment, mut quote, mut begins) = (String::new(), String::new(), None::<char>, 0);
    let mut number = 0;
    let mut chars = script.chars().peekable();
    while let Some(c) = chars.next() {
        if text.trim().is_empty() {
            begins = number;
        }
        match (c, quote) {
            ('\\', Some('"') | None) if chars.peek() == Some(&'\n') => {
                chars.next();
                number += 1;
                text.push(' ');
            }
            ('\n', None) => {
                if !text.trim().is_empty() {
                    found.push((begins, text.trim().to_owned(), comment.trim().to_owned()));
                }
                (text, comment) = (String::new(), String::new());
                number += 1;
            }
            ('#', None) if text.is_empty() || text.ends_with(' ') => {
                while chars.peek().is_some_and(|next| *next != '\n') {
                    comment.extend(chars.next());
                }
            }
            (c, _) => {
                number += usize::from(c == '\n');
                quote = match (c, quote) {
                    ('\'' | '"', None) => Some(c),
                    (c, Some(open)) if c == open => None,
                    (_, quote) => quote,
                };
                text.push(c);
            }
        }
    }
    if !text.trim().is_empty() {
        found.push((begins, text.trim().to_owned(), comment.trim().to_owned()));
    }
    found
}

/// The programs that a command starts.
fn programs(text: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut quote = None::<char>;
    for c in text.chars() {
        quote = match (c, quote) {
            ('\'' | '"', None) => Some(c),
            (c, Some(open)) if c == open => None,
            (_, quote) => quote,
        };
        plain.push(if quote.is_some() { '_' } else { c });
    }
    let plain = plain.replace("$(", ";").replace(')', ";");
    let parts = plain.split(['|', ';', '&']).map(str::trim).filter(|part| !part.is_empty());
    let first = |part: &str| {
        let part = part.strip_prefix("sudo -u merge-train ").unwrap_or(part);
        let mut words = part.split_whitespace().skip_while(|word| assigns(word));
        words.next().unwrap_or("export").to_owned()
    };
    parts.map(first).collect()
}

impl Typed {
    pub fn place(&self) -> String {
        format!("{}:{}: {}", self.page, self.line, self.text)
    }

    /// The words behind the program's own name, if it is started.
    pub fn words(&self) -> Vec<&str> {
        let behind = self
            .text
            .strip_prefix("merge-train ")
            .or_else(|| self.text.strip_prefix("sudo -u merge-train merge-train "));
        behind.unwrap_or_default().split_whitespace().collect()
    }

    /// How it is treated, or which program of it nobody knows.
    pub fn lot(&self) -> Result<Lot, String> {
        let programs = programs(&self.text);
        let left_out = programs.iter().find_map(|program| NOT_RUN.iter().find(|(name, _)| name == program));
        if let Some((program, _)) = left_out {
            return Ok(Lot::NotRun(program));
        }
        if let Some(unknown) = programs.iter().find(|name| *name != "merge-train" && !RUN.contains(&name.as_str())) {
            return Err(unknown.clone());
        }
        let needs_nothing = ["app", "completion", "demo", "init", "man", "sim"];
        match self.words().first() {
            Some(first) if needs_nothing.contains(first) => Ok(Lot::Alone),
            _ => Ok(Lot::InTheWorld),
        }
    }
}

#[test]
fn every_command_is_run_or_one_of_those_that_cannot_be() {
    let (mut unknown, mut used, mut run) = (Vec::new(), BTreeSet::new(), BTreeMap::new());
    for session in sessions().iter().filter(|session| !session.is_script) {
        for command in &session.commands {
            used.extend(programs(&command.text));
            match command.lot() {
                Ok(Lot::NotRun(_)) => {}
                Ok(_) => *run.entry(command.page.clone()).or_insert(0) += 1,
                Err(program) => {
                    unknown.push(format!("{}: {program} is neither run nor one of NOT_RUN", command.place()));
                }
            }
        }
    }
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
    for program in NOT_RUN.iter().map(|(program, _)| program).chain(RUN) {
        assert!(used.contains(*program), "no page needs {program} any more");
    }
    let all: i32 = run.values().sum();
    assert!(all > 150 && run.len() > 7, "{run:?}");
}

#[test]
fn commands_are_told_apart_as_a_shell_does() {
    let script = "a 'b\n  c' # d\n# e\nF=1 g 'h#1' | i \\\n  j   # exit code 2\nmerge-train k && sudo -u merge-train merge-train l";
    let found = lines(script);
    let texts: Vec<(usize, &str)> = found.iter().map(|(number, text, _)| (*number, text.as_str())).collect();
    assert_eq!(
        texts,
        [(0, "a 'b\n  c'"), (3, "F=1 g 'h#1' | i    j"), (5, "merge-train k && sudo -u merge-train merge-train l"),]
    );
    assert_eq!(exit_code(&found[1].2), 2);
    assert_eq!(programs(&found[1].1), ["g", "i"]);
    assert_eq!(programs(&found[2].1), ["merge-train", "merge-train"]);
}
