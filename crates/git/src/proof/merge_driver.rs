//! What a merge driver keeps although the change takes it away.
//!
//! `.gitattributes` may say `merge=union`: where two sides conflict, git keeps the lines of both. A line that a pull request deletes beside a line
//! that somebody else adds is then still there, and nobody is told. Both ways to compute what lands heed the attributes, so both would agree on it.

use std::collections::BTreeMap;

use super::own_change::Written;
use crate::{Error, Objects, Oid};

/// How often each line of a file is in it.
type Lines = BTreeMap<Vec<u8>, usize>;

impl Objects {
    /// The first of these files in which the result does not have what a change makes of the default branch.
    pub(super) async fn spoilt_by_driver(
        &self,
        files: Vec<String>,
        written: Written<'_>,
        default_head: &Oid,
        tree: &Oid,
    ) -> Result<Option<String>, Error> {
        for file in files {
            let [before, after] =
                [self.lines(written.stands_on, &file).await?, self.lines(written.people_head, &file).await?];
            let [default, result] = [self.lines(default_head, &file).await?, self.lines(tree, &file).await?];
            // A name that is no UTF-8 cannot be looked up, and what cannot be looked at is not trusted.
            let is_unread = file.contains(char::REPLACEMENT_CHARACTER);
            if is_unread || !has_the_change(&before, &after, &default, &result) {
                return Ok(Some(file));
            }
        }
        Ok(None)
    }

    /// The lines of a file; none where it is not there.
    async fn lines(&self, commit: &Oid, file: &str) -> Result<Lines, Error> {
        let blob =
            self.command(["cat-file", "blob", &format!("{commit}:{file}")]).await?.run_allowing(&[0, 128]).await?;
        let mut lines = Lines::new();
        if blob.code == 0 {
            for line in blob.stdout.split(|byte| *byte == b'\n') {
                *lines.entry(line.to_owned()).or_default() += 1;
            }
        }
        Ok(lines)
    }
}

/// Whether the result has what the change adds, and no longer what it removes. Where the default branch was changed alike, the
/// result may be as the change itself has it.
fn has_the_change(before: &Lines, after: &Lines, default: &Lines, result: &Lines) -> bool {
    let count = |lines: &Lines, line: &[u8]| lines.get(line).copied().unwrap_or(0);
    before.keys().chain(after.keys()).all(|line| {
        let (was, is) = (count(before, line), count(after, line));
        let (default, result) = (count(default, line), count(result, line));
        let moved = (default + is).saturating_sub(was);
        match is.cmp(&was) {
            std::cmp::Ordering::Less => result <= moved.max(is),
            std::cmp::Ordering::Equal => true,
            std::cmp::Ordering::Greater => result >= moved.min(is),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Lines {
        let mut lines = Lines::new();
        for line in text.split(' ') {
            *lines.entry(line.as_bytes().to_vec()).or_default() += 1;
        }
        lines
    }

    /// Whether `result` has the change from `before` to `after`, made on `default`.
    fn holds([before, after, default, result]: [&str; 4]) -> bool {
        has_the_change(&lines(before), &lines(after), &lines(default), &lines(result))
    }

    #[test]
    fn a_deleted_line_must_be_gone_and_an_added_one_there() {
        assert!(holds(["a b", "a", "a b c", "a c"]));
        assert!(!holds(["a b", "a", "a b c", "a b c"]), "b is back");
        assert!(holds(["a", "a x", "a c", "a x c"]));
        assert!(!holds(["a", "a x", "a c", "a c"]), "x is lost");
    }

    #[test]
    fn what_the_default_branch_changed_alike_is_no_contradiction() {
        assert!(holds(["a b", "a", "a c", "a c"]), "both removed it");
        assert!(holds(["a", "a x", "a x", "a x"]), "both added it");
        assert!(holds(["a b b", "a b", "a b b b", "a b b"]), "one of three is removed");
        assert!(!holds(["a b b", "a b", "a b b b", "a b b b"]), "none of three is removed");
    }
}
