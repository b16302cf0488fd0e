//! What a push does to reviews: approvals that are dismissed, comments whose line moved or went.

use crate::Sim;
use crate::conversation::note_event;
use crate::git::GitRepo;
use crate::http::ApiError;
use crate::webhooks::emit::{self, ReviewAction};
use crate::world::{Id, Pull, Review, ReviewState, Sha, Side, World};

/// Where a review comment's line is after a push.
pub struct LineMove {
    pub comment: Id,
    pub line: Option<u64>,
    pub start_line: Option<u64>,
}

pub fn approvals<'w>(world: &'w World, pull: &'w Pull) -> impl Iterator<Item = &'w Review> {
    world
        .reviews
        .within(pull.repo)
        .filter(|review| review.number == pull.number && review.state == ReviewState::Approved)
}

/// Follows the commented lines of a pull request from its head to the next one.
pub async fn line_moves(sim: &Sim, git: &GitRepo, pull: &Pull, after: &str) -> Result<Vec<LineMove>, ApiError> {
    let mut comments: Vec<(Id, String, u64, Option<u64>)> = sim.read(|world| {
        let of_pull = world.review_comments.within(pull.repo).filter(|comment| comment.number == pull.number);
        of_pull
            .filter(|comment| comment.side == Side::Right)
            .filter_map(|comment| Some((comment.id, comment.path.clone(), comment.line?, comment.start_line)))
            .collect()
    });
    comments.sort_by(|a, b| a.1.cmp(&b.1));
    let mut moves = Vec::new();
    for of_file in comments.chunk_by(|a, b| a.1 == b.1) {
        let lines = git.line_moves(&pull.head_sha, after, &of_file[0].1).await?;
        for (comment, _, line, start_line) in of_file {
            let line = lines.follow(*line);
            let start_line = line.and(start_line.and_then(|start| lines.follow(start)));
            moves.push(LineMove { comment: *comment, line, start_line });
        }
    }
    Ok(moves)
}

pub fn move_lines(world: &mut World, repo: Id, after: &Sha, moves: &[LineMove]) {
    for LineMove { comment, line, start_line } in moves {
        let Some(comment) = world.review_comments.edit(repo, *comment) else { continue };
        comment.line = *line;
        comment.start_line = *start_line;
        if line.is_some() {
            comment.commit.clone_from(after);
        }
        let thread = comment.thread;
        if let Some(thread) = world.review_threads.edit(repo, thread) {
            thread.line = *line;
            thread.outdated = line.is_none();
        }
    }
}

/// Dismisses the approvals of what a pull request proposed before.
pub fn dismiss(world: &mut World, actor: Id, repo: Id, number: u64, after: &Sha) {
    let Some(pull) = world.pulls.get(repo, number) else { return };
    let stale: Vec<Id> = approvals(world, pull).map(|review| review.id).collect();
    for id in stale {
        let now = world.now;
        let review = world.reviews.edit(repo, id).expect("listed a moment ago");
        review.state = ReviewState::Dismissed;
        review.updated_at = now;
        let details = serde_json::json!({
            "dismissed_review": { "state": "approved", "review_id": id, "dismissal_message": null, "dismissal_commit_id": after },
        });
        note_event(world, repo, number, actor, "review_dismissed", details);
        emit::review(world, repo, id, actor, ReviewAction::Dismissed);
    }
}
