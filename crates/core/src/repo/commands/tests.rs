//! What is a command, what is talk about commands, and what is answered with what to type.

mod places;
mod properties;

use super::*;

fn predecessor(number: u64) -> Command {
    Command::Predecessor(PrNumber::new(number))
}

/// What was typed, in a test's words. It is short, so that all of it is repeated.
fn typed(text: &str) -> QuotedInput {
    QuotedInput::of(&[text])
}

fn misused(verb: CommandVerb, why: CommandMisuse) -> AddressedLine {
    AddressedLine::Misused { verb, why }
}

fn unknown(text: &str, nearest: impl Into<Option<CommandVerb>>) -> AddressedLine {
    AddressedLine::Unknown { text: typed(text), nearest: nearest.into() }
}

fn run(workflow: &str, inputs: &[(&str, &str)]) -> Command {
    let inputs = inputs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Command::Run { workflow: workflow.to_owned(), inputs }
}

fn decide(decision: Decision, run: &str, reason: Option<&str>) -> Command {
    Command::Decide { run: RunId::parse(run).unwrap(), decision, reason: reason.map(str::to_owned) }
}

/// The first command in a comment.
fn first(body: &str) -> Option<Command> {
    parse_all(body).into_iter().find_map(|said| match said {
        AddressedLine::Command(command) => Some(command),
        AddressedLine::Misused { .. } | AddressedLine::Unknown { .. } | AddressedLine::TooMany => None,
    })
}

#[test]
fn each_command_is_understood_as_it_is_typed() {
    let forced = |close_prs| Command::StopForce { close_prs };
    for (line, expected) in [
        ("@merge-train predecessor #123", predecessor(123)),
        ("@merge-train predecessor 123", predecessor(123)),
        ("@merge-train predecessor #007", predecessor(7)),
        ("@merge-train predecessor #2147483647", predecessor(2_147_483_647)),
        ("@merge-train predecessor \\#5", predecessor(5)),
        ("@merge-train predecessor [#5](https://github.com/acme/widgets/pull/5)", predecessor(5)),
        ("@merge-train predecessor: #5", predecessor(5)),
        ("@merge-train predecessor #5.", predecessor(5)),
        ("@merge-train start", Command::Start),
        ("@merge-train stop", Command::Stop),
        ("@merge-train stop --force", forced(ClosePrs::No)),
        ("@merge-train stop --force --close-prs", forced(ClosePrs::Yes)),
        ("@merge-train stop --close-prs --force", forced(ClosePrs::Yes)),
        ("@merge-train stop \u{2014}force \u{2013}close-prs", forced(ClosePrs::Yes)),
        ("@merge-train plan", Command::Plan),
        ("@merge-train status", Command::Status),
        ("@merge-train help", Command::Help),
        ("@merge-train retry", Command::Retry),
        ("@merge-train run triage", run("triage", &[])),
        ("@merge-train run triage.", run("triage", &[])),
        ("@merge-train run release version=1.2. dry=true", run("release", &[("version", "1.2."), ("dry", "true")])),
        ("@merge-train run release note=", run("release", &[("note", "")])),
        ("@merge-train approve run-7", decide(Decision::Approved, "run-7", None)),
        ("@merge-train approve run-7 fine by me!", decide(Decision::Approved, "run-7", Some("fine by me!"))),
        ("@merge-train reject run-7 not on a Friday", decide(Decision::Rejected, "run-7", Some("not on a Friday"))),
        ("@merge-train", Command::Help),
        ("@Merge-Train START", Command::Start),
        ("@MERGE-TRAIN Stop --FORCE --Close-PRs", forced(ClosePrs::Yes)),
        ("  @merge-train   start  ", Command::Start),
        ("\u{a0}@merge-train\u{a0}start", Command::Start),
        ("@merge-train\tstart", Command::Start),
        ("@merge-train[bot] start", Command::Start),
        ("@Merge-Train[BOT]: start", Command::Start),
        ("@merge-train[bot] start\n\n[bot]: https://example.com", Command::Start),
        ("@merge-train: start", Command::Start),
        ("@merge-train, stop!", Command::Stop),
        ("@merge-train : stop !", Command::Stop),
        ("@merge-train ...", Command::Help),
        ("@merge-train *start*", Command::Start),
        ("@merge-train **stop** --force", forced(ClosePrs::No)),
        ("@merge-train start <!-- at last -->", Command::Start),
        ("@merge-train start<br>", Command::Start),
        ("@merge-train ~~start~~ stop", Command::Stop),
        ("@merge-train start\\\nthanks", Command::Start),
        ("@merge-train start  \nthanks", Command::Start),
    ] {
        assert_eq!(parse_all(line), [AddressedLine::Command(expected)], "{line:?}");
    }
}

#[test]
fn words_that_a_command_does_not_take_are_answered_with_what_to_type() {
    let not_a_number = |text: &str| misused(CommandVerb::Predecessor, CommandMisuse::NotANumber { text: typed(text) });
    let unexpected = |verb, text: &str| misused(verb, CommandMisuse::Unexpected { text: typed(text) });
    for (line, expected) in [
        ("@merge-train predecessor", misused(CommandVerb::Predecessor, CommandMisuse::NumberMissing)),
        ("@merge-train predecessor #", not_a_number("#")),
        ("@merge-train predecessor #0", not_a_number("#0")),
        ("@merge-train predecessor #-1", not_a_number("#-1")),
        ("@merge-train predecessor +1", not_a_number("+1")),
        ("@merge-train predecessor ##5", not_a_number("##5")),
        ("@merge-train predecessor five", not_a_number("five")),
        ("@merge-train predecessor #\u{ff15}", not_a_number("#\u{ff15}")),
        ("@merge-train predecessor #2147483648", not_a_number("#2147483648")),
        ("@merge-train predecessor #99999999999999999999999", not_a_number("#99999999999999999999999")),
        ("@merge-train predecessor acme/widgets#5", not_a_number("acme/widgets#5")),
        ("@merge-train predecessor `#5`", not_a_number("`#5`")),
        ("@merge-train predecessor #5 #6", unexpected(CommandVerb::Predecessor, "#6")),
        ("@merge-train predecessor #5 please", unexpected(CommandVerb::Predecessor, "please")),
        ("@merge-train start now", unexpected(CommandVerb::Start, "now")),
        ("@merge-train start<br>now", unexpected(CommandVerb::Start, "now")),
        ("@merge-train start | yes", unexpected(CommandVerb::Start, "| yes")),
        ("@merge-train start --force", unexpected(CommandVerb::Start, "--force")),
        ("@merge-train plan #5", unexpected(CommandVerb::Plan, "#5")),
        ("@merge-train status of this", unexpected(CommandVerb::Status, "of this")),
        ("@merge-train help me", unexpected(CommandVerb::Help, "me")),
        ("@merge-train retry `now`", unexpected(CommandVerb::Retry, "`now`")),
        ("@merge-train run", AddressedLine::Misused { verb: CommandVerb::Run, why: CommandMisuse::WorkflowMissing }),
        ("@merge-train run .", AddressedLine::Misused { verb: CommandVerb::Run, why: CommandMisuse::WorkflowMissing }),
        (
            "@merge-train run a b",
            AddressedLine::Misused {
                verb: CommandVerb::Run,
                why: CommandMisuse::NotAnInput { text: QuotedInput::of(&["b"]) },
            },
        ),
        (
            "@merge-train run a =b",
            AddressedLine::Misused {
                verb: CommandVerb::Run,
                why: CommandMisuse::NotAnInput { text: QuotedInput::of(&["=b"]) },
            },
        ),
        ("@merge-train approve", AddressedLine::Misused { verb: CommandVerb::Approve, why: CommandMisuse::RunMissing }),
        (
            "@merge-train approve #7",
            AddressedLine::Misused {
                verb: CommandVerb::Approve,
                why: CommandMisuse::NotARun { text: QuotedInput::of(&["#7"]) },
            },
        ),
        (
            "@merge-train reject run-7",
            AddressedLine::Misused { verb: CommandVerb::Reject, why: CommandMisuse::ReasonMissing },
        ),
        ("@merge-train stop --close-prs", misused(CommandVerb::Stop, CommandMisuse::ForceMissing)),
        ("@merge-train stop -f", unexpected(CommandVerb::Stop, "-f")),
        ("@merge-train stop --force --force", unexpected(CommandVerb::Stop, "--force --force")),
        ("@merge-train stop --force it", unexpected(CommandVerb::Stop, "--force it")),
    ] {
        assert_eq!(parse_all(line), [expected], "{line:?}");
        assert_eq!(first(line), None, "{line:?}");
    }
}

#[test]
fn an_unknown_word_comes_with_the_command_that_may_have_been_meant() {
    for (line, expected) in [
        ("@merge-train strat", unknown("strat", CommandVerb::Start)),
        ("@merge-train stpo", unknown("stpo", CommandVerb::Stop)),
        ("@merge-train predecesor #5", unknown("predecesor #5", CommandVerb::Predecessor)),
        ("@merge-train Predeccessor #5", unknown("Predeccessor #5", CommandVerb::Predecessor)),
        ("@merge-train stop?", unknown("stop?", CommandVerb::Stop)),
        ("@merge-train statsu", unknown("statsu", CommandVerb::Status)),
        ("@merge-train `stop`", unknown("`stop`", CommandVerb::Stop)),
        ("@merge-train --help", unknown("--help", CommandVerb::Help)),
        ("@merge-train dance", unknown("dance", None)),
        ("@merge-train   thank   you!", unknown("thank you!", None)),
        ("@merge-train ?", unknown("?", None)),
        ("@merge-train &#96;&#96; @everyone", unknown("`` @everyone", None)),
        ("@merge-train \u{202e}pots", unknown("\u{202e}pots", None)),
        ("@merge-train a\u{7}b", unknown("a\u{7}b", None)),
    ] {
        assert_eq!(parse_all(line), [expected], "{line:?}");
    }
}

#[test]
fn what_is_repeated_of_a_line_is_short() {
    let said = |length| parse_all(&format!("@merge-train {}", "é".repeat(length)));
    assert_eq!(said(40), [unknown(&"é".repeat(40), None)]);
    assert_eq!(said(41), [unknown(&format!("{}…", "é".repeat(39)), None)]);
    assert_eq!(said(60_000), said(41));
}

#[test]
fn what_is_repeated_of_a_line_is_code() {
    for (words, shown) in [
        ("dance", "`dance`"),
        ("@everyone", "`@everyone`"),
        ("&#96;&#96; **bold**", "``` `` bold ```"),
        ("a\u{7}b", "`a\u{fffd}b`"),
        ("\u{202e}pots", "`\u{fffd}pots`"),
    ] {
        match parse_all(&format!("@merge-train {words}")).as_slice() {
            [AddressedLine::Unknown { text, .. }] => assert_eq!(text.to_string(), shown),
            other => panic!("{words:?}: {other:?}"),
        }
    }
}

#[test]
fn a_command_prints_as_it_is_typed() {
    let lines = ["predecessor #5", "start", "stop", "stop --force", "stop --force --close-prs", "plan", "retry"];
    for words in lines.into_iter().chain(["status", "help"]) {
        let command = first(&format!("@merge-train {words}")).expect("a command");
        assert_eq!(command.to_string(), words);
    }
}

#[test]
fn a_comment_may_hold_several_commands_one_for_each_line() {
    let body = "@merge-train predecessor #3\r\n@merge-train[bot] strat\r\n\r\nand then\r\n@merge-train stop\r\n";
    let expected = [
        AddressedLine::Command(predecessor(3)),
        unknown("strat", CommandVerb::Start),
        AddressedLine::Command(Command::Stop),
    ];
    assert_eq!(parse_all(body), expected);
    assert_eq!(first(body), Some(predecessor(3)));
    assert_eq!(first("@merge-train dance\n@merge-train plan"), Some(Command::Plan));
}

#[test]
fn a_stop_is_heard_in_any_line_and_any_form() {
    assert!(says_stop("@merge-train status\n@merge-train stop"));
    assert!(says_stop("@merge-train stop --force"));
    assert!(!says_stop("@merge-train start\nstop"));
    assert!(!says_stop("> @merge-train stop"));
}

#[test]
fn of_a_comment_full_of_commands_the_first_are_heard_and_the_author_is_told() {
    let body = |lines| "@merge-train status\n".repeat(lines);
    assert_eq!(parse_all(&body(MOST_HEARD)), vec![AddressedLine::Command(Command::Status); MOST_HEARD]);
    for lines in [MOST_HEARD + 1, 1000] {
        let said = parse_all(&body(lines));
        assert_eq!(said.len(), MOST_HEARD + 1);
        assert_eq!(said.last(), Some(&AddressedLine::TooMany));
    }
}

#[test]
fn help_lists_every_command_and_is_itself_none() {
    insta::assert_snapshot!(help());
    assert_eq!(parse_all(&help()), []);
    let lines: Vec<String> = help().lines().filter_map(|line| line.split('`').nth(1)).map(str::to_owned).collect();
    assert_eq!(lines.len(), 15);
    for line in lines {
        assert!(matches!(parse_all(&line)[..], [AddressedLine::Command(_)]), "{line:?}");
    }
}

#[test]
fn an_answer_can_say_what_is_wrong_and_what_to_type() {
    let answers: Vec<String> = ["predecessor", "predecessor #0", "start now", "stop --close-prs"]
        .iter()
        .map(|words| match parse_all(&format!("@merge-train {words}")).remove(0) {
            AddressedLine::Misused { verb, why } => format!("{words}: {why}. Type {}.", verb.usage()),
            other => panic!("{other:?}"),
        })
        .collect();
    insta::assert_snapshot!(answers.join("\n"));
}

#[test]
fn a_command_is_stored_as_its_words() {
    for words in
        ["start", "predecessor #5", "stop --force --close-prs", "run release note=*b* v=<i>", "reject run-7 ~~no~~"]
    {
        let stored: StoredCommand = serde_json::from_value(words.into()).unwrap();
        assert!(matches!(stored, StoredCommand::Known(_)), "{words}");
        assert_eq!(serde_json::to_value(stored).unwrap(), words);
    }
    // Of another version, or of nobody.
    for words in ["", "dance", "start now", "START", "predecessor 5", "run "] {
        let stored: StoredCommand = serde_json::from_value(words.into()).unwrap();
        assert_eq!(stored, StoredCommand::Unknown(words.to_owned()));
        assert_eq!(serde_json::to_value(stored).unwrap(), words);
    }
}
