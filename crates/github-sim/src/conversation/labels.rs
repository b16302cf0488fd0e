//! Labels: a repository's own, and those on an issue or pull request.

use serde_json::json;

use super::{note_event, touch};
use crate::http::ApiError;
use crate::webhooks::emit::{self, IssueAction, LabelAction, PullAction};
use crate::world::{Id, Label, World};

const LONGEST_NAME_CHARS: usize = 50;
const LONGEST_DESCRIPTION_CHARS: usize = 100;
/// What GitHub gives to a label that was made by being used.
const COLOR_OF_UNKNOWN: &str = "ededed";

/// By name, whatever its case.
pub fn find<'w>(world: &'w World, repo: Id, name: &str) -> Option<&'w Label> {
    let name = name.to_lowercase();
    world.labels.within(repo).find(|label| label.name.to_lowercase() == name)
}

/// Makes a label; its id. `color` is six hexadecimal digits, without `#`.
pub fn create(
    world: &mut World,
    actor: Id,
    repo: Id,
    name: &str,
    color: Option<&str>,
    description: Option<&str>,
) -> Result<Id, ApiError> {
    check_name(name)?;
    if find(world, repo, name).is_some() {
        return Err(ApiError::validation("Label", "name", "already_exists"));
    }
    let color = match color {
        Some(color) => checked_color(color)?,
        None => COLOR_OF_UNKNOWN.into(),
    };
    check_description(description)?;
    let id = world.next_id();
    let description = description.map(str::to_owned);
    world.labels.insert(Label { repo, id, name: name.to_owned(), color, description });
    emit::label(world, repo, id, actor, LabelAction::Created);
    Ok(id)
}

/// What is to change about a label.
pub struct LabelChange {
    pub name: Option<String>,
    pub color: Option<String>,
    pub description: Option<String>,
}

pub fn change(world: &mut World, actor: Id, repo: Id, id: Id, change: LabelChange) -> Result<(), ApiError> {
    if let Some(name) = &change.name {
        check_name(name)?;
        if find(world, repo, name).is_some_and(|other| other.id != id) {
            return Err(ApiError::validation("Label", "name", "already_exists"));
        }
    }
    let color = change.color.as_deref().map(checked_color).transpose()?;
    check_description(change.description.as_deref())?;
    let label = world.labels.edit(repo, id).ok_or_else(ApiError::not_found)?;
    let before = label.clone();
    label.name = change.name.unwrap_or_else(|| std::mem::take(&mut label.name));
    label.color = color.unwrap_or_else(|| std::mem::take(&mut label.color));
    label.description = change.description.or_else(|| label.description.take());
    let mut changes = json!({});
    let (old, new) = (before.description.unwrap_or_default(), label.description.clone().unwrap_or_default());
    for (what, from, to) in
        [("name", &before.name, &label.name), ("color", &before.color, &label.color), ("description", &old, &new)]
    {
        if from != to {
            changes[what] = json!({ "from": from });
        }
    }
    emit::label(world, repo, id, actor, LabelAction::Edited { changes });
    Ok(())
}

/// Deletes a label and takes it off everything. That is no event of what it was on.
pub fn delete(world: &mut World, actor: Id, repo: Id, id: Id) {
    emit::label(world, repo, id, actor, LabelAction::Deleted);
    let labeled: Vec<u64> =
        world.issues.within(repo).filter(|issue| issue.labels.contains(&id)).map(|issue| issue.number).collect();
    for number in labeled {
        world.issues.edit(repo, number).expect("found above").labels.retain(|label| *label != id);
    }
    world.labels.remove(repo, id);
}

/// The labels of these names; those the repository does not have are made, as GitHub does.
pub fn find_or_create(world: &mut World, actor: Id, repo: Id, names: &[String]) -> Result<Vec<Id>, ApiError> {
    let mut ids = Vec::new();
    for name in names {
        let known = find(world, repo, name).map(|label| label.id);
        let id = match known {
            Some(id) => id,
            None => create(world, actor, repo, name, None, None)?,
        };
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

/// Puts these labels on; those it has already are not events.
pub fn add(world: &mut World, actor: Id, repo: Id, number: u64, labels: &[Id]) -> Result<(), ApiError> {
    for label in labels {
        if world.issues.get(repo, number).is_some_and(|issue| issue.labels.contains(label)) {
            continue;
        }
        touch(world, repo, number)?.labels.push(*label);
        tell(world, actor, repo, number, *label, "labeled");
    }
    Ok(())
}

pub fn remove(world: &mut World, actor: Id, repo: Id, number: u64, labels: &[Id]) -> Result<(), ApiError> {
    for label in labels {
        touch(world, repo, number)?.labels.retain(|other| other != label);
        tell(world, actor, repo, number, *label, "unlabeled");
    }
    Ok(())
}

/// Makes these the only labels.
pub fn set(world: &mut World, actor: Id, repo: Id, number: u64, labels: &[Id]) -> Result<(), ApiError> {
    let had = world.issues.get(repo, number).ok_or_else(ApiError::not_found)?.labels.clone();
    let gone: Vec<Id> = had.into_iter().filter(|label| !labels.contains(label)).collect();
    remove(world, actor, repo, number, &gone)?;
    add(world, actor, repo, number, labels)
}

fn tell(world: &mut World, actor: Id, repo: Id, number: u64, label: Id, event: &str) {
    let Some(found) = world.labels.get(repo, label) else { return };
    let details = json!({ "label": { "name": found.name, "color": found.color } });
    note_event(world, repo, number, actor, event, details);
    let (of_issue, of_pull) = match event {
        "labeled" => (IssueAction::Labeled { label }, PullAction::Labeled { label }),
        _ => (IssueAction::Unlabeled { label }, PullAction::Unlabeled { label }),
    };
    super::issues::tell(world, actor, repo, number, of_issue, of_pull);
}

fn check_name(name: &str) -> Result<(), ApiError> {
    if name.trim().is_empty() {
        return Err(ApiError::validation("Label", "name", "missing_field"));
    }
    if name.chars().count() > LONGEST_NAME_CHARS {
        return Err(ApiError::validation_message(
            "Label",
            format!("name is too long (maximum is {LONGEST_NAME_CHARS} characters)"),
        ));
    }
    Ok(())
}

fn check_description(description: Option<&str>) -> Result<(), ApiError> {
    if description.is_some_and(|text| text.chars().count() > LONGEST_DESCRIPTION_CHARS) {
        return Err(ApiError::validation_message(
            "Label",
            format!("description is too long (maximum is {LONGEST_DESCRIPTION_CHARS} characters)"),
        ));
    }
    Ok(())
}

fn checked_color(color: &str) -> Result<String, ApiError> {
    if color.len() == 6 && color.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(color.to_ascii_lowercase())
    } else {
        Err(ApiError::validation("Label", "color", "invalid"))
    }
}
