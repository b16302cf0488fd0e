//! What a command prints and writes, when it is much.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::agent::world::{PATIENCE, World};

/// The most memory that this process has ever had, in KiB.
fn most_memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("what the kernel knows");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[tokio::test]
async fn an_answer_of_just_the_size_that_is_allowed_is_taken() {
    let mut world = World::with_script("printf '\"%s\"' 1234567890");
    world.limits.output_bytes = 12;
    assert_eq!(world.value().await, json!("1234567890"));
    world.limits.output_bytes = 11;
    let error = world.error().await;
    assert!(error.contains("printed more than 11 bytes on standard output and was stopped"), "{error}");
}

#[tokio::test]
async fn who_prints_endlessly_is_ended_at_once_and_takes_no_memory() {
    for script in
        ["exec head -c 100000000 /dev/zero", "exec yes", "yes & yes & wait", "trap '' TERM PIPE; while :; do yes; done"]
    {
        let (before, began) = (most_memory_kib(), Instant::now());
        let error = World::with_script(script).error().await;
        assert!(error.contains("printed more than 1 MiB on standard output and was stopped"), "{script}: {error}");
        assert!(most_memory_kib() - before < 32 << 10, "{script}: {} KiB", most_memory_kib() - before);
        assert!(began.elapsed() < PATIENCE / 2, "{script}: {:?}", began.elapsed());
    }
}

#[tokio::test]
async fn of_a_long_log_the_beginning_is_kept_and_the_command_goes_on() {
    let mut world = World::with_script("echo first >&2; head -c 100000000 /dev/zero >&2; echo last >&2; echo 1");
    world.limits.log_bytes = 1000;
    let before = most_memory_kib();
    assert_eq!(world.value().await, json!(1));
    assert!(most_memory_kib() - before < 32 << 10);
    let log = world.logged();
    assert!(log.starts_with("first\n"));
    assert_eq!(&log[1000..], "\n[merge-train: more than 1000 bytes; the rest was dropped]\n");
}

#[tokio::test]
async fn a_log_of_just_the_size_that_is_allowed_is_whole_and_the_next_is_added_to_it() {
    let mut world = World::with_script("printf 12345 >&2; printf 67890 >&2; echo 1");
    world.limits.log_bytes = 10;
    world.value().await;
    assert_eq!(world.logged(), "1234567890");
    world.value().await;
    assert_eq!(world.logged(), "12345678901234567890");
}

#[tokio::test]
async fn a_log_that_cannot_be_written_changes_nothing() {
    let script = "head -c 1000000 /dev/zero >&2; echo >&2; echo last words >&2; echo '[2]'; exit $CODE";
    let mut world = World::with_script(script);
    // A disk without room, and a place where no file can be.
    for log in ["/dev/full", "/proc/nowhere/log"] {
        world.log = log.into();
        world.environment = vec![("CODE".to_owned(), "0".to_owned())];
        assert_eq!(world.value().await, json!([2]), "{log}");
        world.environment = vec![("CODE".to_owned(), "1".to_owned())];
        assert!(world.error().await.ends_with("last words"), "{log}");
    }
}

#[tokio::test]
async fn who_fills_the_folder_is_ended() {
    let script =
        "mkdir a; i=0; while [ $i -lt 40 ]; do head -c 100000 /dev/zero >a/$i; i=$((i+1)); done; exec sleep 600";
    let mut world = World::with_script(script);
    world.limits.disk_bytes = 2 << 20;
    let error = world.error().await;
    assert!(error.contains("wrote more than 2 MiB to its working folder and was stopped"), "{error}");
}

#[tokio::test]
async fn a_file_with_many_names_and_a_link_to_elsewhere_do_not_fill_the_folder() {
    let script = "head -c 1000000 /dev/zero >a; for i in 1 2 3 4 5 6 7 8; do ln a $i; done; ln -s / root
        exec sleep 600";
    let mut world = World::with_script(script);
    world.limits.disk_bytes = 2 << 20;
    // Long enough for a look or two.
    world.timeout = Duration::from_secs(3);
    let error = world.error().await;
    assert!(error.contains("did not finish within 3s"), "{error}");
}

#[tokio::test]
async fn no_file_is_longer_than_the_disk_space_that_is_allowed() {
    let mut world = World::with_script("exec head -c 3000000 /dev/zero >long");
    world.limits.disk_bytes = 1 << 20;
    let error = world.error().await;
    assert!(error.contains("it wrote a file larger than 1 MiB"), "{error}");
    assert_eq!(std::fs::metadata(world.folder().join("long")).unwrap().len(), 1 << 20);
    assert_eq!(World::with_script("ulimit -c").value().await, json!(0));
}
