//! What a payload says that only git knows, looked up just before it is sent. Commits never change, so it is as true
//! then as it was when the event happened.

use serde_json::{Value, json};

use super::without;
use crate::git::CommitObject;
use crate::world::{Delivery, FromGit, Id};
use crate::{Sim, git, policy, present};

/// GitHub names no more branches of a status.
const MOST_BRANCHES: usize = 10;

pub async fn complete(sim: &Sim, delivery: &mut Delivery) -> Result<(), git::Error> {
    let Some(FromGit { repo, sha }) = delivery.from_git.take() else { return Ok(()) };
    let Some(commit) = sim.git(repo).commit(&sha).await? else { return Ok(()) };
    if delivery.event == "status" {
        return complete_status(sim, repo, &commit, &mut delivery.payload).await;
    }
    let subject = &mut delivery.payload[delivery.event.as_str()];
    *subject = present::with_head_commit(subject.take(), &commit);
    Ok(())
}

async fn complete_status(sim: &Sim, repo: Id, commit: &CommitObject, payload: &mut Value) -> Result<(), git::Error> {
    let branches = sim.git(repo).branches_containing(&commit.sha, MOST_BRANCHES).await?;
    sim.read(|world| {
        let Some(repo) = world.repo(repo) else { return };
        let mut shown = present::commit(world, repo, commit);
        let verification = &mut shown["commit"]["verification"];
        *verification = without(verification.take(), &["verified_at"]);
        payload["commit"] = shown;
        let full_name = world.full_name(repo);
        let branches = branches.iter().map(|(name, sha)| {
            let url = world.urls.api(format!("/repos/{full_name}/commits/{sha}"));
            let protected = policy::for_branch(world, repo, name).protected;
            json!({ "name": name, "commit": { "sha": sha, "url": url }, "protected": protected })
        });
        payload["branches"] = branches.collect();
    });
    Ok(())
}
