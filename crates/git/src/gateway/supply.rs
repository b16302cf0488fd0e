//! Bringing objects from the clone into a gateway, as a pack that the clone's git makes: no git runs in the gateway for
//! it.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::COPY_DEADLINE;
use super::config::Completeness;
use crate::command::{Command, among_paths};
use crate::{Error, Git, Oid, Remote};

/// Where a gateway's objects come from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The bare clone.
    pub clone: &'a Path,
    /// Where the clone's `origin` is, if the clone lacks contents that have to be fetched from there.
    pub promisor: Option<&'a Remote>,
}

impl Source<'_> {
    pub(super) fn completeness(&self) -> Completeness {
        match self.promisor {
            Some(_) => Completeness::Partial,
            None => Completeness::Complete,
        }
    }

    /// Puts `tips` and what they need into the objects of the gateway, but for what is reachable from `known`.
    pub(super) async fn supply(
        &self,
        git: &Git,
        gateway: &Path,
        (tips, known): (&[&Oid], &[&Oid]),
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        self.complete(git, tips, known, cancel).await?;
        let apart = fs::create_dir_all(gateway)
            .and_then(|()| tempfile::Builder::new().prefix("incoming-").tempdir_in(gateway))
            .map_err(Error::io("making a folder for objects"))?;
        self.pack(git, apart.path(), (tips, known), cancel).await?;
        let (pack, completeness) = (gateway.join("objects/pack"), self.completeness());
        tokio::task::spawn_blocking(move || move_in(&apart, &pack, completeness))
            .await
            .map_err(std::io::Error::other)
            .and_then(|moved| moved)
            .map_err(Error::io("moving objects into the gateway"))
    }

    /// Packs what the tips need that is there. The clone's own configuration alone is read.
    async fn pack(
        &self,
        git: &Git,
        folder: &Path,
        (tips, known): (&[&Oid], &[&Oid]),
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        let mut revs: String = tips.iter().map(|oid| format!("{oid}\n")).collect();
        revs.extend(known.iter().map(|oid| format!("^{oid}\n")));
        let mut command = git.on(self.clone, ["pack-objects", "-q", "--revs", "--delta-base-offset"]);
        if self.promisor.is_some() {
            command = command.arg("--missing=allow-any");
        }
        // Written there from the beginning: the clone may be on another file system.
        let command = command
            .env("GIT_OBJECT_DIRECTORY", folder)
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", among_paths(&self.clone.join("objects")))
            .arg(folder.join("pack"))
            .stdin(revs);
        command.deadline(COPY_DEADLINE).until(cancel).run().await.map(drop)
    }

    /// Lets a partial clone fetch the contents that a fixer needs: those of the tips, of where they parted, and of
    /// every commit between. What lies before stays away.
    async fn complete(
        &self,
        git: &Git,
        tips: &[&Oid],
        known: &[&Oid],
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        let Some(remote) = self.promisor else { return Ok(()) };
        let listing =
            || git.on(self.clone, ["rev-list", "--objects", "--missing=print", "--no-object-names"]).until(cancel);
        let names = |oids: &[&Oid]| oids.iter().map(|oid| oid.as_str().to_owned()).collect::<Vec<_>>();
        let mut met = Vec::new();
        if let [one, other] = tips {
            let args = ["merge-base", one.as_str(), other.as_str()];
            let output = git.on(self.clone, args).until(cancel).run_allowing(&[0, 1]).await?;
            met.extend(output.oid().ok());
        }
        let met: Vec<&Oid> = met.iter().collect();
        let mut missing = missing(listing().arg("--no-walk").args(names(tips)).args(names(&met))).await?;
        if !met.is_empty() || !known.is_empty() {
            let since = listing().args(names(tips)).arg("--not").args(names(&met)).args(names(known));
            missing.extend(self::missing(since).await?);
        }
        if missing.is_empty() {
            return Ok(());
        }
        missing.sort();
        missing.dedup();
        let wanted: String = missing.iter().map(|oid| format!("{oid}\n")).collect();
        let args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--refmap="];
        // As git itself fetches what is missing: everything that is asked for, and no talk about what is there.
        let command = git.on(self.clone, args).args(["--filter=blob:none", "--stdin", "origin"]).stdin(wanted);
        let command = command.setting("fetch.negotiationAlgorithm=noop").speaking_with(remote).await?;
        command.until(cancel).run().await.map(drop)
    }
}

/// The objects that a listing found missing.
async fn missing(listing: Command) -> Result<Vec<Oid>, Error> {
    let output = listing.run().await?;
    let text = output.text();
    let names = text.lines().filter_map(|line| line.strip_prefix('?'));
    names.map(|name| Oid::parse(name).map_err(|_| output.unexpected())).collect()
}

/// Moves packs in, the index of each last, since with it git sees the pack.
fn move_in(apart: &TempDir, pack: &Path, completeness: Completeness) -> std::io::Result<()> {
    fs::create_dir_all(pack)?;
    let mut files: Vec<_> = fs::read_dir(apart.path())?.collect::<Result<_, _>>()?;
    files.retain(|file| file.file_type().is_ok_and(|kind| kind.is_file()));
    files.sort_by_key(|file| file.path().extension().is_some_and(|extension| extension == "idx"));
    for file in files {
        let target = pack.join(file.file_name());
        if completeness == Completeness::Partial {
            fs::write(target.with_extension("promisor"), "")?;
        }
        fs::rename(file.path(), target)?;
    }
    Ok(())
}
