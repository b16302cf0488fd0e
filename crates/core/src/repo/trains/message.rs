//! How the commit of a squash reads, where the operator wants it otherwise than GitHub writes it.
//!
//! A template is text with places such as `{title}`. What is put there was written by others and stays text: it is not
//! searched for places again.

use std::collections::BTreeSet;
use std::fmt;

use crate::ids::{BranchName, PrNumber};

/// A text with places for what is known of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageTemplate {
    lines: Vec<Vec<Part>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Place(Placeholder),
}

/// What can be put into a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Placeholder {
    Title,
    Number,
    Body,
    Author,
    Branch,
    CoAuthors,
    Reviewers,
    Commits,
}

impl Placeholder {
    const ALL: [(&'static str, Self); 8] = [
        ("title", Self::Title),
        ("number", Self::Number),
        ("body", Self::Body),
        ("author", Self::Author),
        ("branch", Self::Branch),
        ("co_authors", Self::CoAuthors),
        ("reviewers", Self::Reviewers),
        ("commits", Self::Commits),
    ];
}

/// A template with a place that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPlaceholder {
    /// As it is written, without the braces.
    pub placeholder: String,
}

impl fmt::Display for UnknownPlaceholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<String> = Placeholder::ALL.iter().map(|(name, _)| format!("{{{name}}}")).collect();
        let Self { placeholder } = self;
        let known = known.join(", ");
        write!(f, "there is no placeholder {{{placeholder}}}; use {known}, or write {{{{ and }}}} for braces")
    }
}

impl std::error::Error for UnknownPlaceholder {}

/// The templates of a squash's message, as they are written. What has none is worded by GitHub, by the repository's settings.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct SquashMessageTemplates {
    pub title: Option<String>,
    pub body: Option<String>,
}

/// What must be read from GitHub before a template can be filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TemplateNeeds {
    pub commits: bool,
    pub reviews: bool,
}

/// What is squashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SquashedPullRequest {
    pub number: PrNumber,
    pub title: String,
    pub body: String,
    /// The login of whoever opened the pull request; empty for a deleted account.
    pub author: String,
    pub branch: BranchName,
    /// Its own, oldest first: neither merges nor what belongs to a predecessor.
    pub commits: Vec<MessageCommit>,
    /// The logins of those whose last word was to approve.
    pub reviewers: Vec<String>,
}

/// A commit of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageCommit {
    pub message: String,
    pub authors: Vec<CommitPerson>,
}

/// Somebody, as a commit names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitPerson {
    pub name: String,
    pub email: String,
    /// Where GitHub knows whose address that is.
    pub login: Option<String>,
}

impl MessageTemplate {
    /// Reads a template. `{{` and `}}` stand for braces; a brace that belongs to no name stands for itself.
    pub fn parse(text: &str) -> Result<Self, UnknownPlaceholder> {
        let lines = text.trim().lines().map(parse_line).collect::<Result<_, _>>()?;
        Ok(Self { lines })
    }

    pub fn needs(&self) -> TemplateNeeds {
        let has = |wanted: Placeholder| self.lines.iter().flatten().any(|part| *part == Part::Place(wanted));
        TemplateNeeds {
            commits: has(Placeholder::Commits) || has(Placeholder::CoAuthors),
            reviews: has(Placeholder::Reviewers),
        }
    }

    /// The message. A line that has nothing but places, and for which there is nothing to say, is left out.
    pub fn render(&self, subject: &SquashedPullRequest) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let filled: String = line.iter().map(|part| part.filled(subject)).collect();
            let has_place = line.iter().any(|part| matches!(part, Part::Place(_)));
            if has_place && filled.trim().is_empty() {
                continue;
            }
            text.push_str(filled.trim_end());
            text.push('\n');
        }
        text.trim().to_owned()
    }

    /// The message in one line: what a title has to be.
    pub fn render_line(&self, subject: &SquashedPullRequest) -> String {
        self.render(subject).split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl TemplateNeeds {
    /// What either of two templates needs.
    pub fn or(self, other: Self) -> Self {
        Self { commits: self.commits || other.commits, reviews: self.reviews || other.reviews }
    }
}

fn parse_line(line: &str) -> Result<Vec<Part>, UnknownPlaceholder> {
    let (mut parts, mut text, mut rest) = (Vec::new(), String::new(), line);
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("{{").or_else(|| rest.strip_prefix("}}")) {
            text.push(first);
            rest = after;
        } else if let Some((name, after)) = named(rest) {
            let known = Placeholder::ALL.iter().find(|(known, _)| *known == name);
            let (_, place) = known.ok_or_else(|| UnknownPlaceholder { placeholder: name.to_owned() })?;
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text)));
            }
            parts.push(Part::Place(*place));
            rest = after;
        } else {
            text.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    Ok(parts)
}

/// The name in braces that a text begins with, and what follows.
fn named(text: &str) -> Option<(&str, &str)> {
    let (name, after) = text.strip_prefix('{')?.split_once('}')?;
    let is_name =
        !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-'));
    is_name.then_some((name, after))
}

impl Part {
    fn filled(&self, subject: &SquashedPullRequest) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Place(Placeholder::Title) => subject.title.trim().to_owned(),
            Self::Place(Placeholder::Number) => subject.number.to_string(),
            Self::Place(Placeholder::Body) => subject.body.replace("\r\n", "\n").trim().to_owned(),
            Self::Place(Placeholder::Author) => subject.author.clone(),
            Self::Place(Placeholder::Branch) => subject.branch.to_string(),
            Self::Place(Placeholder::CoAuthors) => co_authors(subject),
            Self::Place(Placeholder::Reviewers) => reviewers(subject),
            Self::Place(Placeholder::Commits) => commits(subject),
        }
    }
}

fn commits(subject: &SquashedPullRequest) -> String {
    let headline =
        |commit: &MessageCommit| commit.message.trim().lines().next().map(|line| format!("* {}", line.trim()));
    subject.commits.iter().filter_map(headline).collect::<Vec<_>>().join("\n")
}

fn reviewers(subject: &SquashedPullRequest) -> String {
    let mut met = BTreeSet::new();
    let approved = subject.reviewers.iter().filter(|login| !login.is_empty() && met.insert(login.to_lowercase()));
    approved.map(|login| format!("Reviewed-by: @{login}")).collect::<Vec<_>>().join("\n")
}

/// Those who made the commits besides the author of the pull request, and those whom the commits name, each once.
fn co_authors(subject: &SquashedPullRequest) -> String {
    let is_author = |person: &CommitPerson| {
        let login = person.login.as_deref().or_else(|| login_in(&person.email));
        login.is_some_and(|login| !login.is_empty() && login.eq_ignore_ascii_case(&subject.author))
    };
    let people: Vec<CommitPerson> = subject
        .commits
        .iter()
        .flat_map(|commit| commit.authors.iter().cloned().chain(commit.message.lines().filter_map(co_author_in)))
        .collect();
    let mut met: BTreeSet<String> =
        people.iter().filter(|person| is_author(person)).map(|person| person.email.to_lowercase()).collect();
    let others = people.iter().filter(|person| !person.email.trim().is_empty() && !is_author(person));
    let each_once = others.filter(|person| met.insert(person.email.to_lowercase()));
    each_once.map(trailer).collect::<Vec<_>>().join("\n")
}

fn trailer(person: &CommitPerson) -> String {
    let plain = |text: &str| {
        let kept: String = text.chars().filter(|letter| !letter.is_control() && !matches!(letter, '<' | '>')).collect();
        kept.trim().to_owned()
    };
    let (name, email) = (plain(&person.name), plain(&person.email));
    let name = if name.is_empty() { &email } else { &name };
    format!("Co-authored-by: {name} <{email}>")
}

/// Of a line `Co-authored-by: Name <address>`.
fn co_author_in(line: &str) -> Option<CommitPerson> {
    let (key, value) = line.trim().split_once(':')?;
    if !key.eq_ignore_ascii_case("co-authored-by") {
        return None;
    }
    let (name, rest) = value.split_once('<')?;
    let (email, _) = rest.split_once('>')?;
    Some(CommitPerson { name: name.trim().to_owned(), email: email.trim().to_owned(), login: None })
}

/// The login in an address that GitHub gives to those who hide theirs: `1234+mona@users.noreply.github.com`.
fn login_in(email: &str) -> Option<&str> {
    let (local, host) = email.split_once('@')?;
    let is_githubs = host.to_ascii_lowercase().starts_with("users.noreply.");
    is_githubs.then(|| local.split_once('+').map_or(local, |(_, login)| login))
}

#[cfg(test)]
mod tests;
