//! Histories by chance: two lines of work from one base, which may meet twice on the way.

use git::Oid;
use proptest::collection::vec;
use proptest::prelude::*;

use super::model::{Model, Node, submodule_commit};
use crate::support::history::Mode;
use crate::support::{Change, Draft, Parent, World, git_version};

/// What the git under test can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    Full,
    /// Of a git older than 2.41: `.gitattributes` at the root alone.
    Older,
}

impl Ability {
    /// Of the git on the PATH.
    pub fn here() -> Self {
        if git_version() < (2, 41) { Self::Older } else { Self::Full }
    }
}

/// Two lines of work.
#[derive(Clone, Debug)]
pub struct History {
    /// What the base says of its files.
    attributes: Vec<Change>,
    ours: Vec<Deed>,
    theirs: Vec<Deed>,
    /// What each does after having merged the other, if they merged each other: two bases for the last merge.
    crossed: Option<(Vec<Deed>, Vec<Deed>)>,
}

/// Something that is done to whatever is there. The numbers pick files and lines.
#[derive(Clone, Debug)]
enum Deed {
    ReplaceLine { file: usize, line: usize, text: u8 },
    InsertLine { file: usize, line: usize, text: u8 },
    RemoveLine { file: usize, line: usize },
    Add { name: usize, text: u8 },
    WriteBinary { content: u8 },
    Delete { path: usize },
    Rename { path: usize, name: usize },
    RenameFolder { folder: usize, name: usize },
    ChangeMode { file: usize },
    Link { name: usize, target: u8 },
    Submodule { commit: u8 },
    FolderInPlaceOfFile { path: usize },
    Attributes { place: usize, rule: usize },
}

/// Names that both lines may come upon.
const NEW_NAMES: [&str; 6] = ["new.txt", "src/new.txt", "lib/moved.txt", "doc/moved.txt", "src/deep/new.txt", "link"];
const NEW_FOLDERS: [&str; 4] = ["lib", "moved", "src/inner", "doc"];
const ATTRIBUTES_AT: [&str; 3] = [".gitattributes", "src/.gitattributes", "doc/.gitattributes"];
const RULES: [&str; 12] = [
    "*.txt merge=union\n",
    "*.txt -merge\n",
    "*.txt binary\n",
    "*.txt merge=binary\n",
    "*.txt merge=nobody-defined-it\n",
    "*.txt text eol=crlf\n",
    "*.txt text eol=lf\nblob -text\n",
    "one.txt merge=union\nsrc/two.txt -merge\n",
    "*.txt conflict-marker-size=20\n",
    "[attr]both merge=union\n*.txt both\n",
    "*.txt merge=union\none.txt !merge\n",
    "blob merge=union -diff\n",
];

pub fn base_files() -> Vec<Change> {
    let text = |name: &str| (1..=14).map(|line| format!("{name}, line {line}\n")).collect::<String>();
    let file = |path: &str| Change::write(path, text(path));
    vec![
        file("one.txt"),
        file("src/two.txt"),
        file("src/three.txt"),
        file("src/deep/four.txt"),
        file("doc/five.txt"),
        Change::Write { path: "run.txt".into(), bytes: text("run").into(), mode: Mode::Executable },
        Change::write("blob", (0..=255_u8).collect::<Vec<_>>()),
        Change::Symlink { path: "link".into(), target: "one.txt".into() },
        Change::Submodule { path: "module".into(), commit: submodule_commit(0) },
    ]
}

pub fn history(ability: Ability) -> impl Strategy<Value = History> {
    let deeds = || vec(deed(ability), 2..=5);
    let in_base = prop_oneof![2 => Just(vec![]), 3 => vec(attribute_rule(ability), 1..=2)];
    let crossed = prop_oneof![3 => Just(None), 1 => (deeds(), deeds()).prop_map(Some)];
    (in_base, deeds(), deeds(), crossed).prop_map(|(rules, ours, theirs, crossed)| {
        let attributes = rules.iter().filter_map(|rule| rule.to_change(&Model::default())).collect();
        History { attributes, ours, theirs, crossed }
    })
}

fn deed(ability: Ability) -> impl Strategy<Value = Deed> {
    let number = || 0..64_usize;
    prop_oneof![
        8 => (number(), number(), 0..4_u8).prop_map(|(file, line, text)| Deed::ReplaceLine { file, line, text }),
        4 => (number(), number(), 0..4_u8).prop_map(|(file, line, text)| Deed::InsertLine { file, line, text }),
        3 => (number(), number()).prop_map(|(file, line)| Deed::RemoveLine { file, line }),
        2 => (number(), 0..4_u8).prop_map(|(name, text)| Deed::Add { name, text }),
        1 => (0..3_u8).prop_map(|content| Deed::WriteBinary { content }),
        2 => number().prop_map(|path| Deed::Delete { path }),
        3 => (number(), number()).prop_map(|(path, name)| Deed::Rename { path, name }),
        2 => (number(), number()).prop_map(|(folder, name)| Deed::RenameFolder { folder, name }),
        1 => number().prop_map(|file| Deed::ChangeMode { file }),
        1 => (number(), 0..3_u8).prop_map(|(name, target)| Deed::Link { name, target }),
        1 => (1..4_u8).prop_map(|commit| Deed::Submodule { commit }),
        1 => number().prop_map(|path| Deed::FolderInPlaceOfFile { path }),
        1 => attribute_rule(ability),
    ]
}

fn attribute_rule(ability: Ability) -> impl Strategy<Value = Deed> {
    let places = if ability == Ability::Full { ATTRIBUTES_AT.len() } else { 1 };
    (0..places, 0..RULES.len()).prop_map(|(place, rule)| Deed::Attributes { place, rule })
}

impl History {
    /// Writes it; returns the two heads.
    pub fn write(&self, world: &World) -> (Oid, Oid) {
        let mut model = Model::of(&base_files());
        self.attributes.iter().for_each(|change| model.apply(change));
        let (mut ours, mut theirs) = (model.clone(), model);
        let upon = |parents: Vec<Parent>, changes: Vec<Change>| Draft { parents, changes, message: "Work".into() };
        let mut drafts = vec![
            upon(vec![Parent::Commit(world.base().clone())], self.attributes.clone()),
            upon(vec![Parent::Draft(0)], ours.changed_by(&self.ours)),
            upon(vec![Parent::Draft(0)], theirs.changed_by(&self.theirs)),
        ];
        if let Some((our_more, their_more)) = &self.crossed {
            drafts.push(upon(vec![Parent::Draft(1), Parent::Draft(2)], ours.changed_by(our_more)));
            drafts.push(upon(vec![Parent::Draft(2), Parent::Draft(1)], theirs.changed_by(their_more)));
        }
        let mut commits = world.import(&drafts);
        let theirs = commits.pop().expect("their head");
        (commits.pop().expect("our head"), theirs)
    }
}

impl Model {
    fn changed_by(&mut self, deeds: &[Deed]) -> Vec<Change> {
        let mut changes = Vec::new();
        for deed in deeds {
            if let Some(change) = deed.to_change(self) {
                self.apply(&change);
                changes.push(change);
            }
        }
        changes
    }

    /// A text file after a change of its lines.
    fn edited(&self, file: usize, edit: impl FnOnce(&mut Vec<String>)) -> Option<Change> {
        let (path, bytes, mode) = self.any_text(file)?;
        let mut lines: Vec<String> = String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect();
        edit(&mut lines);
        let bytes = lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes();
        Some(Change::Write { path: path.clone(), bytes, mode })
    }
}

impl Deed {
    /// What it does to this tree; nothing where there is nothing to do it to.
    fn to_change(&self, model: &Model) -> Option<Change> {
        match *self {
            Self::ReplaceLine { file, line, text } => model.edited(file, |lines| {
                if let Some(at) = line.checked_rem(lines.len()) {
                    lines[at] = format!("replaced {text}");
                }
            }),
            Self::InsertLine { file, line, text } => {
                model.edited(file, |lines| lines.insert(line % (lines.len() + 1), format!("inserted {text}")))
            }
            Self::RemoveLine { file, line } => model.edited(file, |lines| {
                if let Some(at) = line.checked_rem(lines.len()) {
                    lines.remove(at);
                }
            }),
            Self::Add { name, text } => Some(Change::write(NEW_NAMES[name % NEW_NAMES.len()], format!("new {text}\n"))),
            Self::WriteBinary { content } => Some(Change::write("blob", vec![content; 300])),
            Self::Delete { path } => Some(Change::delete(model.any(path)?.0)),
            Self::Rename { path, name } => {
                let (from, to) = (model.any(path)?.0, NEW_NAMES[name % NEW_NAMES.len()]);
                (from != to).then(|| Change::rename(from, to))
            }
            Self::RenameFolder { folder, name } => {
                let (from, to) = (model.any_folder(folder)?, NEW_FOLDERS[name % NEW_FOLDERS.len()]);
                let apart = !to.starts_with(&from) && !from.starts_with(to);
                apart.then(|| Change::rename(from, to))
            }
            Self::ChangeMode { file } => {
                let (path, bytes, mode) = model.any_text(file)?;
                let mode = if mode == Mode::Plain { Mode::Executable } else { Mode::Plain };
                Some(Change::Write { path: path.clone(), bytes: bytes.clone(), mode })
            }
            Self::Link { name, target } => {
                let path = if name % 2 == 0 { "link" } else { NEW_NAMES[name % NEW_NAMES.len()] };
                Some(Change::Symlink { path: path.into(), target: format!("target-{target}") })
            }
            Self::Submodule { commit } => {
                Some(Change::Submodule { path: "module".into(), commit: submodule_commit(commit) })
            }
            Self::FolderInPlaceOfFile { path } => match model.any(path)? {
                (path, Node::File { .. }) => Some(Change::write(format!("{path}/inside.txt"), "inside\n")),
                _ => None,
            },
            Self::Attributes { place, rule } => Some(Change::write(ATTRIBUTES_AT[place], RULES[rule])),
        }
    }
}
