//! Stacks of pull requests.

use serde_json::{Value, json};

use super::pull::minimal_pull;
use super::user::{merge, simple_user};
use crate::http::iso;
use crate::pulls::is_open;
use crate::world::{NodeKind, Pull, Stack, World, node_id};

/// `pull-request-stack-minimal`, as lists show it.
pub fn minimal_stack(world: &World, stack: &Stack) -> Value {
    of(world, stack, |pull| {
        json!({
            "number": pull.number,
            "state": state(world, pull),
            "draft": pull.draft,
            "merged_at": pull.merged.as_ref().map(|merged| iso(merged.at)),
            "head": { "ref": pull.head_ref, "sha": pull.head_sha },
        })
    })
}

/// A stack with its pull requests.
pub fn stack(world: &World, stack: &Stack) -> Value {
    of(world, stack, |pull| {
        let issue = world.issues.get(pull.repo, pull.number).expect("every pull request has its conversation side");
        let repo = world.repo(pull.repo).expect("a pull request goes with its repository");
        let html = world.urls.web(format!("/{}/pull/{}", world.full_name(repo), pull.number));
        let mut value = minimal_pull(world, pull);
        let more = json!({
            "node_id": node_id(NodeKind::PullRequest, pull.repo, pull.number),
            "title": issue.title,
            "state": state(world, pull),
            "merged_at": pull.merged.as_ref().map(|merged| iso(merged.at)),
            "draft": pull.draft,
            "html_url": html,
            "user": simple_user(world, issue.author),
        });
        merge(&mut value, more);
        value
    })
}

fn of(world: &World, stack: &Stack, show: impl Fn(&Pull) -> Value) -> Value {
    let repo = world.repo(stack.repo).expect("a stack goes with its repository");
    let pulls: Vec<&Pull> = stack.pulls.iter().filter_map(|number| world.pulls.get(stack.repo, *number)).collect();
    json!({
        "id": stack.id,
        "number": stack.number,
        "node_id": node_id(NodeKind::Stack, stack.repo, stack.number),
        "url": world.urls.api(format!("/repos/{}/stacks/{}", world.full_name(repo), stack.number)),
        "base": { "ref": stack.base_ref },
        "open": pulls.iter().any(|pull| is_open(world, pull)),
        "created_at": iso(stack.created_at),
        "pull_requests": pulls.iter().map(|pull| show(pull)).collect::<Vec<_>>(),
    })
}

fn state(world: &World, pull: &Pull) -> &'static str {
    if is_open(world, pull) { "open" } else { "closed" }
}
