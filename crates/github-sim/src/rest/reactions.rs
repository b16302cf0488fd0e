//! Reactions to issues, pull requests, comments and review comments.

use axum::Router;
use axum::extract::State;
use axum::routing::{delete, get};
use serde::Deserialize;

use super::comments::comment_for;
use super::issues::issue_for;
use super::review_comments::review_comment_for;
use crate::Sim;
use crate::conversation::reactions::{self, Reacted};
use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Page, Path, Query};
use crate::present;
use crate::world::{Id, Reaction, ReactionSubject, World};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/issues/{issue_number}/reactions", get(of_issue).post(to_issue))
        .route("/repos/{owner}/{repo}/issues/{issue_number}/reactions/{reaction_id}", delete(off_issue))
        .route("/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions", get(of_comment).post(to_comment))
        .route("/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions/{reaction_id}", delete(off_comment))
        .route("/repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions", get(of_review).post(to_review))
        .route("/repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions/{reaction_id}", delete(off_review))
}

/// What kind of thing the path names.
#[derive(Clone, Copy)]
enum Kind {
    Issue,
    Comment,
    ReviewComment,
}

/// The repository and the thing reacted to, if the caller may go that far with it.
fn subject(
    world: &World,
    caller: &Caller,
    (owner, name, id): &(String, String, u64),
    kind: Kind,
    level: Level,
) -> Result<(Id, ReactionSubject), ApiError> {
    Ok(match kind {
        Kind::Issue => (issue_for(world, caller, owner, name, *id, level)?.repo, ReactionSubject::Issue(*id)),
        Kind::Comment => (comment_for(world, caller, owner, name, *id, level)?.repo, ReactionSubject::Comment(*id)),
        Kind::ReviewComment => {
            (review_comment_for(world, caller, owner, name, *id, level)?.repo, ReactionSubject::ReviewComment(*id))
        }
    })
}

#[derive(Deserialize)]
struct Filter {
    content: Option<String>,
}

type Thing = Path<(String, String, u64)>;

fn list(
    sim: &Sim,
    caller: &Caller,
    path: &(String, String, u64),
    filter: &Filter,
    page: &Page,
    kind: Kind,
) -> ApiResult {
    sim.read(|world| {
        let (repo, subject) = subject(world, caller, path, kind, Level::Read)?;
        let wanted = filter.content.as_deref();
        let found: Vec<&Reaction> = world
            .reactions
            .within(repo)
            .filter(|reaction| reaction.subject == subject && wanted.is_none_or(|wanted| reaction.content == wanted))
            .collect();
        Ok(page.of(&found, |reaction| present::reaction(world, reaction)))
    })
}

#[derive(Deserialize)]
struct NewReaction {
    content: String,
}

fn react(sim: &Sim, caller: &Caller, path: &(String, String, u64), new: &NewReaction, kind: Kind) -> ApiResult {
    sim.write(|world| {
        let (repo, subject) = subject(world, caller, path, kind, Level::Participate)?;
        let (id, reacted) = reactions::react(world, caller.actor()?, repo, subject, &new.content)?;
        let reaction = world.reactions.get(repo, id).expect("written or found above");
        let status = if reacted == Reacted::Now { 201 } else { 200 };
        Ok(http::json(status, &present::reaction(world, reaction)))
    })
}

fn take_back(
    sim: &Sim,
    caller: &Caller,
    (owner, name, id, reaction): (String, String, u64, Id),
    kind: Kind,
) -> ApiResult {
    sim.write(|world| {
        let path = (owner, name, id);
        let (repo, subject) = subject(world, caller, &path, kind, Level::Participate)?;
        let found = world.reactions.get(repo, reaction).filter(|found| found.subject == subject);
        let found = found.ok_or_else(ApiError::not_found)?;
        if found.user != caller.actor()? {
            return Err(ApiError::forbidden("Resource not accessible: only your own reactions can be removed."));
        }
        world.reactions.remove(repo, reaction);
        Ok(http::no_content())
    })
}

macro_rules! endpoints {
    ($kind:ident: $list:ident, $react:ident, $take_back:ident) => {
        async fn $list(
            State(sim): State<Sim>,
            caller: Caller,
            Path(path): Thing,
            Query(filter): Query<Filter>,
            page: Page,
        ) -> ApiResult {
            list(&sim, &caller, &path, &filter, &page, Kind::$kind)
        }

        async fn $react(
            State(sim): State<Sim>,
            caller: Caller,
            Path(path): Thing,
            Body(new): Body<NewReaction>,
        ) -> ApiResult {
            react(&sim, &caller, &path, &new, Kind::$kind)
        }

        async fn $take_back(
            State(sim): State<Sim>,
            caller: Caller,
            Path(path): Path<(String, String, u64, Id)>,
        ) -> ApiResult {
            take_back(&sim, &caller, path, Kind::$kind)
        }
    };
}

endpoints!(Issue: of_issue, to_issue, off_issue);
endpoints!(Comment: of_comment, to_comment, off_comment);
endpoints!(ReviewComment: of_review, to_review, off_review);
