//! Everything that people do to a stack while a train is under way, with plain git.

use fastrand::Rng;

use super::contents::edited;
use super::github::{GitHub, Head, MAIN, State, Written};
use super::oracle::Delta;
use super::plain;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Act {
    Push,
    EmptyPush,
    /// The last commit again with the same content, from a clone that knows nothing of merge-train's commits.
    AmendSameTree,
    /// The last commit with other content, from such a clone.
    Amend,
    /// The last commit is taken back, from such a clone.
    Withdraw,
    /// What people last pushed, again: merge-train's commits are gone.
    ForcePushOwnHead,
    /// Onto the head of what it is stacked on, or onto the default branch once that has landed.
    Rebase,
    MergeMain,
    /// A commit that undoes the last one.
    Revert,
    /// Onto what its predecessor is stacked on, with base and declaration.
    Restack,
    /// On another pull request, which is merged in, with base and declaration.
    RestackOn(u64),
    RetargetToMain,
    RetargetElsewhere,
    RetargetBack,
    Close,
    Reopen,
    DeleteBranch,
    SquashByHand,
    /// Into the branch that it is based on.
    Collapse,
    Undeclare,
    DeclareAgain,
    Stop,
    Start,
    MoveMain,
    Crash,
    CrashAfterDoing,
    /// An older head of the branch, again.
    OldHead,
    /// All of it as one commit, from a clone that has merge-train's.
    Flatten,
    /// A commit on the default branch that undoes its last one.
    RevertOnMain,
    /// The daemon dies and its database is lost.
    LoseState,
    PushOnOldHead,
    MergeAbove,
}

pub const ACTS: [Act; 25] = [
    Act::Push,
    Act::EmptyPush,
    Act::AmendSameTree,
    Act::Amend,
    Act::Withdraw,
    Act::ForcePushOwnHead,
    Act::Rebase,
    Act::MergeMain,
    Act::Revert,
    Act::Restack,
    Act::RetargetToMain,
    Act::RetargetElsewhere,
    Act::RetargetBack,
    Act::Close,
    Act::Reopen,
    Act::DeleteBranch,
    Act::SquashByHand,
    Act::Collapse,
    Act::Undeclare,
    Act::DeclareAgain,
    Act::Stop,
    Act::Start,
    Act::MoveMain,
    Act::Crash,
    Act::CrashAfterDoing,
];

/// What is drawn besides where `MERGE_TRAIN_RARE_ACTS` is set.
pub const RARE_ACTS: [Act; 6] =
    [Act::OldHead, Act::Flatten, Act::RevertOnMain, Act::LoseState, Act::PushOnOldHead, Act::MergeAbove];

/// What stands below a pull request, the nearest first.
pub fn below(github: &GitHub, number: u64) -> Vec<u64> {
    let mut all = Vec::new();
    let mut next = github.pulls[&number].declared.map(|(_, on)| on);
    while let Some(on) = next.filter(|on| !all.contains(on) && github.pulls.contains_key(on)) {
        all.push(on);
        next = github.pulls[&on].declared.map(|(_, on)| on);
    }
    all
}

/// Opens a pull request with one or two commits upon another, 0 being the default branch.
pub fn open(github: &mut GitHub, rng: &mut Rng, number: u64, on: u64) {
    let (start, base) = match github.pulls.get(&on) {
        Some(below) => (below.head.clone(), below.branch.clone()),
        None => (github.main.clone(), MAIN.to_owned()),
    };
    let mut lower = if on == 0 { Vec::new() } else { below(github, on) };
    if on != 0 {
        lower.insert(0, on);
    }
    let (mut head, mut own) = (start, Vec::new());
    for _ in 0..rng.usize(1..=2) {
        let written = write(github, rng, number, &head, &lower);
        head.clone_from(&written.commit);
        own.push(written);
    }
    github.open_pull(number, &head, &base, own);
    if on != 0 {
        github.declare(number, on);
    }
}

fn write(github: &mut GitHub, rng: &mut Rng, number: u64, on: &str, lower: &[u64]) -> Written {
    let before = github.files(on);
    let after = edited(github, rng, &before, number, lower);
    let origin = github.origin();
    let commit = plain::commit_files(&origin, &after, Some(on), &format!("Work on {number}"));
    record(github, commit, on)
}

/// What a commit of a person adds and removes.
pub fn record(github: &mut GitHub, commit: String, parent: &str) -> Written {
    let delta = Delta::between(&github.tokens(parent), &github.tokens(&commit));
    Written { commit, delta }
}

fn parent_of(github: &GitHub, commit: &str) -> String {
    plain::git(&github.origin(), &["rev-parse", &format!("{commit}^1")])
}

/// People push a head, and have written these commits for it.
pub fn push(github: &mut GitHub, number: u64, head: &str, own: Vec<Written>) {
    let name = {
        let pull = github.pulls.get_mut(&number).expect("there");
        pull.own = own;
        pull.people_head = head.to_owned();
        pull.branch.clone()
    };
    github.set_branch(&name, head);
}

/// Does it, if it can be done. Crashes are the daemon's, not people's.
pub fn act(github: &mut GitHub, rng: &mut Rng, number: u64, act: Act) -> bool {
    if act == Act::MoveMain {
        return move_main(github, rng);
    }
    let Some(pull) = github.pulls.get(&number).cloned() else { return false };
    match (&pull.state, act) {
        (State::Closed, Act::Reopen) => return reopen(github, number),
        (State::Closed | State::Merged(_), _) | (State::Open, Act::Reopen) => return false,
        (State::Open, _) => {}
    }
    let lower = below(github, number);
    match act {
        Act::Push
        | Act::EmptyPush
        | Act::AmendSameTree
        | Act::Amend
        | Act::Withdraw
        | Act::ForcePushOwnHead
        | Act::Rebase
        | Act::MergeMain
        | Act::Revert => return act_on_commits(github, rng, number, act),
        Act::Restack => {
            let Some(on) = lower.get(1).copied().filter(|on| github.pulls[on].is_open()) else { return false };
            let (onto, base) = (github.pulls[&on].head.clone(), github.pulls[&on].branch.clone());
            if !rebase(github, number, &onto) {
                return false;
            }
            github.change(number, |pull| pull.base = base);
            github.declare(number, on);
        }
        Act::RestackOn(on) => {
            let on = number / 10 * 10 + on;
            let (below, base) = (github.pulls[&on].head.clone(), github.pulls[&on].branch.clone());
            let origin = github.origin();
            let Some(tree) = plain::merged_tree(&origin, &pull.head, &below) else { return false };
            let head = plain::commit_tree(&origin, &tree, &[&pull.head, &below], &format!("Merge {base}"));
            push(github, number, &head, pull.own);
            github.pulls.get_mut(&number).expect("there").has_merged = true;
            github.change(number, |pull| pull.base = base);
            github.declare(number, on);
        }
        Act::RetargetToMain => github.change(number, |pull| MAIN.clone_into(&mut pull.base)),
        Act::RetargetElsewhere => {
            let main = github.main.clone();
            github.set_branch("elsewhere", &main);
            github.change(number, |pull| "elsewhere".clone_into(&mut pull.base));
        }
        Act::RetargetBack => {
            let Some(on) = lower.first().filter(|on| github.pulls[on].is_open()) else { return false };
            let base = github.pulls[on].branch.clone();
            github.change(number, |pull| pull.base = base);
        }
        Act::Close => github.change(number, |pull| pull.state = State::Closed),
        Act::DeleteBranch => github.delete_branch(&pull.branch),
        Act::SquashByHand => {
            if pull.base != MAIN || github.squash(number).is_err() {
                return false;
            }
            github.accept_main();
        }
        Act::Collapse => return collapse(github, number),
        Act::Undeclare => github.undeclare(number),
        Act::DeclareAgain => match pull.declared {
            Some((_, on)) => {
                github.undeclare(number);
                github.declare(number, on);
            }
            None => return false,
        },
        Act::Stop => drop(github.comment(number, "@merge-train stop")),
        Act::Start => drop(github.comment(number, "@merge-train start")),
        Act::Reopen | Act::MoveMain | Act::Crash | Act::CrashAfterDoing | Act::LoseState => return false,
        _ => return act_more(github, rng, number, act),
    }
    true
}

fn act_more(github: &mut GitHub, rng: &mut Rng, number: u64, act: Act) -> bool {
    let pull = github.pulls[&number].clone();
    let lower = below(github, number);
    let origin = github.origin();
    match act {
        Act::OldHead | Act::PushOnOldHead => {
            let old: Vec<Head> = pull.heads.iter().filter(|old| old.commit != pull.head).cloned().collect();
            let Some(Head { commit, own, has_merged }) = rng.choice(&old).cloned() else { return false };
            push(github, number, &commit, own);
            github.pulls.get_mut(&number).expect("there").has_merged = has_merged;
            if act == Act::PushOnOldHead {
                return act_on_commits(github, rng, number, Act::Push);
            }
        }
        Act::Flatten => {
            let base = match lower.first() {
                Some(on) if github.pulls[on].is_open() => github.pulls[on].head.clone(),
                _ => github.main.clone(),
            };
            let Some(onto) = plain::try_git(&origin, &["merge-base", &base, &pull.head]) else { return false };
            let Some(onto) = onto.lines().next().map(str::to_owned) else { return false };
            let tree = format!("{}^{{tree}}", pull.head);
            let commit = plain::commit_tree(&origin, &tree, &[&onto], &format!("All of {number}, squashed"));
            let written = record(github, commit.clone(), &onto);
            push(github, number, &commit, vec![written]);
            github.pulls.get_mut(&number).expect("there").has_merged = false;
        }
        Act::MergeAbove => {
            // Somebody merges the branch of the upper one into this one, on the command line.
            let above = github.pulls.iter().find(|(_, above)| above.base == pull.branch && above.is_open());
            let Some((upper, above)) = above.map(|(upper, above)| (*upper, above.clone())) else { return false };
            let Some(tree) = plain::merged_tree(&origin, &pull.head, &above.head) else { return false };
            let head = plain::commit_tree(&origin, &tree, &[&pull.head, &above.head], "Merge what is above");
            push(github, number, &head, [pull.own, above.own].concat());
            github.pulls.get_mut(&number).expect("there").has_merged |= above.has_merged;
            // GitHub marks it as merged.
            github.change(upper, |pull| pull.state = State::Merged(head));
        }
        Act::RevertOnMain => {
            let main = github.main.clone();
            let Some(before) = plain::try_git(&origin, &["rev-parse", &format!("{main}^1")]) else { return false };
            let tree = format!("{before}^{{tree}}");
            let commit = plain::commit_tree(&origin, &tree, &[&main], "Revert the last commit");
            github.set_main(&commit);
            github.accept_main();
        }
        _ => return false,
    }
    true
}

/// What somebody pushes.
fn act_on_commits(github: &mut GitHub, rng: &mut Rng, number: u64, act: Act) -> bool {
    let pull = github.pulls[&number].clone();
    let lower = below(github, number);
    let origin = github.origin();
    match act {
        Act::Push => {
            let written = write(github, rng, number, &pull.head, &lower);
            let head = written.commit.clone();
            push(github, number, &head, [pull.own, vec![written]].concat());
        }
        Act::EmptyPush => {
            let tree = format!("{}^{{tree}}", pull.head);
            let head = plain::commit_tree(&origin, &tree, &[&pull.head], "Run CI again");
            push(github, number, &head, pull.own);
        }
        Act::AmendSameTree => {
            let Some((last, rest)) = pull.own.split_last() else { return false };
            let (tree, parent) = (format!("{}^{{tree}}", last.commit), parent_of(github, &last.commit));
            let message = format!("Better words {}", rng.u32(..));
            let commit = plain::commit_tree(&origin, &tree, &[&parent], &message);
            let again = Written { commit: commit.clone(), delta: last.delta.clone() };
            push(github, number, &commit, [rest, &[again]].concat());
        }
        Act::Amend => {
            let Some((last, rest)) = pull.own.split_last() else { return false };
            let parent = parent_of(github, &last.commit);
            let written = write(github, rng, number, &parent, &lower);
            let head = written.commit.clone();
            push(github, number, &head, [rest, &[written]].concat());
        }
        Act::Withdraw => {
            let [rest @ .., last] = pull.own.as_slice() else { return false };
            if rest.is_empty() {
                return false;
            }
            let head = parent_of(github, &last.commit);
            push(github, number, &head, rest.to_vec());
        }
        Act::ForcePushOwnHead => {
            if pull.head == pull.people_head {
                return false;
            }
            push(github, number, &pull.people_head.clone(), pull.own);
        }
        Act::Rebase => {
            let onto = match lower.first() {
                Some(on) if github.pulls[on].is_open() => github.pulls[on].head.clone(),
                _ => github.main.clone(),
            };
            return rebase(github, number, &onto);
        }
        Act::MergeMain => {
            let main = github.main.clone();
            let Some(tree) = plain::merged_tree(&origin, &pull.head, &main) else { return false };
            let head = plain::commit_tree(&origin, &tree, &[&pull.head, &main], "Merge main");
            push(github, number, &head, pull.own);
            github.pulls.get_mut(&number).expect("there").has_merged = true;
        }
        Act::Revert => {
            let Some(last) = pull.own.last() else { return false };
            let (was, before) = (github.files(&pull.head), github.files(&parent_of(github, &last.commit)));
            if last.commit != pull.head || was == before {
                return false;
            }
            let commit = plain::commit_files(&origin, &before, Some(&pull.head), "Revert the last commit");
            let written = record(github, commit.clone(), &pull.head);
            push(github, number, &commit, [pull.own, vec![written]].concat());
        }
        _ => return false,
    }
    true
}

/// Somebody commits to the default branch.
fn move_main(github: &mut GitHub, rng: &mut Rng) -> bool {
    let main = github.main.clone();
    let written = write(github, rng, 0, &main, &[]);
    github.set_main(&written.commit);
    github.accept_main();
    true
}

pub fn reopen(github: &mut GitHub, number: u64) -> bool {
    let pull = github.pulls[&number].clone();
    if pull.state != State::Closed {
        return false;
    }
    let head = pull.head.clone();
    github.change(number, |pull| pull.state = State::Open);
    github.set_branch(&pull.branch, &head);
    true
}

/// Its own commits one by one onto another commit, as `git rebase` does it.
fn rebase(github: &mut GitHub, number: u64, onto: &str) -> bool {
    let pull = github.pulls[&number].clone();
    let checkout = github.checkout();
    plain::git(&checkout, &["fetch", "-q", "origin", &format!("refs/pull/{number}/head"), "refs/heads/main"]);
    // The commits of people may be on no branch any more.
    let commits: Vec<String> = pull.own.iter().map(|written| written.commit.clone()).collect();
    let origin = github.origin();
    let (origin, onto_arg) = (origin.to_string_lossy().into_owned(), onto.to_owned());
    let mut wanted = vec!["fetch", "-q", &origin, &onto_arg];
    wanted.extend(commits.iter().map(String::as_str));
    plain::git(&checkout, &wanted);
    plain::git(&checkout, &["checkout", "-q", "--detach", onto]);
    let mut picked = vec!["cherry-pick", "--allow-empty", "--keep-redundant-commits"];
    picked.extend(commits.iter().map(String::as_str));
    if plain::try_git(&checkout, &picked).is_none() {
        plain::git(&checkout, &["cherry-pick", "--abort"]);
        return false;
    }
    let head = plain::git(&checkout, &["rev-parse", "HEAD"]);
    plain::git(&checkout, &["push", "-q", "-f", "origin", &format!("HEAD:refs/heads/{}", pull.branch)]);
    let own = written_since(github, onto, &head);
    push(github, number, &head, own);
    github.pulls.get_mut(&number).expect("there").has_merged = false;
    true
}

/// The commits that are in one and not in the other, as people's.
pub fn written_since(github: &mut GitHub, base: &str, head: &str) -> Vec<Written> {
    let range = format!("{base}..{head}");
    let listed = plain::git(&github.origin(), &["rev-list", "--reverse", "--no-merges", "--topo-order", &range]);
    let commits: Vec<String> = listed.lines().map(str::to_owned).collect();
    let mut own = Vec::new();
    for commit in commits {
        let parent = parent_of(github, &commit);
        own.push(record(github, commit, &parent));
    }
    own
}

/// Merges a pull request into the branch that it is based on.
fn collapse(github: &mut GitHub, number: u64) -> bool {
    let pull = github.pulls[&number].clone();
    let Some(into) = github.pulls.iter().find(|(_, below)| below.branch == pull.base && below.is_open()) else {
        return false;
    };
    let (into, below) = (*into.0, into.1.clone());
    let origin = github.origin();
    let Some(tree) = plain::merged_tree(&origin, &below.head, &pull.head) else { return false };
    let message = format!("Merge pull request #{number}");
    let commit = plain::commit_tree(&origin, &tree, &[&below.head, &pull.head], &message);
    push(github, into, &commit, [below.own, pull.own].concat());
    github.pulls.get_mut(&into).expect("there").has_merged |= pull.has_merged;
    github.change(number, |pull| pull.state = State::Merged(commit));
    true
}
