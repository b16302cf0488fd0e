//! What people type after the name of the slash command.

use merge_train_core::ids::RunId;
use merge_train_core::workflow::Decision;
use serde_json::{Map, Value};

use crate::config::near;

/// What somebody wants.
#[derive(Debug, Clone, PartialEq)]
pub enum SlackCommand {
    Run { workflow: String, inputs: Map<String, Value> },
    List,
    Show(RunId),
    Decide { run: RunId, decision: Decision, reason: Option<String> },
    Cancel { run: RunId, reason: Option<String> },
    Help,
}

/// A command, and how it is written.
pub struct SlackCommandUsage {
    pub verb: &'static str,
    pub rest: &'static str,
    pub meaning: &'static str,
}

/// Every command there is, in the order in which the help tells of them.
pub const USAGES: &[SlackCommandUsage] = &[
    SlackCommandUsage {
        verb: "run",
        rest: "NAME [KEY=VALUE …]",
        meaning: "starts a run of a workflow, with these inputs",
    },
    SlackCommandUsage { verb: "list", rest: "", meaning: "shows the newest runs" },
    SlackCommandUsage { verb: "show", rest: "RUN", meaning: "shows a run, with buttons if it waits for a decision" },
    SlackCommandUsage { verb: "approve", rest: "RUN [REASON]", meaning: "approves a run that waits for a decision" },
    SlackCommandUsage {
        verb: "reject",
        rest: "RUN REASON",
        meaning: "rejects a run that waits for a decision, which ends it",
    },
    SlackCommandUsage {
        verb: "cancel",
        rest: "RUN [REASON]",
        meaning: "cancels a run, and undoes its steps as far as possible",
    },
    SlackCommandUsage { verb: "help", rest: "", meaning: "shows this" },
];

/// Why something is no command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlackCommandError {
    /// There is no such word; these are near it.
    Unknown { word: String, near: Vec<&'static str> },
    /// What follows the word is not what it takes.
    Rest { verb: &'static str, why: String },
}

/// Reads what was typed.
pub fn parse(text: &str) -> Result<SlackCommand, SlackCommandError> {
    let text = unescape(text);
    let (word, rest) = split(&text);
    let verb = word.to_lowercase();
    let wrong = |verb: &'static str| move |why: String| SlackCommandError::Rest { verb, why };
    match verb.as_str() {
        "" | "help" => Ok(SlackCommand::Help),
        "run" => run(rest).map_err(wrong("run")),
        "list" => nothing(rest).map(|()| SlackCommand::List).map_err(wrong("list")),
        "show" => {
            let (id, rest) = run_id(rest).map_err(wrong("show"))?;
            nothing(rest).map(|()| SlackCommand::Show(id)).map_err(wrong("show"))
        }
        "approve" => {
            let (run, reason) = run_id(rest).map_err(wrong("approve"))?;
            Ok(SlackCommand::Decide { run, decision: Decision::Approved, reason: given(reason) })
        }
        "reject" => {
            let (run, reason) = run_id(rest).map_err(wrong("reject"))?;
            let reason = given(reason).ok_or("it needs a reason, for the people who wait for the run".to_owned());
            let reason = Some(reason.map_err(wrong("reject"))?);
            Ok(SlackCommand::Decide { run, decision: Decision::Rejected, reason })
        }
        "cancel" => {
            let (run, reason) = run_id(rest).map_err(wrong("cancel"))?;
            Ok(SlackCommand::Cancel { run, reason: given(reason) })
        }
        _ => {
            let near = near(&verb, USAGES.iter().map(|usage| usage.verb));
            Err(SlackCommandError::Unknown { word: word.to_owned(), near })
        }
    }
}

/// Slack writes its control characters as entities, also in what people typed.
fn unescape(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// The first word, and what follows it.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}

fn given(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

fn nothing(rest: &str) -> Result<(), String> {
    if rest.is_empty() { Ok(()) } else { Err(format!("unexpected {rest:?}")) }
}

/// The run that a command is about, and what follows it.
fn run_id(text: &str) -> Result<(RunId, &str), String> {
    let (word, rest) = split(text);
    // As it is copied from a message.
    let id = word.trim_matches('`');
    if id.is_empty() {
        return Err("which run? `list` shows the ids".to_owned());
    }
    let id = RunId::parse(id).map_err(|_| format!("{id:?} is not the id of a run; `list` shows them"))?;
    Ok((id, rest))
}

fn run(text: &str) -> Result<SlackCommand, String> {
    let (name, rest) = split(text);
    if name.is_empty() {
        return Err("of which workflow?".to_owned());
    }
    Ok(SlackCommand::Run { workflow: name.trim_matches('`').to_owned(), inputs: inputs(&straight(rest))? })
}

/// Phones make quotation marks pretty.
fn straight(text: &str) -> String {
    text.replace(['“', '”', '„'], "\"").replace(['‘', '’', '‚'], "'")
}

fn inputs(text: &str) -> Result<Map<String, Value>, String> {
    let mut inputs = Map::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        let Some(after) = after.strip_prefix('=').filter(|_| !key.is_empty()) else {
            let word = rest.split_whitespace().next().unwrap_or_default();
            return Err(format!("{word:?} is not of the form KEY=VALUE; put a value with spaces in quotes"));
        };
        let (value, after) = value(after).map_err(|why| format!("the value of {key:?} {why}"))?;
        if inputs.insert(key.to_owned(), value).is_some() {
            return Err(format!("{key:?} is given twice"));
        }
        if !after.is_empty() && !after.starts_with(char::is_whitespace) {
            return Err(format!("there is no space after the value of {key:?}"));
        }
        rest = after.trim_start();
    }
    Ok(inputs)
}

/// The value that a text begins with, and what follows it: in quotes, JSON, or a word.
fn value(text: &str) -> Result<(Value, &str), String> {
    match text.chars().next() {
        Some('\'') => {
            let (inner, after) = text[1..].split_once('\'').ok_or("lacks the closing quotation mark")?;
            Ok((inner.into(), after))
        }
        Some('"' | '{' | '[') => {
            let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
            match values.next() {
                Some(Ok(value)) => Ok((value, &text[values.byte_offset()..])),
                Some(Err(error)) => Err(format!("is not JSON: {error}")),
                None => Err("is missing".to_owned()),
            }
        }
        _ => {
            let end = text.find(char::is_whitespace).unwrap_or(text.len());
            let (word, after) = text.split_at(end);
            Ok((serde_json::from_str(word).unwrap_or_else(|_| word.into()), after))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn id(text: &str) -> RunId {
        RunId::parse(text).unwrap()
    }

    fn inputs_of(text: &str) -> Result<Value, String> {
        match parse(text) {
            Ok(SlackCommand::Run { inputs, .. }) => Ok(Value::Object(inputs)),
            Ok(other) => panic!("{other:?} is no run"),
            Err(SlackCommandError::Rest { why, .. }) => Err(why),
            Err(mistake) => panic!("{mistake:?}"),
        }
    }

    #[test]
    fn every_command_is_understood_however_it_is_spaced_and_cased() {
        let decide = |decision, reason: Option<&str>| SlackCommand::Decide {
            run: id("run-1"),
            decision,
            reason: reason.map(str::to_owned),
        };
        let cases = [
            ("", SlackCommand::Help),
            ("  HELP ", SlackCommand::Help),
            ("list", SlackCommand::List),
            ("Show  run-1", SlackCommand::Show(id("run-1"))),
            ("show `run-1`", SlackCommand::Show(id("run-1"))),
            ("approve run-1", decide(Decision::Approved, None)),
            ("approve run-1 looks  fine", decide(Decision::Approved, Some("looks  fine"))),
            ("reject run-1 1 &lt; 2 &amp;&amp; don’t", decide(Decision::Rejected, Some("1 < 2 && don’t"))),
            ("cancel run-1", SlackCommand::Cancel { run: id("run-1"), reason: None }),
            ("cancel run-1 enough", SlackCommand::Cancel { run: id("run-1"), reason: Some("enough".to_owned()) }),
            ("run deploy", SlackCommand::Run { workflow: "deploy".to_owned(), inputs: Map::new() }),
        ];
        for (text, command) in cases {
            assert_eq!(parse(text), Ok(command), "{text:?}");
        }
    }

    #[test]
    fn a_value_is_what_it_is_as_json_and_else_a_text() {
        let cases = [
            ("run w a=1 b=true c=null d=1.5", json!({ "a": 1, "b": true, "c": null, "d": 1.5 })),
            ("run w a=main b=v1.2 c=", json!({ "a": "main", "b": "v1.2", "c": "" })),
            ("run w a=\"two words\"  b='it is \"so\"'", json!({ "a": "two words", "b": "it is \"so\"" })),
            ("run w a=“two words” b=‘three’", json!({ "a": "two words", "b": "three" })),
            ("run w a=\"7\" b='7'", json!({ "a": "7", "b": "7" })),
            ("run w a=[\"x y\", 2] b={\"c\": [1]}", json!({ "a": ["x y", 2], "b": { "c": [1] } })),
            ("run w url=https://x/?a=b&amp;c", json!({ "url": "https://x/?a=b&c" })),
        ];
        for (text, inputs) in cases {
            assert_eq!(inputs_of(text), Ok(inputs), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_input_is_told() {
        let told = |text: &str| inputs_of(text).expect_err("it is none");
        assert_eq!(told("run"), "of which workflow?");
        assert_eq!(told("run w main"), "\"main\" is not of the form KEY=VALUE; put a value with spaces in quotes");
        assert_eq!(told("run w =x"), "\"=x\" is not of the form KEY=VALUE; put a value with spaces in quotes");
        assert_eq!(told("run w a=1 a=2"), "\"a\" is given twice");
        assert_eq!(told("run w a='x"), "the value of \"a\" lacks the closing quotation mark");
        assert_eq!(told("run w a='x'y"), "there is no space after the value of \"a\"");
        assert!(told("run w a=[1,").starts_with("the value of \"a\" is not JSON: "));
    }

    #[test]
    fn what_is_no_command_is_told_with_what_may_have_been_meant() {
        let near = |text: &str| match parse(text) {
            Err(SlackCommandError::Unknown { near, .. }) => near,
            other => panic!("{other:?}"),
        };
        assert_eq!(near("aprove run-1"), ["approve"]);
        assert_eq!(near("lst"), ["list"]);
        assert_eq!(near("make coffee"), [""; 0]);
    }

    #[test]
    fn what_a_command_does_not_take_is_told() {
        let told = |text: &str| match parse(text) {
            Err(SlackCommandError::Rest { verb, why }) => (verb, why),
            other => panic!("{other:?}"),
        };
        assert_eq!(told("show"), ("show", "which run? `list` shows the ids".to_owned()));
        assert_eq!(told("show run-1 please"), ("show", "unexpected \"please\"".to_owned()));
        assert_eq!(told("list all"), ("list", "unexpected \"all\"".to_owned()));
        assert_eq!(told("cancel ../x"), ("cancel", "\"../x\" is not the id of a run; `list` shows them".to_owned()));
        assert_eq!(
            told("reject run-1"),
            ("reject", "it needs a reason, for the people who wait for the run".to_owned())
        );
    }
}
