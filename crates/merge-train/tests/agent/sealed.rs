//! That a fixer touches nothing of the daemon, and everything else as before. As the superuser as well.

use crate::fixer::Fixer;
use crate::program::agent::Exit;
use crate::world::{World, until};

/// What a script of the shell comes to, with `$STATE` for the daemon's folder, `$ROOT` for the one around it, and `$DAEMON`
/// for the daemon.
async fn tried(script: &str) -> (bool, String) {
    let mut fixer = Fixer::with_script(script);
    let state = fixer.state().display().to_string();
    let given = [
        ("STATE", state),
        ("ROOT", fixer.root.path().display().to_string()),
        ("DAEMON", std::process::id().to_string()),
    ];
    fixer.environment = given.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let exit = fixer.watch().await.exit;
    let key = std::fs::read_to_string(fixer.state().join("keys/github")).expect("it is still there");
    assert_eq!(key, "the key", "{script}");
    let log = fixer.logged();
    for secret in ["the key", "the token", "of another"] {
        assert!(!log.contains(secret), "{script}: {log}");
    }
    (exit == Exit::Done, log)
}

#[tokio::test]
async fn what_is_sealed_can_be_neither_read_nor_listed_nor_written() {
    for script in [
        "cat $STATE/keys/github",
        "cat $ROOT/merge-train.toml",
        "cat $STATE/fixers/6/log",
        "ls $STATE",
        "ls $STATE/keys",
        "ls $STATE/fixers",
        "ls $STATE/fixers/6",
        "echo x >$STATE/keys/github",
        "echo x >>$STATE/keys/github",
        "echo x >$STATE/new",
        "echo x >$STATE/fixers/8",
        "mkdir $STATE/new",
        "rm $STATE/keys/github",
        "rmdir $STATE/fixers/6",
        "truncate -s 0 $STATE/keys/github",
        "mv $STATE/keys $STATE/locks",
        "mv $STATE ../mine",
        "mv $STATE/fixers/7 $STATE/fixers/8",
        "cp -r $STATE ../mine",
        "sh $STATE/keys/github",
    ] {
        let (worked, log) = tried(script).await;
        assert!(!worked, "{script}: {log}");
    }
}

#[tokio::test]
async fn no_other_name_leads_to_what_is_sealed() {
    for script in [
        "ln -s $STATE/keys/github key && cat key",
        "ln -s $STATE/keys keys && ls keys/",
        "ln -s $STATE/keys/github key && echo x >key",
        "ln $STATE/keys/github key && cat key",
        "cat ../../../keys/github",
        "cd $STATE/keys && cat github",
        "cat /proc/self/root$STATE/keys/github",
        "cat /proc/self/cwd/../../../keys/github",
        "cat /proc/$DAEMON/root$STATE/keys/github",
        "cat $ROOT/../$(basename $ROOT)/state/./keys/../keys/github",
        "mkdir at && mount --bind $STATE at && cat at/keys/github",
        "unshare -Urm sh -c \"mkdir at; mount --bind $STATE at; cat at/keys/github\"",
        "chroot / cat $STATE/keys/github",
    ] {
        let (worked, log) = tried(script).await;
        assert!(!worked, "{script}: {log}");
    }
}

#[tokio::test]
async fn the_daemon_and_the_guard_are_as_if_they_were_another_users() {
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
        assert!(!worked, "{script}: {log}");
    }
    // Of all processes there are, it looks into its own and no others.
    let looks = "for at in /proc/[0-9]*; do readlink $at/fd/* >/dev/null 2>&1 && echo ${at#/proc/}; done; echo me $$";
    let (_, log) = tried(looks).await;
    let me = log.lines().find_map(|line| line.strip_prefix("me ")).expect("the last line");
    assert!(log.lines().all(|line| line == me || line.starts_with("me ")), "{log}");
}

#[tokio::test]
async fn everything_else_works_as_before() {
    for script in [
        "echo x >file && cat file && ls . && mv file other && rm other",
        "mkdir -p a/b && echo x >a/f && mv a/f a/b/f && ln a/b/f a/g && ls a/b && rm -r a",
        "echo x >$STATE/fixers/7/tmp/x && ls $STATE/fixers/7 && mv ../tmp/x .",
        "at=$(mktemp -d /tmp/fixer.XXXXXX) && echo x >$at/x && cat $at/x && mv $at/x . && mv x $at/y && ls $at && rm -r $at",
        "ls /usr/bin >/dev/null && cat /etc/passwd >/dev/null && ls /tmp >/dev/null && ls /proc/self/fd >/dev/null",
        "cat /proc/$$/environ >/dev/null && cat /proc/self/status >/dev/null && head -c 1 /dev/urandom >/dev/null",
        "echo x >/dev/null && echo x >/dev/stderr && echo x >/proc/self/fd/1 && echo x | cat >/dev/stdout",
        "sleep 600 & kill -0 $! && kill -KILL $!",
        "stat $STATE >/dev/null && cd $STATE",
        "git init -q --bare ../gateway && git init -q . && git -c user.name=f -c user.email=f@example.com commit -q \
         --allow-empty -m x && git push -q ../gateway HEAD:refs/heads/x && git clone -q ../gateway clone",
        "python3 -c 'import socket; a, b = socket.socketpair(); s = socket.socket(); s.bind((\"127.0.0.1\", 0)); s.listen()'",
    ] {
        let (worked, log) = tried(script).await;
        assert!(worked, "{script}: {log}");
    }
}

#[tokio::test]
async fn what_is_sealed_may_be_named_through_a_link_and_may_not_be_there_yet() {
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
    assert_eq!(watched.exit, Exit::Failed { code: 1 });
    let log = fixer.logged();
    assert_eq!(log.matches("Permission denied").count(), 3, "{log}");
    assert!(!log.contains("the key"), "{log}");
}

#[tokio::test]
async fn a_fixer_from_which_nothing_is_kept_is_still_kept_from_the_daemon() {
    let mut fixer = Fixer::with_script("cat $KEY >/dev/null && ls / >/dev/null && cat /proc/$PPID/environ");
    fixer.environment = vec![("KEY".to_owned(), fixer.state().join("keys/github").display().to_string())];
    fixer.sealed.clear();
    assert_eq!(fixer.watch().await.exit, Exit::Failed { code: 1 });
    assert!(fixer.logged().contains("/environ: Permission denied"), "{}", fixer.logged());
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
    let up = std::env::current_dir().unwrap().components().skip(1).map(|_| "../").collect::<String>();
    let mut fixer = Fixer::with_script("cat $KEY");
    fixer.environment = vec![("KEY".to_owned(), fixer.state().join("keys/github").display().to_string())];
    for path in &mut fixer.sealed {
        *path = std::path::Path::new(&up).join(path.strip_prefix("/").unwrap());
    }
    assert_eq!(fixer.watch().await.exit, Exit::Failed { code: 1 });
    assert!(fixer.logged().ends_with("Permission denied\n"), "{}", fixer.logged());
}

#[tokio::test]
async fn a_fixer_that_cannot_be_sealed_off_is_not_started() {
    let mut fixer = Fixer::with_script("echo started");
    fixer.sealed.push("/etc/passwd/key".into());
    let Exit::NotStarted { why } = fixer.watch().await.exit else { panic!("it was started") };
    assert!(why.contains("cannot be started: it cannot be sealed off (/etc/passwd/key: Not a directory"), "{why}");
    assert!(!fixer.logged().contains("started\n"), "{}", fixer.logged());
}
