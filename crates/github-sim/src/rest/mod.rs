//! GitHub's REST API, a file per family. Route parameters have the names of GitHub's API description.

mod actions;
mod apps;
mod branches;
mod checks;
mod collaborators;
mod comments;
mod commits;
mod contents;
mod deliveries;
mod encoding;
mod git_data;
mod hooks;
mod issues;
mod labels;
mod merges;
mod meta;
mod protection;
mod pulls;
mod reactions;
mod repos;
mod review_comments;
mod reviews;
mod revision;
mod rulesets;
mod signing;
mod stacks;
mod statuses;
mod users;

use axum::Router;

use crate::Sim;

pub fn routes() -> Router<Sim> {
    Router::new()
        .merge(actions::routes())
        .merge(apps::routes())
        .merge(branches::routes())
        .merge(checks::routes())
        .merge(collaborators::routes())
        .merge(comments::routes())
        .merge(commits::routes())
        .merge(contents::routes())
        .merge(git_data::routes())
        .merge(hooks::routes())
        .merge(issues::routes())
        .merge(labels::routes())
        .merge(merges::routes())
        .merge(meta::routes())
        .merge(protection::routes())
        .merge(pulls::routes())
        .merge(reactions::routes())
        .merge(repos::routes())
        .merge(review_comments::routes())
        .merge(reviews::routes())
        .merge(rulesets::routes())
        .merge(stacks::routes())
        .merge(statuses::routes())
        .merge(users::routes())
}
