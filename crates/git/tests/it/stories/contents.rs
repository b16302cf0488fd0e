//! What people write: files whose lines are far enough apart that git merges what does not touch the same place, and edits
//! that delete, rename, revert and bring back what lower pull requests brought.

use fastrand::Rng;

use super::github::GitHub;
use super::oracle::TOKEN;
use super::plain::Files;

const SLOTS: usize = 4;
/// Unchanged lines between two places: more than git looks at around a change.
const APART: usize = 4;

/// The files that are there before any pull request.
pub fn base_files() -> Files {
    ["a", "b", "c"].into_iter().map(|id| (format!("{id}.txt"), file(id, |slot| vec![base_token(id, slot)]))).collect()
}

fn base_token(id: &str, slot: usize) -> String {
    format!("{TOKEN}base-{id}-{slot}")
}

fn file(id: &str, tokens: impl Fn(usize) -> Vec<String>) -> String {
    let mut text = format!("file {id}\n");
    for slot in 0..SLOTS {
        (0..APART).for_each(|line| text.push_str(&format!("line {id} {slot}.{line}\n")));
        tokens(slot).iter().for_each(|token| text.push_str(&format!("{token}\n")));
    }
    (0..APART).for_each(|line| text.push_str(&format!("line {id} end.{line}\n")));
    text
}

/// Which file it is, whatever it is called by now.
fn id_of(text: &str) -> &str {
    text.lines().next().and_then(|line| line.strip_prefix("file ")).unwrap_or_default()
}

/// Puts a token where its place is.
fn add(text: &str, slot: usize, token: &str) -> String {
    let end = match slot + 1 {
        SLOTS => format!("line {} end.0", id_of(text)),
        next => format!("line {} {next}.0", id_of(text)),
    };
    let mut added = String::new();
    for line in text.lines() {
        if line == end {
            added.push_str(&format!("{token}\n"));
        }
        added.push_str(&format!("{line}\n"));
    }
    added
}

fn without(text: &str, token: &str) -> String {
    text.lines().filter(|line| *line != token).map(|line| format!("{line}\n")).collect()
}

fn tokens_of(files: &Files) -> Vec<String> {
    let lines = files.values().flat_map(|text| text.lines());
    lines.filter(|line| line.starts_with(TOKEN)).map(str::to_owned).collect()
}

/// What people write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Anything.
    Drawn,
    /// Each deletes all that those below it brought, and brings something itself.
    DeletesBelow,
    /// Each changes all that those below it brought.
    ModifiesBelow,
    /// Each deletes what the lowest brought, if that is not the one that it is stacked on.
    DeletesLowest,
}

/// A commit that deletes or changes what those below brought, and adds a line and a file.
fn edited_on_purpose(github: &mut GitHub, rng: &mut Rng, files: &Files, whose: u64, below: &[u64]) -> Files {
    let below = match (github.style, below) {
        (Style::DeletesLowest, [_, .., lowest]) => std::slice::from_ref(lowest),
        (Style::DeletesLowest, _) => &[],
        (_, below) => below,
    };
    let lower: Vec<_> = below.iter().map(|number| github.own_change(*number)).collect();
    let mut files = files.clone();
    for token in tokens_of(&files).into_iter().filter(|token| lower.iter().any(|delta| delta.added.contains(token))) {
        match github.style {
            Style::ModifiesBelow => {
                let new = github.new_token(&place_of(&token, whose));
                files.values_mut().for_each(|text| *text = text.replace(&format!("{token}\n"), &format!("{new}\n")));
            }
            Style::Drawn | Style::DeletesBelow | Style::DeletesLowest => {
                // A file that is left without its line would be written twice: git says so. One that is gone, nobody misses.
                files.retain(|path, text| !(path.starts_with('n') && text.contains(&format!("{token}\n"))));
                files.values_mut().for_each(|text| *text = without(text, &token));
            }
        }
    }
    // Each has a file of its own to add to, so that nothing but a deletion is in doubt.
    let id = ["a", "b", "c"][whose as usize % 3];
    let slot =
        tokens_of(&files).iter().filter(|token| token.contains(&format!("-by-{whose}-at-{id}-"))).count() % SLOTS;
    let token = github.new_token(&format!("{whose}-at-{id}-{slot}"));
    let path = format!("{id}.txt");
    if let Some(text) = files.get(&path).map(|text| add(text, slot, &token)) {
        files.insert(path, text);
    }
    let id = format!("n{}", rng.u32(1_000..1_000_000));
    let token = github.new_token(&format!("{whose}-at-{id}-0"));
    files.insert(format!("{id}.txt"), file(&id, |slot| if slot == 0 { vec![token.clone()] } else { Vec::new() }));
    files
}

/// What somebody does in one commit to a pull request that is stacked on these.
pub fn edited(github: &mut GitHub, rng: &mut Rng, files: &Files, whose: u64, below: &[u64]) -> Files {
    if github.style != Style::Drawn {
        return edited_on_purpose(github, rng, files, whose, below);
    }
    let lower: Vec<_> = below.iter().map(|number| github.own_change(*number)).collect();
    let mut files = files.clone();
    for _ in 0..rng.usize(1..=3) {
        let brought: Vec<String> = tokens_of(&files)
            .into_iter()
            .filter(|token| lower.iter().any(|delta| delta.added.contains(token)))
            .collect();
        let gone: Vec<String> = lower
            .iter()
            .flat_map(|delta| delta.removed.iter())
            .filter(|token| token.starts_with(TOKEN) && !tokens_of(&files).contains(token))
            .cloned()
            .collect();
        match rng.u32(0..100) {
            0..30 if !brought.is_empty() => {
                let token = rng.choice(&brought).expect("one");
                files.values_mut().for_each(|text| *text = without(text, token));
            }
            30..45 => {
                let all = if brought.is_empty() { tokens_of(&files) } else { brought };
                let Some(token) = rng.choice(&all) else { continue };
                let new = github.new_token(&place_of(token, whose));
                files.values_mut().for_each(|text| *text = text.replace(&format!("{token}\n"), &format!("{new}\n")));
            }
            45..58 if !gone.is_empty() => bring_back(&mut files, rng.choice(&gone).expect("one")),
            58..66 => {
                let id = format!("n{}", rng.u32(1_000..1_000_000));
                let token = github.new_token(&format!("{whose}-at-{id}-0"));
                let text = file(&id, |slot| if slot == 0 { vec![token.clone()] } else { Vec::new() });
                files.insert(format!("{id}.txt"), text);
            }
            66..74 => {
                let new: Vec<String> = files.keys().filter(|path| path.starts_with('n')).cloned().collect();
                let Some(path) = rng.choice(&new) else { continue };
                files.remove(path);
            }
            74..80 => {
                let paths: Vec<String> = files.keys().cloned().collect();
                let Some(path) = rng.choice(&paths) else { continue };
                let text = files.remove(path).expect("there");
                files.insert(format!("{}-r{}.txt", id_of(&text), rng.u32(1_000..1_000_000)), text);
            }
            80..88 => {
                let all = tokens_of(&files);
                let Some(token) = rng.choice(&all) else { continue };
                files.values_mut().for_each(|text| *text = without(text, token));
            }
            _ => {
                let paths: Vec<String> = files.keys().cloned().collect();
                let Some(path) = rng.choice(&paths) else { continue };
                let (slot, id) = (rng.usize(0..SLOTS), id_of(&files[path]).to_owned());
                let token = github.new_token(&format!("{whose}-at-{id}-{slot}"));
                files.insert(path.clone(), add(&files[path], slot, &token));
            }
        }
    }
    files
}

/// A token tells by its name where it belongs: `token-1-by-2-at-a-3`, or `token-base-a-3`.
fn home(token: &str) -> Option<(String, usize)> {
    let place =
        token.rsplit_once("-at-").map_or_else(|| token.strip_prefix(&format!("{TOKEN}base-")), |(_, at)| Some(at));
    let (id, slot) = place?.rsplit_once('-')?;
    Some((id.to_owned(), slot.parse().ok()?))
}

fn place_of(token: &str, whose: u64) -> String {
    match home(token) {
        Some((id, slot)) => format!("{whose}-at-{id}-{slot}"),
        None => whose.to_string(),
    }
}

fn bring_back(files: &mut Files, token: &str) {
    let Some((id, slot)) = home(token) else { return };
    let path = files.iter().find(|(_, text)| id_of(text) == id).map(|(path, _)| path.clone());
    if let Some(path) = path {
        let text = add(&files[&path], slot, token);
        files.insert(path, text);
    }
}
