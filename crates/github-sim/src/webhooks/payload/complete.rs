//! What a payload says that only git knows, looked up just before it is sent. Commits never change, so it is as true
//! then as it was when the event happened.

use serde_json::{Value, json};

use super::without;
use crate::world::{Delivery, FromGit, Id};
use crate::{Sim, git, policy, present};

/// GitHub names no more branches of a status.
const MOST_BRANCHES: usize = 10;

pub async fn complete(sim: &Sim, delivery: &mut Delivery) -> Result<(), git::Error> {
    match delivery.from_git.take() {
        None => Ok(()),
        Some(FromGit::Commit { repo, sha }) if delivery.event == "status" => {
            complete_status(sim, repo, &sha, &mut delivery.payload).await
        }
        Some(FromGit::Commit { repo, sha }) => {
            if let Some(commit) = sim.git(repo).commit(&sha).await? {
                let subject = &mut delivery.payload[delivery.event.as_str()];
                *subject = present::with_head_commit(subject.take(), &commit);
            }
            Ok(())
        }
        Some(FromGit::PullTotals { repo, base, head }) => {
            complete_pull(sim, repo, &base, &head, &mut delivery.payload["pull_request"]).await
        }
    }
}

async fn complete_status(sim: &Sim, repo: Id, sha: &str, payload: &mut Value) -> Result<(), git::Error> {
    let git = sim.git(repo);
    let Some(commit) = git.commit(sha).await? else { return Ok(()) };
    let branches = git.branches_containing(sha, MOST_BRANCHES).await?;
    sim.read(|world| {
        let Some(repo) = world.repo(repo) else { return };
        let mut shown = present::commit(world, repo, &commit);
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

async fn complete_pull(sim: &Sim, repo: Id, base: &str, head: &str, pull: &mut Value) -> Result<(), git::Error> {
    let git = sim.git(repo);
    let Some(start) = git.merge_base(base, head).await? else { return Ok(()) };
    let (files, additions, deletions) = git.diff_totals(&start, head).await?;
    let (commits, _) = git.ahead_behind(head, base).await?;
    for (name, count) in
        [("commits", commits), ("additions", additions), ("deletions", deletions), ("changed_files", files)]
    {
        pull[name] = count.into();
    }
    Ok(())
}
