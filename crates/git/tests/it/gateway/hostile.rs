//! A fixer that does not play by the rules: it has the folder to itself, and the daemon comes by.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use git::gateway::{Error, Move, News, Refreshed, Source, Taken};
use merge_train_core::ids::BranchName;
use tokio_util::sync::CancellationToken;

use super::{Fixer, Site};
use crate::{plain, support};

/// Every hook that any git process may run.
const HOOKS: [&str; 12] = [
    "pre-receive",
    "update",
    "post-receive",
    "post-update",
    "reference-transaction",
    "proc-receive",
    "push-to-checkout",
    "post-checkout",
    "pre-auto-gc",
    "pre-push",
    "post-index-change",
    "fsmonitor-watchman",
];

/// Every setting whose value git may run.
const SETTINGS: [&str; 15] = [
    "core.fsmonitor",
    "core.alternateRefsCommand",
    "core.sshCommand",
    "core.gitProxy",
    "core.pager",
    "core.editor",
    "core.askPass",
    "uploadpack.packObjectsHook",
    "gc.recentObjectsHook",
    "filter.evil.smudge",
    "filter.evil.clean",
    "filter.evil.process",
    "diff.external",
    "credential.helper",
    "gpg.program",
];

/// A program that leaves a mark where it ran.
struct Trap {
    program: PathBuf,
    marker: PathBuf,
    hooks: PathBuf,
}

impl Trap {
    fn new(folder: &Path) -> Self {
        let (program, marker, hooks) = (folder.join("trap"), folder.join("sprung"), folder.join("trap-hooks"));
        fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\nexit 0\n", marker.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(&hooks).unwrap();
        let trap = Self { program, marker, hooks };
        trap.set_hooks(&trap.hooks);
        trap
    }

    fn set_hooks(&self, folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        for name in HOOKS {
            let _ = fs::remove_file(folder.join(name));
            symlink(&self.program, folder.join(name)).unwrap();
        }
    }

    /// Plants all of it in a repository: as configuration, as configuration that is included, as hooks.
    fn set_in(&self, repository: &Path) {
        let mut config = fs::read_to_string(repository.join("config")).unwrap();
        let program = self.program.display();
        let mut lines = format!("[core]\n\thooksPath = {}\n", self.hooks.display());
        for setting in SETTINGS {
            let (section, key) = setting.rsplit_once('.').unwrap();
            let section = section.split_once('.').map_or(section.to_owned(), |(one, two)| format!("{one} \"{two}\""));
            lines += &format!("[{section}]\n\t{key} = {program}\n");
        }
        let here = repository.display();
        lines += &format!("[remote \"origin\"]\n\tpromisor = true\n\turl = {here}\n\tuploadpack = {program}\n");
        lines += &format!("[remote \"other\"]\n\tpromisor = true\n\turl = ext::{program}\n");
        lines += "[protocol]\n\tallow = always\n[protocol \"ext\"]\n\tallow = always\n[extensions]\n\tpartialClone = origin\n";
        lines += "[receive]\n\tprocReceiveRefs = refs/heads\n\tautogc = true\n\tdenyCurrentBranch = updateInstead\n";
        fs::write(repository.join("included"), &lines).unwrap();
        config = config.replace("repositoryformatversion = 0", "repositoryformatversion = 1") + &lines;
        config += &format!("[include]\n\tpath = {}\n", repository.join("included").display());
        fs::write(repository.join("config"), config).unwrap();
        self.set_hooks(&repository.join("hooks"));
    }

    fn sprung(&self) -> Option<String> {
        fs::read_to_string(&self.marker).ok()
    }
}

/// A fixer that has pushed, and then planted traps in everything it has.
async fn trapped() -> (Site, Fixer, Trap, git::Oid) {
    let site = Site::new().await;
    let fixer = site.create().await;
    let pushed = fixer.push("one");
    fixer.commit("two");
    let trap = Trap::new(site.folder.path());
    trap.set_in(&fixer.repository());
    trap.set_in(&fixer.checkout().join(".git"));
    (site, fixer, trap, pushed)
}

#[tokio::test]
async fn the_traps_of_these_tests_would_spring() {
    let (_site, fixer, trap, _) = trapped().await;
    fixer.try_git(&["push"]);
    let sprung = trap.sprung().expect("a plain push runs into them");
    assert!(sprung.contains("pre-receive") && sprung.contains("proc-receive"), "{sprung}");
}

#[tokio::test]
async fn taking_runs_nothing_that_was_planted() {
    let (site, fixer, trap, pushed) = trapped().await;
    assert_eq!(site.take(&fixer, &site.head).await.unwrap(), Taken::Advanced(pushed));
    assert_eq!(fixer.reported().await.len(), 1);
    assert_eq!(trap.sprung(), None);
}

#[tokio::test]
async fn taking_what_is_not_there_fetches_it_from_nowhere() {
    // An older git would let a repository that is read from fetch what it lacks, as that repository says.
    for program in [Path::new("git"), support::older_git()] {
        let (mut site, fixer, trap, pushed) = trapped().await;
        site.git = git::Git::find(program).await.unwrap();
        let blob = fixer.git(&["rev-parse", "HEAD:one"]);
        let _ = fs::remove_file(&trap.marker);
        let loose = fixer.repository().join("objects").join(&blob[..2]).join(&blob[2..]);
        fs::remove_file(&loose).expect("a push of one commit is not packed");
        let taken = site.take(&fixer, &site.head).await;
        assert!(matches!(taken, Err(Error::Unreadable { .. })), "{taken:?}");
        assert_eq!(trap.sprung(), None);
        assert_eq!(site.taken(), [""; 0], "{pushed} is not taken");
    }
}

#[tokio::test]
async fn refreshing_runs_nothing_that_was_planted() {
    let (site, fixer, trap, pushed) = trapped().await;
    let (base, foreign) = (site.foreign(&site.main, "newer"), site.foreign(&site.head, "foreign"));
    let main = BranchName::parse("main").unwrap();
    let news = News {
        branch: Some(Move { from: &pushed, to: &foreign }),
        base: Some((&main, Move { from: &site.main, to: &base })),
    };
    let clone = site.clone();
    let from = Source { clone: &clone, promisor: None };
    site.take(&fixer, &site.head).await.unwrap();
    let refreshed = fixer.gateway.refresh(from, news, &CancellationToken::new()).await;
    assert_eq!(refreshed.unwrap(), Refreshed::Done);
    assert_eq!(trap.sprung(), None);
    assert!(fixer.refs().contains(&format!("{base} refs/heads/main")));
}

#[tokio::test]
async fn after_a_refresh_the_gateway_has_its_own_rules_again() {
    let (site, fixer, trap, _) = trapped().await;
    let base = site.foreign(&site.main, "newer");
    let main = BranchName::parse("main").unwrap();
    let news = News { base: Some((&main, Move { from: &site.main, to: &base })), ..News::default() };
    let clone = site.clone();
    let from = Source { clone: &clone, promisor: None };
    fixer.gateway.refresh(from, news, &CancellationToken::new()).await.unwrap();
    let config = fs::read_to_string(fixer.repository().join("config")).unwrap();
    assert!(!config.contains(&trap.program.display().to_string()), "{config}");
    assert!(config.contains("denyDeletes = true"), "{config}");
    let hook = fixer.repository().join("hooks/pre-receive");
    assert!(hook.symlink_metadata().unwrap().is_file());
    assert!(fs::read_to_string(hook).unwrap().contains("may only push"));
    assert!(!fs::read_to_string(&trap.program).unwrap().contains("may only push"), "the link was not followed");
}

#[tokio::test]
async fn making_a_checkout_runs_nothing_that_the_clone_was_told_to_run() {
    let site = Site::new().await;
    let trap = Trap::new(site.folder.path());
    trap.set_hooks(&site.clone().join("hooks"));
    for setting in SETTINGS.iter().chain(&["core.hooksPath"]) {
        plain::git(&site.clone(), &["config", setting, trap.program.to_str().unwrap()]);
    }
    site.create().await;
    assert_eq!(trap.sprung(), None);
}

#[tokio::test]
async fn a_gateway_that_leads_elsewhere_is_refused() {
    let elsewhere = |fixer: &Fixer| fixer.repository().with_file_name("elsewhere.git");
    type Deed = fn(&Fixer, &Path);
    let deeds: [(&str, Deed); 5] = [
        ("gateway.git", |fixer, elsewhere| {
            fs::rename(fixer.repository(), elsewhere).unwrap();
            symlink(elsewhere, fixer.repository()).unwrap();
        }),
        ("objects", |fixer, elsewhere| {
            fs::rename(fixer.repository().join("objects"), elsewhere).unwrap();
            symlink(elsewhere, fixer.repository().join("objects")).unwrap();
        }),
        ("feature", |fixer, elsewhere| {
            fs::rename(fixer.repository().join("refs/heads/feature"), elsewhere).unwrap();
            symlink(elsewhere, fixer.repository().join("refs/heads/feature")).unwrap();
        }),
        ("alternates", |fixer, _| {
            fs::create_dir_all(fixer.repository().join("objects/info")).unwrap();
            fs::write(fixer.repository().join("objects/info/alternates"), "/elsewhere/objects\n").unwrap();
        }),
        ("commondir", |fixer, elsewhere| {
            fs::write(fixer.repository().join("commondir"), elsewhere.to_str().unwrap()).unwrap();
        }),
    ];
    for (name, deed) in deeds {
        let site = Site::new().await;
        let fixer = site.create().await;
        fixer.push("one");
        deed(&fixer, &elsewhere(&fixer));
        let taken = site.take(&fixer, &site.head).await;
        let Err(Error::TamperedWith { path, .. }) = &taken else { panic!("{name}: {taken:?}") };
        assert!(path.ends_with(name), "{name}: {}", path.display());
        assert!(taken.unwrap_err().to_string().contains("tampered with"), "{name}");
        let clone = site.clone();
        let from = Source { clone: &clone, promisor: None };
        let news = News { branch: Some(Move { from: &site.head, to: &site.head }), ..News::default() };
        let refreshed = fixer.gateway.refresh(from, news, &CancellationToken::new()).await;
        assert!(matches!(refreshed, Err(Error::TamperedWith { .. })), "{name}: {refreshed:?}");
    }
}

#[tokio::test]
async fn a_branch_that_is_gone_or_no_commit_is_not_taken() {
    let site = Site::new().await;
    let fixer = site.create().await;
    let branch = fixer.repository().join("refs/heads/feature");
    let blob = fixer.git(&["rev-parse", "HEAD:README"]);
    fs::write(&branch, format!("{blob}\n")).unwrap();
    assert!(site.take(&fixer, &site.head).await.is_err());
    fs::remove_file(&branch).unwrap();
    assert!(site.take(&fixer, &site.head).await.is_err());
    assert_eq!(site.taken(), [""; 0]);
}

#[tokio::test]
async fn objects_that_are_broken_are_not_taken_however_they_came_to_the_gateway() {
    let site = Site::new().await;
    let fixer = site.create().await;
    let tree = fixer.git(&["rev-parse", "HEAD^{tree}"]);
    let text = format!("tree {tree}\nparent {}\nauthor nobody\ncommitter nobody\n\nx\n", site.head);
    fs::write(fixer.checkout().join("broken"), text).unwrap();
    let file = fixer.checkout().join("broken");
    let args = ["hash-object", "-t", "commit", "--literally", "-w", file.to_str().unwrap()];
    let commit = plain::git(&fixer.repository(), &args);
    fs::write(fixer.repository().join("refs/heads/feature"), format!("{commit}\n")).unwrap();
    assert!(matches!(site.take(&fixer, &site.head).await, Err(Error::Unreadable { .. })));
    assert_eq!(site.taken(), [""; 0]);
}
