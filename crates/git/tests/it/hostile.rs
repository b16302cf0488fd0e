//! Names and repositories that would like to be more than data.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use git::cascade::Step;
use git::push::Pushed;
use git::repository::{Extent, Wanted};
use git::worktree::Name;
use merge_train_core::ids::{BranchName, PrNumber};
use proptest::prelude::*;
use tokio_util::sync::CancellationToken;

use crate::support::engine::{branch, pr, pull};
use crate::support::{Change, World};

#[test]
fn names_that_git_could_take_for_something_else_are_refused_by_name() {
    for name in ["-x", "--upload-pack=touch /tmp/x", "a b", "a..b", "..", "@", "a:b", "a\nb", "+main", &"x".repeat(256)]
    {
        match BranchName::parse(name) {
            // Allowed by git, and harmless behind `refs/heads/`.
            Ok(_) => assert_eq!(name, "+main"),
            Err(error) => {
                let text = error.to_string();
                assert!(text.ends_with("is not a branch name: 1 to 255 bytes, as git allows it"), "{text}");
            }
        }
    }
}

#[test]
fn every_name_that_is_accepted_works() {
    let world = World::new();
    let base = world.base().clone();
    let main = world.commit(&[&base], &[Change::write("main", "x\n")], "main");
    world.set_ref("refs/heads/main", &main);
    let long = format!("{}/{}", "a".repeat(127), "b".repeat(127));
    let names = [
        "ünï/côdé-日本",
        "+plus",
        "=equals",
        "a'b\"c$(d)`e`",
        "a;b&c|d",
        "%2e%2e",
        "refs/heads/x",
        "HEAD",
        "!x",
        &long,
    ];
    let repository = world.repository(Extent::Full);
    for (index, name) in names.iter().enumerate() {
        let number = index as u64 + 1;
        let head = world.commit(&[&base], &[Change::write(format!("f{index}"), "x\n")], "feature");
        world.set_ref(&format!("refs/heads/{name}"), &head);
        let pushed = world.run(async {
            let stack = repository.stack(pr(number), CancellationToken::new()).await.expect("a stack");
            let step = stack.update_root(&pull(number, name), &branch("main")).await.expect(name);
            let Step::Advance(advance) = step else { panic!("the branch moves: {step:?}") };
            stack.push(&branch(name), &advance).await.expect(name)
        });
        assert_eq!(pushed, Pushed::Landed, "{name}");
    }
}

#[test]
fn a_name_of_255_bytes_in_one_piece_is_fetched() {
    let world = World::new();
    let name = "n".repeat(255);
    // Git itself could not write this as a file beside a lock; GitHub has it all the same.
    let packed = format!("{} refs/heads/main\n{} refs/heads/{name}\n", world.base(), world.base());
    fs::write(world.origin().join("packed-refs"), packed).expect("packed refs");
    let repository = world.repository(Extent::Full);
    let heads = world.run(async {
        let stack = repository.stack(pr(1), CancellationToken::new()).await.expect("a stack");
        stack.fetch(&[pull(1, &name).wanted()]).await.expect("fetched")
    });
    assert_eq!(heads.of(&pull(1, &name).wanted()).expect("a head"), world.base());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// What is accepted as a name can be put behind `refs/heads/` and is a ref to git; no name is an option.
    #[test]
    fn a_branch_name_is_what_git_calls_one(name in "[-a-z.@{}/ ~^:?*\\[\\\\ü!+\u{7f}\t]{1,12}|[a-z]{1,3}\\.lock|[a-z]/[a-z.]{1,5}") {
        thread_local! { static WORLD: World = World::new(); }
        let of_git = WORLD.with(|world| world.is_ref(&format!("refs/heads/{name}")));
        if BranchName::parse(name.as_str()).is_ok() {
            prop_assert!(of_git, "accepted, and git does not allow it: {name:?}");
            prop_assert!(!name.starts_with('-'));
        } else {
            // Git allows more behind `refs/heads/`: a leading dash, and `@`.
            prop_assert!(!of_git || name.starts_with('-') || name == "@", "refused, and git allows it: {name:?}");
        }
    }
}

/// Makes a program that leaves a mark, and returns how a shell calls it.
fn trap(folder: &Path) -> String {
    let program = folder.join("trap");
    fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >> {}\nexit 0\n", folder.join("sprung").display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program.display().to_string()
}

fn sprung(folder: &Path) -> String {
    fs::read_to_string(folder.join("sprung")).unwrap_or_default()
}

/// Everything in a configuration that names a program.
fn evil_configuration(trap: &str) -> String {
    let driver = "evil";
    format!(
        "[core]\n\tfsmonitor = {trap}\n\thooksPath = {hooks}\n\tsshCommand = {trap}\n\tpager = {trap}\n\teditor = {trap}\n\
         \taskPass = {trap}\n\talternateRefsCommand = {trap}\n\tgitProxy = {trap}\n\
         [filter \"{driver}\"]\n\tsmudge = {trap}\n\tclean = {trap}\n\tprocess = {trap}\n\trequired = true\n\
         [merge \"{driver}\"]\n\tdriver = {trap} %A %O %B\n[merge]\n\tdefault = {driver}\n\
         [diff]\n\texternal = {trap}\n[diff \"{driver}\"]\n\tcommand = {trap}\n\ttextconv = {trap}\n\
         [credential]\n\thelper = !{trap}\n[gpg]\n\tprogram = {trap}\n[commit]\n\tgpgSign = true\n\
         [uploadpack]\n\tpackObjectsHook = {trap}\n[alias]\n\tfetch = !{trap}\n\tmerge-tree = !{trap}\n\
         [maintenance]\n\tauto = true\n[sequence]\n\teditor = {trap}\n",
        hooks = Path::new(trap).parent().unwrap().join("hooks").display(),
    )
}

#[test]
fn nothing_that_a_repository_brings_along_is_run() {
    let traps = tempfile::tempdir().expect("a folder");
    let trap = trap(traps.path());
    let hooks = traps.path().join("hooks");
    fs::create_dir(&hooks).unwrap();
    const HOOKS: [&str; 12] = [
        "pre-merge-commit",
        "post-merge",
        "pre-commit",
        "commit-msg",
        "prepare-commit-msg",
        "post-commit",
        "pre-push",
        "reference-transaction",
        "post-checkout",
        "post-index-change",
        "pre-auto-gc",
        "post-rewrite",
    ];
    for hook in HOOKS {
        fs::copy(&trap, hooks.join(hook)).unwrap();
    }
    // The repository's own files ask for filters and drivers, and both sides change a file that they are for.
    let world = World::with_base(&[
        Change::write(".gitattributes", "* filter=evil merge=evil diff=evil\n"),
        Change::write(".gitmodules", "[submodule \"s\"]\n\tpath = s\n\turl = ext::sh -c trap\n\tupdate = !trap\n"),
        Change::write("file", "1\n2\n3\n4\n5\n"),
    ]);
    let base = world.base().clone();
    let feature = world.commit(&[&base], &[Change::write("file", "1\n2\n3\n4\nfive\n")], "feature");
    let main = world.commit(&[&base], &[Change::write("file", "one\n2\n3\n4\n5\n")], "main");
    world.set_ref("refs/heads/main", &main);
    world.set_ref("refs/heads/feature", &feature);
    world.set_pull_ref(1, &feature);
    // The clone was tampered with: hooks, and a configuration that includes another.
    let repository = world.repository(Extent::Full);
    let clone = repository.clone_dir();
    let include = traps.path().join("included");
    fs::write(&include, evil_configuration(&trap)).unwrap();
    let tamper = || {
        fs::create_dir_all(clone.join("hooks")).unwrap();
        fs::create_dir_all(clone.join("info")).unwrap();
        for hook in HOOKS {
            fs::copy(&trap, clone.join("hooks").join(hook)).unwrap();
        }
        let own = fs::read_to_string(clone.join("config")).unwrap();
        fs::write(clone.join("config"), format!("{own}[include]\n\tpath = {}\n", include.display())).unwrap();
        fs::write(clone.join("info/attributes"), "* merge=evil filter=evil\n").unwrap();
    };
    tamper();
    world.run(async {
        let stack = repository.stack(pr(1), CancellationToken::new()).await.expect("a stack");
        tamper();
        let step = stack.update_root(&pull(1, "feature"), &branch("main")).await.expect("merged");
        let Step::Advance(advance) = step else { panic!("merged by git itself: {step:?}") };
        assert_eq!(stack.push(&branch("feature"), &advance).await.expect("pushed"), Pushed::Landed);
        let merged = world.tree_contents(&advance.to);
        assert_eq!(merged["file"].1, b"one\n2\n3\n4\nfive\n");
        stack.objects().patch_id(&main, &advance.to).await.expect("a patch id");
        repository.worktrees().clean(PrNumber::new(1)).await.expect("cleaned");
        repository.tidy(&CancellationToken::new()).await.expect("tidied");
        assert!(repository.worktrees().path(&Name::Stack(pr(1))).exists());
        stack.close().await.expect("closed");
    });
    assert_eq!(sprung(traps.path()), "");
    // That the traps work at all: plain git springs them.
    fs::write(
        clone.join("config"),
        fs::read_to_string(clone.join("config")).unwrap() + &format!("[include]\n\tpath = {}\n", include.display()),
    )
    .unwrap();
    world.run_git_in(&clone, &["-c", "core.bare=true", "merge-tree", "--write-tree", feature.as_str(), main.as_str()]);
    assert_ne!(sprung(traps.path()), "");
}

#[test]
fn what_only_git_could_reach_over_other_protocols_is_refused() {
    let world = World::new();
    let repository = world.repository(Extent::Full);
    // The clone's own address is rewritten each time; nobody can make it speak `ext::`.
    let config = repository.clone_dir().join("config");
    let evil =
        fs::read_to_string(&config).unwrap().replace("url = \"file://", "url = \"ext::sh -c 'touch sprung' %S \"\n#");
    fs::write(&config, evil).unwrap();
    let fetched = world.run(async {
        let stack = repository.stack(pr(1), CancellationToken::new()).await.expect("a stack");
        stack.fetch(&[Wanted::Default(branch("main"))]).await
    });
    assert!(fetched.is_ok(), "{fetched:?}");
}
