//! What `git push --porcelain` prints about refs that it did not move.

/// The server's own reason for refusing, if it was the server that refused and not git that lost a race.
///
/// A line of a ref is `flag TAB from:to TAB summary (reason)`; the flag of a refusal is `!`. What hooks and rules print
/// comes on standard error behind `remote: `, and is the text that a person needs.
pub(super) fn refusal(stdout: &str, stderr: &str) -> Option<String> {
    let summary =
        stdout.lines().find_map(|line| line.strip_prefix("!\t")?.split_once('\t').map(|(_, summary)| summary))?;
    let reason = summary.strip_prefix("[remote rejected]")?.trim().trim_matches(['(', ')']).to_owned();
    let told: Vec<&str> = stderr
        .lines()
        .filter_map(|line| line.strip_prefix("remote:"))
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    Some(if told.is_empty() { reason } else { format!("{reason}: {}", told.join(" ")) })
}

#[cfg(test)]
mod tests {
    use super::refusal;

    #[test]
    fn a_rule_or_a_hook_is_told_from_a_lost_race() {
        let line = |summary: &str| format!("To https://example.test/o/r.git\n!\tabc:refs/heads/b\t{summary}\nDone\n");
        let hook = "remote: error: GH006: Protected branch update failed for refs/heads/b.        \nremote: \n\
                    remote: - Changes must be made through a pull request.        \nerror: failed to push some refs";
        assert_eq!(
            refusal(&line("[remote rejected] (protected branch hook declined)"), hook).unwrap(),
            "protected branch hook declined: error: GH006: Protected branch update failed for refs/heads/b. - \
             Changes must be made through a pull request."
        );
        assert_eq!(
            refusal(&line("[remote rejected] (pre-receive hook declined)"), "").unwrap(),
            "pre-receive hook declined"
        );
        for lost in ["[rejected] (stale info)", "[rejected] (fetch first)", "[rejected] (non-fast-forward)"] {
            assert_eq!(refusal(&line(lost), hook), None, "{lost}");
        }
        assert_eq!(refusal("", "fatal: the remote end hung up unexpectedly"), None);
    }
}
