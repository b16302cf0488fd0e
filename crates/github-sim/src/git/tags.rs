//! Annotated tags.

use super::GitRepo;
use super::command::{Error, Signature};
use super::objects::signature;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagObject {
    pub sha: String,
    pub tag: String,
    pub message: String,
    /// What is tagged, and its kind.
    pub object: String,
    pub kind: String,
    pub tagger: Option<Signature>,
}

/// A tag ref, and the commit it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagRef {
    pub name: String,
    pub commit: String,
}

impl GitRepo {
    pub async fn tag_object(&self, sha: &str) -> Result<Option<TagObject>, Error> {
        if self.object_kind(sha).await?.as_deref() != Some("tag") {
            return Ok(None);
        }
        let text = self.git(["cat-file", "tag", sha]).run().await?.text();
        let (head, message) = text.split_once("\n\n").unwrap_or((text.as_str(), ""));
        let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let missing = || Error::Unexpected { command: "cat-file tag", output: text.clone() };
        Ok(Some(TagObject {
            sha: sha.to_owned(),
            tag: field("tag").ok_or_else(missing)?.to_owned(),
            message: message.trim_end_matches('\n').to_owned(),
            object: field("object").ok_or_else(missing)?.to_owned(),
            kind: field("type").ok_or_else(missing)?.to_owned(),
            tagger: field("tagger").and_then(parse_tagger),
        }))
    }

    pub async fn write_tag(
        &self,
        tag: &str,
        message: &str,
        object: &str,
        kind: &str,
        tagger: &Signature,
    ) -> Result<String, Error> {
        let Signature { name, email, seconds, offset } = tagger;
        let text = format!(
            "object {object}\ntype {kind}\ntag {tag}\ntagger {name} <{email}> {seconds} {offset}\n\n{}\n",
            message.trim_end_matches('\n')
        );
        let output = self.git(["hash-object", "-t", "tag", "-w", "--stdin"]).stdin(text).run().await?;
        Ok(output.text().trim().to_owned())
    }

    /// Every tag that leads to a commit, the last name first, as GitHub lists them.
    pub async fn tag_refs(&self) -> Result<Vec<TagRef>, Error> {
        let format = "--format=%(refname:strip=2) %(objecttype) %(objectname) %(*objecttype) %(*objectname)";
        let text = self.git(["for-each-ref", "--sort=-refname", format, "refs/tags"]).run().await?.text();
        Ok(text
            .lines()
            .filter_map(|line| {
                let fields: Vec<&str> = line.split(' ').collect();
                let (name, commit) = match fields[..] {
                    [name, "commit", sha, ..] => (name, sha),
                    [name, "tag", _, "commit", sha] => (name, sha),
                    _ => return None,
                };
                Some(TagRef { name: name.to_owned(), commit: commit.to_owned() })
            })
            .collect())
    }
}

/// `Name <address> seconds offset`.
fn parse_tagger(text: &str) -> Option<Signature> {
    let (name, rest) = text.split_once(" <")?;
    let (email, date) = rest.split_once("> ")?;
    Some(signature(name, email, date))
}
