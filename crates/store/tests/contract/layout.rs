//! The state as files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use merge_train_core::inbox::Source;
use store::layout::{self, Error};
use store::{Arrival, Batch, NewEvent, Priority, Route, Snapshot, Sqlite, Store};

use crate::support::*;

const REPO: &str = "repo:acme/widgets";
const SNAPSHOT: &str = r#"{"schema_version":1,"snapshot_at":"2020-01-01T00:00:00Z","log_generation":77,"log_position":5,"next_seq":99,"default_branch":"main","prs":{},"active_trains":{}}"#;
const STARTED: &str = r#"{"type":"train_started","root_pr":123,"current_pr":123}"#;
const STOPPED: &str = r#"{"type":"train_stopped","root_pr":123}"#;

/// Every file with its content, by its path.
fn tree(dir: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            files.extend(tree(&path).into_iter().map(|(below, content)| (format!("{name}/{below}"), content)));
        } else {
            files.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
    files
}

fn recorded(data: &str, second: i64) -> NewEvent {
    NewEvent { ts: at(second), data: data.to_owned() }
}

/// A repository with a past, one without, a run, and things that came in.
async fn fill(world: &World) {
    let store = &world.store;
    let lease = world.lease(REPO, "a", at(0)).await;
    let events = vec![recorded(STARTED, 1), recorded(STOPPED, 2)];
    store.append(&lease, Batch { events, ..batch(1, [], at(2)) }).await.unwrap();
    let snapshot = Snapshot { next_seq: 3, taken_at: at(3), data: SNAPSHOT.to_owned() };
    store.compact(&lease, snapshot).await.unwrap();
    let events = vec![recorded(STARTED, 4), recorded(STOPPED, 5)];
    store.append(&lease, Batch { events, ..batch(3, [], at(5)) }).await.unwrap();
    let young = world.lease("repo:globex/young", "a", at(0)).await;
    store.append(&young, Batch { events: vec![recorded(STARTED, 1)], ..batch(1, [], at(1)) }).await.unwrap();
    let run = world.lease("run:r-1", "a", at(0)).await;
    world.append(&run, 1, ["run_created", "run_started"], at(6)).await;
    for name in ["github:b", "github:a", "github:settled"] {
        world.admit(name, REPO, at(7)).await;
    }
    let normal = arrival("api:cli:../stop", REPO, at(8));
    let Route::Stream { stream, label, .. } = normal.route else { panic!("it goes to a stream") };
    let route = Route::Stream { stream, label, priority: Priority::Stop, body: vec![0xff, 0x00] };
    store.admit(Arrival { route, source: Source::Api, ..normal }).await.unwrap();
    let entries = world.take(&lease).await;
    let settled: Vec<_> = entries.into_iter().filter(|entry| entry.key.as_str() == "github:settled").collect();
    world.settle(&lease, &settled, done(), at(10)).await.unwrap();
    world.admit("github:only-waiting", "repo:globex/waiting", at(11)).await;
}

pub async fn an_export_reads_back_into_an_empty_store(world: World) {
    fill(&world).await;
    let dir = world.scratch();
    let summary = layout::export(&*world.store, &dir).await.unwrap();
    assert_eq!((summary.streams, summary.events, summary.entries), (4, 5, 4));
    let files = tree(&dir);
    assert_eq!(files["acme/widgets/generation"], "1\n");
    assert_eq!(
        files["acme/widgets/events.1.log"],
        "{\"seq\":3,\"ts\":\"2026-01-01T00:00:04Z\",\"type\":\"train_started\",\"root_pr\":123,\"current_pr\":123}\n\
         {\"seq\":4,\"ts\":\"2026-01-01T00:00:05Z\",\"type\":\"train_stopped\",\"root_pr\":123}\n"
    );
    let snapshot: serde_json::Value = serde_json::from_str(&files["acme/widgets/snapshot.1.json"]).unwrap();
    assert_eq!((&snapshot["log_generation"], &snapshot["log_position"]), (&1.into(), &0.into()));
    assert_eq!((&snapshot["next_seq"], &snapshot["snapshot_at"]), (&3.into(), &"2026-01-01T00:00:03Z".into()));
    let names: Vec<_> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            ".runs/r-1/events.0.log",
            ".runs/r-1/generation",
            ".runs/r-1/tenant",
            "SHA256SUMS",
            "acme/widgets/events.1.log",
            "acme/widgets/generation",
            "acme/widgets/snapshot.1.json",
            "acme/widgets/spool/a.json",
            "acme/widgets/spool/api%3Acli%3A..%2Fstop.json",
            "acme/widgets/spool/b.json",
            "globex/waiting/events.0.log",
            "globex/waiting/generation",
            "globex/waiting/spool/only-waiting.json",
            "globex/young/events.0.log",
            "globex/young/generation",
        ]
    );

    // Into either database and out again: the same, to the byte.
    for other in [World::sqlite().await, World::postgres().await] {
        let imported = layout::import(&*other.store, &dir, |_| None).await.unwrap();
        assert_eq!(imported, summary);
        let again = other.scratch();
        layout::export(&*other.store, &again).await.unwrap();
        assert_eq!(tree(&again), files);
        let heir = other.lease(REPO, "b", at(100)).await;
        assert_eq!(keys(&other.take(&heir).await), ["api:cli:../stop", "github:b", "github:a"]);
        assert_eq!(other.load(REPO).await.events, world.load(REPO).await.events);
        other.append(&heir, 5, ["and_on"], at(101)).await;
    }
    let refused = layout::export(&*world.store, &dir).await;
    assert!(matches!(refused, Err(Error::NotEmpty { .. })), "{refused:?}");
    assert_eq!(
        fs::read_dir(dir.parent().unwrap())
            .unwrap()
            .flatten()
            .filter(|it| it.file_name().to_string_lossy().contains("partial"))
            .count(),
        0
    );
}

pub async fn an_import_into_a_store_that_has_the_stream_is_refused(world: World) {
    fill(&world).await;
    let dir = world.scratch();
    layout::export(&*world.store, &dir).await.unwrap();
    let other = World::sqlite().await;
    other.lease("repo:globex/young", "a", at(0)).await;
    let refused = layout::import(&*other.store, &dir, |_| None).await.unwrap_err();
    assert!(matches!(refused, Error::Store(store::Error::Exists { .. })), "{refused:?}");
    assert!(refused.to_string().contains("repo:globex/young"), "{refused}");
    assert_eq!(other.store.streams(None).await.unwrap().len(), 1, "nothing else was brought in");
}

pub async fn a_broken_export_imports_nothing(world: World) {
    let dir = world.scratch();
    write_repo(&dir.join("acme/good"), "0", "", &[(1, STARTED)]);
    write_repo(&dir.join("acme/bad"), "0", "", &[(1, STARTED), (3, STOPPED)]);
    let refused = layout::import(&*world.store, &dir, |_| None).await.unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("acme/bad/events.0.log, line 2: event 3 where 2 should be"), "{text}");
    assert_eq!(world.store.streams(None).await.unwrap(), []);
}

fn line(seq: u64, data: &str) -> String {
    format!("{{\"seq\":{seq},\"ts\":\"2026-01-01T00:00:00Z\",{}\n", &data[1..])
}

fn write_repo(dir: &Path, generation: &str, snapshot: &str, events: &[(u64, &str)]) {
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join("generation"), generation).unwrap();
    if !snapshot.is_empty() {
        fs::write(dir.join(format!("snapshot.{generation}.json")), snapshot).unwrap();
    }
    let lines: String = events.iter().map(|(seq, data)| line(*seq, data)).collect();
    fs::write(dir.join(format!("events.{generation}.log")), lines).unwrap();
}

fn snapshot_of(generation: u64, position: u64, next_seq: u64) -> String {
    let mut value: serde_json::Value = serde_json::from_str(SNAPSHOT).unwrap();
    value["log_generation"] = generation.into();
    value["log_position"] = position.into();
    value["next_seq"] = next_seq.into();
    value.to_string()
}

/// What is said of an export that was spoilt in one way.
fn told(spoil: impl FnOnce(&Path)) -> String {
    let dir = tempfile::tempdir().unwrap();
    let repo = dir.path().join("acme/widgets");
    write_repo(&repo, "2", &snapshot_of(2, 0, 3), &[(3, STARTED), (4, STOPPED)]);
    spoil(&repo);
    match layout::read(dir.path()) {
        Ok(parsed) => format!(
            "{} events from {:?}, {} warnings",
            parsed.streams[0].events.len(),
            parsed.streams[0].snapshot.as_ref().map(|snapshot| snapshot.next_seq),
            parsed.warnings.len()
        ),
        Err(error) => error.to_string(),
    }
}

fn append(repo: &Path, text: &str) {
    let file = repo.join("events.2.log");
    let content = fs::read_to_string(&file).unwrap() + text;
    fs::write(file, content).unwrap();
}

/// A way to spoil the folder of a repository.
type Spoil = fn(&Path);

fn each_is_told(cases: &[(&str, Spoil)]) {
    assert_eq!(told(|_| {}), "2 events from Some(3), 0 warnings");
    for (expected, spoil) in cases {
        let text = told(spoil);
        assert!(text.contains(&format!("acme/widgets/{expected}")), "{expected}: {text}");
    }
}

fn write_snapshot(repo: &Path, text: &str) {
    fs::write(repo.join("snapshot.2.json"), text).unwrap();
}

#[test]
fn damage_to_a_snapshot_is_named_with_file_line_and_reason() {
    each_is_told(&[
        ("generation, line 1: \"two\" is not", |repo| fs::write(repo.join("generation"), "two").unwrap()),
        ("generation: it is missing", |repo| fs::remove_file(repo.join("generation")).unwrap()),
        ("snapshot.2.json: it is missing", |repo| fs::remove_file(repo.join("snapshot.2.json")).unwrap()),
        ("snapshot.2.json, line 1: EOF", |repo| write_snapshot(repo, "{")),
        ("snapshot.2.json, line 1: missing field `prs`", |repo| {
            write_snapshot(repo, &snapshot_of(2, 0, 3).replace("\"prs\":{},", ""));
        }),
        ("snapshot.2.json: its schema_version is not 1", |repo| {
            write_snapshot(repo, &snapshot_of(2, 0, 3).replace("\"schema_version\":1", "\"schema_version\":2"));
        }),
        ("snapshot.2.json: its log_generation is 1", |repo| write_snapshot(repo, &snapshot_of(1, 0, 3))),
        ("snapshot.2.json: its next_seq is 0", |repo| write_snapshot(repo, &snapshot_of(2, 0, 0))),
        ("events.2.log: it has 167 bytes, and is to be read from 9999", |repo| {
            write_snapshot(repo, &snapshot_of(2, 9999, 3));
        }),
        ("events.2.log: byte 7 is not the beginning", |repo| write_snapshot(repo, &snapshot_of(2, 7, 3))),
        ("events.2.log: it is missing", |repo| {
            write_snapshot(repo, &snapshot_of(2, 7, 3));
            fs::remove_file(repo.join("events.2.log")).unwrap();
        }),
    ]);
}

#[test]
fn damage_to_a_log_is_named_with_file_line_and_reason() {
    each_is_told(&[
        ("events.2.log, line 1: event 3 where 4 should be", |repo| write_snapshot(repo, &snapshot_of(2, 0, 4))),
        ("events.2.log, line 3: event 4 where 5 should be", |repo| append(repo, &line(4, STOPPED))),
        ("events.2.log, line 3: event 6 where 5 should be", |repo| append(repo, &line(6, STOPPED))),
        ("events.2.log, line 3: event 6 where 5 should be", |repo| append(repo, line(6, STOPPED).trim_end())),
        ("events.2.log, line 3: unknown variant `surprise`", |repo| append(repo, &line(5, r#"{"type":"surprise"}"#))),
        ("events.2.log, line 3: missing field `root_pr`", |repo| {
            append(repo, &line(5, r#"{"type":"train_stopped"}"#));
        }),
        ("events.2.log, line 3: ", |repo| append(repo, &line(5, STOPPED).replace("2026-01-01T", "yesterday"))),
        ("events.2.log, line 3: EOF", |repo| append(repo, &format!("{{\"seq\":5,\n{}", line(5, STOPPED)))),
        ("events.2.log, line 3: EOF", |repo| append(repo, &format!("\n{}", line(5, STOPPED)))),
        ("events.2.log, line 3: expected", |repo| append(repo, "{\"seq\"!5,\n")),
        ("events.2.log, line 1: invalid utf-8", |repo| fs::write(repo.join("events.2.log"), b"\xff\xfe\n").unwrap()),
        ("spool/x.json, line 1: missing field", |repo| {
            fs::create_dir(repo.join("spool")).unwrap();
            fs::write(repo.join("spool/x.json"), "{}").unwrap();
        }),
    ]);
}

#[test]
fn a_last_line_that_is_not_whole_is_left_out_with_a_warning() {
    assert_eq!(told(|repo| append(repo, "{\"seq\":5,\"ts\":\"2026")), "2 events from Some(3), 1 warnings");
    assert_eq!(
        told(|repo| append(repo, line(5, STOPPED).trim_end())),
        "3 events from Some(3), 0 warnings",
        "it is whole"
    );
    assert_eq!(told(|repo| append(repo, "{\"seq\":5,\n")), "2 events from Some(3), 1 warnings", "somebody ended it");
    assert_eq!(told(|repo| fs::write(repo.join("events.2.log"), "{").unwrap()), "0 events from Some(3), 1 warnings");
}

#[test]
fn a_log_is_read_from_where_the_snapshot_stands() {
    let first = line(3, STARTED).len() as u64;
    let read = told(|repo| fs::write(repo.join("snapshot.2.json"), snapshot_of(2, first, 4)).unwrap());
    assert_eq!(read, "1 events from Some(4), 0 warnings");
}

#[test]
fn a_crash_in_compaction_leaves_the_generation_before() {
    let read = told(|repo| {
        fs::remove_file(repo.join("snapshot.2.json")).unwrap();
        fs::write(repo.join("snapshot.1.json"), snapshot_of(1, 0, 2)).unwrap();
        fs::write(repo.join("events.1.log"), line(2, STARTED)).unwrap();
    });
    assert_eq!(read, "3 events from Some(2), 0 warnings", "its log, and what followed");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_that_changed_since_is_refused_and_the_file_named() {
    let world = World::sqlite().await;
    fill(&world).await;
    let dir = world.scratch();
    layout::export(&*world.store, &dir).await.unwrap();
    let good = tree(&dir);
    let log = dir.join("acme/widgets/events.1.log");
    let told = |name: &str| {
        let error = layout::read(&dir).expect_err(name).to_string();
        assert!(error.contains(name), "{error}");
        error
    };
    // Still JSON, still an event: nobody would notice.
    fs::write(&log, good["acme/widgets/events.1.log"].replace("\"root_pr\":123", "\"root_pr\":122")).unwrap();
    assert!(told("acme/widgets/events.1.log").contains("not what was exported"));
    fs::remove_file(&log).unwrap();
    assert!(told("SHA256SUMS, line").contains("events.1.log is missing"));
    fs::write(&log, &good["acme/widgets/events.1.log"]).unwrap();
    layout::read(&dir).unwrap();
    fs::write(dir.join("acme/widgets/spool/new.json"), "{}").unwrap();
    assert!(told("spool/new.json").contains("remove SHA256SUMS"));
    fs::remove_file(dir.join("acme/widgets/spool/new.json")).unwrap();
    fs::remove_file(dir.join("SHA256SUMS")).unwrap();
    fs::write(&log, good["acme/widgets/events.1.log"].replace("\"root_pr\":123", "\"root_pr\":122")).unwrap();
    layout::read(&dir).expect("who changes it by hand says so");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_export_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let store = Sqlite::open(options(&dir.path().join("state"))).await.unwrap();
    let lease = store.acquire(request(REPO, "a", at(0))).await.unwrap();
    let broken = Snapshot { next_seq: 1, taken_at: at(0), data: "no JSON".to_owned() };
    store.compact(&lease, broken).await.unwrap();
    let refused = layout::export(&store, &dir.path().join("out")).await;
    assert!(matches!(refused, Err(Error::Store(store::Error::Corrupt { .. }))), "{refused:?}");
    let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, ["state"]);
}
