//! The commits of a merge: written into the object store, on nobody's branch yet.

use super::message::{self, Words};
use crate::Sim;
use crate::faults::{self, Circumstances, FaultKind, Occasion, WrongSquash};
use crate::git::{CommitObject, GitRepo, MergeOutcome, Rebased, Signature};
use crate::http::ApiError;
use crate::people::{github_signature, signature_of};
use crate::world::{Id, MergeMethod, Pull, Sha};

/// One pull request to be landed.
pub struct Attempt<'a> {
    pub pull: &'a Pull,
    pub method: MergeMethod,
    pub words: &'a Words,
    pub merged_by: Id,
    /// The tip of the base, or of what is landed before this one.
    pub onto: &'a str,
    /// The head of the pull request below it, when that lands together with this one or has just landed.
    pub below: Option<&'a str>,
    /// The merge of the two, where it is known already.
    pub tree: Option<String>,
}

/// What became of the attempt.
pub enum Landed {
    /// The new tip.
    At(Sha),
    Conflict,
}

/// The people and words of the commits to be written.
struct Script {
    author: Signature,
    merger: Signature,
    github: Signature,
    squash_message: String,
    merge_message: String,
}

pub async fn land(sim: &Sim, attempt: &Attempt<'_>) -> Result<Landed, ApiError> {
    let git = sim.git(attempt.pull.repo);
    let head = &attempt.pull.head_sha;
    let base = attempt.below.unwrap_or(attempt.onto);
    let mut commits = git.commits(&[head, &format!("^{base}")], None, 0).await?;
    commits.reverse();
    let script = script(sim, attempt, &commits)?;
    let wrong = match attempt.method {
        MergeMethod::Squash => wrong_squash(sim, attempt.pull)?,
        _ => None,
    };
    if attempt.method == MergeMethod::Rebase || wrong == Some(WrongSquash::Rebase) {
        return Ok(match git.rebase(base, head, attempt.onto, &script.merger).await? {
            Rebased::Clean { commits } => {
                Landed::At(commits.last().cloned().unwrap_or_else(|| attempt.onto.to_owned()))
            }
            Rebased::Conflict { .. } => Landed::Conflict,
        });
    }
    let MergeOutcome::Clean { tree } = merged_tree(&git, attempt, &script).await? else { return Ok(Landed::Conflict) };
    let tree = match wrong {
        Some(WrongSquash::RevertBase) => format!("{head}^{{tree}}"),
        Some(WrongSquash::LoseChange) => format!("{}^{{tree}}", attempt.onto),
        _ => tree,
    };
    let Script { author, merger, github, squash_message, merge_message } = &script;
    let sha = match attempt.method {
        MergeMethod::Merge => git.write_commit(&tree, &[attempt.onto, head], merger, github, merge_message).await?,
        _ if wrong == Some(WrongSquash::TwoParents) => {
            git.write_commit(&tree, &[attempt.onto, head], author, github, squash_message).await?
        }
        _ => git.write_commit(&tree, &[attempt.onto], author, github, squash_message).await?,
    };
    Ok(Landed::At(sha))
}

fn script(sim: &Sim, attempt: &Attempt<'_>, commits: &[CommitObject]) -> Result<Script, ApiError> {
    let Attempt { pull, words, merged_by, .. } = attempt;
    sim.read(|world| {
        let (pull, issue) = super::find(world, pull.repo, pull.number)?;
        let repo = world.repo(pull.repo).ok_or_else(ApiError::not_found)?;
        Ok(Script {
            author: signature_of(world, issue.author),
            merger: signature_of(world, *merged_by),
            github: github_signature(world),
            squash_message: message::squash(world, repo, pull, issue, commits, words),
            merge_message: message::merge(repo, pull, issue, words),
        })
    })
}

/// The tree of the tip with what the pull request changed. Where the one below was squashed, its commits are not in the
/// tip's history although its change is; a commit that has the tip's tree on top of them tells git so.
async fn merged_tree(git: &GitRepo, attempt: &Attempt<'_>, script: &Script) -> Result<MergeOutcome, ApiError> {
    if let Some(tree) = &attempt.tree {
        return Ok(MergeOutcome::Clean { tree: tree.clone() });
    }
    let head = &attempt.pull.head_sha;
    let ours = match attempt.below {
        Some(below) if attempt.method == MergeMethod::Squash => {
            let tree = format!("{}^{{tree}}", attempt.onto);
            git.write_commit(&tree, &[below], &script.github, &script.github, "the tip with its history").await?
        }
        _ => attempt.onto.to_owned(),
    };
    Ok(git.merge_trees(&ours, head).await?)
}

fn wrong_squash(sim: &Sim, pull: &Pull) -> Result<Option<WrongSquash>, ApiError> {
    if !sim.read(|world| faults::any(world, Occasion::Squash)) {
        return Ok(None);
    }
    sim.write(|world| {
        let repository = world.repo(pull.repo).map(|repo| world.full_name(repo)).unwrap_or_default();
        let path = format!("/repos/{repository}/pulls/{}/merge", pull.number);
        let now = Circumstances { method: "PUT", path: &path, repository: &repository, event: "" };
        Ok(match faults::strike(world, Occasion::Squash, now) {
            Some(FaultKind::WrongSquash { how }) => Some(how),
            _ => None,
        })
    })
}
