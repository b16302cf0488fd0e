//! A cascade step over repositories of 1,000, 10,000 and 100,000 files, beside the same step with a worktree and `git merge`.
//!
//! `cargo bench -p git --bench cascade`. A step is what one descendant costs: prepare, validate, reconcile, catch up, each
//! fetched over HTTP, computed and pushed. GitHub is played by git's own server on this machine. How long that worked is
//! measured and taken out of the step, and shown with the whole: how a server checks a push is not the daemon's to improve.
//! Fails if the step is not flat in the number of files, or the whole not 50 times faster at 100,000.
//!
//! All that a train asks of git to land one pull request is measured, too, with the second way to compute what lands and without
//! it, turn by turn. Fails if the second way makes it cost more than a fifth more, in processes or in time.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use git::cascade::{Advance, Step};
use git::push::Pushed;
use git::repository::{Extent, Repository, Settings, Wanted};
use git::stack::{Claim, Pull, Stack};
use git::{Committer, Git, Objects, Oid, Remote, Signing, TokenSource};
use merge_train_core::ids::{BranchName, PrNumber, RepoId, Sha};
use merge_train_core::repo::trains::work::{
    self, BranchPush, ExpectedTree, LandedSquash, LandedTreeProof, OwnChange, PushKind,
};
use merge_train_core::secret::Secret;
use test_support::git_server::{Server, TOKEN};
use test_support::programs;
use tokio_util::sync::CancellationToken;

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
/// Steps of our own for each size; the median counts.
const ROUNDS: usize = 21;
/// A worktree of 100,000 files takes its time.
const WORKTREE_ROUNDS: usize = 3;
const FLAT: f64 = 1.3;
const FASTER: f64 = 50.0;
/// What the second way may add to a landing.
const SECOND_WAY: f64 = 1.2;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    // `cargo test --benches` only wants to know whether it starts.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let mut worlds = Vec::new();
    for files in SIZES {
        eprintln!("making a repository of {files} files");
        worlds.push(World::make(files).await);
    }
    // Round by round over all sizes: what else the machine does then weighs on all alike.
    for _ in 0..ROUNDS {
        for world in &mut worlds {
            world.step().await;
        }
    }
    let mut landings = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        landings.0.push(worlds[1].landing_with_one_way().await);
        landings.1.push(worlds[1].landing().await);
    }
    for world in &mut worlds {
        eprintln!("{} files: {WORKTREE_ROUNDS} steps with a worktree", world.files);
        for _ in 0..WORKTREE_ROUNDS {
            world.step_with_worktree();
        }
    }
    let is_cheap = report_landings(&landings.0, &landings.1);
    report(&worlds);
    if !is_cheap {
        std::process::exit(1);
    }
}

/// What one landing costs: processes, and time.
type Cost = (u64, Duration);

fn report_landings(one_way: &[Cost], two_ways: &[Cost]) -> bool {
    let processes = |costs: &[Cost]| costs.last().map_or(0, |(processes, _)| *processes) as f64;
    let times = |costs: &[Cost]| costs.iter().map(|(_, time)| *time).collect::<Vec<_>>();
    let more = processes(two_ways) / processes(one_way);
    let (one, two) = (times(one_way), times(two_ways));
    let longer = ratio(&two, &one);
    println!(
        "git processes per landed pull request: {}, with one way {} ({more:.2} times); it takes {longer:.2} times as long \
         (both at most {SECOND_WAY})",
        processes(two_ways),
        processes(one_way),
    );
    let is_cheap = more <= SECOND_WAY && longer <= SECOND_WAY;
    if !is_cheap {
        println!("NOT REACHED");
    }
    is_cheap
}

fn report(worlds: &[World]) {
    let ms = |times: &[Duration]| format!("{:.1} ms", median(times).as_secs_f64() * 1e3);
    println!(
        "\n{:>7} |{:>11}{:>11}{:>12} |{:>14}{:>14} |",
        "files", "merging", "step", "with server", "worktree kept", "worktree made"
    );
    for world in worlds {
        print!("{:>7} |{:>11}{:>11}{:>12} |", world.files, ms(&world.merging), ms(&world.steps), ms(&world.whole));
        println!("{:>14}{:>14} |{:>6.0}x", ms(&world.kept), ms(&world.made), ratio(&world.made, &world.whole));
    }
    let (small, large) = (&worlds[0], &worlds[worlds.len() - 1]);
    let flat = ratio(&large.steps, &small.steps);
    let faster = ratio(&large.made, &large.whole);
    println!("\nfrom {} to {} files the step takes {flat:.2} times as long (at most {FLAT})", small.files, large.files);
    println!(
        "its merging {:.2} times, with the server {:.2} times",
        ratio(&large.merging, &small.merging),
        ratio(&large.whole, &small.whole)
    );
    println!(
        "at {} files it is {faster:.0} times faster than a worktree and git merge (at least {FASTER});",
        large.files
    );
    println!("{:.1} times if the worktree is there already", ratio(&large.kept, &large.whole));
    println!("git processes per step: {}, of them merging: {}", large.processes, large.merging_processes);
    if flat > FLAT || faster < FASTER {
        println!("NOT REACHED");
        std::process::exit(1);
    }
}

fn ratio(one: &[Duration], other: &[Duration]) -> f64 {
    median(one).as_secs_f64() / median(other).as_secs_f64()
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    times[times.len() / 2]
}

/// A remote with a stack of two on it, as it was in the beginning after each step.
struct World {
    folder: tempfile::TempDir,
    files: usize,
    stack: Stack,
    repository: Arc<Repository>,
    heads: Heads,
    server: Server,
    /// With the server's part.
    whole: Vec<Duration>,
    /// Without it.
    steps: Vec<Duration>,
    /// The merges alone.
    merging: Vec<Duration>,
    /// Those with a worktree that is there already, and those that make it.
    kept: Vec<Duration>,
    made: Vec<Duration>,
    processes: u64,
    merging_processes: u64,
}

struct Heads {
    main: Oid,
    squash: Oid,
    after: Oid,
    first: Oid,
    second: Oid,
}

impl World {
    async fn make(files: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let origin = folder.path().join("origin.git");
        plain(folder.path(), &["init", "-q", "--bare", "--template=", "--initial-branch=main", "origin.git"], None);
        plain(&origin, &["fast-import", "--quiet"], Some(&history(files)));
        for (key, value) in
            [("uploadpack.allowFilter", "true"), ("uploadpack.allowAnySHA1InWant", "true"), ("gc.auto", "0")]
        {
            plain(&origin, &["config", key, value], None);
        }
        plain(&origin, &["repack", "-adq", "--write-bitmap-index"], None);
        let head = |name: &str| oid(&plain(&origin, &["rev-parse", name], None));
        let main = head("main");
        let tree = plain(&origin, &["merge-tree", "--write-tree", "main", "first"], None);
        let squash = oid(&plain(&origin, &["commit-tree", "-p", "main", "-m", "Squash", tree.trim()], None));
        let after = oid(&plain(&origin, &["rev-parse", "after"], None));
        let after_tree = plain(&origin, &["merge-tree", "--write-tree", squash.as_str(), after.as_str()], None);
        let after =
            oid(&plain(&origin, &["commit-tree", "-p", squash.as_str(), "-m", "After", after_tree.trim()], None));
        let heads = Heads { main, squash, after, first: head("first"), second: head("second") };
        let git = Git::find("git").await.expect("git");
        let committer = Committer { name: "bench".into(), email: "bench@example.com".into(), signing: Signing::Off };
        let settings = Settings { base: folder.path().join("clones"), extent: Extent::Partial, committer };
        let repo = RepoId::new("bench", "origin").expect("a name");
        let served = folder.path().join("served");
        std::fs::create_dir_all(served.join("bench")).expect("a folder");
        std::os::unix::fs::symlink(&origin, served.join("bench/origin.git")).expect("a link");
        let server = Server::start(&served);
        let remote = Remote::on_server(server.url(), &repo, Arc::new(Planted)).expect("an address");
        let repository = Repository::open(git, &settings, &repo, remote).await.expect("a clone");
        let stack = repository.stack(PrNumber::new(1), CancellationToken::new()).await.expect("a stack");
        let world = Self {
            folder,
            files,
            stack,
            repository,
            heads,
            server,
            whole: Vec::new(),
            steps: Vec::new(),
            merging: Vec::new(),
            kept: Vec::new(),
            made: Vec::new(),
            processes: 0,
            merging_processes: 0,
        };
        world.begin();
        // The first fetch is the clone; a step comes upon one that is there.
        let wanted = [Wanted::Default(branch("main")), Wanted::Pull(PrNumber::new(1)), pull().wanted()];
        world.stack.fetch(&wanted).await.expect("the first fetch");
        world
    }

    fn origin(&self) -> PathBuf {
        self.folder.path().join("origin.git")
    }

    /// The stack as it was before the cascade.
    fn begin(&self) {
        let Heads { main, first, second, .. } = &self.heads;
        self.set(&[("heads/main", main), ("heads/first", first), ("pull/1/head", first), ("heads/second", second)]);
    }

    fn set(&self, refs: &[(&str, &Oid)]) {
        let lines: String = refs.iter().map(|(name, to)| format!("update refs/{name} {to}\n")).collect();
        plain(&self.origin(), &["update-ref", "--stdin"], Some(lines.as_bytes()));
    }

    async fn step(&mut self) {
        self.begin();
        let main = branch("main");
        let (before, worked) = (self.repository.processes(), self.server.worked());
        let mut clock = Clock::default();
        let prepared = clock.time(self.stack.prepare(&pull(), PrNumber::new(1), &main)).await.expect("prepared");
        self.push(&mut clock, prepared).await;
        // GitHub squashes, and somebody else pushes to `main`.
        self.set(&[("heads/main", &self.heads.after)]);
        let claim = Claim {
            pull: PrNumber::new(1),
            merge_commit: self.heads.squash.clone(),
            commits: Some(2),
            known_before: Some(self.heads.main.clone()),
        };
        let squash = clock.time(self.stack.validate(&claim, &main)).await.expect("looked").expect("a squash");
        let reconciled = clock.time(self.stack.reconcile(&pull(), &squash, &main)).await.expect("reconciled");
        self.push(&mut clock, reconciled).await;
        let caught_up = clock.time(self.stack.catch_up(&pull(), &main)).await.expect("caught up");
        self.push(&mut clock, caught_up).await;
        self.processes = self.repository.processes() - before;
        self.whole.push(clock.0);
        self.steps.push(clock.0.saturating_sub(self.server.worked() - worked));
        let before = self.repository.processes();
        let merging = self.merge(&squash).await;
        self.merging.push(merging);
        self.merging_processes = self.repository.processes() - before;
    }

    /// All that a train asks of git to land the second pull request, the first having landed.
    async fn landing(&mut self) -> Cost {
        self.begin();
        let main = branch("main");
        let (before, mut clock) = (self.repository.processes(), Clock::default());
        let prepare = work::MergeStep::Prepare {
            predecessor: PrNumber::new(1),
            prepared_with: Vec::new(),
            former_heads: Vec::new(),
        };
        self.merge_and_push(&mut clock, &prepare, PushKind::Prep).await;
        self.set(&[("heads/main", &self.heads.after)]);
        let landed = LandedSquash {
            pull: PrNumber::new(1),
            commit: Sha::from(&self.heads.squash),
            head: Some(Sha::from(&self.heads.first)),
            known_before: Some(Sha::from(&self.heads.main)),
            former_heads: Vec::new(),
        };
        let proof = clock.time(self.stack.prove_for_train(&landed, &[], &main)).await.expect("looked");
        assert_eq!(proof, LandedTreeProof::Proven);
        let people_head = Some(Sha::from(&self.heads.second));
        let change = OwnChange { pull: PrNumber::new(2), people_head, below: vec![landed.clone()] };
        self.merge_and_push(&mut clock, &work::MergeStep::Reconcile { landed }, PushKind::Reconcile).await;
        let catch_up = work::MergeStep::CatchUp { change: change.clone() };
        let head = self.merge_and_push(&mut clock, &catch_up, PushKind::Catchup).await;
        self.set(&[("pull/2/head", &oid(head.as_str()))]);
        let expected = clock.time(self.stack.expect_for_train(&change, &head, &main)).await.expect("computed");
        assert!(matches!(expected, ExpectedTree::Tree { .. }), "{expected:?}");
        (self.repository.processes() - before, clock.0)
    }

    async fn merge_and_push(&self, clock: &mut Clock, step: &work::MergeStep, kind: PushKind) -> Sha {
        let merged = clock.time(self.stack.merge_for_train(&pull(), step, &branch("main"))).await.expect("merged");
        let work::BranchMergeOutcome::Advance { from, to, tree, contains } = merged else { panic!("{merged:?}") };
        let (pull, branch) = (PrNumber::new(2), branch("second"));
        let push = BranchPush { kind, pull, branch, from, to: to.clone(), tree, contains };
        let pushed = clock.time(self.stack.push_for_train(&push)).await.expect("pushed");
        assert_eq!(pushed, work::PushOutcome::Landed);
        to
    }

    /// The same questions where only the branch is looked at.
    async fn landing_with_one_way(&mut self) -> Cost {
        self.begin();
        let main = branch("main");
        let objects = self.stack.objects();
        let (before, mut clock) = (self.repository.processes(), Clock::default());
        let prepared = clock.time(self.stack.prepare(&pull(), PrNumber::new(1), &main)).await.expect("prepared");
        clock.time(self.stack.heads()).await.expect("heads");
        self.push_what_is_there(&mut clock, prepared).await;
        self.set(&[("heads/main", &self.heads.after)]);
        let claim = Claim {
            pull: PrNumber::new(1),
            merge_commit: self.heads.squash.clone(),
            commits: None,
            known_before: Some(self.heads.main.clone()),
        };
        let squash = clock.time(self.stack.validate(&claim, &main)).await.expect("looked").expect("a squash");
        clock.time(self.stack.heads()).await.expect("heads");
        assert!(clock.time(objects.contains(&self.heads.first, &self.heads.first)).await.expect("looked"));
        clock.time(objects.prove_landed(&squash, &self.heads.first)).await.expect("proven");
        let squash = clock.time(self.stack.validate(&claim, &main)).await.expect("looked").expect("a squash");
        let reconciled = clock.time(self.stack.reconcile(&pull(), &squash, &main)).await.expect("reconciled");
        let heads = clock.time(self.stack.heads()).await.expect("heads");
        let head = heads.of(&pull().wanted()).expect("fetched");
        assert!(clock.time(objects.contains(head, &self.heads.first)).await.expect("looked"));
        self.push_what_is_there(&mut clock, reconciled).await;
        let caught_up = clock.time(self.stack.catch_up(&pull(), &main)).await.expect("caught up");
        clock.time(self.stack.heads()).await.expect("heads");
        let head = caught_up.head().expect("no conflict").commit;
        self.push_what_is_there(&mut clock, caught_up).await;
        self.set(&[("pull/2/head", &head)]);
        let wanted = [Wanted::Default(main), Wanted::Pull(PrNumber::new(2))];
        let heads = clock.time(self.stack.fetch(&wanted)).await.expect("fetched");
        let (default, found) = (heads.of(&wanted[0]).expect("fetched"), heads.of(&wanted[1]).expect("fetched"));
        clock.time(objects.expected_tree(default, found)).await.expect("computed").expect("no conflict");
        (self.repository.processes() - before, clock.0)
    }

    async fn push_what_is_there(&self, clock: &mut Clock, step: Step) {
        let Step::Advance(advance) = &step else { panic!("something to push: {step:?}") };
        assert!(clock.time(self.stack.objects().contains(&advance.to, &advance.to)).await.expect("looked"));
        self.push(clock, step).await;
    }

    /// The same merges upon commits that are there: what of a step is neither fetching nor pushing.
    async fn merge(&self, squash: &git::proof::Squash) -> Duration {
        let objects: Objects = self.repository.objects(CancellationToken::new());
        let (name, default) = (branch("second"), branch("main"));
        let at = |head| git::cascade::Branch { name: &name, head, default: &default };
        let mut clock = Clock::default();
        let prepared = clock.time(objects.prepare(at(&self.heads.second), PrNumber::new(1), &self.heads.first)).await;
        let head = prepared.expect("prepared").head().expect("no conflict");
        let reconciled = clock.time(objects.reconcile(at(&head.commit), squash)).await;
        let head = reconciled.expect("reconciled").head().expect("no conflict");
        clock.time(objects.catch_up(at(&head.commit), &self.heads.after)).await.expect("caught up");
        clock.0
    }

    async fn push(&self, clock: &mut Clock, step: Step) {
        let Step::Advance(advance): Step = step else { panic!("something to push: {step:?}") };
        let advance: Advance = advance;
        let pushed = clock.time(self.stack.push(&branch("second"), &advance)).await.expect("pushed");
        assert_eq!(pushed, Pushed::Landed);
    }

    /// As the specification's own commands do it: a full clone, a worktree, `git merge`.
    fn step_with_worktree(&mut self) {
        self.begin();
        let clone = self.folder.path().join("full");
        if !clone.exists() {
            plain(self.folder.path(), &["clone", "-q", "--bare", "origin.git", "full"], None);
            plain(&clone, &["config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"], None);
            plain(&clone, &["config", "gc.auto", "0"], None);
        }
        let worktree = self.folder.path().join("worktree");
        let start = Instant::now();
        plain(&clone, &["worktree", "add", "-q", "--detach", path(&worktree), "HEAD"], None);
        let making = start.elapsed();
        let start = Instant::now();
        let at = |args: &[&str]| plain(&worktree, args, None);
        at(&["fetch", "-q", "origin", "second", "refs/pull/1/head:refs/remotes/origin/pr/1"]);
        at(&["fetch", "-q", "origin", "+second:refs/remotes/origin/second"]);
        at(&["checkout", "-q", "--detach", "origin/second"]);
        at(&["merge", "-q", "--no-edit", "-m", "Prepare", "origin/pr/1"]);
        at(&["push", "-q", "origin", "HEAD:refs/heads/second"]);
        let so_far = start.elapsed();
        self.set(&[("heads/main", &self.heads.after)]);
        let start = Instant::now();
        at(&["fetch", "-q", "origin", "+main:refs/remotes/origin/main", "+second:refs/remotes/origin/second"]);
        at(&["checkout", "-q", "--detach", "origin/second"]);
        at(&["merge", "-q", "--no-edit", "-m", "Before", &format!("{}^", self.heads.squash)]);
        at(&["merge", "-q", "--no-edit", "-s", "ours", "-m", "Relate", self.heads.squash.as_str()]);
        at(&["push", "-q", "origin", "HEAD:refs/heads/second"]);
        at(&["merge", "-q", "--no-edit", "-m", "Catch up", "origin/main"]);
        at(&["push", "-q", "origin", "HEAD:refs/heads/second"]);
        let kept = so_far + start.elapsed();
        let start = Instant::now();
        plain(&clone, &["worktree", "remove", "--force", path(&worktree)], None);
        self.kept.push(kept);
        self.made.push(making + kept + start.elapsed());
    }
}

struct Planted;

#[async_trait::async_trait]
impl TokenSource for Planted {
    async fn token(&self) -> Result<Option<Secret>, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Some(Secret::new(TOKEN)))
    }
}

#[derive(Default)]
struct Clock(Duration);

impl Clock {
    async fn time<T>(&mut self, work: impl Future<Output = T>) -> T {
        let start = Instant::now();
        let done = work.await;
        self.0 += start.elapsed();
        done
    }
}

fn branch(name: &str) -> BranchName {
    BranchName::parse(name).expect("a branch name")
}

fn pull() -> Pull {
    Pull { number: PrNumber::new(2), branch: branch("second") }
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn oid(text: &str) -> Oid {
    Oid::parse(text.trim()).expect("an object")
}

/// `main` with so many files; `first` on it, `second` on `first`, each with a few changes; `main` and `first` moved on.
fn history(files: usize) -> Vec<u8> {
    let mut stream = String::new();
    let mut commit = |branch: &str, from: Option<&str>, changes: &[(String, String)]| {
        let _ = write!(stream, "commit refs/heads/{branch}\ncommitter b <b@example.com> 1700000000 +0000\ndata 1\nx\n");
        // A branch goes on from itself unless told otherwise.
        if let Some(from) = from.filter(|from| *from != branch) {
            let _ = writeln!(stream, "from refs/heads/{from}");
        }
        for (path, content) in changes {
            let _ = write!(stream, "M 100644 inline {path}\ndata {}\n{content}\n", content.len());
        }
        stream.push('\n');
    };
    let file = |index: usize| format!("d{:03}/e{:02}/f{index:06}.rs", index / 1000, index / 50 % 20);
    let content = |index: usize, change: &str| {
        let lines: String = (0..20).map(|line| format!("line {line} of {index}\n")).collect();
        format!("{change}{lines}")
    };
    let base: Vec<_> = (0..files).map(|index| (file(index), content(index, ""))).collect();
    commit("main", None, &base);
    commit("first", Some("main"), &[(file(1), content(1, "first\n")), (file(60), content(60, "first\n"))]);
    commit("second", Some("first"), &[(file(2), content(2, "second\n")), (file(70), content(70, "second\n"))]);
    commit("first", Some("first"), &[(file(3), content(3, "first again\n"))]);
    commit("after", Some("main"), &[(file(5), content(5, "after\n")), (file(80), content(80, "after\n"))]);
    commit("main", Some("main"), &[(file(4), content(4, "main\n")), (file(1), content(1, "") + "main\n")]);
    stream.into_bytes()
}

/// Plain git, as anyone would call it.
fn plain(folder: &Path, args: &[&str], input: Option<&[u8]>) -> String {
    let mut command = programs::isolated("git", folder);
    command.args(args).envs(programs::identity("b", "b@example.com"));
    let output = programs::run(command, input.unwrap_or_default());
    assert!(output.status.success(), "git {args:?}: {}", programs::printed(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
