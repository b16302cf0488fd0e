//! Writing trees, through an index that nobody else sees.

use std::path::Path;

use super::GitRepo;
use super::command::Error;

/// Git's mode for a folder.
const FOLDER: &str = "040000";

impl GitRepo {
    /// A tree like `base` (or the empty one) with `changes` made: (path, mode and object, or none to remove the path).
    /// The object may be a tree; a folder that is replaced or removed goes with all that is in it.
    pub async fn write_tree(
        &self,
        base: Option<&str>,
        changes: &[(String, Option<(String, String)>)],
    ) -> Result<String, Error> {
        let scratch = tempfile::tempdir()?;
        let index = scratch.path().join("index");
        if let Some(base) = base {
            self.git(["read-tree", base]).env("GIT_INDEX_FILE", &index).run().await?;
        }
        let mut lines = self.removals_within(&index, changes).await?;
        for (path, change) in changes {
            match change {
                Some((mode, tree)) if mode == FOLDER => {
                    // An index knows only files: the folder's are put there one by one.
                    for file in self.tree(tree, None, true).await?.iter().filter(|entry| entry.kind != "tree") {
                        lines.extend(addition(&file.mode, &file.sha, &format!("{path}/{}", file.path)));
                    }
                }
                Some((mode, sha)) => lines.extend(addition(mode, sha, path)),
                None => lines.extend(removal(path)),
            }
        }
        self.git(["update-index", "-z", "--add", "--replace", "--index-info"])
            .env("GIT_INDEX_FILE", &index)
            .stdin(lines)
            .run()
            .await?;
        let output = self.git(["write-tree"]).env("GIT_INDEX_FILE", &index).run().await?;
        Ok(output.text().trim().to_owned())
    }

    /// Lines that take out of the index whatever stands where a folder is replaced or removed.
    async fn removals_within(
        &self,
        index: &Path,
        changes: &[(String, Option<(String, String)>)],
    ) -> Result<Vec<u8>, Error> {
        let clears = |change: &Option<(String, String)>| change.as_ref().is_none_or(|(mode, _)| mode == FOLDER);
        let cleared: Vec<&str> =
            changes.iter().filter(|(_, change)| clears(change)).map(|(path, _)| path.as_str()).collect();
        if cleared.is_empty() {
            return Ok(Vec::new());
        }
        let listed = self.git(["ls-files", "-z", "--cached"]).env("GIT_INDEX_FILE", index).run().await?.text();
        let gone = |file: &&str| {
            cleared
                .iter()
                .any(|path| file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
        };
        Ok(listed.split('\0').filter(|file| !file.is_empty()).filter(gone).flat_map(removal).collect())
    }
}

fn addition(mode: &str, sha: &str, path: &str) -> Vec<u8> {
    format!("{mode} {sha}\t{path}\0").into_bytes()
}

fn removal(path: &str) -> Vec<u8> {
    addition("0", &"0".repeat(40), path)
}
