//! Whatever people write: it is read without trouble, an example is never obeyed, and a plain line is never missed.

use proptest::prelude::*;

use super::*;

/// What Markdown and HTML are made of, so that texts of it go deep into both.
fn any_markup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => proptest::sample::select(vec![
            "@merge-train", "@merge-train stop", "@merge-train run ", "@merge-train reject run-7 ", " ", "  ", "    ", "\t", "\n", "\n\n", "\r\n", "\r", "`", "```", "~~",
            "~~~", ">", "> ", "- ", "1. ", "# ", "*", "**", "_", "[", "]", "(", ")", "![", "](", "]: ", "<", ">", "</",
            "/>", "<!--", "-->", "<!-->", "<code>", "</code>", "<details>", "</details>", "<pre>", "\"", "'", "=", "|",
            "---", "\\", "&#64;", "&amp;", "<a href=\"", "<?", "<![CDATA[", "]]>", "\u{a0}", "\u{0}", "\u{b}",
            "\u{202e}", "é", "[^1]", "[x] ", ":", "$",
        ]).prop_map(str::to_owned),
        1 => "\\PC{0,6}",
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// A line of words that mean nothing to Markdown.
fn any_prose() -> impl Strategy<Value = String> {
    "[a-z][a-z ,.]{0,30}"
}

/// Lines of prose, with empty ones between some.
fn any_lines() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(prop_oneof![3 => any_prose(), 1 => Just(String::new())], 0..6)
}

fn any_command() -> impl Strategy<Value = (String, Command)> {
    prop_oneof![
        (1..=2_147_483_647_u64).prop_map(|number| (format!("predecessor #{number}"), predecessor(number))),
        Just(("start".to_owned(), Command::Start)),
        Just(("stop".to_owned(), Command::Stop)),
        Just(("stop --force".to_owned(), Command::StopForce { close_prs: ClosePrs::No })),
        Just(("stop --force --close-prs".to_owned(), Command::StopForce { close_prs: ClosePrs::Yes })),
        Just(("plan".to_owned(), Command::Plan)),
        Just(("status".to_owned(), Command::Status)),
        Just(("help".to_owned(), Command::Help)),
        Just(("retry".to_owned(), Command::Retry)),
        Just(("run triage issue=12".to_owned(), super::run("triage", &[("issue", "12")]))),
    ]
    .prop_flat_map(|(words, command)| {
        let mention =
            proptest::sample::select(vec!["@merge-train", "@Merge-Train[bot]", "@MERGE-TRAIN:", "@merge-train,"]);
        (mention, 0..4_usize)
            .prop_map(move |(mention, indent)| (format!("{}{mention} {words}", " ".repeat(indent)), command.clone()))
    })
}

/// Lines with a command among them, as a comment may show them without saying them.
#[derive(Debug, Clone, Copy)]
enum Shown {
    Fenced(&'static str, usize),
    Indented,
    Quoted(usize),
    /// Only the first line carries the mark.
    LazilyQuoted,
    HtmlComment,
    HtmlBlock(&'static str),
    Folded,
    CodeSpan(usize),
    Struck,
}

impl Shown {
    fn of(self, lines: &[String]) -> String {
        let text = lines.join("\n");
        let without_gaps: Vec<&str> = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
        let paragraph = without_gaps.join("\n");
        let each = |mark: &str| lines.iter().map(|line| format!("{mark}{line}")).collect::<Vec<_>>().join("\n");
        match self {
            Self::Fenced(mark, length) => format!("{0}text\n{text}\n{0}", mark.repeat(length)),
            Self::Indented => each("    "),
            Self::Quoted(depth) => each(&"> ".repeat(depth)),
            Self::LazilyQuoted => format!("> so\n{paragraph}"),
            Self::HtmlComment => format!("<!--\n{text}\n-->"),
            Self::HtmlBlock(name) => format!("<{name}>\n{paragraph}\n</{name}>"),
            Self::Folded => format!("<details>\n\n{text}\n\n</details>"),
            Self::CodeSpan(length) => format!("so {0} {paragraph} {0}", "`".repeat(length)),
            Self::Struck => format!("~~so\n{paragraph}\nso~~"),
        }
    }
}

fn any_shown() -> impl Strategy<Value = Shown> {
    prop_oneof![
        (proptest::sample::select(vec!["`", "~"]), 3..6_usize).prop_map(|(mark, length)| Shown::Fenced(mark, length)),
        Just(Shown::Indented),
        (1..4_usize).prop_map(Shown::Quoted),
        Just(Shown::LazilyQuoted),
        Just(Shown::HtmlComment),
        proptest::sample::select(vec!["div", "pre", "code", "blockquote", "table"]).prop_map(Shown::HtmlBlock),
        Just(Shown::Folded),
        (1..4_usize).prop_map(Shown::CodeSpan),
        Just(Shown::Struck),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_read_and_answered_shortly(body in any_markup()) {
        let said = parse_all(&body);
        prop_assert!(said.len() <= MOST_HEARD + 1);
        for one in said {
            let text = match one {
                AddressedLine::Unknown { text, .. } => text,
                AddressedLine::Misused { why: CommandMisuse::NotANumber { text } | CommandMisuse::Unexpected { text }, .. } => text,
                AddressedLine::Misused { .. } | AddressedLine::Command(_) | AddressedLine::TooMany => continue,
            };
            prop_assert!(text.as_str().chars().count() <= 40, "{text:?}");
            prop_assert!(!text.as_str().contains(['\n', '\r']), "{text:?}");
            let shown = text.to_string();
            prop_assert!(!shown.contains(char::is_control), "{text:?}");
            prop_assert_eq!(parse_all(&shown), []);
        }
    }

    #[test]
    fn the_words_of_a_command_are_the_command(body in any_markup()) {
        for said in parse_all(&body) {
            if let AddressedLine::Command(command) = said {
                prop_assert_eq!(command.to_string().parse(), Ok(command));
            }
        }
    }

    #[test]
    fn a_stored_command_keeps_its_words(body in any_markup()) {
        let words = body.replace('\n', " ");
        prop_assert_eq!(StoredCommand::from(words.clone()).to_string(), words);
    }

    #[test]
    fn a_plain_line_is_always_heard(before in any_lines(), (line, command) in any_command(), after in any_lines()) {
        let body = [before, vec![line], after].concat().join("\n");
        prop_assert_eq!(parse_all(&body), [AddressedLine::Command(command)], "{}", body);
    }

    #[test]
    fn a_paragraph_of_its_own_is_heard_after_whatever_is_shown(
        shown in any_shown(),
        before in any_lines(),
        (example, _) in any_command(),
        (line, command) in any_command(),
    ) {
        let body = format!("{}\n\n{line}", shown.of(&[before, vec![example]].concat()));
        prop_assert_eq!(parse_all(&body), [AddressedLine::Command(command)], "{}", body);
    }

    #[test]
    fn a_command_that_is_only_shown_is_never_heard(
        shown in any_shown(),
        above in any_lines(),
        before in any_lines(),
        (line, _) in any_command(),
        after in any_lines(),
    ) {
        let shown = shown.of(&[before, vec![line], after].concat());
        let body = format!("{}\n\n{shown}", above.join("\n"));
        prop_assert_eq!(parse_all(&body), [], "{}", body);
        prop_assert_eq!(parse_all(&body.replace('\n', "\r\n")), [], "{}", body);
    }
}
