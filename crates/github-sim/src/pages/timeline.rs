//! The conversation of an issue or pull request in the order it happened.

use jiff::Timestamp;
use maud::{Markup, html};

use super::layout::{person, short, time};
use super::markdown::render;
use crate::world::{
    Comment, Id, Issue, IssueEvent, ReactionSubject, Repo, Review, ReviewComment, ReviewState, ReviewThread, World,
};

pub fn timeline(world: &World, repo: &Repo, issue: &Issue) -> Markup {
    let full_name = world.full_name(repo);
    let mut entries: Vec<((Timestamp, Id), Markup)> = Vec::new();
    for one in world.comments.within(repo.id).filter(|one| one.number == issue.number) {
        entries.push(((one.created_at, one.id), comment(world, one, &full_name)));
    }
    for one in
        world.reviews.within(repo.id).filter(|one| one.number == issue.number && one.state != ReviewState::Pending)
    {
        entries.push(((one.submitted_at.unwrap_or(one.created_at), one.id), review(world, one, &full_name)));
    }
    for one in world.issue_events.within(repo.id).filter(|one| one.number == issue.number) {
        entries.push(((one.created_at, one.id), event(world, one)));
    }
    entries.sort_by_key(|(at, _)| *at);
    html! {
        (said(world, issue.author, issue.created_at, "opened this", issue.body.as_deref().unwrap_or_default(), &full_name, ReactionSubject::Issue(issue.number), repo.id))
        @for (_, entry) in entries { (entry) }
    }
}

fn comment(world: &World, one: &Comment, full_name: &str) -> Markup {
    let words = if one.updated_at > one.created_at { "commented, edited" } else { "commented" };
    let subject = ReactionSubject::Comment(one.id);
    html! {
        div id={ "issuecomment-" (one.id) } {
            (said(world, one.author, one.created_at, words, &one.body, full_name, subject, one.repo))
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "the parts of a box on a page")]
fn said(
    world: &World,
    author: Id,
    at: Timestamp,
    words: &str,
    body: &str,
    full_name: &str,
    subject: ReactionSubject,
    repo: Id,
) -> Markup {
    html! {
        article {
            h3 { (person(world.account(author))) " " (words) " " (time(at)) }
            div class="md" {
                @if body.trim().is_empty() { p class="muted" { "No description provided." } }
                @else { (render(body, full_name)) }
            }
            (reactions(world, repo, subject))
        }
    }
}

fn reactions(world: &World, repo: Id, subject: ReactionSubject) -> Markup {
    let given: Vec<_> = world.reactions.within(repo).filter(|one| one.subject == subject).collect();
    let face = |content: &str| match content {
        "+1" => "👍",
        "-1" => "👎",
        "laugh" => "😄",
        "confused" => "😕",
        "heart" => "❤️",
        "hooray" => "🎉",
        "rocket" => "🚀",
        _ => "👀",
    };
    html! {
        @if !given.is_empty() {
            div class="reactions" {
                p { @for one in given { span title=(world.account(one.user).login) { (face(&one.content)) } } }
            }
        }
    }
}

fn review(world: &World, one: &Review, full_name: &str) -> Markup {
    let (class, words) = match one.state {
        ReviewState::Approved => ("ok", "approved these changes"),
        ReviewState::ChangesRequested => ("bad", "requested changes"),
        ReviewState::Dismissed => ("muted", "reviewed; the review was dismissed"),
        ReviewState::Commented | ReviewState::Pending => ("muted", "reviewed"),
    };
    let comments: Vec<&ReviewComment> =
        world.review_comments.within(one.repo).filter(|comment| comment.review == one.id).collect();
    html! {
        article {
            h3 {
                (person(world.account(one.author))) " " span class=(class) { (words) } " at " code { (short(&one.commit)) } " "
                (time(one.submitted_at.unwrap_or(one.created_at)))
            }
            @if !one.body.trim().is_empty() || !comments.is_empty() {
                div class="md" {
                    (render(&one.body, full_name))
                    @for comment in comments { (inline(world, comment, full_name)) }
                }
            }
        }
    }
}

fn inline(world: &World, comment: &ReviewComment, full_name: &str) -> Markup {
    let thread: Option<&ReviewThread> = world.review_threads.get(comment.repo, comment.thread);
    html! {
        p {
            code { (comment.path) @if let Some(line) = comment.line.or(comment.original_line) { ":" (line) } }
            @if thread.is_some_and(|thread| thread.resolved_by.is_some()) { " " span class="tag" { "resolved" } }
            @if thread.is_some_and(|thread| thread.outdated) { " " span class="tag" { "outdated" } }
        }
        @if comment.in_reply_to.is_none() && !comment.diff_hunk.is_empty() { pre { code { (comment.diff_hunk) } } }
        (render(&comment.body, full_name))
    }
}

fn event(world: &World, one: &IssueEvent) -> Markup {
    let text = |pointer: &str| one.details.pointer(pointer).and_then(|value| value.as_str()).unwrap_or_default();
    let words = match one.event.as_str() {
        "merged" => format!("merged this as {}", short(text("/commit_id"))),
        "renamed" => format!("changed the title from “{}”", text("/rename/from")),
        "labeled" => format!("added the label {}", text("/label/name")),
        "unlabeled" => format!("removed the label {}", text("/label/name")),
        "review_requested" => format!("asked {} for a review", text("/requested_reviewer/login")),
        "review_dismissed" => "dismissed a review".to_owned(),
        other => other.replace('_', " "),
    };
    html! { p class="event" { (person(world.account(one.actor))) " " (words) " " (time(one.created_at)) } }
}
