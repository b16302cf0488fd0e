//! Commits that a rebase wrote again: other names, the same deeds.

use super::patch::{Exactness, PatchId};
use crate::{Error, Objects, Oid};

/// What a rebase keeps of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Deed {
    id: Oid,
    /// Name, address, time and time zone.
    authorship: String,
    message: String,
}

impl Objects {
    /// Whether `merge_commit` and something that landed with it are copies of two different commits of the pull request,
    /// as a rebase leaves them and a squash does not.
    ///
    /// What landed with it is its parent, and everything after `known_before` if that is known. Two copies are asked for
    /// since a pull request often holds its predecessor's commits, and the predecessor's squash is then much like a copy.
    pub(super) async fn landed_in_several_copies(
        &self,
        merge_commit: &Oid,
        parent: &Oid,
        known_before: Option<&Oid>,
        pull_head: &Oid,
    ) -> Result<bool, Error> {
        let own = self.deeds(&["--no-merges", pull_head.as_str(), &format!("^{merge_commit}")]).await?;
        let landed = match known_before {
            Some(known) => self.deeds(&["--no-merges", parent.as_str(), &format!("^{known}")]).await?,
            None => self.deeds(&["--no-walk", parent.as_str()]).await?,
        };
        let last = self.deeds(&["--no-walk", merge_commit.as_str()]).await?;
        let originals_of_last = self.originals(&last, &own).await?;
        if originals_of_last.is_empty() {
            return Ok(false);
        }
        let originals_of_landed = self.originals(&landed, &own).await?;
        Ok(originals_of_landed.iter().any(|one| originals_of_last.iter().any(|other| one != other)))
    }

    /// Those of `own` that one of `copies` is a copy of.
    async fn originals(&self, copies: &[Deed], own: &[Deed]) -> Result<Vec<Oid>, Error> {
        let mut originals = Vec::new();
        for copy in copies {
            for original in own {
                if self.is_copy(copy, original).await? {
                    originals.push(original.id.clone());
                }
            }
        }
        Ok(originals)
    }

    /// Two of three must be the same: the authorship, the message, the patch. A rebase keeps all of them, but people
    /// reword, change the date and resolve conflicts; a squash has a message and a date of its own.
    async fn is_copy(&self, copy: &Deed, original: &Deed) -> Result<bool, Error> {
        match (copy.authorship == original.authorship, copy.message == original.message) {
            (true, true) => Ok(true),
            (false, false) => Ok(false),
            _ => {
                let patch = self.own_patch(&copy.id).await?;
                Ok(patch.is_some() && patch == self.own_patch(&original.id).await?)
            }
        }
    }

    /// What a commit with one parent changes; a root commit is nobody's copy.
    async fn own_patch(&self, id: &Oid) -> Result<Option<PatchId>, Error> {
        match self.commit(id).await?.parents.as_slice() {
            [parent] => self.diff_id(parent, id, &Exactness::Lenient).await,
            _ => Ok(None),
        }
    }

    /// The commits that a walk of the history finds.
    async fn deeds(&self, walk: &[&str]) -> Result<Vec<Deed>, Error> {
        let output = self
            .command(["rev-list", "--no-commit-header", "--date=raw", "--format=%H%x00%an <%ae> %ad%x00%B%x00"])
            .await?
            .args(walk)
            .run()
            .await?;
        parse_deeds(&output.text()).ok_or_else(|| output.unexpected())
    }
}

/// Of records of three fields, each field ended by a NUL and each record by a line feed.
fn parse_deeds(text: &str) -> Option<Vec<Deed>> {
    let mut fields = text.split('\0');
    let mut deeds = Vec::new();
    loop {
        let id = fields.next()?.trim();
        if id.is_empty() {
            return fields.next().is_none().then_some(deeds);
        }
        let (authorship, message) = (fields.next()?.to_owned(), fields.next()?.trim().to_owned());
        deeds.push(Deed { id: Oid::parse(id).ok()?, authorship, message });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deeds_are_read_with_messages_of_any_form() {
        let (one, two) = ("a".repeat(40), "b".repeat(40));
        let text = format!("{one}\0author <> 1 +0000\0title\n\nbody\n\0\n{two}\0x <y> 2 -0130\0\0\n");
        let deeds = parse_deeds(&text).unwrap();
        assert_eq!(deeds.iter().map(|deed| deed.id.as_str()).collect::<Vec<_>>(), [one.as_str(), two.as_str()]);
        assert_eq!(deeds[0].message, "title\n\nbody");
        assert_eq!(
            deeds[1],
            Deed { id: Oid::parse(&*two).unwrap(), authorship: "x <y> 2 -0130".into(), message: "".into() }
        );
        assert_eq!(parse_deeds(""), Some(vec![]));
        for broken in ["fatal: bad revision", &text[..60], &format!("{one}\0author\0")] {
            assert_eq!(parse_deeds(broken), None, "{broken}");
        }
    }
}
