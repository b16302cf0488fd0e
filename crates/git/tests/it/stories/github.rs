//! A GitHub with real branches and real merges: a bare repository, and what GitHub knows of pull requests beside it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use merge_train_core::facts::{CommentFacts, HeadRepo, MergeState, PullFacts, PullState};
use merge_train_core::ids::{BranchName, CommentId, PrNumber, Sha, UserId};
use tempfile::TempDir;

use super::contents::Style;
use super::oracle::{self, Delta, Tokens};
use super::plain::{self, Files};

pub const MAIN: &str = "main";
/// What a push finds to have happened after it read where the branches are, and before it moves one.
const INSIDE: &str = "inside-push";
pub const BOT: UserId = UserId::new(900);
const AUTHOR: UserId = UserId::new(1);

pub fn pr(number: u64) -> PrNumber {
    PrNumber::new(number)
}

pub fn branch(name: &str) -> BranchName {
    BranchName::parse(name).expect("a branch name")
}

pub fn sha(commit: &str) -> Sha {
    Sha::parse(commit).expect("a commit")
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Open,
    Closed,
    Merged(String),
}

/// A commit that a person wrote for a pull request.
#[derive(Clone, Debug)]
pub struct Written {
    pub commit: String,
    pub delta: Delta,
}

#[derive(Clone, Debug)]
pub struct Pull {
    pub branch: String,
    pub head: String,
    pub base: String,
    pub state: State,
    /// What its author says that it is stacked on, and in which comment.
    pub declared: Option<(u64, u64)>,
    /// What people wrote for it, in order; and what they last pushed.
    pub own: Vec<Written>,
    pub people_head: String,
    /// Whether a person merged another branch into it, and may so have brought back what they had removed.
    pub has_merged: bool,
    /// Every head that it had, in order.
    pub heads: Vec<Head>,
    updated: i64,
}

/// A head of a branch, and what people had written for it.
#[derive(Clone, Debug)]
pub struct Head {
    pub commit: String,
    pub own: Vec<Written>,
    pub has_merged: bool,
}

impl Pull {
    fn present(&self) -> Head {
        Head { commit: self.head.clone(), own: self.own.clone(), has_merged: self.has_merged }
    }

    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }
}

/// Something that GitHub tells the daemon.
#[derive(Clone, Debug)]
pub enum Webhook {
    Pull(u64),
    Comment { id: u64, is_new: bool },
    Deleted(CommentFacts),
}

pub struct GitHub {
    folder: TempDir,
    pub main: String,
    base: String,
    pub pulls: BTreeMap<u64, Pull>,
    /// What people and status comments say, by id.
    pub comments: BTreeMap<u64, CommentFacts>,
    /// What the bot said on pull requests, in order.
    pub said: Vec<(u64, String)>,
    pub webhooks: Vec<Webhook>,
    /// What must be on the default branch.
    pub expected: Tokens,
    /// What merge-train landed, in order.
    pub landed: Vec<u64>,
    /// Those of which the bot said that a train goes on without them, and that nobody started since.
    left_out: BTreeSet<u64>,
    pub flaws: Vec<String>,
    pub strict: bool,
    pub style: Style,
    /// Whether branches move in the middle of the next push, and not at once.
    pub deferring: bool,
    contents: HashMap<String, Files>,
    seconds: i64,
    next_comment: u64,
    next_token: u64,
}

impl GitHub {
    /// A repository whose default branch has these files.
    pub fn new(files: &Files) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let origin = folder.path().join("origin.git");
        plain::git(folder.path(), &["init", "-q", "--bare", "--template=", "--initial-branch=main", "origin.git"]);
        std::fs::create_dir_all(origin.join("hooks")).expect("a folder");
        let hook = origin.join("hooks/pre-receive");
        let script = format!("#!/bin/sh\nif [ -f {INSIDE} ]; then . ./{INSIDE}; rm {INSIDE}; fi\n");
        std::fs::write(&hook, script).expect("a hook");
        std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("an executable");
        plain::git(&origin, &["config", "uploadpack.allowAnySHA1InWant", "true"]);
        let base = plain::commit_files(&origin, files, None, "Base");
        plain::git(folder.path(), &["clone", "-q", "origin.git", "people"]);
        let mut github = Self {
            folder,
            main: base.clone(),
            base,
            pulls: BTreeMap::new(),
            comments: BTreeMap::new(),
            said: Vec::new(),
            webhooks: Vec::new(),
            expected: Tokens::new(),
            landed: Vec::new(),
            left_out: BTreeSet::new(),
            flaws: Vec::new(),
            strict: false,
            style: Style::Drawn,
            deferring: false,
            contents: HashMap::new(),
            seconds: 0,
            next_comment: 1_000_000,
            next_token: 1_000,
        };
        github.start_over();
        github
    }

    /// The default branch as it was in the beginning, and no pull requests.
    pub fn start_over(&mut self) {
        for folder in ["refs/heads", "refs/pull"] {
            let folder = self.origin().join(folder);
            if folder.exists() {
                std::fs::remove_dir_all(folder).expect("refs are loose");
            }
        }
        self.pulls.clear();
        self.comments.clear();
        self.said.clear();
        self.webhooks.clear();
        self.landed.clear();
        self.left_out.clear();
        self.flaws.clear();
        let base = self.base.clone();
        self.set_main(&base);
        self.expected = self.tokens(&base);
        self.contents.retain(|commit, _| *commit == base);
    }

    pub fn origin(&self) -> PathBuf {
        self.folder.path().join("origin.git")
    }

    /// A clone that people work in.
    pub fn checkout(&self) -> PathBuf {
        self.folder.path().join("people")
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn files(&mut self, commit: &str) -> Files {
        if let Some(files) = self.contents.get(commit) {
            return files.clone();
        }
        let files = plain::files(&self.origin(), commit);
        self.contents.insert(commit.to_owned(), files.clone());
        files
    }

    pub fn tokens(&mut self, commit: &str) -> Tokens {
        oracle::tokens(&self.files(commit))
    }

    pub fn new_token(&mut self, whose: &str) -> String {
        self.next_token += 1;
        format!("{}{}-by-{whose}", oracle::TOKEN, self.next_token)
    }

    // Refs.

    fn set_ref(&self, name: &str, to: &str) {
        let path = self.origin().join(name);
        std::fs::create_dir_all(path.parent().expect("refs are in folders")).expect("a folder");
        std::fs::write(path, format!("{to}\n")).expect("the ref is written");
    }

    fn read_ref(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.origin().join(name)).ok().map(|text| text.trim().to_owned())
    }

    pub fn set_main(&mut self, to: &str) {
        self.set_ref("refs/heads/main", to);
        self.main = to.to_owned();
    }

    /// Somebody, or merge-train, moved a branch.
    pub fn set_branch(&mut self, name: &str, to: &str) {
        if self.deferring {
            let line = format!("echo {to} > '{}'\n", self.origin().join("refs/heads").join(name).display());
            std::fs::write(self.origin().join(INSIDE), line).expect("a file");
            return;
        }
        self.set_ref(&format!("refs/heads/{name}"), to);
        self.notice_pushes();
    }

    pub fn delete_branch(&mut self, name: &str) {
        std::fs::remove_file(self.origin().join("refs/heads").join(name)).expect("the branch is there");
        self.notice_pushes();
    }

    /// Draws the consequences of branches that have moved, however they moved.
    pub fn notice_pushes(&mut self) {
        for number in self.pulls.keys().copied().collect::<Vec<_>>() {
            let pull = &self.pulls[&number];
            if !pull.is_open() {
                continue;
            }
            match self.read_ref(&format!("refs/heads/{}", pull.branch)) {
                Some(head) if head != pull.head => {
                    self.set_ref(&format!("refs/pull/{number}/head"), &head);
                    self.change(number, |pull| {
                        pull.head = head;
                        pull.heads.push(pull.present());
                    });
                }
                Some(_) => {}
                None => self.change(number, |pull| pull.state = State::Closed),
            }
        }
        let main = self.read_ref("refs/heads/main").expect("there is a default branch");
        assert_eq!(main, self.main, "nobody but GitHub moves the default branch");
    }

    /// Changes a pull request, and tells the daemon.
    pub fn change(&mut self, number: u64, how: impl FnOnce(&mut Pull)) {
        self.seconds += 1;
        let pull = self.pulls.get_mut(&number).expect("there");
        how(pull);
        pull.updated = self.seconds;
        self.webhooks.push(Webhook::Pull(number));
    }

    pub fn open_pull(&mut self, number: u64, head: &str, base: &str, own: Vec<Written>) {
        let name = format!("feature-{number}");
        let mut pull = Pull {
            branch: name.clone(),
            head: head.to_owned(),
            base: base.to_owned(),
            state: State::Open,
            declared: None,
            own,
            people_head: head.to_owned(),
            has_merged: false,
            heads: Vec::new(),
            updated: self.seconds,
        };
        pull.heads.push(pull.present());
        self.pulls.insert(number, pull);
        self.set_ref(&format!("refs/heads/{name}"), head);
        self.set_ref(&format!("refs/pull/{number}/head"), head);
    }

    // What GitHub says.

    pub fn facts(&self, number: u64) -> Option<PullFacts> {
        let pull = self.pulls.get(&number)?;
        let at = time(pull.updated);
        let state = match &pull.state {
            State::Open => PullState::Open,
            State::Closed => PullState::Closed { at },
            State::Merged(commit) => PullState::Merged { merge_commit_sha: Some(sha(commit)), at },
        };
        Some(PullFacts {
            number: pr(number),
            head_ref: branch(&pull.branch),
            head_sha: sha(&pull.head),
            head_repo: HeadRepo::Same,
            base_ref: branch(&pull.base),
            state,
            draft: false,
            author: AUTHOR,
            updated_at: at,
            stack_position: None,
            title: format!("Change {number}"),
            labels: std::collections::BTreeSet::new(),
        })
    }

    pub fn merge_state(&mut self, number: u64) -> MergeState {
        let (head, base) = (self.pulls[&number].head.clone(), self.pulls[&number].base.clone());
        let Some(base_head) = self.read_ref(&format!("refs/heads/{base}")) else { return MergeState::Unknown };
        if plain::merged_tree(&self.origin(), &base_head, &head).is_none() {
            return MergeState::Dirty;
        }
        let is_behind =
            || plain::try_git(&self.origin(), &["merge-base", "--is-ancestor", &base_head, &head]).is_none();
        if self.strict && is_behind() { MergeState::Behind } else { MergeState::Clean }
    }

    /// Squashes into whatever the base is. Err: GitHub's refusal.
    pub fn squash(&mut self, number: u64) -> Result<String, &'static str> {
        let pull = self.pulls[&number].clone();
        if !pull.is_open() {
            return Err("Pull Request is closed");
        }
        let Some(base_head) = self.read_ref(&format!("refs/heads/{}", pull.base)) else { return Err("Base is gone") };
        let Some(tree) = plain::merged_tree(&self.origin(), &base_head, &pull.head) else {
            return Err("Pull Request is not mergeable");
        };
        let commit = plain::commit_tree(&self.origin(), &tree, &[&base_head], &format!("Change {number} (#{number})"));
        if pull.base == MAIN {
            self.set_main(&commit);
        } else {
            self.set_branch(&pull.base, &commit);
        }
        self.change(number, |pull| pull.state = State::Merged(commit.clone()));
        Ok(commit)
    }

    /// What a pull request changes, as its people see it.
    pub fn own_change(&mut self, number: u64) -> Delta {
        let pull = self.pulls[&number].clone();
        let own = Delta::of_all(pull.own.iter().map(|written| &written.delta));
        if !pull.has_merged {
            return own;
        }
        let seen = self.tokens(&pull.people_head);
        own.as_seen_in(&seen)
    }

    /// merge-train squashes. What is on the default branch then is held against what people wrote.
    pub fn squash_for_train(&mut self, number: u64, head: &str) -> Result<String, &'static str> {
        if self.pulls[&number].head != head {
            return Err("Head branch was modified. Review and try the merge again.");
        }
        let own = self.own_change(number);
        let is_on_main = self.pulls[&number].base == MAIN;
        let commit = self.squash(number)?;
        self.landed.push(number);
        if self.left_out.contains(&number) {
            self.flaws.push(format!("#{number} landed after the bot had said that the train goes on without it"));
        }
        if is_on_main {
            self.expected = own.applied_to(&self.expected);
            let found = self.tokens(&commit);
            if found != self.expected {
                let difference = oracle::difference(&self.expected, &found);
                self.flaws.push(format!("#{number} landed something else than its own change: {difference}"));
            }
        }
        Ok(commit)
    }

    /// Somebody else moved the default branch: whatever is on it now is meant.
    pub fn accept_main(&mut self) {
        let main = self.main.clone();
        self.expected = self.tokens(&main);
    }

    // What is said.

    pub fn bot_says(&mut self, number: u64, body: String) {
        let named = |prefix: &str, end: &str| {
            let (_, rest) = body.split_once(prefix)?;
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            rest[digits.len()..].contains(end).then(|| digits.parse::<u64>().ok())?
        };
        let skipped = named("escendant #", "skipping.").or_else(|| named("continues without PR #", ""));
        self.left_out.extend(skipped);
        self.said.push((number, body));
    }

    /// Whoever starts one, starts all that is stacked on it.
    fn taken_in(&mut self, number: u64) {
        self.left_out.remove(&number);
        let above = self.pulls.iter().filter(|(_, pull)| pull.declared.is_some_and(|(_, on)| on == number));
        for above in above.map(|(above, _)| *above).collect::<Vec<_>>() {
            self.taken_in(above);
        }
    }

    pub fn comment(&mut self, number: u64, body: &str) -> u64 {
        self.next_comment += 1;
        let id = self.next_comment;
        self.write_comment(id, number, AUTHOR, body);
        self.webhooks.push(Webhook::Comment { id, is_new: true });
        if body == "@merge-train start" {
            self.taken_in(number);
        }
        id
    }

    pub fn edit_comment(&mut self, id: u64, body: &str) {
        let number = self.comments[&id].pr.get();
        self.write_comment(id, number, AUTHOR, body);
        self.webhooks.push(Webhook::Comment { id, is_new: false });
    }

    pub fn delete_comment(&mut self, id: u64) {
        let comment = self.comments.remove(&id).expect("it is there");
        self.webhooks.push(Webhook::Deleted(comment));
    }

    pub fn write_comment(&mut self, id: u64, number: u64, author: UserId, body: &str) {
        self.seconds += 1;
        let now = time(self.seconds);
        let created_at = self.comments.get(&id).map_or(now, |comment| comment.created_at);
        let comment = CommentFacts {
            id: CommentId::new(id),
            pr: pr(number),
            author,
            login: "person".to_owned(),
            body: body.to_owned(),
            created_at,
            updated_at: now,
        };
        self.comments.insert(id, comment);
    }

    /// The author says what a pull request is stacked on.
    pub fn declare(&mut self, number: u64, on: u64) {
        let body = format!("@merge-train predecessor #{on}");
        let id = match self.pulls[&number].declared {
            Some((id, _)) => {
                self.edit_comment(id, &body);
                id
            }
            None => self.comment(number, &body),
        };
        self.pulls.get_mut(&number).expect("there").declared = Some((id, on));
    }

    pub fn undeclare(&mut self, number: u64) {
        if let Some((id, _)) = self.pulls.get_mut(&number).expect("there").declared.take() {
            self.delete_comment(id);
        }
    }
}

/// GitHub's clock, which nobody compares with the daemon's.
fn time(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + seconds).expect("a time")
}
