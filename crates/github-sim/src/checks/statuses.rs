//! Statuses. Each is a new one; the newest of a context counts.

use crate::webhooks::emit;
use crate::world::{CommitStatus, Id, Sha, StatusState, World};

pub struct NewStatus {
    pub sha: Sha,
    pub context: String,
    pub state: StatusState,
    pub description: Option<String>,
    pub target_url: Option<String>,
    pub creator: Id,
}

pub fn set_status(world: &mut World, repo: Id, new: NewStatus) -> Id {
    let (id, now) = (world.next_id(), world.now);
    let NewStatus { sha, context, state, description, target_url, creator } = new;
    world.statuses.insert(CommitStatus {
        repo,
        id,
        sha,
        context,
        state,
        description,
        target_url,
        creator,
        created_at: now,
        updated_at: now,
    });
    emit::status(world, repo, id, creator);
    id
}
