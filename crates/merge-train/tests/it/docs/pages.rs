//! The pages of the documentation, taken apart: prose, code inside of it, and blocks.

use std::path::{Path, PathBuf};

pub struct Page {
    /// Seen from the root of the repository.
    pub name: String,
    pub path: PathBuf,
    /// The lines outside of blocks, with their numbers.
    pub prose: Vec<(usize, String)>,
    pub blocks: Vec<Block>,
}

/// What stands between two fences.
pub struct Block {
    pub language: String,
    /// The number of its first line.
    pub line: usize,
    pub text: String,
}

pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the repository is there")
}

/// Every page of the project.
pub fn all() -> Vec<Page> {
    let root = root();
    let mut files: Vec<PathBuf> = markdown(&root).collect();
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        files.extend(markdown(&folder));
        let entries = std::fs::read_dir(&folder).expect("a folder").flatten().map(|entry| entry.path());
        folders.extend(entries.filter(|path| path.is_dir()));
    }
    files.sort();
    files.iter().map(|path| Page::read(path)).collect()
}

/// What people are told to do: the README and all below `docs`. Decisions tell of what was weighed, the rest of the code.
pub fn guides() -> Vec<Page> {
    let is_guide = |page: &Page| page.name == "README.md" || page.name.starts_with("docs/");
    all().into_iter().filter(|page| is_guide(page) && !page.name.starts_with("docs/decisions/")).collect()
}

fn markdown(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "md"))
}

impl Page {
    fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).expect("a text");
        let name = path.strip_prefix(root()).expect("it is of the project").to_string_lossy().into_owned();
        let mut page = Self { name, path: path.to_owned(), prose: Vec::new(), blocks: Vec::new() };
        let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
        while let Some((number, line)) = lines.next() {
            let indent = line.len() - line.trim_start().len();
            let Some(language) = line.trim_start().strip_prefix("```") else {
                page.prose.push((number, line.to_owned()));
                continue;
            };
            let inside = lines.by_ref().map(|(_, line)| line).take_while(|line| line.trim() != "```");
            let text: Vec<&str> = inside.map(|line| line.get(indent..).unwrap_or_default()).collect();
            let language = language.trim().to_owned();
            page.blocks.push(Block { language, line: number + 1, text: text.join("\n") });
        }
        page
    }

    pub fn blocks_of<'a>(&'a self, languages: &'a [&str]) -> impl Iterator<Item = &'a Block> {
        self.blocks.iter().filter(|block| languages.contains(&block.language.as_str()))
    }

    /// The code inside of the prose, with the line that it stands in. A span may go over the end of a line.
    pub fn spans(&self) -> Vec<(usize, String)> {
        let mut spans = Vec::new();
        for paragraph in self.prose.chunk_by(|left, right| right.0 == left.0 + 1 && !right.1.trim().is_empty()) {
            let text: Vec<&str> = paragraph.iter().map(|(_, line)| line.trim_start_matches(['>', ' '])).collect();
            let joined = text.join(" ");
            spans.extend(joined.split('`').skip(1).step_by(2).map(|span| (paragraph[0].0, span.to_owned())));
        }
        spans
    }
}
