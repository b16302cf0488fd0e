//! Merges in the object store: `git merge-tree --write-tree` computes, `git commit-tree` records.

use super::GitRepo;
use super::command::{Error, Signature};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeOutcome {
    Clean { tree: String },
    Conflict { files: Vec<String> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rebased {
    /// The commits written, oldest first.
    Clean { commits: Vec<String> },
    /// The commit that did not apply.
    Conflict { commit: String },
}

impl GitRepo {
    pub async fn merge_trees(&self, ours: &str, theirs: &str) -> Result<MergeOutcome, Error> {
        let output = self
            .git([
                "merge-tree",
                "--write-tree",
                "-z",
                "--name-only",
                "--no-messages",
                "--allow-unrelated-histories",
                ours,
                theirs,
            ])
            .run_allowing(&[0, 1])
            .await?;
        let text = output.text();
        let mut fields = text.split('\0').filter(|field| !field.is_empty());
        let tree = fields
            .next()
            .ok_or_else(|| Error::Unexpected { command: "merge-tree", output: text.clone() })?
            .trim()
            .to_owned();
        Ok(if output.code == 0 {
            MergeOutcome::Clean { tree }
        } else {
            let mut files: Vec<String> = fields.map(str::to_owned).collect();
            files.dedup();
            MergeOutcome::Conflict { files }
        })
    }

    pub async fn merge_base(&self, a: &str, b: &str) -> Result<Option<String>, Error> {
        let output = self.git(["merge-base", a, b]).run_allowing(&[0, 1]).await?;
        Ok((output.code == 0).then(|| output.text().trim().to_owned()))
    }

    pub async fn is_ancestor(&self, ancestor: &str, descendant: &str) -> Result<bool, Error> {
        let output = self.git(["merge-base", "--is-ancestor", ancestor, descendant]).run_allowing(&[0, 1]).await?;
        Ok(output.code == 0)
    }

    /// Whether a merge commit is among what `new` has beyond `old`.
    pub async fn has_merges(&self, old: &str, new: &str) -> Result<bool, Error> {
        let output =
            self.git(["rev-list", "--merges", "--max-count=1"]).arg(format!("{old}..{new}")).run().await?.text();
        Ok(!output.trim().is_empty())
    }

    /// (commits only in `a`, commits only in `b`).
    pub async fn ahead_behind(&self, a: &str, b: &str) -> Result<(u64, u64), Error> {
        let text = self.git(["rev-list", "--left-right", "--count"]).arg(format!("{a}...{b}")).run().await?.text();
        let mut counts = text.split_whitespace().map(str::parse::<u64>);
        match (counts.next(), counts.next()) {
            (Some(Ok(left)), Some(Ok(right))) => Ok((left, right)),
            _ => Err(Error::Unexpected { command: "rev-list --count", output: text }),
        }
    }

    /// Replays the commits of `upstream..head`, without merges, onto `onto`; the authors stay, `committer` commits.
    pub async fn rebase(
        &self,
        upstream: &str,
        head: &str,
        onto: &str,
        committer: &Signature,
    ) -> Result<Rebased, Error> {
        let list = self
            .git(["rev-list", "--reverse", "--topo-order", "--no-merges"])
            .arg(format!("{upstream}..{head}"))
            .run()
            .await?
            .text();
        let mut tip = onto.to_owned();
        let mut commits = Vec::new();
        for sha in list.lines() {
            let commit = self
                .commit(sha)
                .await?
                .ok_or_else(|| Error::Unexpected { command: "rev-list", output: sha.to_owned() })?;
            // A three-way merge whose base is the commit's parent: git 2.39 has no `merge-tree --merge-base`, so the
            // tip's tree stands on that parent for the moment.
            let tip_tree = format!("{tip}^{{tree}}");
            let parents: Vec<&str> = commit.parents.first().map(String::as_str).into_iter().collect();
            let stand_in = self.write_commit(&tip_tree, &parents, committer, committer, "rebase").await?;
            let MergeOutcome::Clean { tree } = self.merge_trees(&stand_in, sha).await? else {
                return Ok(Rebased::Conflict { commit: sha.to_owned() });
            };
            tip = self.write_commit(&tree, &[&tip], &commit.author, committer, &commit.message).await?;
            commits.push(tip.clone());
        }
        Ok(Rebased::Clean { commits })
    }
}
