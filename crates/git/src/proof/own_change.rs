//! Two ways, one tree: what the branch of a pull request brings to the default branch is its own change and nothing else.
//!
//! The first way is the cascade's: the branch, merged into the default branch. The second does not look at what merge-train
//! did to the branch: it takes what people last pushed and merges that, as if the default branch contained the heads of
//! the pull requests that landed below. The common ancestor of the two then is what the change was written on.

use std::collections::HashSet;

use merge_train_core::ids::{PrNumber, Sha};
use merge_train_core::repo::trains::conflict::Conflict;
use merge_train_core::repo::trains::difference::{Difference, NamedCommit};
use merge_train_core::repo::trains::work::AuthoredHead;

use super::landed::FILES_NAMED;
use crate::cascade::{Predecessor, is_of_a_cascade};
use crate::merge::Attributes;
use crate::{Error, Objects, Oid};

/// How many commits of a branch are looked at for the last that people made. A cascade adds five at most.
const COMMITS_WALKED: &str = "--max-count=100";
/// How many commits are named in a comment.
const COMMITS_NAMED: &str = "--max-count=20";
/// How much of a diff a comment shows.
const LINES_SHOWN_BYTES: usize = 3_000;

/// A pull request that has landed, below the one that is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Below {
    pub pull: PrNumber,
    pub squash: Oid,
    /// The head that was squashed.
    pub head: Oid,
    /// Heads that it had before. Those that the clone never heard of are of no interest: nothing was written on them.
    pub former_heads: Vec<Oid>,
}

/// What people last pushed, and what that was written on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written<'a> {
    pub stands_on: &'a Oid,
    pub people_head: &'a Oid,
}

/// A pull request that is to land.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    pub head: &'a Oid,
    /// What people last pushed, as far as that is remembered.
    pub people_head: Option<&'a Oid>,
    /// The lowest first.
    pub below: &'a [Below],
    pub default_head: &'a Oid,
}

fn standing(people_head: &Oid, stands_on: &Oid) -> AuthoredHead {
    AuthoredHead::new(Sha::from(people_head), Sha::from(stands_on))
}

/// What the two ways give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TwoWays {
    Same {
        tree: Oid,
        standing: AuthoredHead,
    },
    Differ(Difference),
    /// The branch itself conflicts with the default branch.
    Conflict(Conflict),
}

impl Objects {
    /// Computes the tree that the default branch has after a squash of the pull request, in both ways.
    pub async fn two_ways(&self, candidate: Candidate<'_>) -> Result<TwoWays, Error> {
        let Candidate { head, default_head, .. } = candidate;
        let tree = match self.expected_tree(default_head, head).await? {
            Ok(tree) => tree,
            Err(conflict) => return Ok(TwoWays::Conflict(conflict)),
        };
        self.second_way(candidate, tree).await
    }

    /// The same where it is known what the branch itself gives.
    pub async fn second_way(&self, candidate: Candidate<'_>, tree: Oid) -> Result<TwoWays, Error> {
        let Candidate { head, default_head, people_head, below } = Candidate { ..candidate };
        // Also where merge-train never pushed for this pull request: its branch may be another one's, too.
        let people_head = self.people_head(head, people_head).await?;
        if below.is_empty() && people_head == *head {
            return Ok(TwoWays::Same { tree, standing: standing(&people_head, default_head) });
        }
        let landed = self.landed_heads(below, &people_head).await?;
        let stands_on = self.stands_on(&people_head, default_head, &landed).await?;
        let standing = standing(&people_head, &stands_on);
        let ours = match landed.as_slice() {
            [] => default_head.clone(),
            landed => self.containing(default_head, landed).await?,
        };
        let alone = self.merge_trees(&ours, &people_head, Attributes::Ignored).await?;
        if alone.as_ref() == Ok(&tree) {
            return Ok(TwoWays::Same { tree, standing });
        }
        // The cascade heeds `.gitattributes`, as a checkout does. A merge driver must not have kept what the change takes away.
        let heeding = self.merge_trees(&ours, &people_head, Attributes::OfOurs).await?;
        let mut by_driver = heeding.as_ref() == Ok(&tree);
        if !by_driver && heeding.is_ok() {
            // A driver that keeps the lines of both sides puts those of its own side first, and a cascade merges into the branch.
            by_driver = self.merge_trees(&people_head, &ours, Attributes::OfOurs).await?.as_ref() == Ok(&tree);
        }
        if by_driver {
            let united = match &alone {
                Ok(alone) => self.differing_files(alone, &tree).await?,
                Err(conflict) => conflict.files.iter().map(|file| file.path.clone()).collect(),
            };
            let written = Written { stands_on: &stands_on, people_head: &people_head };
            if self.spoilt_by_driver(united, written, default_head, &tree).await?.is_none() {
                return Ok(TwoWays::Same { tree, standing });
            }
        }
        let alone = if by_driver { alone } else { alone.or(heeding) };
        let (conflict, files, lines) = match alone {
            Err(conflict) => (Some(conflict), Vec::new(), String::new()),
            Ok(alone) => {
                let files = self.differing_files(&alone, &tree).await?;
                (None, files, self.differing_lines(&alone, &tree).await?)
            }
        };
        let unnamed = files.len().saturating_sub(FILES_NAMED);
        let files = files.into_iter().take(FILES_NAMED).collect();
        let commits = self.own_commits(head, default_head).await?;
        let standing = self.standing_to_move(head, &people_head, &stands_on).await?;
        let standing = AuthoredHead { by_driver, ..standing };
        Ok(TwoWays::Differ(Difference { conflict, files, unnamed, lines, commits, standing }))
    }

    /// The last commit of the branch that is not merge-train's own.
    async fn people_head(&self, head: &Oid, remembered: Option<&Oid>) -> Result<Oid, Error> {
        let walked = self.named_commits(&["--first-parent", COMMITS_WALKED, head.as_str()]).await?;
        // Not from what is remembered on: somebody may have gone back to an older head and pushed on top of that.
        let of_people = walked.iter().find(|commit| !commit.by_merge_train);
        match (of_people, remembered) {
            (Some(commit), _) => Oid::try_from(&commit.sha).map_err(|error| Error::Refused(error.to_string())),
            (None, Some(remembered)) => Ok(remembered.clone()),
            (None, None) => Ok(head.clone()),
        }
    }

    /// What people last pushed to a branch, and what that was written on.
    pub async fn standing(&self, candidate: Candidate<'_>) -> Result<AuthoredHead, Error> {
        let people_head = self.people_head(candidate.head, candidate.people_head).await?;
        let landed = self.landed_heads(candidate.below, &people_head).await?;
        let stands_on = self.stands_on(&people_head, candidate.default_head, &landed).await?;
        self.standing_to_move(candidate.head, &people_head, &stands_on).await
    }

    /// The same for a branch whose predecessor was rewritten since the branch was written on it; none if it was not.
    pub async fn standing_on_rewritten(
        &self,
        head: &Oid,
        predecessor: Predecessor<'_>,
    ) -> Result<Option<AuthoredHead>, Error> {
        let written_on: Vec<Oid> = self.rewritten_heads(head, predecessor).await?.into_iter().cloned().collect();
        if written_on.is_empty() {
            return Ok(None);
        }
        let people_head = self.people_head(head, None).await?;
        let stands_on = self.stands_on(&people_head, predecessor.head, &written_on).await?;
        self.standing_to_move(head, &people_head, &stands_on).await.map(Some)
    }

    /// What a branch stands on that is stacked on a head which its predecessor still has.
    pub async fn standing_upon(&self, head: &Oid, predecessor: &Oid) -> Result<AuthoredHead, Error> {
        let people_head = self.people_head(head, None).await?;
        let stands_on = self.stands_on(&people_head, predecessor, &[]).await?;
        self.standing_to_move(head, &people_head, &stands_on).await
    }

    /// With all that somebody needs to know who moves the branch.
    async fn standing_to_move(&self, head: &Oid, people_head: &Oid, stands_on: &Oid) -> Result<AuthoredHead, Error> {
        let args = ["rev-list", "--merges", "--max-count=1", people_head.as_str(), &format!("^{stands_on}")];
        let has_merges = !self.command(args).await?.run().await?.text().trim().is_empty();
        Ok(AuthoredHead { head: Some(Sha::from(head)), has_merges, ..standing(people_head, stands_on) })
    }

    /// What a branch was written on: where it left the default branch, or what it is stacked on.
    async fn stands_on(&self, people_head: &Oid, default_head: &Oid, landed: &[Oid]) -> Result<Oid, Error> {
        let mut args = vec!["merge-base", people_head.as_str(), default_head.as_str()];
        args.extend(landed.iter().map(Oid::as_str));
        let output = self.command(args).await?.run_allowing(&[0, 1]).await?;
        match output.code {
            0 => output.oid(),
            _ => Err(Error::Unrelated { ours: default_head.to_string(), theirs: people_head.to_string() }),
        }
    }

    /// The heads of what landed below a branch: the ones that were squashed; and the former ones that the branch contains
    /// although they were rewritten or taken back since. What a person has taken in as its squash is part of the default branch
    /// that they see.
    async fn landed_heads(&self, below: &[Below], people_head: &Oid) -> Result<Vec<Oid>, Error> {
        let lacked = self.lacked(people_head, below).await?;
        let mut heads: Vec<Oid> = lacked.iter().map(|below| below.head.clone()).collect();
        let former: Vec<&Oid> = lacked.iter().flat_map(|below| &below.former_heads).collect();
        for former in self.outside_of(&heads, &former).await? {
            if self.contains(people_head, former).await? {
                heads.push(former.clone());
            }
        }
        heads.dedup();
        Ok(heads)
    }

    /// Which of these squashes are not in the history of `head`.
    pub async fn lacked<'a>(&self, head: &Oid, below: &'a [Below]) -> Result<Vec<&'a Below>, Error> {
        let squashes: Vec<&Oid> = below.iter().map(|below| &below.squash).collect();
        let outside = self.outside_of(std::slice::from_ref(head), &squashes).await?;
        Ok(below.iter().filter(|below| outside.contains(&&below.squash)).collect())
    }

    /// Those of them that the default branch still has. What neither it nor the branch has is of no concern any more. Err: one that
    /// only the branch has, in whatever form: somebody rewound the default branch, or git is late with it.
    pub async fn still_landed(
        &self,
        below: Vec<Below>,
        head: &Oid,
        default_head: &Oid,
    ) -> Result<Result<Vec<Below>, Below>, Error> {
        let gone: Vec<PrNumber> = self.lacked(default_head, &below).await?.iter().map(|below| below.pull).collect();
        let mut still = Vec::new();
        for below in below {
            if !gone.contains(&below.pull) {
                still.push(below);
                continue;
            }
            let forms: Vec<Oid> =
                [&below.squash, &below.head].into_iter().chain(&below.former_heads).cloned().collect();
            for form in forms {
                if self.contains(head, &form).await? {
                    return Ok(Err(below));
                }
            }
        }
        Ok(Ok(still))
    }

    /// Which of these commits are in the history of none of `heads`.
    pub(crate) async fn outside_of<'a>(&self, heads: &[Oid], commits: &[&'a Oid]) -> Result<Vec<&'a Oid>, Error> {
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        let mut args = vec!["rev-list"];
        args.extend(commits.iter().map(|commit| commit.as_str()));
        let without: Vec<String> = heads.iter().map(|head| format!("^{head}")).collect();
        args.extend(without.iter().map(String::as_str));
        let output = self.command(args).await?.run_allowing(&[0, 128]).await?;
        if output.code == 0 {
            let text = output.text();
            let listed: HashSet<&str> = text.lines().collect();
            return Ok(commits.iter().copied().filter(|commit| listed.contains(commit.as_str())).collect());
        }
        // The clone never heard of one of them.
        let mut outside = Vec::new();
        'commits: for commit in commits {
            for head in heads {
                if self.contains(head, commit).await? {
                    continue 'commits;
                }
            }
            outside.push(*commit);
        }
        Ok(outside)
    }

    /// The first of these squashes that is not in the history of `head`.
    pub async fn lacking<'a>(&self, head: &Oid, below: &'a [Below]) -> Result<Option<&'a Below>, Error> {
        Ok(self.lacked(head, below).await?.into_iter().next())
    }

    /// A commit with the content of `default_head` that says it contains these heads, too.
    pub(crate) async fn containing(&self, default_head: &Oid, heads: &[Oid]) -> Result<Oid, Error> {
        let parents: Vec<&Oid> = std::iter::once(default_head).chain(heads).collect();
        let tree = format!("{default_head}^{{tree}}");
        self.clone().unsigned().write_commit_of(&tree, &parents, "What has landed").await
    }

    async fn differing_lines(&self, one: &Oid, other: &Oid) -> Result<String, Error> {
        let args = ["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--unified=0"];
        let output = self.command(args).await?.args([one.as_str(), other.as_str()]).run().await?;
        let text = output.text();
        let changed = |line: &&str| line.starts_with(['+', '-']);
        let mut lines = String::new();
        for line in text.lines().filter(changed) {
            if lines.len() + line.len() > LINES_SHOWN_BYTES {
                lines.push_str("…\n");
                break;
            }
            lines.push_str(line);
            lines.push('\n');
        }
        Ok(lines)
    }

    /// The commits of a branch that are not on the default branch, children before parents whatever their dates are.
    pub(crate) async fn own_commits(&self, head: &Oid, default_head: &Oid) -> Result<Vec<NamedCommit>, Error> {
        self.named_commits(&[COMMITS_NAMED, "--topo-order", head.as_str(), &format!("^{default_head}")]).await
    }

    /// The commits that a walk of the history finds, and whose they are.
    pub async fn named_commits(&self, walk: &[&str]) -> Result<Vec<NamedCommit>, Error> {
        let args = ["rev-list", "--no-commit-header", "--format=%H%x00%P%x00%an%x00%ce%x00%s"];
        let output = self.command(args).await?.args(walk).run().await?;
        let named = |line: &str| {
            let fields: Vec<&str> = line.split('\0').collect();
            let [id, parents, author, email, subject] = fields.as_slice() else { return None };
            let by_merge_train =
                *email == self.committer_email() && parents.split(' ').count() == 2 && is_of_a_cascade(subject);
            let (sha, author, subject) = (Sha::parse(*id).ok()?, (*author).to_owned(), (*subject).to_owned());
            Some(NamedCommit { sha, author, subject, by_merge_train })
        };
        output.text().lines().map(|line| named(line).ok_or_else(|| output.unexpected())).collect()
    }
}
