//! What `git merge-tree -z` prints, read without looking at its prose.
//!
//! The tree, then an entry for each version of each file in conflict, an empty field, then messages: how many paths, the
//! paths, the type of the message, the message. A clean merge prints the tree and perhaps messages.

use merge_train_core::repo::trains::conflict::{ConflictKind, ConflictedFile, Side, Version};

use crate::Oid;

pub(super) struct Report {
    pub tree: Oid,
    pub files: Vec<ConflictedFile>,
}

pub(super) fn parse(output: &[u8]) -> Option<Report> {
    let mut fields = output.split(|byte| *byte == 0).map(|field| String::from_utf8_lossy(field).into_owned());
    let tree = Oid::parse(fields.next()?.trim()).ok()?;
    let mut files: Vec<ConflictedFile> = Vec::new();
    for entry in fields.by_ref().take_while(|field| !field.is_empty()) {
        let (version, path) = parse_entry(&entry)?;
        file_at(&mut files, path).versions.push(version);
    }
    while let Some(message) = parse_message(&mut fields)? {
        if !message.kind.starts_with("CONFLICT") {
            continue;
        }
        // A message about several paths names the one it is about first; the others may have versions of their own.
        for (index, path) in message.paths.iter().enumerate() {
            if index > 0 && !files.iter().any(|file| file.path == *path) {
                continue;
            }
            let file = file_at(&mut files, path);
            if file.message.is_empty() {
                file.kind = kind(&message.kind, &file.versions);
                file.message = message.text.trim().to_owned();
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Some(Report { tree, files })
}

struct Message {
    paths: Vec<String>,
    kind: String,
    text: String,
}

/// The next message; none at the end of the output, and no answer at all if it is cut short.
fn parse_message(fields: &mut impl Iterator<Item = String>) -> Option<Option<Message>> {
    let Some(count) = fields.next().filter(|field| !field.trim().is_empty()) else { return Some(None) };
    // Some gits end with advice on submodules: prose, where a count would be.
    let Ok(count) = count.trim().parse::<usize>() else { return Some(None) };
    let paths: Vec<String> = fields.take(count).collect();
    let (kind, text) = (fields.next()?, fields.next()?);
    (paths.len() == count).then_some(Some(Message { paths, kind, text }))
}

/// Of `mode object stage\tpath`.
fn parse_entry(entry: &str) -> Option<(Version, &str)> {
    let (info, path) = entry.split_once('\t')?;
    let mut info = info.split(' ');
    let (mode, object, stage) = (info.next()?, info.next()?, info.next()?);
    let side = match stage {
        "1" => Side::Base,
        "2" => Side::Ours,
        "3" => Side::Theirs,
        _ => return None,
    };
    Some((Version { side, mode: mode.to_owned(), object: object.to_owned() }, path))
}

fn file_at<'a>(files: &'a mut Vec<ConflictedFile>, path: &str) -> &'a mut ConflictedFile {
    let index = files.iter().position(|file| file.path == path).unwrap_or_else(|| {
        let (path, message) = (path.to_owned(), String::new());
        files.push(ConflictedFile { path, kind: ConflictKind::Other, message, versions: Vec::new() });
        files.len() - 1
    });
    &mut files[index]
}

/// Git's types of messages are an interface of `-z`, unlike the messages.
fn kind(name: &str, versions: &[Version]) -> ConflictKind {
    let added_by_both = !versions.iter().any(|version| version.side == Side::Base);
    match name.trim_start_matches("CONFLICT").trim().trim_matches(['(', ')']) {
        "contents" if added_by_both => ConflictKind::AddAdd,
        "contents" => ConflictKind::Content,
        "binary" => ConflictKind::Binary,
        "modify/delete" => ConflictKind::ModifyDelete,
        "rename/delete" => ConflictKind::RenameDelete,
        "rename/rename" | "rename involved in collision" => ConflictKind::RenameRename,
        "file/directory" => ConflictKind::FileDirectory,
        "distinct modes" | "distinct types" => ConflictKind::Types,
        other if other.starts_with("directory rename") || other.starts_with("implicit dir") => {
            ConflictKind::DirectoryRename
        }
        "file location" | "file in way of directory rename" => ConflictKind::DirectoryRename,
        other if other.starts_with("submodule") => ConflictKind::Submodule,
        _ => ConflictKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "ff9f53fff243161783de1d7cc89804b87507ee8b";
    const BLOB: &str = "587be6b4c3f93f93c489c0111bba5596147a26cb";

    fn read(fields: &[String]) -> Option<Report> {
        parse(fields.join("\0").as_bytes())
    }

    fn entry(stage: u8, path: &str) -> String {
        format!("100644 {BLOB} {stage}\t{path}")
    }

    fn message(paths: &[&str], kind: &str, text: &str) -> Vec<String> {
        let count = paths.len().to_string();
        [vec![count], paths.iter().map(ToString::to_string).collect(), vec![kind.into(), text.into()]].concat()
    }

    #[test]
    fn a_clean_merge_is_a_tree_whatever_else_it_says() {
        assert_eq!(parse(format!("{TREE}\0").as_bytes()).unwrap().tree.as_str(), TREE);
        let noisy = [vec![TREE.into(), String::new()], message(&["f"], "Auto-merging", "Auto-merging f\n")].concat();
        let report = read(&noisy).unwrap();
        assert!(report.files.is_empty());
    }

    #[test]
    fn versions_and_messages_meet_at_their_file() {
        let fields = [
            vec![TREE.into(), entry(1, "z"), entry(2, "z"), entry(3, "z"), entry(2, "a\tb"), entry(3, "a\tb")],
            vec![String::new()],
            message(&["z"], "Auto-merging", "Auto-merging z\n"),
            message(&["z"], "CONFLICT (contents)", "CONFLICT (content): Merge conflict in z\n"),
            message(&["a\tb"], "CONFLICT (contents)", "CONFLICT (add/add): Merge conflict in a\tb\n"),
            message(&["new/x", "old/x"], "CONFLICT (file location)", "CONFLICT (file location): …\n"),
            vec![String::new()],
        ]
        .concat();
        let files = read(&fields).unwrap().files;
        let seen: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.kind, file.versions.len())).collect();
        assert_eq!(
            seen,
            [
                ("a\tb", ConflictKind::AddAdd, 2),
                ("new/x", ConflictKind::DirectoryRename, 0),
                ("z", ConflictKind::Content, 3)
            ]
        );
        assert_eq!(files[2].message, "CONFLICT (content): Merge conflict in z");
    }

    #[test]
    fn advice_after_the_last_message_is_not_read() {
        let fields = [
            vec![TREE.into(), entry(2, "module"), entry(3, "module"), String::new()],
            message(&["module"], "CONFLICT (submodule not initialized)", "Failed to merge submodule module\n"),
            vec!["Recursive merging with submodules currently only supports trivial cases.\n".into()],
        ]
        .concat();
        let files = read(&fields).unwrap().files;
        assert_eq!((files.len(), files[0].kind), (1, ConflictKind::Submodule));
    }

    #[test]
    fn what_is_cut_short_is_not_taken_for_a_result() {
        assert!(parse(b"").is_none());
        assert!(parse(b"fatal: not something we can merge").is_none());
        assert!(read(&[TREE.into(), "100644 nonsense".into()]).is_none());
        assert!(read(&[TREE.into(), String::new(), "2".into(), "only one path".into()]).is_none());
    }
}
