//! Reviews and review comments.

use serde_json::{Value, json};

use super::issue::{author_association, full_name, reaction_rollup};
use super::user::simple_user;
use crate::http::iso;
use crate::world::{NodeKind, ReactionSubject, Review, ReviewComment, World, node_id};

/// `pull-request-review`.
pub fn review(world: &World, review: &Review) -> Value {
    let full_name = full_name(world, review.repo);
    let html = world.urls.web(format!("/{full_name}/pull/{}#pullrequestreview-{}", review.number, review.id));
    let pull = world.urls.api(format!("/repos/{full_name}/pulls/{}", review.number));
    let mut value = json!({
        "id": review.id,
        "node_id": node_id(NodeKind::Review, review.repo, review.id),
        "user": simple_user(world, review.author),
        "body": review.body,
        "state": review.state,
        "html_url": html,
        "pull_request_url": pull,
        "author_association": author_association(world, review.repo, review.author),
        "_links": { "html": { "href": html }, "pull_request": { "href": pull } },
        "commit_id": review.commit,
    });
    if let Some(at) = review.submitted_at {
        value["submitted_at"] = iso(at).into();
    }
    value
}

/// `pull-request-review-comment`.
pub fn review_comment(world: &World, comment: &ReviewComment) -> Value {
    let full_name = full_name(world, comment.repo);
    let url = world.urls.api(format!("/repos/{full_name}/pulls/comments/{}", comment.id));
    let html = world.urls.web(format!("/{full_name}/pull/{}#discussion_r{}", comment.number, comment.id));
    let pull = world.urls.api(format!("/repos/{full_name}/pulls/{}", comment.number));
    let mut value = json!({
        "url": url,
        "pull_request_review_id": comment.review,
        "id": comment.id,
        "node_id": node_id(NodeKind::ReviewComment, comment.repo, comment.id),
        "diff_hunk": comment.diff_hunk,
        "path": comment.path,
        // Where the line is now is known only while it is where it was.
        "position": comment.line.and(comment.original_position),
        "original_position": comment.original_position,
        "commit_id": comment.commit,
        "original_commit_id": comment.original_commit,
        "user": simple_user(world, comment.author),
        "body": comment.body,
        "created_at": iso(comment.created_at),
        "updated_at": iso(comment.updated_at),
        "html_url": html,
        "pull_request_url": pull,
        "author_association": author_association(world, comment.repo, comment.author),
        "_links": { "self": { "href": url }, "html": { "href": html }, "pull_request": { "href": pull } },
        "reactions": reaction_rollup(world, comment.repo, ReactionSubject::ReviewComment(comment.id)),
        "start_line": comment.start_line,
        "original_start_line": comment.original_start_line,
        "start_side": comment.start_side,
        "line": comment.line,
        "original_line": comment.original_line,
        "side": comment.side,
        "subject_type": comment.subject_type,
    });
    if let Some(id) = comment.in_reply_to {
        value["in_reply_to_id"] = id.into();
    }
    value
}
