//! That a command ends when it should, and all that it started with it.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::agent::world::{PATIENCE, World, lives, until};

/// Processes that hide, each in its way. The last line of each is the number of one that sleeps, in the file `sleeper`.
const HIDING: [(&str, &str); 5] = [
    ("in the background", "sleep 600 & echo $! >sleeper"),
    ("without its parent", "(sleep 600 & echo $! >sleeper)"),
    ("in a session of its own", "setsid sh -c 'echo $$ >sleeper; exec sleep 600' &"),
    (
        "in a session of its own, without its parent",
        "setsid sh -c '(setsid sh -c \"echo \\$\\$ >sleeper; exec sleep 600\" &) &' >/dev/null 2>&1 </dev/null &",
    ),
    ("deaf", "setsid sh -c 'trap \"\" TERM HUP INT; echo $$ >sleeper; while :; do sleep 1; done' &"),
];
const SLEEPS: &str = "until [ -s sleeper ]; do sleep 0.01; done";

#[tokio::test]
async fn what_a_command_leaves_running_ends_with_it() {
    for (how, hides) in HIDING {
        let world = World::with_script(&format!("{hides}\n{SLEEPS}\necho 1"));
        assert_eq!(world.value().await, json!(1), "{how}");
        assert!(!lives(world.number_in("sleeper").await), "{how}");
    }
}

#[tokio::test]
async fn what_a_failing_command_leaves_running_ends_with_it() {
    for (how, hides) in HIDING {
        let world = World::with_script(&format!("{hides}\n{SLEEPS}\nexit 4"));
        assert!(world.error().await.contains("exit code 4"), "{how}");
        assert!(!lives(world.number_in("sleeper").await), "{how}");
    }
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended_with_all_that_it_started() {
    for (how, hides) in HIDING {
        let mut world = World::with_script(&format!("{hides}\n{SLEEPS}\necho waiting >&2\necho 1\nexec sleep 600"));
        world.timeout = Duration::from_secs(1);
        let error = world.error().await;
        assert!(error.contains("did not finish within 1s and was stopped"), "{how}: {error}");
        assert!(error.ends_with("The end of its log:\nwaiting"), "{how}: {error}");
        assert!(!lives(world.number_in("sleeper").await), "{how}");
    }
}

/// Stops a command once it sleeps: the error, and how long it took.
async fn stopped(world: &World) -> (String, Duration) {
    let stop = async {
        world.number_in("sleeper").await;
        world.stop.cancel();
        Instant::now()
    };
    let (error, began) = tokio::join!(world.error(), stop);
    (error, began.elapsed())
}

#[tokio::test]
async fn a_run_that_is_stopped_ends_its_command_and_all_that_it_started() {
    for (how, hides) in HIDING {
        let world = World::with_script(&format!("{hides}\nexec sleep 600"));
        let (error, _) = stopped(&world).await;
        assert!(error.contains("was stopped because its run was stopped"), "{how}: {error}");
        assert!(!lives(world.number_in("sleeper").await), "{how}");
    }
}

#[tokio::test]
async fn a_command_has_time_to_tidy_up() {
    let mut world =
        World::with_script("trap 'echo tidy >&2; exit 0' TERM; echo $$ >sleeper; while :; do sleep 0.01; done");
    world.limits.grace = PATIENCE;
    let (error, took) = stopped(&world).await;
    assert!(error.contains("was stopped"), "{error}");
    assert!(took < PATIENCE / 2, "{took:?}");
    assert!(world.logged().ends_with("tidy\n"), "{}", world.logged());
}

#[tokio::test]
async fn what_a_command_starts_to_tidy_up_is_let_be() {
    let tidy = "i=0; while [ $i -lt 20 ]; do sleep 0.02; i=$((i+1)); done; rm lock && echo tidy >&2; exit 0";
    let mut world =
        World::with_script(&format!("trap '{tidy}' TERM; touch lock; echo $$ >sleeper; while :; do sleep 0.01; done"));
    world.limits.grace = PATIENCE;
    let (_, took) = stopped(&world).await;
    assert!(took < PATIENCE / 2, "{took:?}");
    assert!(world.logged().ends_with("tidy\n"), "{}", world.logged());
    assert!(!world.folder().join("lock").exists());
}

#[tokio::test]
async fn a_command_that_will_not_end_is_killed_after_its_grace() {
    let mut world = World::with_script("trap '' TERM; echo $$ >sleeper; while :; do sleep 0.01; done");
    world.limits.grace = Duration::from_millis(500);
    let (_, took) = stopped(&world).await;
    assert!(took >= world.limits.grace, "{took:?}");
    assert!(!lives(world.number_in("sleeper").await));
}

#[tokio::test]
async fn a_run_that_was_stopped_before_starts_nothing() {
    let world = World::with_script("echo $$ >sleeper; echo 1");
    world.stop.cancel();
    assert!(world.error().await.contains("was stopped"));
    assert!(!world.folder().exists());
}

#[tokio::test]
async fn a_process_that_forks_all_the_time_does_not_escape() {
    // Each lives for a moment, in a session of its own, and starts the next.
    let script = "cat >chase <<'END'\n[ -e sleeper ] || echo $$ >sleeper\nsetsid sh chase &\nexit\nEND\nsh chase; exec sleep 600";
    let world = World::with_script(script);
    let (error, _) = stopped(&world).await;
    assert!(error.contains("was stopped"), "{error}");
    let folder = world.folder();
    let here = || {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        all.filter(|entry| std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder)).count()
    };
    assert_eq!(here(), 0);
}

#[tokio::test]
async fn who_loses_interest_ends_the_command() {
    let world = World::with_script(&format!("{}\nexec sleep 600", HIDING[4].1));
    let sleeper = tokio::select! {
        outcome = world.run() => panic!("{outcome:?}"),
        sleeper = world.number_in("sleeper") => sleeper,
    };
    until("the end", || (!lives(sleeper)).then_some(())).await;
}

#[tokio::test]
async fn a_command_that_kills_its_guard_ends_with_it() {
    let world = World::with_script("echo $$ >sleeper; kill -KILL $PPID; exec sleep 600");
    let error = world.error().await;
    assert!(error.contains("its guard process was killed"), "{error}");
    let sleeper = world.number_in("sleeper").await;
    until("the end", || (!lives(sleeper)).then_some(())).await;
}

#[tokio::test]
async fn a_guard_that_is_asked_to_end_ends_the_command_first() {
    let world = World::with_script(&format!("{}\n{SLEEPS}\nkill -TERM $PPID; exec sleep 600", HIDING[4].1));
    let error = world.error().await;
    assert!(error.contains("was killed by signal 15 (SIGTERM)"), "{error}");
    assert!(!lives(world.number_in("sleeper").await));
}

/// The variable that tells a process of this program which script it is to run.
const DAEMON: &str = "AGENT_TEST_SCRIPT";

/// Not a test but the daemon of the one below, in a process of its own.
#[tokio::test]
#[ignore = "it is started by another test"]
async fn a_daemon_that_is_to_be_killed() {
    let Ok(script) = std::env::var(DAEMON) else { return };
    let mut world = World::with_script(&script);
    world.limits.grace = PATIENCE * 2;
    panic!("it ended: {:?}", world.run().await);
}

#[tokio::test]
async fn everything_ends_when_the_daemon_is_killed() {
    for (how, hides) in HIDING {
        let root = tempfile::tempdir().unwrap();
        let told = root.path().join("told");
        let at = told.display();
        // All at once, so that half of it cannot be read.
        let tell = format!("echo $(cat sleeper) $$ $PPID >{at}.new; mv {at}.new {at}");
        let mut daemon = tokio::process::Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "agent::ending::a_daemon_that_is_to_be_killed"])
            .env(DAEMON, format!("{hides}\n{SLEEPS}\n{tell}\ntrap '' TERM; while :; do sleep 1; done"))
            .env("TMPDIR", root.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let told = until("everything runs", || std::fs::read_to_string(&told).ok()).await;
        let processes: Vec<u32> = told.split_whitespace().map(|number| number.parse().unwrap()).collect();
        assert_eq!(processes.len(), 3, "the sleeper, the command, the guard");
        assert!(processes.iter().all(|process| lives(*process)), "{how}");
        let id = Pid::from_raw(daemon.id().unwrap().cast_signed()).unwrap();
        kill_process(id, Signal::KILL).unwrap();
        daemon.wait().await.unwrap();
        until(how, || processes.iter().all(|process| !lives(*process)).then_some(())).await;
    }
}
