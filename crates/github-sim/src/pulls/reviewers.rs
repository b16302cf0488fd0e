//! Who is asked to review.

use serde_json::json;

use super::find;
use crate::conversation::note_event;
use crate::http::{ApiError, role_of};
use crate::present;
use crate::webhooks::emit::{self, PullAction};
use crate::world::{Id, World};

pub fn request(world: &mut World, actor: Id, repo: Id, number: u64, logins: &[String]) -> Result<(), ApiError> {
    let (pull, issue) = find(world, repo, number)?;
    let author = issue.author;
    let asked = pull.requested_reviewers.clone();
    let full_name = world.repo(repo).map(|repo| world.full_name(repo)).unwrap_or_default();
    let mut new = Vec::new();
    for login in logins {
        let may_review = |id: Id| world.repo(repo).is_some_and(|repo| role_of(world, repo, id).is_some());
        let person = world.account_named(login).map(|account| account.id).filter(|id| may_review(*id));
        let person = person.ok_or_else(|| {
            ApiError::unprocessable(format!(
                "Reviews may only be requested from collaborators. One or more of the users or teams you specified is \
                 not a collaborator of the {full_name} repository."
            ))
        })?;
        if person == author {
            return Err(ApiError::unprocessable("Review cannot be requested from pull request author."));
        }
        if !asked.contains(&person) && !new.contains(&person) {
            new.push(person);
        }
    }
    for reviewer in new {
        let now = world.now;
        world.pulls.edit(repo, number).expect("found above").requested_reviewers.push(reviewer);
        world.issues.edit(repo, number).expect("found above").updated_at = now;
        note(world, actor, repo, number, "review_requested", reviewer);
        emit::pull_request(world, repo, number, actor, PullAction::ReviewRequested { reviewer });
    }
    Ok(())
}

pub fn withdraw(world: &mut World, actor: Id, repo: Id, number: u64, logins: &[String]) -> Result<(), ApiError> {
    let (pull, _) = find(world, repo, number)?;
    let asked = pull.requested_reviewers.clone();
    for login in logins {
        let person = world.account_named(login).map(|account| account.id);
        let Some(reviewer) = person.filter(|id| asked.contains(id)) else { continue };
        let pull = world.pulls.edit(repo, number).expect("found above");
        pull.requested_reviewers.retain(|other| *other != reviewer);
        note(world, actor, repo, number, "review_request_removed", reviewer);
        emit::pull_request(world, repo, number, actor, PullAction::ReviewRequestRemoved { reviewer });
    }
    Ok(())
}

fn note(world: &mut World, actor: Id, repo: Id, number: u64, event: &str, reviewer: Id) {
    let details = json!({
        "review_requester": present::simple_user(world, actor),
        "requested_reviewer": present::simple_user(world, reviewer),
    });
    note_event(world, repo, number, actor, event, details);
}
