//! What is in a file, without a clone.

use std::ops::ControlFlow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use merge_train_core::ids::{PrNumber, Sha};
use serde::Deserialize;
use serde_json::Value;

use crate::client::Repo;
use crate::error::Error;

/// What a commit has at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAt {
    pub blob: Sha,
    pub content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Bytes(Vec<u8>),
    /// A folder, a link, or a file that is too large for GitHub to show.
    Other,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: String,
    sha: Sha,
    #[serde(default)]
    encoding: String,
    #[serde(default)]
    content: String,
}

impl Repo {
    /// None where the commit has nothing there.
    pub async fn file(&self, path: &str, commit: &Sha) -> Result<Option<FileAt>, Error> {
        let segments: Vec<&str> = ["contents"].into_iter().chain(path.split('/')).collect();
        let call = self.get(&segments).query(&[("ref", commit.as_str())]).cached();
        let Some(found): Option<Value> = self.find(&call).await? else { return Ok(None) };
        // A folder is a list, and has no blob: the commit stands for it.
        if found.is_array() {
            return Ok(Some(FileAt { blob: commit.clone(), content: Content::Other }));
        }
        let entry: Entry = serde_json::from_value(found).map_err(|error| {
            Error::permanent(&call.name(), format!("the answer is not what GitHub documents: {error}"))
        })?;
        let text: String = entry.content.split_ascii_whitespace().collect();
        let is_text = entry.kind == "file" && entry.encoding == "base64";
        let bytes = STANDARD.decode(text).ok().filter(|_| is_text);
        Ok(Some(FileAt { blob: entry.sha, content: bytes.map_or(Content::Other, Content::Bytes) }))
    }

    /// Whether a pull request changes a file, or moves it. GitHub lists three thousand files of one at most.
    pub async fn changes(&self, pr: PrNumber, path: &str) -> Result<bool, Error> {
        #[derive(Deserialize)]
        struct Changed {
            filename: String,
            previous_filename: Option<String>,
        }
        let is_it = |entry: &Changed| entry.filename == path || entry.previous_filename.as_deref() == Some(path);
        let mut found = false;
        let take = |page: Vec<Changed>| {
            found = page.iter().any(is_it);
            if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        self.pages(self.get(&["pulls", &pr.to_string(), "files"]), take).await?;
        Ok(found)
    }
}
