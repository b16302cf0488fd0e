//! The words of the commits that GitHub writes when it merges.

use crate::git::{CommitObject, Signature};
use crate::people::account_by_email;
use crate::world::{Issue, MergeMessage, MergeTitle, Pull, Repo, SquashMessage, SquashTitle, World};

/// What the caller of the merge wrote instead of GitHub.
#[derive(Clone, Debug, Default)]
pub struct Words {
    pub title: Option<String>,
    pub message: Option<String>,
}

/// A squash commit's message. `commits` are the pull request's, oldest first.
pub fn squash(world: &World, repo: &Repo, pull: &Pull, issue: &Issue, commits: &[CommitObject], own: &Words) -> String {
    let title = own.title.clone().unwrap_or_else(|| squash_title(repo, pull, issue, commits));
    let message = own.message.clone().unwrap_or_else(|| squash_body(world, repo, issue, commits));
    join(&title, &message)
}

fn squash_title(repo: &Repo, pull: &Pull, issue: &Issue, commits: &[CommitObject]) -> String {
    let title = match (repo.squash_merge_commit_title, commits) {
        (SquashTitle::CommitOrPrTitle, [only]) => only.title(),
        _ => &issue.title,
    };
    format!("{title} (#{})", pull.number)
}

fn squash_body(world: &World, repo: &Repo, issue: &Issue, commits: &[CommitObject]) -> String {
    let body = match (repo.squash_merge_commit_message, commits) {
        (SquashMessage::PrBody, _) => issue.body.clone().unwrap_or_default(),
        (SquashMessage::Blank, _) => String::new(),
        (SquashMessage::CommitMessages, [only]) => only.body().to_owned(),
        (SquashMessage::CommitMessages, several) => {
            let entries: Vec<String> = several
                .iter()
                .map(|commit| match commit.body() {
                    "" => format!("* {}", commit.title()),
                    body => format!("* {}\n\n{body}", commit.title()),
                })
                .collect();
            entries.join("\n\n")
        }
    };
    let credits = co_authors(world, issue, commits, &body);
    match (body.trim_end(), credits.as_str()) {
        (body, "") => body.to_owned(),
        ("", credits) => credits.to_owned(),
        // GitHub sets the credits of a list apart from it.
        (body, credits) if commits.len() > 1 => format!("{body}\n\n---------\n\n{credits}"),
        (body, credits) => format!("{body}\n\n{credits}"),
    }
}

/// Everyone but the pull request's author who wrote one of the commits or was credited in one.
fn co_authors(world: &World, issue: &Issue, commits: &[CommitObject], body: &str) -> String {
    let author = world.account(issue.author);
    let is_author = |email: &str| {
        email.eq_ignore_ascii_case(&author.commit_email())
            || account_by_email(world, email).is_some_and(|account| account.id == author.id)
    };
    let mut lines: Vec<String> = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for commit in commits {
        let credited = commit.message.lines().filter_map(credit);
        for (name, email) in [&commit.author].into_iter().map(parts).chain(credited) {
            let key = email.to_lowercase();
            if is_author(&email) || seen.contains(&key) {
                continue;
            }
            seen.push(key);
            let line = format!("Co-authored-by: {name} <{email}>");
            // A single commit's own credits stand in its body already.
            if commits.len() > 1 || !body.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines.join("\n")
}

fn parts(signature: &Signature) -> (String, String) {
    (signature.name.clone(), signature.email.clone())
}

/// `Co-authored-by: Name <address>`.
fn credit(line: &str) -> Option<(String, String)> {
    let (key, value) = line.split_once(':')?;
    if !key.trim().eq_ignore_ascii_case("co-authored-by") {
        return None;
    }
    let (name, rest) = value.split_once('<')?;
    Some((name.trim().to_owned(), rest.split_once('>')?.0.trim().to_owned()))
}

/// A merge commit's message.
pub fn merge(repo: &Repo, pull: &Pull, issue: &Issue, own: &Words) -> String {
    let title = own.title.clone().unwrap_or_else(|| match repo.merge_commit_title {
        MergeTitle::MergeMessage => {
            format!("Merge pull request #{} from {}/{}", pull.number, pull.head_owner, pull.head_ref)
        }
        MergeTitle::PrTitle => format!("{} (#{})", issue.title, pull.number),
    });
    let message = own.message.clone().unwrap_or_else(|| match repo.merge_commit_message {
        MergeMessage::PrTitle => issue.title.clone(),
        MergeMessage::PrBody => issue.body.clone().unwrap_or_default(),
        MergeMessage::Blank => String::new(),
    });
    join(&title, &message)
}

fn join(title: &str, message: &str) -> String {
    match message.trim_end().replace("\r\n", "\n") {
        message if message.is_empty() => title.to_owned(),
        message => format!("{title}\n\n{message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credit_is_read_however_it_is_spelled() {
        assert_eq!(credit("Co-authored-by: Ann Bee <a@b.c>"), Some(("Ann Bee".into(), "a@b.c".into())));
        assert_eq!(credit("co-Authored-By:Ann<a@b.c>"), Some(("Ann".into(), "a@b.c".into())));
        assert_eq!(credit("Signed-off-by: Ann <a@b.c>"), None);
        assert_eq!(credit("Co-authored-by: Ann"), None);
    }
}
