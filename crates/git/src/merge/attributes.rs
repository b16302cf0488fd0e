//! `.gitattributes` without a checkout: `merge=union`, `binary` and the like must mean what they mean in one.

use std::io::Write;

use tempfile::NamedTempFile;

use crate::command::Command;
use crate::{Error, Objects, Oid};

/// Where a merge reads attributes from.
pub(super) enum Source {
    /// Every `.gitattributes` of the commit's tree.
    Commit(Oid),
    /// An older git reads only the one at the root, copied into a file for this merge alone.
    Root(NamedTempFile),
    None,
}

impl Source {
    pub fn heeded_by(&self, command: Command) -> Command {
        match self {
            Self::Commit(commit) => command.attr_source(commit.clone()),
            Self::Root(file) => command.setting(format!("core.attributesFile={}", file.path().display())),
            Self::None => command,
        }
    }
}

impl Objects {
    /// A checkout of `commit` would read its attributes from the files of `commit`.
    pub(super) async fn attributes_of(&self, commit: &Oid) -> Result<Source, Error> {
        if self.git().version().reads_attributes_from_a_tree() {
            return Ok(Source::Commit(commit.clone()));
        }
        let listed = self.command(["ls-tree", "--format=%(objecttype) %(objectname)", commit.as_str()]).await?;
        let listed = listed.args(["--", ".gitattributes"]).run().await?.text();
        let Some(blob) = listed.trim().strip_prefix("blob ") else { return Ok(Source::None) };
        let content = self.command(["cat-file", "blob", blob]).await?.run().await?.stdout;
        let file = write(&content).map_err(Error::io("copying .gitattributes into a temporary file"))?;
        Ok(Source::Root(file))
    }
}

fn write(content: &[u8]) -> std::io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new()?;
    file.write_all(content)?;
    file.flush()?;
    Ok(file)
}
