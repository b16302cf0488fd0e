//! Commands that print too much or nonsense, do not end, leave something running, or fill the disk.

use super::*;

fn workflow(name: &str, step: &str) -> String {
    format!("[[workflows]]\nname = {name:?}\n{step}")
}

/// The processes that have come of the commands of a run, whatever they did to hide.
fn left_of(run: &str) -> Vec<String> {
    let mark = format!("MERGE_TRAIN_RUN_ID={run}");
    let has_mark = |environment: Vec<u8>| environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes());
    let processes = std::fs::read_dir("/proc").expect("what the kernel knows").flatten();
    let is_of_it = |path: &Path| std::fs::read(path.join("environ")).is_ok_and(has_mark);
    processes
        .map(|process| process.path())
        .filter(|path| is_of_it(path))
        .map(|path| path.display().to_string())
        .collect()
}

/// The most memory that the daemon has ever had, in KiB.
fn most_memory_kib(daemon: &Daemon) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// A daemon that is ready.
async fn start(place: &Place) -> Daemon {
    let daemon = place.setup.start().await;
    eventually("it is ready", || async { (daemon.get("/readyz").await.0 == 200).then_some(()) }).await;
    daemon
}

async fn is_unharmed(daemon: &Daemon, runs: &[String]) {
    for run in runs {
        assert_eq!(left_of(run), [] as [String; 0], "of {run}");
    }
    let (status, ready) = daemon.get("/readyz").await;
    assert_eq!(status, 200, "{ready}");
    let good = create(daemon, "good").await;
    becomes(daemon, &good, "completed").await;
}

/// What each does, and what is said of its run.
const FAILING: [(&str, &str, &str); 8] = [
    ("flood", "exec head -c 100000000 /dev/zero", "printed more than 1 MiB on standard output and was stopped"),
    ("prose", "echo all done", "did not print exactly one JSON value (expected"),
    ("silent", "true", "printed nothing; it must print its result as one JSON value on standard output"),
    ("twice", "echo '{}'; echo '{}'", "did not print exactly one JSON value (trailing characters"),
    ("fork-fail", "setsid sleep 600 & exit 3", "failed with exit code 3"),
    (
        "file",
        "exec head -c 3000000 /dev/zero >long",
        "it wrote a file larger than 2 MiB; make it write less, or raise max_disk_mb",
    ),
    (
        "files",
        "for i in 1 2 3 4 5; do head -c 1000000 /dev/zero >$i; done; exec sleep 600",
        "wrote more than 2 MiB to its working folder and was stopped",
    ),
    ("crash", "kill -SEGV $$", "was killed by signal 11 (SIGSEGV)"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_command_fails_its_run_in_clear_words_and_harms_nobody_else() {
    let place = Place::with("max_disk_mb = 2", |dir| {
        let failing = FAILING.iter().map(|(name, script, _)| workflow(name, &agent(dir, name, script)));
        failing.collect::<String>() + &workflow("good", &agent(dir, "good", "echo '{}'"))
    });
    let daemon = start(&place).await;
    is_unharmed(&daemon, &[]).await;
    let before = most_memory_kib(&daemon);
    let mut runs = Vec::new();
    for (name, ..) in FAILING {
        runs.push(create(&daemon, name).await);
    }
    for ((name, _, says), run) in FAILING.iter().zip(&runs) {
        let run = becomes(&daemon, run, "failed").await;
        let error = run["error"].as_str().expect("an error");
        assert!(error.starts_with(&format!("step {name:?} failed: `")) && error.contains(says), "{name}: {error}");
    }
    is_unharmed(&daemon, &runs).await;
    let more = most_memory_kib(&daemon) - before;
    assert!(more < 64 << 10, "{more} KiB more than before");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_leaves_running_ends_before_its_run_goes_on() {
    let place = Place::new(|dir| {
        // One in a session of its own, one without its parent that holds the output open.
        let fork =
            "setsid sh -c 'echo $$ >one; exec sleep 600' >/dev/null 2>&1 & (sh -c 'echo $$ >two; exec sleep 600' &)
            while [ ! -s one ] || [ ! -s two ]; do sleep 0.01; done; echo \"[$(cat one), $(cat two)]\"";
        workflow("fork", &(agent(dir, "fork", fork) + &agent(dir, "next", "exec sleep 600")))
            + &workflow("good", &agent(dir, "good", "echo '{}'"))
    });
    let daemon = start(&place).await;
    let run = create(&daemon, "fork").await;
    eventually("the next step is under way", || async { (place.times("next") == 1).then_some(()) }).await;
    let (_, steps) = daemon.get(&format!("/api/v1/runs/{run}/steps")).await;
    let forked = steps["steps"][0]["output"].as_array().expect("two processes");
    let left = left_of(&run);
    assert!(!left.is_empty(), "the next command is one");
    assert_eq!(forked.len(), 2, "{steps}");
    assert!(!forked.iter().any(|id| left.contains(&format!("/proc/{id}"))), "{forked:?} are among {left:?}");
    post(&daemon, &format!("/runs/{run}/cancel"), Value::Null).await;
    becomes(&daemon, &run, "cancelled").await;
    is_unharmed(&daemon, &[run]).await;
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_ignores_sigterm_is_ended_when_its_run_is_cancelled_and_at_its_deadline() {
    let place = Place::new(|dir| {
        let deaf = "trap '' TERM; while :; do sleep 0.2; done";
        let late = command(dir, "late", deaf);
        workflow("deaf", &agent(dir, "deaf", deaf))
            + &workflow("late", &step("late", &format!("command = {late:?}\ntimeout_mins = 0.01")))
            + &workflow("good", &agent(dir, "good", "echo '{}'"))
    });
    let daemon = start(&place).await;
    let (deaf, late) = (create(&daemon, "deaf").await, create(&daemon, "late").await);
    eventually("both are begun", || async { (place.times("deaf") + place.times("late") == 2).then_some(()) }).await;
    let (status, cancelled) = post(&daemon, &format!("/runs/{deaf}/cancel"), json!({ "reason": "enough" })).await;
    assert_eq!((status, &cancelled["cancellation"]["reason"]), (200, &json!("enough")), "{cancelled}");
    is_unharmed(&daemon, &[]).await;
    assert_eq!(show(&daemon, &deaf).await["status"], "running", "it has time to tidy up");
    becomes(&daemon, &deaf, "cancelled").await;
    let (_, steps) = daemon.get(&format!("/api/v1/runs/{deaf}/steps")).await;
    let error = steps["steps"][0]["error"].as_str().expect("an error");
    assert!(error.contains("was stopped because its run was stopped"), "{error}");
    let run = becomes(&daemon, &late, "failed").await;
    assert!(
        run["error"].as_str().is_some_and(|error| error.contains("did not finish within 600ms and was stopped")),
        "{run}"
    );
    is_unharmed(&daemon, &[deaf, late]).await;
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limits_of_what_a_command_prints_and_logs_count() {
    let place = Place::with("max_output_kb = 1\nmax_log_mb = 1", |dir| {
        let prints = |bytes: usize| format!("printf '\"%0{bytes}d\"' 0");
        workflow("fits", &agent(dir, "fits", &prints(1022)))
            + &workflow("prints", &agent(dir, "prints", &prints(1023)))
            + &workflow("logs", &agent(dir, "logs", "head -c 3000000 /dev/zero >&2; echo '{}'"))
    });
    let daemon = start(&place).await;
    let [fits, prints, logs] =
        [create(&daemon, "fits").await, create(&daemon, "prints").await, create(&daemon, "logs").await];
    let run = becomes(&daemon, &prints, "failed").await;
    let error = run["error"].as_str().expect("an error");
    assert!(error.contains("printed more than 1 KiB on standard output") && error.contains("max_output_kb"), "{error}");
    becomes(&daemon, &fits, "completed").await;
    becomes(&daemon, &logs, "completed").await;
    let kept = std::fs::read(place.dir.path().join("runs").join(&logs).join("logs/logs-1.log")).expect("a log");
    let note = b"\n[merge-train: more than 1048576 bytes; the rest was dropped]\n";
    assert_eq!((kept.len(), kept.ends_with(note)), ((1 << 20) + note.len(), true));
    assert!(daemon.stop().await.success());
}
