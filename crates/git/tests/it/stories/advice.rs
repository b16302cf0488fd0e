//! Somebody who reads what the bot says on a pull request and does it, word for word.

use super::github::{GitHub, MAIN, Pull, Written, pr};
use super::oracle::{self, Delta, Tokens};
use super::people::written_since;
use super::plain;

/// How often somebody resolves conflicts in one rebase.
const MOST_CONFLICTS: usize = 20;

/// What came of following a comment.
#[derive(Debug, Default)]
pub struct Followed {
    pub commands: usize,
    pub conflicts: usize,
}

/// Runs the commands in a comment, and does what it says about bases and declarations.
pub fn follow(github: &mut GitHub, body: &str) -> Followed {
    let mut followed = Followed::default();
    for block in blocks(body) {
        followed.commands += 1;
        run(github, &block, &mut followed);
    }
    for (number, _) in all_between(body, "Open a new pull request to main from the branch of PR #", ".", " ") {
        open_again(github, number);
    }
    for (number, base) in all_between(body, "hange the base branch of PR #", " to `", "`") {
        if github.pulls.get(&number).is_some_and(|pull| pull.is_open() && pull.base != base) {
            github.change(number, |pull| pull.base = base);
        }
        if body.contains("and delete its declaration") {
            github.undeclare(number);
        }
        if let Some((_, rest)) = body.split_once("edit its declaration to `@merge-train predecessor #") {
            let on: String = rest.chars().take_while(char::is_ascii_digit).collect();
            github.declare(number, on.parse().expect("a number"));
        }
    }
    followed
}

/// Opens another pull request of the same head, which those above name from now on.
fn open_again(github: &mut GitHub, number: u64) {
    /// Higher than the numbers of a story, lower than those of the next.
    const AGAIN: u64 = 5;
    let (pull, again) = (github.pulls[&number].clone(), number + AGAIN);
    if github.pulls.contains_key(&again) {
        return;
    }
    github.open_pull(again, &pull.head, MAIN, pull.own);
    let is_above = |(_, above): &(&u64, &Pull)| above.declared.is_some_and(|(_, on)| on == number);
    let above: Vec<u64> = github.pulls.iter().filter(is_above).map(|(above, _)| *above).collect();
    for above in above {
        let base = github.pulls[&again].branch.clone();
        github.change(above, |pull| pull.base = base);
        github.undeclare(above);
        github.declare(above, again);
    }
}

/// `PREFIX number MIDDLE text END`, wherever it stands.
fn all_between(body: &str, prefix: &str, middle: &str, end: &str) -> Vec<(u64, String)> {
    let mut found = Vec::new();
    for part in body.split(prefix).skip(1) {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        let Some(rest) = part[digits.len()..].strip_prefix(middle) else { continue };
        let (Ok(number), Some((text, _))) = (digits.parse(), rest.split_once(end)) else { continue };
        found.push((number, text.to_owned()));
    }
    found
}

/// The lines of each block of shell.
fn blocks(body: &str) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    let mut current: Option<Vec<String>> = None;
    for line in body.lines() {
        match (&mut current, line) {
            (None, "```sh") => current = Some(Vec::new()),
            (Some(_), "```") => all.extend(current.take()),
            (Some(lines), line) if !line.starts_with('#') => {
                lines.push(line.strip_suffix(" &&").unwrap_or(line).to_owned());
            }
            _ => {}
        }
    }
    all
}

fn run(github: &mut GitHub, lines: &[String], followed: &mut Followed) {
    let word = |after: &str| {
        let line = lines.iter().find(|line| line.contains(after))?;
        line.split_once(after)?.1.split(' ').next().map(|word| word.trim_matches('\'').to_owned())
    };
    let merged = word("git merge origin/");
    let branch = word("checkout -B ");
    let picked = branch.as_ref().and_then(|branch| word(&format!("checkout -B {branch} origin/")));
    let onto = word("--onto origin/").or_else(|| merged.clone()).or(picked);
    let Some(branch) = branch else {
        github.flaws.push(format!("nobody knows what these commands move: {lines:?}"));
        return;
    };
    let Some(onto) = onto else {
        github.flaws.push(format!("nobody knows where these commands move {branch}: {lines:?}"));
        return;
    };
    let Some(number) = github.pulls.iter().find(|(_, pull)| pull.branch == branch).map(|(number, _)| *number) else {
        return;
    };
    let onto = match github.pulls.values().find(|pull| pull.branch == onto) {
        Some(below) => below.head.clone(),
        None => github.main.clone(),
    };
    let before = github.own_change(number);
    let conflicts = followed.conflicts;
    let checkout = github.checkout();
    let head = github.pulls[&number].head.clone();
    let named = word(&format!("checkout -B {branch} "));
    let is_there = |named: &String| {
        named.starts_with("origin/")
            || plain::try_git(&github.origin(), &["merge-base", "--is-ancestor", named, &head]).is_some()
    };
    let leased = lines.iter().find_map(|line| Some(line.split_once("--force-with-lease=")?.1.split_once(':')?.1));
    let is_leased = leased.is_none_or(|leased| leased.trim_end_matches('\'').starts_with(&head));
    if !is_leased || !named.as_ref().is_some_and(is_there) {
        // Its author has rewritten it since, and asks again.
        return;
    }
    for line in lines {
        let Err(said) = plain::shell(&checkout, line) else { continue };
        if !resolve(github, followed) {
            github.flaws.push(format!("the advice for #{number} cannot be followed: `{line}` says: {said}"));
            return;
        }
    }
    github.notice_pushes();
    let head = github.pulls[&number].head.clone();
    let has_merged = merged.is_some();
    let own = match merged {
        None => written_since(github, &onto, &head),
        // How somebody resolves a conflict is part of what they write.
        Some(_) => {
            let clean = before.applied_to(&github.tokens(&onto));
            let delta = match followed.conflicts == conflicts {
                true => Delta::default(),
                false => Delta::between(&clean, &github.tokens(&head)),
            };
            let own = github.pulls[&number].own.clone();
            [own, vec![Written { commit: head.clone(), delta }]].concat()
        }
    };
    let pull = github.pulls.get_mut(&number).expect("there");
    pull.own = own;
    pull.people_head = head;
    pull.has_merged = has_merged;
    if followed.conflicts == conflicts {
        let target = github.tokens(&onto);
        let after = github.own_change(number);
        if effect_on(&before, &target) != effect_on(&after, &target) {
            let difference = oracle::difference(&before.applied_to(&target), &after.applied_to(&target));
            github.flaws.push(format!("the advice for #{} changes it: {difference}", pr(number)));
        }
    }
}

fn effect_on(delta: &Delta, target: &Tokens) -> Tokens {
    delta.applied_to(target)
}

/// The author's own side wins wherever there is a conflict.
fn resolve(github: &GitHub, followed: &mut Followed) -> bool {
    let checkout = github.checkout();
    for _ in 0..MOST_CONFLICTS {
        let unmerged = plain::git(&checkout, &["diff", "--name-only", "--diff-filter=U"]);
        let is_under_way = |name: &str| checkout.join(".git").join(name).exists();
        let (rebases, merges) = (is_under_way("rebase-merge"), is_under_way("MERGE_HEAD"));
        if !rebases && !merges && !is_under_way("CHERRY_PICK_HEAD") && !is_under_way("sequencer") {
            return followed.conflicts > 0;
        }
        let own_side = if merges { "--ours" } else { "--theirs" };
        followed.conflicts += 1;
        for path in unmerged.lines() {
            if plain::try_git(&checkout, &["checkout", "-q", own_side, "--", path]).is_none() {
                plain::git(&checkout, &["rm", "-q", "--cached", "--", path]);
                let _ = std::fs::remove_file(checkout.join(path));
            }
        }
        plain::git(&checkout, &["add", "-A"]);
        let continued = match (merges, rebases) {
            (true, _) => plain::try_git(&checkout, &["commit", "-q", "--no-edit"]),
            (_, true) => plain::try_git(&checkout, &["rebase", "--continue"]),
            (false, false) => plain::try_git(&checkout, &["cherry-pick", "--continue"])
                .or_else(|| plain::try_git(&checkout, &["cherry-pick", "--skip"])),
        };
        if continued.is_some() {
            return true;
        }
    }
    false
}
