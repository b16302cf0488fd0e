//! Commands in a comment, for people to copy. Branch names come from anybody and can hold what a shell would run.

/// A word of a command, quoted where a shell would make more of it.
pub fn word(text: &str) -> String {
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '-' | '+' | '@' | '=' | ',' | ':');
    if !text.is_empty() && (!text.starts_with('-') || text.starts_with("--")) && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Lines of a shell as a block of Markdown.
pub fn block(lines: &[String]) -> String {
    let text = lines.join("\n");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}sh\n{text}\n{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_shell_would_run_is_quoted() {
        assert_eq!(word("feature/login-2"), "feature/login-2");
        assert_eq!(word("$(reboot)"), "'$(reboot)'");
        assert_eq!(word("it's;ls"), r"'it'\''s;ls'");
        assert_eq!(word("-f"), "'-f'");
    }

    #[test]
    fn a_block_cannot_be_ended_by_what_is_in_it() {
        assert_eq!(block(&["echo '```'".to_owned()]), "````sh\necho '```'\n````");
    }
}
