//! What fixers get, what is kept of what they print, and how they end.

use std::time::{Duration, Instant};

use crate::agent::fixer::Fixer;
use crate::agent::world::{PATIENCE, lives, until};
use merge_train::agent::FixerProcessExit;

/// Goes away from its parent, its group and its session, and does not listen.
const FORKS_AWAY: &str = "setsid sh -c '(setsid sh -c \"trap \\\"\\\" TERM HUP; echo \\$\\$ >sleeper; \
     while :; do sleep 1; done\" &) &' >/dev/null 2>&1 </dev/null & until [ -s sleeper ]; do sleep 0.01; done";

#[tokio::test]
async fn both_outputs_are_in_the_log_in_the_order_in_which_they_were_printed() {
    let script = "i=0; while [ $i -lt 50 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done";
    let fixer = Fixer::with_script(script);
    let watched = fixer.watch().await;
    assert_eq!(watched.exit, FixerProcessExit::Done);
    let expected: String = (0..50).map(|i| format!("out {i}\nerr {i}\n")).collect();
    assert_eq!(fixer.logged(), expected);
    assert_eq!(watched.tail, expected.trim());
    fixer.watch().await;
    assert_eq!(fixer.logged(), expected.repeat(2), "the next is added");
}

#[tokio::test]
async fn the_log_grows_while_a_fixer_works() {
    let fixer = Fixer::with_script("echo begun; until [ -e go ]; do sleep 0.01; done; echo done");
    let follow = async {
        until("the first line", || (fixer.logged() == "begun\n").then_some(())).await;
        std::fs::write(fixer.checkout().join("go"), "").unwrap();
    };
    let (watched, ()) = tokio::join!(fixer.watch(), follow);
    assert_eq!((watched.exit, fixer.logged().as_str()), (FixerProcessExit::Done, "begun\ndone\n"));
}

#[tokio::test]
async fn the_tail_is_short_and_harmless() {
    let fixer =
        Fixer::with_script("head -c 100000 /dev/zero | tr '\\0' x; printf '\\033[31mred\\r\\n\\377 end'; exit 3");
    let watched = fixer.watch().await;
    assert_eq!(watched.exit, FixerProcessExit::Failed { code: 3 });
    assert!(watched.tail.ends_with("x?[31mred?\n\u{fffd} end"), "{}", watched.tail);
    assert!(watched.tail.len() <= 2048);
}

#[tokio::test]
async fn a_gigabyte_of_output_is_cut_and_keeps_nobody_waiting() {
    let mut fixer = Fixer::with_script("echo first; head -c 1000000000 /dev/zero; echo last");
    fixer.limits.log_bytes = 1000;
    let began = Instant::now();
    let watched = fixer.watch().await;
    assert_eq!(watched.exit, FixerProcessExit::Done);
    assert!(began.elapsed() < PATIENCE / 2, "{:?}", began.elapsed());
    let log = fixer.logged();
    assert!(log.starts_with("first\n"));
    assert_eq!(&log[1000..], "\n[merge-train: more than 1000 bytes; the rest was dropped]\n");
    assert!(watched.tail.ends_with("last"));
}

#[tokio::test]
async fn who_prints_endlessly_ends_in_time_and_the_log_says_why() {
    let mut fixer = Fixer::with_script("yes & exec yes >&2");
    fixer.limits.log_bytes = 10;
    fixer.timeout = Duration::from_secs(1);
    let began = Instant::now();
    assert_eq!(fixer.watch().await.exit, FixerProcessExit::TimedOut);
    assert!(began.elapsed() < PATIENCE / 2, "{:?}", began.elapsed());
    let log = fixer.logged();
    assert!(
        log.contains("more than 10 bytes; the rest was dropped]\n[merge-train: `/bin/sh` did not finish within 1s"),
        "{log}"
    );
}

#[tokio::test]
async fn the_prompt_arrives_as_it_is_and_then_ends() {
    let mut fixer = Fixer::with_command(&["cat"]);
    fixer.prompt = b"mend \xff this\n\"and\" that \0".to_vec();
    assert_eq!(fixer.watch().await.exit, FixerProcessExit::Done);
    assert_eq!(std::fs::read(fixer.state().join("logs/7.log")).unwrap(), fixer.prompt);
}

#[tokio::test]
async fn a_prompt_that_nobody_reads_is_in_nobodys_way() {
    let mut fixer = Fixer::with_script("exec 0<&-; echo done");
    fixer.prompt = vec![b'x'; 3 << 20];
    assert_eq!(fixer.watch().await.exit, FixerProcessExit::Done);
}

#[tokio::test]
async fn exactly_the_listed_variables_arrive() {
    // Cargo gives the daemon of this test many more, and everybody has a home.
    for name in ["PATH", "HOME", "CARGO_PKG_NAME", "CARGO_PKG_VERSION"] {
        assert!(std::env::var_os(name).is_some(), "{name}");
    }
    let mut fixer = Fixer::with_command(&["/usr/bin/env"]);
    fixer.inherited = ["CARGO_PKG_VERSION", "HOME", "TMPDIR", "NO_SUCH_VARIABLE"].map(str::to_owned).to_vec();
    fixer.environment = vec![("LANG".to_owned(), "C".to_owned()), ("ROUND".to_owned(), "2".to_owned())];
    assert_eq!(fixer.watch().await.exit, FixerProcessExit::Done);
    let log = fixer.logged();
    let mut lines: Vec<&str> = log.lines().filter(|line| !line.starts_with("PATH=")).collect();
    lines.sort_unstable();
    assert_eq!(lines, [concat!("CARGO_PKG_VERSION=", env!("CARGO_PKG_VERSION")), "LANG=C", "ROUND=2"]);
    assert!(log.lines().any(|line| line.strip_prefix("PATH=") == std::env::var("PATH").ok().as_deref()));
}

#[tokio::test]
async fn home_and_temporary_files_are_where_they_are_said_to_be() {
    let mut fixer = Fixer::with_script("echo \"$HOME\"; cd; echo mine >.settings; mktemp; pwd -P");
    let (home, tmp) = (fixer.own().join("home"), fixer.own().join("tmp"));
    let given = [("HOME", &home), ("TMPDIR", &tmp)];
    fixer.environment = given.map(|(name, path)| (name.to_owned(), path.to_str().unwrap().to_owned())).to_vec();
    assert_eq!(fixer.watch().await.exit, FixerProcessExit::Done);
    let log = fixer.logged();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines[0], home.to_str().unwrap());
    assert!(lines[1].starts_with(tmp.to_str().unwrap()), "{log}");
    assert_eq!(lines[2], home.canonicalize().unwrap().to_str().unwrap());
    assert_eq!(std::fs::read_to_string(home.join(".settings")).unwrap(), "mine\n");
}

#[tokio::test]
async fn who_takes_too_much_memory_is_ended() {
    // Half of it in a process of its own: all count together.
    let mut fixer = Fixer::with_python(
        "import os, time\nif os.fork() == 0: held = b'x' * (80 << 20)\nelse: held = b'x' * (80 << 20)\n\
         print('held', flush=True)\ntime.sleep(600)",
    );
    fixer.limits.memory_bytes = Some(128 << 20);
    let watched = fixer.watch().await;
    assert_eq!(watched.exit, FixerProcessExit::OverMemory);
    let says = "[merge-train: `python3` and its child processes used more than 128 MiB of memory and were stopped; ";
    assert!(fixer.logged().contains(says), "{}", fixer.logged());
    assert!(watched.tail.contains(says), "{}", watched.tail);
}

#[tokio::test]
async fn memory_that_is_reserved_and_not_used_counts_for_nothing() {
    let mut fixer = Fixer::with_python("import mmap, time\nheld = mmap.mmap(-1, 4 << 30)\ntime.sleep(1)");
    fixer.limits.memory_bytes = Some(128 << 20);
    assert_eq!(fixer.watch().await.exit, FixerProcessExit::Done);
}

#[tokio::test]
async fn who_starts_too_many_processes_is_ended_with_all_of_them() {
    for (how, away) in [("in one group", ""), ("each in a session of its own", "os.setsid()")] {
        // Each starts another until there are two hundred, so that killing some does not stop the others.
        let script = format!(
            "import os, time\nfor _ in range(200):\n  pid = os.fork()\n  if pid:\n    time.sleep(600)\n  {away}\n  \
             with open('sleepers', 'a') as file: file.write(f'{{os.getpid()}}\\n')\ntime.sleep(600)"
        );
        let mut fixer = Fixer::with_python(&script);
        fixer.limits.processes = Some(50);
        let watched = fixer.watch().await;
        assert_eq!(watched.exit, FixerProcessExit::OverProcesses, "{how}");
        let says = "[merge-train: `python3` ran more than 50 processes at once and was stopped with all of them; make \
                    it start fewer, or raise max_processes in [ratchet.fixer].]";
        assert!(fixer.logged().contains(says), "{how}: {}", fixer.logged());
        let sleepers = fixer.numbers_in("sleepers", 20).await;
        assert!(!sleepers.into_iter().any(lives), "{how}");
    }
}

/// Each goes away and starts others all the time, whatever becomes of the rest; but no more than 1500 in all.
const BOMB: &str = "
import mmap, os, time
left = mmap.mmap(-1, 1500)
while True:
    # The place of whoever is started next, so far as those who look at once agree on it.
    at = left.find(b'\\0')
    if at < 0: time.sleep(600)
    left[at] = 1
    if os.fork() == 0:
        os.setsid()
        with open('sleepers', 'a') as file: file.write(f'{os.getpid()}\\n')
";

#[tokio::test]
async fn a_fork_bomb_is_ended_and_nobody_else_is() {
    let mut bystander = tokio::process::Command::new("sleep").arg("600").kill_on_drop(true).spawn().unwrap();
    let mut fixer = Fixer::with_python(BOMB);
    fixer.limits.processes = Some(50);
    let began = Instant::now();
    assert_eq!(fixer.watch().await.exit, FixerProcessExit::OverProcesses);
    assert!(began.elapsed() < PATIENCE / 2, "{:?}", began.elapsed());
    // Most were ended before they could write down who they are.
    let bombs = fixer.numbers_in("sleepers", 1).await;
    assert!(!bombs.into_iter().any(lives));
    assert!(bystander.try_wait().unwrap().is_none());
    bystander.kill().await.unwrap();
}

#[tokio::test]
async fn as_many_processes_as_are_allowed_are_let_be_and_threads_are_not_counted() {
    let mut fixer = Fixer::with_script("for i in 1 2 3 4; do sleep 1 & done; wait");
    fixer.limits.processes = Some(5);
    assert_eq!(fixer.watch().await.exit, FixerProcessExit::Done);
    let many = "import threading, time\nfor _ in range(50): threading.Thread(target=time.sleep, args=(1,)).start()";
    let mut fixer = Fixer::with_python(many);
    fixer.limits.processes = Some(25);
    assert_eq!(fixer.watch().await.exit, FixerProcessExit::Done);
}

#[tokio::test]
async fn what_a_fixer_leaves_running_is_gone_when_it_has_ended() {
    for (ends, exit) in [("exit 0", FixerProcessExit::Done), ("exit 5", FixerProcessExit::Failed { code: 5 })] {
        let fixer = Fixer::with_script(&format!("{FORKS_AWAY}; {ends}"));
        assert_eq!(fixer.watch().await.exit, exit);
        let sleepers = fixer.numbers_in("sleeper", 1).await;
        assert!(!sleepers.into_iter().any(lives), "{ends}");
    }
}

#[tokio::test]
async fn a_fixer_that_takes_too_long_is_ended_with_all_that_it_started() {
    let mut fixer = Fixer::with_script(&format!("{FORKS_AWAY}; printf waiting; exec sleep 600"));
    fixer.timeout = Duration::from_secs(1);
    let watched = fixer.watch().await;
    assert_eq!(watched.exit, FixerProcessExit::TimedOut);
    let says = "waiting\n[merge-train: `/bin/sh` did not finish within 1s and was stopped; ";
    assert!(fixer.logged().starts_with(says), "{}", fixer.logged());
    assert!(!fixer.numbers_in("sleeper", 1).await.into_iter().any(lives));
}

#[tokio::test]
async fn a_fixer_that_is_stopped_may_tidy_up_and_says_so_after_it_was_told() {
    let mut fixer = Fixer::with_script("trap 'echo tidy; exit 0' TERM; echo $$ >sleeper; while :; do sleep 0.01; done");
    fixer.limits.grace = PATIENCE;
    let stop = async {
        fixer.numbers_in("sleeper", 1).await;
        fixer.stop.cancel();
    };
    let (watched, ()) = tokio::join!(fixer.watch(), stop);
    assert_eq!(watched.exit, FixerProcessExit::Stopped);
    let log = fixer.logged();
    assert!(log.starts_with("[merge-train: `/bin/sh` was stopped because its run was stopped.]\n"), "{log}");
    assert!(log.ends_with("\ntidy\n"), "{log}");
}

#[tokio::test]
async fn a_fixer_that_ignores_sigterm_is_killed_after_its_grace() {
    let mut fixer = Fixer::with_script("trap '' TERM; echo $$ >sleeper; while :; do sleep 0.01; done");
    fixer.limits.grace = Duration::from_millis(500);
    let stop = async {
        fixer.numbers_in("sleeper", 1).await;
        fixer.stop.cancel();
        Instant::now()
    };
    let (watched, began) = tokio::join!(fixer.watch(), stop);
    assert_eq!(watched.exit, FixerProcessExit::Stopped);
    assert!(began.elapsed() >= fixer.limits.grace, "{:?}", began.elapsed());
    assert!(!fixer.numbers_in("sleeper", 1).await.into_iter().any(lives));
}

#[tokio::test]
async fn a_fixer_that_was_stopped_before_is_not_started() {
    let fixer = Fixer::with_script("echo $$ >sleeper");
    fixer.stop.cancel();
    assert_eq!(fixer.watch().await.exit, FixerProcessExit::Stopped);
    assert!(!fixer.checkout().join("sleeper").exists());
}

#[tokio::test]
async fn who_fills_any_folder_of_its_own_is_ended() {
    let fill = "i=0; while [ $i -lt 40 ]; do head -c 100000 /dev/zero >../tmp/$i; i=$((i+1)); done";
    for (how, script) in [("it goes on", format!("{fill}; exec sleep 600")), ("it was quick", fill.to_owned())] {
        let mut fixer = Fixer::with_script(&script);
        fixer.limits.disk_bytes = 2 << 20;
        assert_eq!(fixer.watch().await.exit, FixerProcessExit::OverDisk, "{how}");
        let says = "[merge-train: `/bin/sh` wrote more than 2 MiB to its folder, ";
        assert!(fixer.logged().contains(says), "{how}: {}", fixer.logged());
        assert!(fixer.logged().contains("raise max_disk_mb in [ratchet.fixer]."), "{how}: {}", fixer.logged());
    }
    let mut fixer = Fixer::with_script("exec head -c 3000000 /dev/zero >long");
    fixer.limits.disk_bytes = 1 << 20;
    assert_eq!(fixer.watch().await.exit, FixerProcessExit::OverDisk);
}

/// A hundred folders deep and more than a path may be long.
const DIGS: &str = "import os, sys, time\nos.chdir('../tmp')\nfor _ in range(100):\n  os.mkdir('d' * 100)\n  os.chdir('d' * 100)\n\
     for i in range(4): open(f'hidden-{i}', 'wb').write(b'x' * (1 << 20))\n";

#[tokio::test]
async fn who_keeps_something_where_it_cannot_be_measured_is_ended() {
    let mut fixer = Fixer::with_python(&format!("{DIGS}time.sleep(600)"));
    fixer.limits.disk_bytes = 2 << 20;
    assert_eq!(fixer.watch().await.exit, FixerProcessExit::Unseen);
    let says = "[merge-train: `python3` has folders that cannot be measured (";
    assert!(fixer.logged().contains(says), "{}", fixer.logged());
}

#[tokio::test]
async fn a_fixer_ends_when_its_disk_has_too_little_left_for_others() {
    let mut fixer = Fixer::with_script("exec sleep 600");
    fixer.limits.free_bytes = 1 << 60;
    assert_eq!(fixer.watch().await.exit, FixerProcessExit::DiskScarce);
    let says = "[merge-train: `/bin/sh` was stopped because less than 1073741824 GiB is free on its disk; ";
    assert!(fixer.logged().contains(says), "{}", fixer.logged());
}

#[tokio::test]
async fn what_a_fixer_was_given_and_what_looks_like_a_token_is_neither_in_the_log_nor_in_the_tail() {
    // Cargo has set it, and it is long enough to be a key.
    let key = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let script = "echo \"key $CARGO_MANIFEST_DIR\"; printf 'half %s' \"$CARGO_MANIFEST_DIR\"; sleep 0.1; \
                  printf ' ghp_16C7e42F'; sleep 0.1; printf '292c6912E7710c838347Ae178B4a\\nversion %s\\n' $CARGO_PKG_VERSION";
    let mut fixer = Fixer::with_script(script);
    fixer.inherited = ["CARGO_MANIFEST_DIR", "CARGO_PKG_VERSION"].map(str::to_owned).to_vec();
    let watched = fixer.watch().await;
    assert_eq!(watched.exit, FixerProcessExit::Done);
    let expected = format!("key ***\nhalf *** ghp_***\nversion {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!((fixer.logged(), watched.tail.as_str()), (expected.clone(), expected.trim()), "{key}");
}

#[tokio::test]
async fn a_fixer_that_is_killed_by_something_else_is_told_with_the_signal() {
    let fixer = Fixer::with_script("kill -SEGV $$");
    assert_eq!(fixer.watch().await.exit, FixerProcessExit::Killed { signal: 11 });
    assert!(fixer.logged().contains("was killed by signal 11 (SIGSEGV)"), "{}", fixer.logged());
}

#[tokio::test]
async fn a_fixer_that_cannot_be_started_is_told_with_the_reason() {
    for (command, says) in [
        (&["no-such-program-anywhere"][..], "it is not on the daemon's PATH"),
        (&["/no/such/file"], "the file or the interpreter"),
        (&["/etc/passwd"], "may not execute it"),
        (&[], "The fixer has no command; set the program and its arguments in [ratchet.fixer]."),
    ] {
        let fixer = Fixer::with_command(command);
        let FixerProcessExit::NotStarted { why } = fixer.watch().await.exit else { panic!("{command:?} was started") };
        assert!(why.contains(says), "{command:?}: {why}");
        assert_eq!(fixer.logged(), format!("[merge-train: {why}]\n"));
    }
    let fixer = Fixer::with_script("echo 1");
    std::fs::remove_dir(fixer.checkout()).unwrap();
    let FixerProcessExit::NotStarted { why } = fixer.watch().await.exit else { panic!("it was started") };
    assert!(why.ends_with("checkout does not exist."), "{why}");
}

#[tokio::test]
async fn who_loses_interest_ends_the_fixer() {
    let fixer = Fixer::with_script(&format!("{FORKS_AWAY}; exec sleep 600"));
    let sleepers = tokio::select! {
        watched = fixer.watch() => panic!("{watched:?}"),
        sleepers = fixer.numbers_in("sleeper", 1) => sleepers,
    };
    until("the end", || (!sleepers.iter().any(|sleeper| lives(*sleeper))).then_some(())).await;
}
