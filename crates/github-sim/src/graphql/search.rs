//! Searching for issues, pull requests, repositories and users.

use async_graphql::{Context, Object, SimpleObject, Union};

use super::actor::{Organization, User};
use super::connection::{Member, PageInfo, Paging, Slice};
use super::enums::SearchType;
use super::issue::{Issue, has_label};
use super::pull::PullRequest;
use super::repository::Repository;
use super::scalars::int;
use super::suite::App;
use super::{Ask, Failure, Result};
use crate::http::{Level, Scope, may};
use crate::world::{self, AccountKind, Id, IssueState, World};

#[derive(Clone, Union)]
enum SearchResultItem {
    App(App),
    Issue(Issue),
    Organization(Organization),
    PullRequest(PullRequest),
    Repository(Repository),
    User(User),
}

pub struct SearchResultItemConnection {
    kind: SearchType,
    page: Slice<SearchResultItem>,
}

impl SearchResultItemConnection {
    fn count(&self, kind: SearchType) -> i32 {
        if self.kind == kind { int(self.page.total) } else { 0 }
    }
}

#[Object]
impl SearchResultItemConnection {
    async fn code_count(&self) -> i32 {
        0
    }

    async fn discussion_count(&self) -> i32 {
        0
    }

    async fn edges(&self) -> Option<Vec<Option<SearchResultItemEdge>>> {
        let edge = |member: &Member<SearchResultItem>| SearchResultItemEdge {
            cursor: member.cursor.clone(),
            node: Some(member.item.clone()),
        };
        Some(self.page.members.iter().map(|member| Some(edge(member))).collect())
    }

    async fn issue_count(&self) -> i32 {
        self.count(SearchType::Issue)
    }

    async fn nodes(&self) -> Option<Vec<Option<&SearchResultItem>>> {
        Some(self.page.items().map(Some).collect())
    }

    async fn page_info(&self) -> PageInfo {
        self.page.page_info()
    }

    async fn repository_count(&self) -> i32 {
        self.count(SearchType::Repository)
    }

    async fn user_count(&self) -> i32 {
        self.count(SearchType::User)
    }

    async fn wiki_count(&self) -> i32 {
        0
    }
}

#[derive(SimpleObject)]
struct SearchResultItemEdge {
    cursor: String,
    node: Option<SearchResultItem>,
}

/// The newest first.
pub async fn search(
    ctx: &Context<'_>,
    paging: &Paging,
    kind: SearchType,
    query: &str,
) -> Result<SearchResultItemConnection> {
    let query = Query::parse(ctx, query);
    let page = match kind {
        SearchType::Issue => issues(ctx, paging, &query).await?,
        SearchType::Repository => ctx.look(|world| {
            let seen = world.repos.all().rev().filter_map(|repo| Repository::seen(world, ctx.caller(), repo.id));
            let found: Vec<Repository> = seen.filter(|repo| query.accepts_repo(world, repo)).collect();
            let page = paging.of(found, |repo| repo.id)?;
            Ok::<_, Failure>(page.filter_map(|repo| Some(SearchResultItem::Repository(repo))))
        })?,
        SearchType::User => ctx.look(|world| {
            let people = world.accounts.all().filter(|account| account.kind == AccountKind::User);
            let found: Vec<Id> =
                people.filter(|one| query.accepts_words(&one.login)).map(|account| account.id).collect();
            let page = paging.of(found, |id| *id)?;
            Ok::<_, Failure>(page.filter_map(|id| Some(SearchResultItem::User(User::new(world, id)))))
        })?,
        SearchType::Discussion => Slice::none(),
    };
    Ok(SearchResultItemConnection { kind, page })
}

/// Several repositories' pull requests can stand on one page: git is asked about each repository's together.
async fn issues(ctx: &Context<'_>, paging: &Paging, query: &Query) -> Result<Slice<SearchResultItem>> {
    let page = ctx.look(|world| {
        let repos = world.repos.all().filter_map(|repo| Repository::seen(world, ctx.caller(), repo.id));
        let repos: Vec<Repository> = repos.filter(|repo| query.accepts_repo(world, repo)).collect();
        let mut found: Vec<(Repository, &world::Issue)> = Vec::new();
        for repo in repos {
            let shows = |scope| may(world, ctx.caller(), &repo, scope, Level::Read).is_ok();
            let (issues, pulls) = (shows(Scope::Issues), shows(Scope::PullRequests));
            let all = world.issues.within(repo.id).filter(|issue| if issue.is_pull { pulls } else { issues });
            found.extend(all.filter(|issue| query.accepts(world, issue)).map(|issue| (repo.clone(), issue)));
        }
        found.sort_by_key(|(_, issue)| std::cmp::Reverse((issue.created_at, issue.id)));
        let page = paging.of(found, |(_, issue)| issue.id)?;
        Ok::<_, super::Failure>(page.filter_map(|(repo, issue)| Some((repo, issue.number, issue.is_pull))))
    })?;
    let mut pulls: Vec<PullRequest> = Vec::new();
    let mut repos: Vec<&Repository> = page.items().map(|(repo, ..)| repo).collect();
    repos.dedup_by_key(|repo| repo.id);
    for repo in repos {
        let numbers: Vec<u64> = page
            .items()
            .filter(|(other, number, is_pull)| {
                *is_pull
                    && other.id == repo.id
                    && !pulls.iter().any(|pull| pull.repo.id == repo.id && pull.pull.number == *number)
            })
            .map(|(_, number, _)| *number)
            .collect();
        pulls.extend(PullRequest::settled(ctx, repo, &numbers).await?);
    }
    Ok::<_, Failure>(page.filter_map(|(repo, number, is_pull)| {
        if is_pull {
            let found = pulls.iter().find(|pull| pull.repo.id == repo.id && pull.pull.number == number);
            return found.cloned().map(SearchResultItem::PullRequest);
        }
        ctx.look(|world| Issue::load(world, &repo, number)).map(SearchResultItem::Issue)
    }))
}

/// What is searched for: `repo:o/r is:pr is:open author:@me some words`.
#[derive(Default)]
struct Query {
    words: Vec<String>,
    qualifiers: Vec<Qualifier>,
}

struct Qualifier {
    name: String,
    value: String,
    /// Written with a `-` in front.
    negated: bool,
}

impl Query {
    fn parse(ctx: &Context<'_>, text: &str) -> Self {
        let me = ctx.caller().actor().map(|actor| ctx.look(|world| world.account(actor).login.clone()));
        let mut query = Self::default();
        for part in parts(text) {
            let (negated, rest) = match part.strip_prefix('-') {
                Some(rest) => (true, rest),
                None => (false, part.as_str()),
            };
            match rest.split_once(':').filter(|(name, value)| !name.is_empty() && !value.is_empty()) {
                Some((name, value)) => {
                    let value = match (value, &me) {
                        ("@me", Ok(me)) => me.clone(),
                        _ => value.to_owned(),
                    };
                    query.qualifiers.push(Qualifier { name: name.to_lowercase(), value, negated });
                }
                None => query.words.push(part.to_lowercase()),
            }
        }
        query
    }

    fn accepts_words(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.words.iter().all(|word| text.contains(word))
    }

    /// `repo:`, `user:` and `org:` widen each other; without any of them all are meant.
    fn accepts_repo(&self, world: &World, repo: &Repository) -> bool {
        let mut named =
            self.qualifiers.iter().filter(|one| matches!(one.name.as_str(), "repo" | "user" | "org")).peekable();
        let owner = &world.account(repo.owner).login;
        named.peek().is_none()
            || named.any(|one| match one.name.as_str() {
                "repo" => one.value.eq_ignore_ascii_case(repo.full_name()),
                _ => one.value.eq_ignore_ascii_case(owner),
            })
    }

    fn accepts(&self, world: &World, issue: &world::Issue) -> bool {
        let text = format!("{}\n{}", issue.title, issue.body.as_deref().unwrap_or_default());
        self.accepts_words(&text)
            && self.qualifiers.iter().all(|one| one.matches(world, issue).is_none_or(|matches| matches != one.negated))
    }
}

impl Qualifier {
    /// None for what says nothing about an issue.
    fn matches(&self, world: &World, issue: &world::Issue) -> Option<bool> {
        let pull = world.pulls.get(issue.repo, issue.number);
        let value = self.value.as_str();
        let is_account = |id: Id| {
            let login = &world.account(id).login;
            let app = value.strip_prefix("app/");
            login.eq_ignore_ascii_case(value) || app.is_some_and(|slug| login.strip_suffix("[bot]") == Some(slug))
        };
        Some(match (self.name.as_str(), value.to_lowercase().as_str()) {
            ("is" | "type", "pr" | "pull-request") => issue.is_pull,
            ("is" | "type", "issue") => !issue.is_pull,
            ("is" | "state", "open") => issue.state == IssueState::Open,
            ("is" | "state", "closed") => issue.state == IssueState::Closed,
            ("is", "merged") => pull.is_some_and(|pull| pull.merged.is_some()),
            ("is", "unmerged") => pull.is_some_and(|pull| pull.merged.is_none()),
            ("is", "draft") | ("draft", "true") => pull.is_some_and(|pull| pull.draft),
            ("draft", "false") => pull.is_some_and(|pull| !pull.draft),
            ("author", _) => is_account(issue.author),
            ("assignee", _) => issue.assignees.iter().any(|id| is_account(*id)),
            ("involves", _) => is_account(issue.author) || issue.assignees.iter().any(|id| is_account(*id)),
            ("review-requested" | "user-review-requested", _) => {
                pull.is_some_and(|pull| pull.requested_reviewers.iter().any(|id| is_account(*id)))
            }
            ("head", _) => pull.is_some_and(|pull| pull.head_ref == value),
            ("base", _) => pull.is_some_and(|pull| pull.base_ref == value),
            ("label", _) => has_label(world, issue, std::slice::from_ref(&self.value)),
            _ => return None,
        })
    }
}

/// Parts apart by spaces; quotes hold one together.
fn parts(text: &str) -> Vec<String> {
    let (mut parts, mut part, mut quoted) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => parts.push(std::mem::take(&mut part)),
            c => part.push(c),
        }
    }
    parts.push(part);
    parts.retain(|part| !part.is_empty());
    parts
}
