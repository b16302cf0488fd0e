//! Reactions.

use crate::http::ApiError;
use crate::world::{Id, Reaction, ReactionSubject, World};

pub const CONTENTS: [&str; 8] = ["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"];

/// Whether a reaction was there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reacted {
    Now,
    Before,
}

/// Reacts. The same person reacts the same way once.
pub fn react(
    world: &mut World,
    actor: Id,
    repo: Id,
    subject: ReactionSubject,
    content: &str,
) -> Result<(Id, Reacted), ApiError> {
    if !CONTENTS.contains(&content) {
        return Err(ApiError::validation("Reaction", "content", "invalid"));
    }
    let same =
        |reaction: &&Reaction| reaction.subject == subject && reaction.user == actor && reaction.content == content;
    if let Some(known) = world.reactions.within(repo).find(same) {
        return Ok((known.id, Reacted::Before));
    }
    let (id, created_at) = (world.next_id(), world.now);
    world.reactions.insert(Reaction { repo, id, subject, content: content.to_owned(), user: actor, created_at });
    Ok((id, Reacted::Now))
}

/// Removes what was said by reactions about something that goes.
pub fn forget(world: &mut World, repo: Id, subject: ReactionSubject) {
    let gone: Vec<Id> =
        world.reactions.within(repo).filter(|reaction| reaction.subject == subject).map(|found| found.id).collect();
    for id in gone {
        world.reactions.remove(repo, id);
    }
}
