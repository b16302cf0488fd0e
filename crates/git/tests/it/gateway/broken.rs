//! What a fixer can make of its repository: nothing of that is taken, or nothing comes of it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use git::Oid;
use git::gateway::{Error, Taken};
use rustix::fs::{CWD, FileType, Mode, OFlags, mkdirat, mknodat, openat};

use super::{Fixer, Site};
use crate::plain;

const SECRET: &str = "hunter2";

/// What a fixer does that has pushed this commit.
type Deed = fn(&Fixer, &Oid);

fn loose(fixer: &Fixer, oid: &Oid) -> PathBuf {
    fixer.repository().join("objects").join(&oid.as_str()[..2]).join(&oid.as_str()[2..])
}

fn configure(fixer: &Fixer, more: &str) {
    let path = fixer.repository().join("config");
    fs::write(&path, fs::read_to_string(&path).unwrap() + more).unwrap();
}

/// Folders in folders, until no path can name the last.
fn dig(folder: &Path) {
    let name = "d".repeat(200);
    let mut at = openat(CWD, folder, OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..30 {
        mkdirat(&at, name.as_str(), Mode::RWXU).unwrap();
        at = openat(&at, name.as_str(), OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
}

#[tokio::test]
async fn what_git_would_stumble_over_is_found_before_git_comes() {
    let deeds: [(&str, Deed); 5] = [
        ("is neither a file nor a folder", |fixer, pushed| {
            fs::remove_file(loose(fixer, pushed)).unwrap();
            mknodat(CWD, loose(fixer, pushed), FileType::Fifo, Mode::RWXU, 0).unwrap();
        }),
        ("is a symbolic link", |fixer, pushed| {
            fs::remove_file(loose(fixer, pushed)).unwrap();
            symlink("/dev/zero", loose(fixer, pushed)).unwrap();
        }),
        ("has too long a path", |fixer, _| dig(&fixer.repository().join("refs/heads"))),
        ("has too long a path", |fixer, _| dig(&fixer.repository().join("objects"))),
        ("is gone", |fixer, _| fs::remove_dir_all(fixer.repository().join("refs")).unwrap()),
    ];
    for (found, deed) in deeds {
        let site = Site::new().await;
        let fixer = site.create().await;
        deed(&fixer, &fixer.push("one"));
        let taken = site.take(&fixer, &site.head).await;
        assert!(matches!(taken, Err(Error::TamperedWith { what, .. }) if what == found), "{found}: {taken:?}");
        assert_eq!(site.taken(), [""; 0], "{found}");
        fixer.gateway.remove().await.unwrap();
        assert!(!site.fixers().exists());
    }
}

#[tokio::test]
async fn a_repository_that_git_cannot_read_is_told_with_what_git_says() {
    let deeds: [(&str, Deed); 7] = [
        ("feature", |fixer, _| fs::remove_file(fixer.repository().join("refs/heads/feature")).unwrap()),
        ("", |fixer, pushed| fs::remove_file(loose(fixer, pushed)).unwrap()),
        ("", |fixer, _| {
            let pack = fixer.repository().join("objects/pack");
            fs::remove_dir_all(pack).unwrap();
        }),
        ("", |fixer, _| fs::remove_file(fixer.repository().join("HEAD")).unwrap()),
        ("bad config", |fixer, _| configure(fixer, "[core\n")),
        ("", |fixer, _| configure(fixer, "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tstrange = 1\n")),
        ("bad config", |fixer, _| {
            let secret = fixer.repository().join("../../secret");
            fs::write(&secret, format!("ghs_{SECRET}\n")).unwrap();
            configure(fixer, &format!("[include]\n\tpath = {}\n", secret.display()));
        }),
    ];
    for (index, (said, deed)) in deeds.into_iter().enumerate() {
        let site = Site::new().await;
        let fixer = site.create().await;
        deed(&fixer, &fixer.push("one"));
        let taken = site.take(&fixer, &site.head).await;
        let Err(error @ Error::Unreadable { .. }) = taken else { panic!("{index}: {taken:?}") };
        let text = error.to_string();
        assert!(text.contains("cannot be read") && text.contains("fatal: "), "{text}");
        assert!(text.contains(said) && !text.contains(SECRET), "{text}");
        assert_eq!(site.taken(), [""; 0], "{index}");
        plain::git(&site.clone(), &["fsck", "--strict"]);
    }
}

#[tokio::test]
async fn refs_that_a_fixer_makes_behind_the_rules_come_to_nothing() {
    let deeds: [Deed; 5] = [
        |fixer, pushed| {
            for name in [&b"refs/heads/\xff\x01 x"[..], b"refs/heads/main", b"refs/heads/-x", b"refs/tags/v1"] {
                let path = fixer.repository().join(OsStr::from_bytes(name));
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, format!("{pushed}\n")).unwrap();
            }
        },
        |fixer, pushed| {
            let refs = ["refs/merge-train/stack-1/fixer", "refs/merge-train/fixers/1", "refs/remotes/origin/main"];
            for name in refs {
                plain::git(&fixer.repository(), &["update-ref", name, pushed.as_str()]);
            }
        },
        |fixer, pushed| {
            let other = plain::git(&fixer.repository(), &["rev-parse", "main"]);
            for from in [pushed.as_str(), &plain::git(&fixer.repository(), &["rev-parse", "feature~1"])] {
                plain::git(&fixer.repository(), &["update-ref", &format!("refs/replace/{from}"), &other]);
            }
        },
        |fixer, _| fs::write(fixer.repository().join("HEAD"), "ref: refs/heads/../../../../etc/passwd\n").unwrap(),
        |fixer, _| {
            configure(fixer, "[core]\n\tworktree = /etc\n\tbare = false\n[uploadpack]\n\thideRefs = refs/tags\n");
        },
    ];
    for (index, deed) in deeds.into_iter().enumerate() {
        let site = Site::new().await;
        let fixer = site.create().await;
        let before = plain::git(&site.clone(), &["for-each-ref"]);
        let pushed = fixer.push("one");
        deed(&fixer, &pushed);
        let taken = site.take(&fixer, &site.head).await;
        match taken {
            Ok(Taken::Advanced(found)) => {
                assert_eq!(found, pushed, "{index}");
                assert_eq!(site.taken(), [format!("{pushed} {}", super::TAKEN)], "{index}");
                plain::git(&site.clone(), &["update-ref", "-d", super::TAKEN]);
            }
            Err(Error::Unreadable { .. } | Error::TamperedWith { .. }) => {}
            other => panic!("{index}: {other:?}"),
        }
        assert_eq!(plain::git(&site.clone(), &["for-each-ref"]), before, "{index}");
    }
}

#[tokio::test]
async fn history_that_is_kept_back_is_not_taken() {
    let site = Site::new().await;
    let fixer = site.create().await;
    let pushed = fixer.push("one");
    fs::write(fixer.repository().join("shallow"), format!("{pushed}\n")).unwrap();
    let taken = site.take(&fixer, &site.head).await;
    assert!(matches!(taken, Err(Error::TamperedWith { .. } | Error::Unreadable { .. })), "{taken:?}");
    assert_eq!(site.taken(), [""; 0]);
    assert!(!site.clone().join("shallow").exists());
}

#[tokio::test]
async fn history_that_is_only_pretended_is_no_fast_forward() {
    let site = Site::new().await;
    let fixer = site.create().await;
    fixer.git(&["commit", "-q", "--amend", "-m", "Rewritten"]);
    let rewritten = Oid::parse(fixer.git(&["rev-parse", "HEAD"])).unwrap();
    let path = fixer.repository();
    plain::git(&path, &["fetch", "-q", fixer.checkout().to_str().unwrap(), "+feature:feature"]);
    fs::create_dir_all(path.join("info")).unwrap();
    fs::write(path.join("info/grafts"), format!("{rewritten} {}\n", site.head)).unwrap();
    let taken = site.take(&fixer, &site.head).await;
    assert!(matches!(taken, Err(Error::NotFastForward { .. } | Error::Unreadable { .. })), "{taken:?}");
    assert_eq!(site.taken(), [""; 0]);
}

#[tokio::test]
async fn an_object_that_unpacks_to_more_than_the_machine_has_is_not_unpacked() {
    let site = Site::new().await;
    let fixer = site.create().await;
    let zeros = site.folder.path().join("zeros");
    fs::File::create(&zeros).unwrap().set_len(600 << 20).unwrap();
    let hash = |kind: &str, file: &Path| {
        plain::git(&fixer.repository(), &["hash-object", "-t", kind, "--literally", "-w", file.to_str().unwrap()])
    };
    let who = "somebody <somebody@example.com> 1700000000 +0000";
    let text = format!("tree {}\nparent {}\nauthor {who}\ncommitter {who}\n\nx\n", hash("tree", &zeros), site.head);
    fs::write(&zeros, text).unwrap();
    let commit = hash("commit", &zeros);
    fs::write(fixer.repository().join("refs/heads/feature"), format!("{commit}\n")).unwrap();
    let refused = site.take(&fixer, &site.head).await.unwrap_err();
    assert!(matches!(refused, Error::Unreadable { .. }), "{refused}");
    assert!(refused.to_string().contains("over limit"), "{refused}");
}

#[tokio::test]
async fn a_submodule_is_a_number_in_a_tree_and_fetched_from_nowhere() {
    let site = Site::new().await;
    let fixer = site.create().await;
    let modules = |url: &str| {
        let text = format!("[submodule \"sub\"]\n\tpath = sub\n\turl = {url}\n\tbranch = main\n\tupdate = checkout\n");
        fs::write(fixer.checkout().join(".gitmodules"), text).unwrap();
    };
    // Whoever would fetch it would fail: nobody listens there.
    modules("http://127.0.0.1:1/sub.git");
    let link = format!("160000,{},sub", "1".repeat(40));
    fixer.git(&["update-index", "--add", "--cacheinfo", &link]);
    fixer.git(&["add", ".gitmodules"]);
    fixer.git(&["commit", "-q", "-m", "Submodule"]);
    fixer.git(&["push", "-q"]);
    let pushed = Oid::parse(fixer.git(&["rev-parse", "HEAD"])).unwrap();
    assert_eq!(site.take(&fixer, &site.head).await.unwrap(), Taken::Advanced(pushed.clone()));
    // An address that git would take for an option.
    modules("--upload-pack=evil");
    fixer.git(&["commit", "-q", "-m", "Evil", ".gitmodules"]);
    assert!(!fixer.try_git(&["push", "-q"]).status.success());
    plain::git(&fixer.repository(), &["fetch", "-q", fixer.checkout().to_str().unwrap(), "feature:feature"]);
    let taken = site.take(&fixer, &pushed).await;
    assert!(matches!(taken, Err(Error::Unreadable { .. })), "{taken:?}");
}
