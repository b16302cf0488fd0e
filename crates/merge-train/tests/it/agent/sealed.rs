//! That a fixer touches nothing of the daemon, and everything else as before. As the superuser as well, whichever way it is sealed off.

use std::path::Path;

use rustix::mount::MountPropagationFlags;

use crate::agent::fixer::Fixer;
use crate::agent::ways::{Way, has_mounts_of_its_own, ways};
use crate::agent::world::{World, until};
use merge_train::agent::FixerProcessExit;

/// One that runs a script of the shell, with `$STATE` for the daemon's folder, `$ROOT` for the one around it, `$ELSEWHERE` for
/// one that everybody may use and that has nothing of the daemon's in it, and `$DAEMON` for the daemon.
fn fixer_below(folder: impl AsRef<Path>, script: &str) -> Fixer {
    let mut fixer = Fixer::below(folder, &["/bin/sh", "-c", script]);
    let given = [
        ("STATE", fixer.state().display().to_string()),
        ("ROOT", fixer.root.path().display().to_string()),
        ("ELSEWHERE", elsewhere(fixer.root.path()).to_owned()),
        ("DAEMON", std::process::id().to_string()),
    ];
    fixer.environment = given.map(|(name, value)| (name.to_owned(), value)).to_vec();
    fixer
}

fn elsewhere(root: &Path) -> &'static str {
    let root = root.canonicalize().expect("it is there");
    let shared = ["/tmp", "/var/tmp", "/dev/shm"].into_iter().filter(|place| Path::new(place).is_dir());
    shared.into_iter().find(|place| !root.starts_with(place)).expect("a folder that everybody may use")
}

/// What such a script comes to. The daemon has everything afterwards, and the script learnt nothing of it.
async fn tried(script: &str) -> (bool, String) {
    let fixer = fixer_below(env!("CARGO_TARGET_TMPDIR"), script);
    let exit = fixer.watch().await.exit;
    let log = fixer.logged();
    for (file, secret) in [
        ("state/keys/github", "the key"),
        ("merge-train.toml", "token = 'the token'"),
        ("state/fixers/6/log", "of another"),
    ] {
        let kept = std::fs::read_to_string(fixer.root.path().join(file)).unwrap_or_default();
        assert_eq!(kept, secret, "{script}: {log}");
        assert!(!log.contains(secret), "{script}: {log}");
    }
    let mut all: Vec<_> =
        std::fs::read_dir(fixer.state()).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect();
    all.sort();
    assert_eq!(all, ["fixers", "keys", "logs"], "{script}: {log}");
    (exit == FixerProcessExit::Done, log)
}

#[tokio::test]
async fn what_is_sealed_can_be_neither_read_nor_listed_nor_written() {
    for way in ways() {
        for script in [
            "cat $STATE/keys/github",
            "cat $ROOT/merge-train.toml",
            "cat $STATE/fixers/6/log",
            "ls $STATE/keys",
            "ls $STATE/fixers/6",
            "echo x >$STATE/keys/github",
            "echo x >>$STATE/keys/github",
            "echo x >$ROOT/merge-train.toml",
            "echo x >$STATE/new",
            "echo x >$STATE/fixers/8",
            "mkdir $STATE/new",
            "mkdir $STATE/fixers/6",
            "rm $STATE/keys/github",
            "rm -f $ROOT/merge-train.toml",
            "rm -r $STATE/fixers/6",
            "rmdir $STATE/fixers/6",
            "rmdir $STATE/fixers/7",
            "truncate -s 0 $STATE/keys/github",
            "truncate -s 0 $ROOT/merge-train.toml",
            "mv $STATE/keys $STATE/locks",
            "mv $STATE ../mine",
            "mv $STATE $ROOT/other",
            "mv $ROOT $ROOT.other",
            "mv $ROOT/merge-train.toml ../mine",
            "echo x >mine && mv -f mine $ROOT/merge-train.toml",
            "mv $STATE/fixers/7 $STATE/fixers/8",
            "cp -r $STATE ../mine",
            "cp $ROOT/merge-train.toml ../mine",
            "sh $STATE/keys/github",
        ] {
            let (worked, log) = tried(script).await;
            assert!(!worked, "{way:?}: {script}: {log}");
        }
        // Landlock does not bound modes.
        let (worked, log) = tried("chmod 700 $STATE").await;
        assert_eq!(worked, way == Way::Rules, "{log}");
        for (script, shown) in [("ls $STATE", "fixers\n"), ("ls $STATE/fixers", "7\n")] {
            let (worked, log) = tried(script).await;
            match way {
                Way::Mounts => assert_eq!((worked, log.as_str()), (true, shown), "{script}"),
                Way::Rules => assert!(!worked, "{script}: {log}"),
            }
        }
    }
}

#[tokio::test]
async fn no_other_name_leads_to_what_is_sealed() {
    for way in ways() {
        for script in [
            "ln -s $STATE/keys/github key && cat key",
            "ln -s $STATE/keys keys && ls keys/",
            "ln -s $STATE/keys/github key && echo x >key",
            "ln -s $ROOT/merge-train.toml config && cat config",
            "ln $STATE/keys/github key && cat key",
            "ln $ROOT/merge-train.toml config && cat config",
            "cat ../../../keys/github",
            "cat ../../6/log",
            "cat /proc/self/cwd/../../6/log",
            "cat $PWD/../../../keys/github",
            "cat /proc/self/cwd/../../../../merge-train.toml",
            "cd $STATE/keys && cat github",
            "cat /proc/self/root$STATE/keys/github",
            "cat /proc/self/cwd/../../../keys/github",
            "cat /proc/$DAEMON/root$STATE/keys/github",
            "cat /proc/$PPID/root$STATE/keys/github",
            "cat /proc/$PPID/task/*/root$STATE/keys/github",
            "cat /proc/$PPID/cwd/../../../keys/github",
            "cat /proc/1/root$STATE/keys/github",
            "cat $ROOT/../$(basename $ROOT)/state/./keys/../keys/github",
            "chroot / cat $STATE/keys/github",
            "chroot $STATE/fixers/7 cat /../../keys/github",
        ] {
            let (worked, log) = tried(script).await;
            assert!(!worked, "{way:?}: {script}: {log}");
        }
    }
}

#[tokio::test]
async fn a_fixer_can_neither_mount_nor_unmount_nor_go_where_others_are() {
    for way in ways() {
        for script in [
            "mkdir at && mount -t tmpfs none at",
            "mkdir at && mount --bind . at",
            "mkdir at && mount --bind $STATE at && cat at/keys/github",
            "mount -o remount,rw $STATE && echo x >$STATE/new",
            "mount -o remount,bind,dev $ROOT/merge-train.toml",
            "umount $STATE",
            "umount -l $STATE",
            "umount -l $STATE/fixers/7",
            "umount -l $ROOT/merge-train.toml",
            "umount -l $ROOT",
            "unshare -m true",
            "unshare -m umount -l $STATE",
            "unshare -Urm umount -l $STATE",
            "unshare -Urm sh -c \"umount -l $STATE; cat $STATE/keys/github\"",
            "unshare -Urm sh -c \"mkdir at; mount --bind $STATE at; cat at/keys/github\"",
            "nsenter -t $DAEMON -m true",
            "nsenter -t $PPID -m true",
            "nsenter -t 1 -m true",
            "nsenter --mount=/proc/$PPID/task/$PPID/ns/mnt true",
        ] {
            let (worked, log) = tried(script).await;
            assert!(!worked, "{way:?}: {script}: {log}");
        }
    }
}

/// What it takes to list folders and to put something into them.
const LISTS_AND_ADDS: &str = "ls / | grep -qx tmp && ls /tmp >/dev/null && ls $ROOT >listed && \
     at=$(mktemp /tmp/fixer.XXXXXX) && echo x >$at && rm $at && \
     echo x >$ROOT/beside && mkdir $ROOT/folder && mv $ROOT/beside $ROOT/folder/moved && echo x >$ROOT/../beside.$DAEMON";

#[tokio::test]
async fn the_folders_above_what_is_covered_are_as_for_anybody() {
    for way in ways() {
        // With all of it in /tmp, so that this is one of them.
        let outer = tempfile::tempdir_in("/tmp").unwrap();
        let fixer = fixer_below(outer.path(), LISTS_AND_ADDS);
        let exit = fixer.watch().await.exit;
        if way == Way::Rules {
            assert_eq!(exit, FixerProcessExit::Failed { code: 1 }, "{}", fixer.logged());
            continue;
        }
        assert_eq!(exit, FixerProcessExit::Done, "{}", fixer.logged());
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(read(fixer.checkout().join("listed")), "merge-train.toml\nstate\n");
        assert_eq!(read(fixer.root.path().join("folder/moved")), "x\n");
        assert_eq!(read(outer.path().join(format!("beside.{}", std::process::id()))), "x\n");
    }
}

#[tokio::test]
async fn what_is_mounted_for_a_fixer_is_mounted_for_nobody_else() {
    // As on most systems: what is mounted shows up wherever these mounts are shared.
    if !has_mounts_of_its_own(MountPropagationFlags::SHARED) {
        return;
    }
    let mounts = || std::fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
    let namespace = |whose: &str| std::fs::read_link(format!("/proc/{whose}/ns/mnt")).unwrap();
    let before = mounts();
    let script = "ls $STATE; echo $PPID $$ | tr ' ' '\\n' >who; until [ -e go ]; do sleep 0.01; done";
    let fixer = fixer_below(env!("CARGO_TARGET_TMPDIR"), script);
    let look = async {
        let who = fixer.numbers_in("who", 2).await;
        assert_eq!(mounts(), before, "while it runs");
        let [guard, command] = [who[0], who[1]].map(|process| namespace(&process.to_string()));
        assert_eq!(guard, namespace("thread-self"), "the guard's other threads");
        assert_ne!(command, guard);
        std::fs::write(fixer.checkout().join("go"), "").unwrap();
    };
    let (watched, ()) = tokio::join!(fixer.watch(), look);
    assert_eq!((watched.exit, fixer.logged().as_str()), (FixerProcessExit::Done, "fixers\n"));
    assert_eq!(mounts(), before, "afterwards");
}

#[tokio::test]
async fn where_something_cannot_be_covered_nothing_is_and_rules_seal_all_of_it() {
    let script = "ls / >/dev/null 2>&1 || echo by rules; echo x >../tmp/x && echo $$ >who; \
                  until [ -e go ]; do sleep 0.01; done; cat $STATE/keys/github";
    let mut fixer = fixer_below("/dev/shm", script);
    // Since Linux 6.12 nothing can be mounted over that; and it is the last in turn.
    fixer.sealed.push("/proc/self/fdinfo/0".into());
    let look = async {
        let who = fixer.numbers_in("who", 1).await;
        let mounts = std::fs::read_to_string(format!("/proc/{}/mountinfo", who[0])).unwrap();
        std::fs::write(fixer.checkout().join("go"), "").unwrap();
        mounts.contains(fixer.root.path().to_str().unwrap())
    };
    let (watched, is_covered) = tokio::join!(fixer.watch(), look);
    let log = fixer.logged();
    assert_eq!(watched.exit, FixerProcessExit::Failed { code: 1 }, "{log}");
    assert_eq!(log.contains("by rules"), !is_covered, "{log}");
    assert!(fixer.own().join("tmp/x").exists() && !log.contains("the key"), "{log}");
}

#[tokio::test]
async fn the_daemon_and_the_guard_are_as_if_they_were_another_users() {
    for way in ways() {
        for script in [
            "cat /proc/$PPID/environ",
            "cat /proc/$DAEMON/environ",
            "cat /proc/1/environ",
            "readlink /proc/$DAEMON/cwd",
            "readlink /proc/$PPID/exe",
            "readlink /proc/$DAEMON/fd/0",
            "cat /proc/$DAEMON/fd/0",
            "echo >/proc/$PPID/fd/0",
            "cat /proc/$DAEMON/maps",
            "head -c 1 /proc/$DAEMON/mem",
            "cat /proc/$DAEMON/stack",
            "kill -0 $DAEMON",
            "kill -0 $PPID",
            "kill -KILL $PPID",
        ] {
            let (worked, log) = tried(script).await;
            assert!(!worked, "{way:?}: {script}: {log}");
        }
        // Of all processes there are, it looks into its own and no others.
        let looks =
            "for at in /proc/[0-9]*; do readlink $at/fd/* >/dev/null 2>&1 && echo ${at#/proc/}; done; echo me $$";
        let (_, log) = tried(looks).await;
        let me = log.lines().find_map(|line| line.strip_prefix("me ")).expect("the last line");
        assert!(log.lines().all(|line| line == me || line.starts_with("me ")), "{log}");
    }
}

#[tokio::test]
async fn everything_else_works_as_before() {
    for way in ways() {
        for script in [
            "echo x >file && cat file && ls . && mv file other && rm other",
            "mkdir -p a/b && echo x >a/f && mv a/f a/b/f && ln a/b/f a/g && ls a/b && rm -r a",
            "echo x >$STATE/fixers/7/tmp/x && ls $STATE/fixers/7 && mv ../tmp/x .",
            "at=$(mktemp -d $ELSEWHERE/fixer.XXXXXX) && echo x >$at/x && cat $at/x && mv $at/x . && mv x $at/y && ls $at && rm -r $at",
            "ls /usr/bin >/dev/null && cat /etc/passwd >/dev/null && ls $ELSEWHERE >/dev/null && ls /proc/self/fd >/dev/null",
            "cat /proc/$$/environ >/dev/null && cat /proc/self/status >/dev/null && head -c 1 /dev/urandom >/dev/null",
            "echo x >/dev/null && echo x >/dev/stderr && echo x >/proc/self/fd/1 && echo x | cat >/dev/stdout",
            "sleep 600 & kill -0 $! && kill -KILL $!",
            "stat $STATE >/dev/null && cd $STATE",
            "git init -q --bare ../gateway && git init -q . && git -c user.name=f -c user.email=f@example.com commit -q \
             --allow-empty -m x && git push -q ../gateway HEAD:refs/heads/x && git clone -q ../gateway clone",
            "python3 -c 'import socket; a, b = socket.socketpair(); s = socket.socket(); s.bind((\"127.0.0.1\", 0)); s.listen()'",
        ] {
            let (worked, log) = tried(script).await;
            assert!(worked, "{way:?}: {script}: {log}");
        }
    }
}

#[tokio::test]
async fn what_is_sealed_may_be_named_through_a_link_and_may_not_be_there_yet() {
    for way in ways() {
        let script =
            "cat $ROOT/real/x; cat $ROOT/link/x; echo begun; until [ -e go ]; do sleep 0.01; done; cat $ROOT/later";
        let mut fixer = Fixer::with_script(script);
        let real = fixer.root.path().join("real");
        std::fs::create_dir(&real).unwrap();
        std::fs::write(real.join("x"), "the key").unwrap();
        std::os::unix::fs::symlink(&real, fixer.root.path().join("link")).unwrap();
        let later = fixer.root.path().join("later");
        fixer.sealed.extend([fixer.root.path().join("link"), later.clone()]);
        fixer.environment = vec![("ROOT".to_owned(), fixer.root.path().display().to_string())];
        let go = async {
            until("the first lines", || fixer.logged().contains("begun").then_some(())).await;
            std::fs::write(&later, "the key").unwrap();
            std::fs::write(fixer.checkout().join("go"), "").unwrap();
        };
        let (watched, ()) = tokio::join!(fixer.watch(), go);
        assert_eq!(watched.exit, FixerProcessExit::Failed { code: 1 }, "{way:?}");
        let log = fixer.logged();
        assert_eq!(log.matches("cat: ").count(), 3, "{way:?}: {log}");
        let refused = log.matches("Permission denied").count();
        assert_eq!(refused, if way == Way::Rules { 3 } else { 1 }, "{way:?}: {log}");
        assert!(!log.contains("the key"), "{log}");
    }
}

#[tokio::test]
async fn a_fixer_from_which_nothing_is_kept_is_still_kept_from_the_daemon() {
    for way in ways() {
        let mut fixer = Fixer::with_script("cat $KEY >/dev/null && ls / >/dev/null && cat /proc/$PPID/environ");
        fixer.environment = vec![("KEY".to_owned(), fixer.state().join("keys/github").display().to_string())];
        fixer.sealed.clear();
        assert_eq!(fixer.watch().await.exit, FixerProcessExit::Failed { code: 1 });
        assert!(fixer.logged().contains("/environ: Permission denied"), "{way:?}: {}", fixer.logged());
    }
}

#[tokio::test]
async fn a_command_that_is_not_sealed_off_cannot_look_into_its_guard_either() {
    // Nothing is closed to the superuser.
    if rustix::process::geteuid().is_root() {
        return;
    }
    let error = World::with_script("cat /proc/$PPID/environ").error().await;
    assert!(error.contains("Permission denied"), "{error}");
}

#[tokio::test]
async fn what_is_sealed_may_be_named_from_where_the_daemon_runs() {
    for way in ways() {
        let up = std::env::current_dir().unwrap().components().skip(1).map(|_| "../").collect::<String>();
        let mut fixer = Fixer::with_script("cat $KEY");
        fixer.environment = vec![("KEY".to_owned(), fixer.state().join("keys/github").display().to_string())];
        for path in &mut fixer.sealed {
            *path = std::path::Path::new(&up).join(path.strip_prefix("/").unwrap());
        }
        assert_eq!(fixer.watch().await.exit, FixerProcessExit::Failed { code: 1 });
        let says = if way == Way::Rules { "Permission denied\n" } else { "No such file or directory\n" };
        assert!(fixer.logged().ends_with(says), "{way:?}: {}", fixer.logged());
    }
}

#[tokio::test]
async fn a_fixer_that_cannot_be_sealed_off_is_not_started() {
    for way in ways() {
        let mut fixer = Fixer::with_script("echo started");
        fixer.sealed.push("/etc/passwd/key".into());
        let FixerProcessExit::NotStarted { why } = fixer.watch().await.exit else { panic!("it was started") };
        assert!(
            why.contains("cannot start: it cannot be sandboxed (/etc/passwd/key: Not a directory"),
            "{way:?}: {why}"
        );
        assert!(!fixer.logged().contains("started\n"), "{}", fixer.logged());
    }
}
