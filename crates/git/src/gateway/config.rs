//! What is written into a gateway and into a checkout. Names are quoted, never spliced into a script.

use std::path::Path;

use merge_train_core::ids::BranchName;

use crate::Oid;

/// The largest push: GitHub's own limit is below it.
const LARGEST_PUSH: u64 = 2 * 1024 * 1024 * 1024;

/// Says why a push is refused, before git's terser rules do.
pub(super) const PRE_RECEIVE: &str = r#"#!/bin/sh
# Made by merge-train: tells whoever pushes what this repository takes.
branch=$(git config --get merge-train.branch)
refuse() {
    printf 'merge-train: %s\n' "$1" >&2
    exit 1
}
while read -r old new ref; do
    if [ "$ref" != "refs/heads/$branch" ]; then
        refuse "this checkout may only push to the branch $branch, not to $ref: git push origin HEAD:refs/heads/$branch"
    fi
    case "$new" in
        *[!0]*) ;;
        *) refuse "the branch $branch may not be deleted" ;;
    esac
    case "$old" in
        *[!0]*)
            git merge-base --is-ancestor "$old" "$new" ||
                refuse "only fast-forwards are taken: build on what $branch has (git pull), and rewrite no commits" ;;
    esac
done
"#;

/// The same before anything is sent: a git that takes a push of what a partial repository has already, to another branch, waits
/// for itself for ever (it never closes what its connectivity check was to complain into).
pub(super) const PRE_PUSH: &str = r#"#!/bin/sh
# Made by merge-train: tells whoever pushes what origin takes.
branch=$(git config --get merge-train.branch)
while read -r local new ref old; do
    if [ "$ref" != "refs/heads/$branch" ]; then
        printf 'merge-train: %s\n' "this checkout may only push to the branch $branch, not to $ref: git push origin HEAD:refs/heads/$branch" >&2
        exit 1
    fi
done
"#;

/// What a repository can do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completeness {
    Complete,
    /// File contents of the past are missing, and not to be had.
    Partial,
}

/// The gateway's configuration.
pub(super) fn of_gateway(gateway: &Path, branch: &BranchName, head: &Oid, completeness: Completeness) -> String {
    let mut text = format(head, completeness);
    text += "\tbare = true\n\tlogAllRefUpdates = always\n";
    // Said outright: a fixer's own configuration may point elsewhere.
    text += &format!("\thooksPath = {}\n", quoted(&gateway.join("hooks").display().to_string()));
    text += "[receive]\n\tdenyNonFastForwards = true\n\tdenyDeletes = true\n\tfsckObjects = true\n\tautogc = false\n";
    text += &format!("\tmaxInputSize = {LARGEST_PUSH}\n");
    text += "[uploadpack]\n\tallowFilter = true\n\tallowAnySHA1InWant = true\n";
    text += "[gc]\n\tauto = 0\n\treflogExpire = never\n\treflogExpireUnreachable = never\n";
    text += &format!("[merge-train]\n\tbranch = {}\n", quoted(branch.as_str()));
    if completeness == Completeness::Partial {
        text += "[remote \"origin\"]\n\tpromisor = true\n";
    }
    text
}

/// Who commits in a checkout.
pub(super) struct Identity<'a> {
    pub name: &'a str,
    pub email: &'a str,
}

/// The configuration of a checkout whose origin is `gateway`.
pub(super) fn of_checkout(
    gateway: &Path,
    branch: &BranchName,
    head: &Oid,
    completeness: Completeness,
    identity: &Identity<'_>,
) -> String {
    let mut text = format(head, completeness);
    text += "\tbare = false\n\tlogAllRefUpdates = true\n";
    text += &format!("[remote \"origin\"]\n\turl = {}\n", quoted(&gateway.display().to_string()));
    text += "\tfetch = +refs/heads/*:refs/remotes/origin/*\n";
    if completeness == Completeness::Partial {
        text += "\tpromisor = true\n\tpartialclonefilter = blob:none\n";
    }
    text += &format!(
        "[branch {}]\n\tremote = origin\n\tmerge = {}\n",
        quoted(branch.as_str()),
        quoted(&format!("refs/heads/{branch}"))
    );
    text += &format!("[user]\n\tname = {}\n\temail = {}\n", quoted(identity.name), quoted(identity.email));
    text += &format!("[merge-train]\n\tbranch = {}\n", quoted(branch.as_str()));
    // A pull that finds news merges: what is pushed already must not be rewritten.
    text += "[pull]\n\trebase = false\n";
    text
}

/// The part that says how to read the rest; `[core]` stays open.
fn format(head: &Oid, completeness: Completeness) -> String {
    let mut extensions = String::new();
    if head.as_str().len() == 64 {
        extensions += "\tobjectFormat = sha256\n";
    }
    if completeness == Completeness::Partial {
        extensions += "\tpartialClone = origin\n";
    }
    let version = u8::from(!extensions.is_empty());
    let extensions = if extensions.is_empty() { extensions } else { format!("[extensions]\n{extensions}") };
    format!("{extensions}[core]\n\trepositoryformatversion = {version}\n\tfilemode = true\n")
}

/// As git reads a value, or the middle of a section's name, back.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_would_take_for_syntax_is_quoted() {
        for (text, expected) in [
            ("plain", r#""plain""#),
            (r#"a"b"#, r#""a\"b""#),
            (r"a\b", r#""a\\b""#),
            ("a # b ; c", r#""a # b ; c""#),
            ("a\n[core]\n\tpager = x", r#""a\n[core]\n\tpager = x""#),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }

    #[test]
    fn extensions_are_named_only_in_a_format_that_has_them() {
        let (sha1, sha256) = (Oid::parse("a".repeat(40)).unwrap(), Oid::parse("a".repeat(64)).unwrap());
        assert!(format(&sha1, Completeness::Complete).starts_with("[core]\n\trepositoryformatversion = 0\n"));
        for (head, completeness) in [(&sha1, Completeness::Partial), (&sha256, Completeness::Complete)] {
            let text = format(head, completeness);
            assert!(text.starts_with("[extensions]\n") && text.contains("version = 1\n"), "{text}");
        }
    }
}
