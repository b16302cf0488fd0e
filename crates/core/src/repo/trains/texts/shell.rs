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

/// Commands as a block of Markdown; what begins with `#` is a remark. Each command runs only if the one before succeeded, so that a block
/// that is pasted as a whole pushes nothing after a conflict.
pub fn block(lines: &[String]) -> String {
    let last = lines.iter().rposition(|line| !line.starts_with('#'));
    let chained = |(index, line): (usize, &String)| match line.starts_with('#') || Some(index) == last {
        true => line.clone(),
        false => format!("{line} &&"),
    };
    let text = lines.iter().enumerate().map(chained).collect::<Vec<_>>().join("\n");
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
    fn a_command_runs_only_if_the_one_before_succeeded() {
        let lines = ["git fetch", "# Look at it.", "git push", "# Done."].map(str::to_owned);
        assert_eq!(block(&lines), "```sh\ngit fetch &&\n# Look at it.\ngit push\n# Done.\n```");
    }

    #[test]
    fn a_block_cannot_be_ended_by_what_is_in_it() {
        assert_eq!(block(&["echo '```'".to_owned()]), "````sh\necho '```'\n````");
    }
}
