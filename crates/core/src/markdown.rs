//! Text of other people in a comment of ours: shown as it is, and obeyed by nobody.
//!
//! Titles, branch names, file names, logs and answers of servers can hold anything. As code they mention nobody, link
//! nowhere, and cannot end the sentence they stand in.

/// A short text as code, on one line.
pub fn code_span(text: &str) -> String {
    let text: String = text.chars().map(|c| if is_unfit(c) { '\u{fffd}' } else { c }).collect();
    if text.trim().is_empty() {
        return "(empty)".to_owned();
    }
    let fence = "`".repeat(longest_run_of_backticks(&text) + 1);
    // Markdown takes one space off at each end, so that the content may begin or end with a backtick.
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// A text as code after what introduces it: in the same line if it is one line, and as a block of its own if it is more.
pub fn introduced(intro: &str, text: &str) -> String {
    let text = text.trim().replace("\r\n", "\n").replace('\r', "\n");
    if !text.contains('\n') {
        return format!("{intro} {}", code_span(&text));
    }
    let text: String =
        text.chars().map(|c| if is_unfit(c) && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c }).collect();
    let fence = "`".repeat(longest_run_of_backticks(&text).max(2) + 1);
    // A fence counts only where a line begins.
    format!("{intro}\n\n{fence}text\n{text}\n{fence}")
}

/// What must not reach a reader: control characters, which end lines, and those that turn the direction of the text, which
/// make it look like another.
fn is_unfit(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn longest_run_of_backticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_break_out_of_its_code_span() {
        assert_eq!(code_span("a`b"), "``a`b``");
        assert_eq!(code_span("`a``"), "``` `a`` ```");
        assert_eq!(code_span("a\n@merge-train stop"), "`a\u{fffd}@merge-train stop`");
    }

    #[test]
    fn a_text_cannot_turn_the_direction_of_the_line() {
        assert_eq!(code_span("main\u{202e}x"), "`main\u{fffd}x`");
    }

    #[test]
    fn nothing_is_not_shown_as_two_stray_backticks() {
        assert_eq!(code_span(""), "(empty)");
        assert_eq!(introduced("It said:", " \n "), "It said: (empty)");
    }

    #[test]
    fn a_text_of_several_lines_becomes_a_block_it_cannot_end() {
        assert_eq!(introduced("It said:", "one line\n"), "It said: `one line`");
        let block = "It said:\n\n````text\na\n```\n\u{fffd}b\n````";
        assert_eq!(introduced("It said:", "a\r\n```\n\u{1b}b"), block);
    }
}
