//! Talking with the remote: fetching exactly the refs that are wanted, and asking where a branch is.

use std::collections::BTreeMap;

use merge_train_core::ids::{BranchName, PrNumber};
use tokio_util::sync::CancellationToken;

use super::{Extent, Repository, folder};
use crate::{Error, Oid};

/// A ref of the remote that some work needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wanted {
    /// The default branch.
    Default(BranchName),
    /// The branch of a pull request, as it is now.
    Branch(PrNumber, BranchName),
    /// `refs/pull/N/head`: what the pull request last had, even when its branch is gone.
    Pull(PrNumber),
}

impl Wanted {
    fn remote_ref(&self) -> String {
        match self {
            Self::Default(branch) | Self::Branch(_, branch) => format!("refs/heads/{branch}"),
            Self::Pull(number) => format!("refs/pull/{number}/head"),
        }
    }

    /// The name under which the clone keeps it. Never made of a branch's name: `a` and `a/b` cannot both be refs, and a name
    /// of 255 bytes leaves no room for `.lock`.
    fn local_name(&self) -> String {
        match self {
            Self::Default(_) => "default".to_owned(),
            Self::Branch(number, _) => format!("branch/{number}"),
            Self::Pull(number) => format!("pull/{number}"),
        }
    }

    fn gone(&self) -> Error {
        match self {
            Self::Default(branch) | Self::Branch(_, branch) => Error::BranchGone(branch.clone()),
            Self::Pull(number) => Error::PullRefGone(*number),
        }
    }
}

/// Where the wanted refs were when they were fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heads(BTreeMap<String, Oid>);

impl Heads {
    /// Where `wanted` was. It must have been asked for.
    pub fn of(&self, wanted: &Wanted) -> Result<&Oid, Error> {
        self.0.get(&wanted.local_name()).ok_or_else(|| wanted.gone())
    }
}

impl Repository {
    /// Fetches the wanted refs, all or none, in one exchange. They are kept below `namespace`, which is nobody else's.
    pub(crate) async fn fetch(
        &self,
        namespace: &str,
        wanted: &[Wanted],
        cancel: &CancellationToken,
    ) -> Result<Heads, Error> {
        folder::configure(&self.clone_dir(), self.remote(), self.extent())?;
        let specs: String = wanted
            .iter()
            .map(|wanted| format!("+{}:{namespace}/{}\n", wanted.remote_ref(), wanted.local_name()))
            .collect();
        let mut command = self
            .git()
            .on(&self.clone_dir(), ["fetch", "--quiet", "--atomic", "--no-tags", "--no-write-fetch-head"])
            .args(["--no-auto-maintenance", "--no-recurse-submodules", "--refmap="]);
        if self.extent() == Extent::Partial {
            command = command.arg("--filter=blob:none");
        }
        let command = command.args(["--stdin", "origin"]).stdin(specs).speaking_with(self.remote()).await?;
        match command.until(cancel).run().await {
            Ok(_) => self.heads(namespace, cancel).await,
            Err(Error::Failed { command, code, stderr }) => {
                let advertised = self.advertised(wanted, cancel).await?;
                match wanted.iter().find(|wanted| !advertised.contains_key(&wanted.remote_ref())) {
                    Some(missing) => Err(missing.gone()),
                    None => Err(Error::Failed { command, code, stderr }),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Where the remote's branch is; none if it does not exist.
    pub async fn remote_head(&self, branch: &BranchName, cancel: &CancellationToken) -> Result<Option<Oid>, Error> {
        let wanted = Wanted::Default(branch.clone());
        let name = wanted.remote_ref();
        Ok(self.advertised(&[wanted], cancel).await?.remove(&name))
    }

    /// What the remote says of the wanted refs, without fetching anything.
    async fn advertised(&self, wanted: &[Wanted], cancel: &CancellationToken) -> Result<BTreeMap<String, Oid>, Error> {
        // By its address: this must tell of the remote also when the clone is damaged.
        let command = self.git().anywhere(["ls-remote", "--quiet", "--refs", "--", self.remote().url()]);
        let command = command.args(wanted.iter().map(Wanted::remote_ref)).speaking_with(self.remote()).await?;
        match command.until(cancel).run().await {
            Ok(output) => parse_refs(&output.text(), '\t').ok_or_else(|| output.unexpected()),
            Err(Error::Failed { stderr, .. }) => Err(self.remote_fault(&stderr)),
            Err(Error::Deadline { .. }) => Err(self.unreachable("it did not answer in time")),
            Err(error) => Err(error),
        }
    }

    /// Where the refs below `namespace` were when they were last fetched.
    pub(crate) async fn heads(&self, namespace: &str, cancel: &CancellationToken) -> Result<Heads, Error> {
        let args = ["for-each-ref", "--format=%(objectname) %(refname)", namespace];
        let output = self.git().on(&self.clone_dir(), args).until(cancel).run().await?;
        let refs = parse_refs(&output.text(), ' ').ok_or_else(|| output.unexpected())?;
        let below = format!("{namespace}/");
        Ok(Heads(
            refs.into_iter().filter_map(|(name, oid)| Some((name.strip_prefix(&below)?.to_owned(), oid))).collect(),
        ))
    }

    /// Why an exchange broke off. The network and the server fail in more ways than anyone can list, and most of them pass;
    /// that a repository may not be accessed does not.
    pub(crate) fn remote_fault(&self, stderr: &str) -> Error {
        let message = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
        match access_was_denied(stderr) {
            true => Error::Denied { url: self.remote().url().to_owned(), message },
            false => self.unreachable(&message),
        }
    }

    fn unreachable(&self, message: &str) -> Error {
        Error::Unreachable { url: self.remote().url().to_owned(), message: message.to_owned() }
    }
}

/// Git has no exit code for it: these are its words in the pinned locale, for 401, 403 and 404.
fn access_was_denied(stderr: &str) -> bool {
    const DENIED: [&str; 6] = [
        "fatal: Authentication failed for",
        "fatal: could not read Username for",
        "fatal: could not read Password for",
        "The requested URL returned error: 403",
        "fatal: repository '",
        "does not appear to be a git repository",
    ];
    DENIED.iter().any(|words| stderr.contains(words))
}

/// Lines of `oid separator name`.
fn parse_refs(text: &str, separator: char) -> Option<BTreeMap<String, Oid>> {
    let line =
        |line: &str| line.split_once(separator).and_then(|(oid, name)| Some((name.to_owned(), Oid::parse(oid).ok()?)));
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_are_read_line_by_line_or_not_at_all() {
        let oid = "a".repeat(40);
        let text = format!("{oid}\trefs/heads/main\n{oid}\trefs/heads/ünï code\n");
        assert_eq!(parse_refs(&text, '\t').unwrap().len(), 2);
        assert_eq!(parse_refs("", '\t').unwrap().len(), 0);
        assert_eq!(parse_refs("warning: something\n", '\t'), None);
    }

    #[test]
    fn a_refusal_of_access_is_told_from_a_failure_that_passes() {
        for denied in [
            "fatal: Authentication failed for 'https://github.com/o/r.git/'",
            "fatal: could not read Username for 'https://github.com': terminal prompts disabled",
            "remote: Write access to repository not granted.\nfatal: unable to access 'https://github.com/o/r.git/': The requested URL returned error: 403",
            "remote: Repository not found.\nfatal: repository 'https://github.com/o/r.git/' not found",
        ] {
            assert!(access_was_denied(denied), "{denied}");
        }
        for passing in [
            "fatal: unable to access 'https://github.com/o/r.git/': Could not resolve host: github.com",
            "fatal: unable to access 'https://github.com/o/r.git/': The requested URL returned error: 503",
            "error: RPC failed; curl 92 HTTP/2 stream 5 was not closed cleanly\nfatal: the remote end hung up unexpectedly",
        ] {
            assert!(!access_was_denied(passing), "{passing}");
        }
    }
}
