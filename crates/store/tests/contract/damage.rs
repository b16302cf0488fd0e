//! A database that something else than merge-train changed: refused with a reason, or read exactly as it was written.

use std::fs;
use std::path::{Path, PathBuf};

use store::{Batch, Error, Lease, NewEvent, Since, Snapshot, Sqlite, Store};

use crate::support::*;

const REPO: &str = "repo:acme/widgets";
const OTHER: &str = "repo:globex/gadgets";

async fn refusal(store: &dyn Store, on: &str, since: Since) -> String {
    store.load(&stream(on), since).await.unwrap_err().to_string()
}

/// Two repositories with events, a snapshot between them, and something that came in.
async fn fill(store: &dyn Store) -> Lease {
    let mut leases = Vec::new();
    for on in [REPO, OTHER] {
        let lease = store.acquire(request(on, "a", at(0))).await.unwrap();
        store.append(&lease, batch(1, ["one", "two"], at(1))).await.unwrap();
        let snapshot = Snapshot { next_seq: 3, taken_at: at(2), data: r#"{"state":1}"#.to_owned() };
        store.compact(&lease, snapshot).await.unwrap();
        store.append(&lease, batch(3, ["three", "four"], at(3))).await.unwrap();
        store.admit(arrival("github:1", on, at(4))).await.unwrap();
        leases.push(lease);
    }
    leases.remove(0)
}

pub async fn an_event_that_changed_is_refused_and_other_streams_go_on(world: World) {
    fill(&*world.store).await;
    let changed = world
        .meddle(r#"UPDATE events SET data = '{"type":"foul"}' WHERE stream = 'repo:acme/widgets' AND seq = 4"#)
        .await;
    assert_eq!(changed, 1);
    let told = refusal(&*world.store, REPO, Since::Newest).await;
    assert!(told.contains("event 4 of repo:acme/widgets does not match its checksum"), "{told}");
    assert!(world.store.history(&stream(REPO), None, 10).await.is_err());
    assert_eq!(world.load(OTHER).await.events.len(), 2);
    world.meddle("UPDATE events SET ts = ts + 1 WHERE stream = 'repo:globex/gadgets' AND seq = 3").await;
    assert!(refusal(&*world.store, OTHER, Since::Newest).await.contains("event 3"));
}

pub async fn a_snapshot_that_changed_is_refused(world: World) {
    fill(&*world.store).await;
    world.meddle("UPDATE snapshots SET data = '{\"state\":2}' WHERE stream = 'repo:acme/widgets'").await;
    let told = refusal(&*world.store, REPO, Since::Newest).await;
    assert!(told.contains("the snapshot of repo:acme/widgets, generation 1, does not match its checksum"), "{told}");
    let from_the_first = world.store.load(&stream(REPO), Since::Oldest).await.unwrap();
    assert_eq!(from_the_first.events.len(), 4, "its events are as they were");
}

pub async fn a_missing_event_or_snapshot_is_noticed(world: World) {
    fill(&*world.store).await;
    world.meddle("DELETE FROM events WHERE stream = 'repo:acme/widgets' AND seq = 4").await;
    let told = refusal(&*world.store, REPO, Since::Newest).await;
    assert!(told.contains("repo:acme/widgets should have the events 3 to 4, and has others"), "{told}");
    world.meddle("DELETE FROM snapshots WHERE stream = 'repo:globex/gadgets'").await;
    let told = refusal(&*world.store, OTHER, Since::Newest).await;
    assert!(told.contains("the snapshot of repo:globex/gadgets, generation 1, is missing"), "{told}");
    world.meddle("UPDATE streams SET next_seq = 4 WHERE stream = 'repo:acme/widgets'").await;
    assert!(refusal(&*world.store, REPO, Since::Newest).await.contains("the row of repo:acme/widgets does not match"));
    assert!(world.store.streams(None).await.is_err());
}

pub async fn what_came_in_and_changed_is_refused(world: World) {
    let lease = fill(&*world.store).await;
    let label = "UPDATE inbox SET label = 'pull_request' WHERE stream = 'repo:acme/widgets'";
    assert_eq!(world.meddle(label).await, 1);
    let told = world.store.take(&lease, ALL).await.unwrap_err().to_string();
    assert!(told.contains("what came in for repo:acme/widgets as github:1 does not match its checksum"), "{told}");
    assert!(world.store.unsettled(&stream(REPO), None, ALL).await.is_err());
    assert_eq!(world.store.unsettled(&stream(OTHER), None, ALL).await.unwrap().len(), 1);
    assert_eq!(world.meddle("DELETE FROM bodies").await, 2);
    let told = world.store.unsettled(&stream(OTHER), None, ALL).await.unwrap_err().to_string();
    assert!(told.contains("the body of github:1 for repo:globex/gadgets is missing"), "{told}");
}

pub async fn a_retried_delivery_matches_its_checksum(world: World) {
    let lease = fill(&*world.store).await;
    let entries = world.take(&lease).await;
    world.settle(&lease, &entries, failed("not now"), at(5)).await.unwrap();
    world.admit("github:1", REPO, at(60)).await;
    assert_eq!(keys(&world.take(&lease).await), ["github:1"]);
}

pub async fn a_row_without_a_checksum_is_believed(world: World) {
    let lease = fill(&*world.store).await;
    for statement in [
        "UPDATE streams SET checksum = NULL",
        "UPDATE events SET checksum = NULL",
        "UPDATE snapshots SET checksum = NULL",
        "UPDATE bodies SET checksum = NULL",
    ] {
        assert!(world.meddle(statement).await > 0);
    }
    assert_eq!(world.load(REPO).await.events.len(), 2);
    assert_eq!(world.take(&lease).await.len(), 1);
    // The next write gives its row one.
    world.append(&lease, 5, ["five"], at(6)).await;
    assert_eq!(world.meddle("UPDATE streams SET next_seq = next_seq WHERE checksum IS NOT NULL").await, 1);
}

// ── The file ──

/// A database such as a daemon leaves: rows that fill several pages, and some that are small.
async fn large(dir: &Path) -> Sqlite {
    let store = Sqlite::open(options(dir)).await.unwrap();
    for (number, on) in [REPO, OTHER, "repo:acme/third"].into_iter().enumerate() {
        let lease = store.acquire(request(on, "a", at(0))).await.unwrap();
        let event = |seq: usize| NewEvent {
            ts: at(seq as i64),
            data: format!(r#"{{"type":"x","text":"{}"}}"#, "event ".repeat(10 + seq * 7 % 300)),
        };
        let events = (0..60).map(event).collect();
        store.append(&lease, Batch { events, ..batch(1, [], at(1)) }).await.unwrap();
        let data = format!(r#"{{"state":"{}"}}"#, "pull request ".repeat(2500));
        store.compact(&lease, Snapshot { next_seq: 61, taken_at: at(2), data }).await.unwrap();
        store.append(&lease, Batch { events: (0..20).map(event).collect(), ..batch(61, [], at(3)) }).await.unwrap();
        for entry in 0..20 {
            store.admit(arrival(&format!("github:{number}-{entry}"), on, at(entry))).await.unwrap();
        }
        let settled = store.take(&lease, store::TakeLimit { entries: 10, bytes: usize::MAX }).await.unwrap();
        let settled = settled.iter().map(|it| store::Settlement { entry: it.id, outcome: done() }).collect();
        let wake_at = Some(at(100));
        store.append(&lease, Batch { settled, wake_at, ..batch(81, [], at(4)) }).await.unwrap();
        store.release(&lease, wake_at).await.unwrap();
    }
    store
}

/// All that a daemon goes on from.
async fn contents(store: &dyn Store) -> store::Result<String> {
    let mut told = String::new();
    for info in store.streams(None).await? {
        let mut waiting = store.unsettled(&info.stream, None, ALL).await?;
        // How often something was tried is not protected: it decides nothing but when it is given up.
        waiting.iter_mut().for_each(|entry| entry.attempts = 0);
        for since in [Since::Newest, Since::Oldest] {
            told += &format!("{:?}\n", store.load(&info.stream, since).await?);
        }
        told += &format!("{info:?} {waiting:?}\n");
    }
    Ok(told + &format!("{:?}", store.waiting(at(1000), 100).await?))
}

/// What a store says that is opened on these files.
async fn reopened(dir: &Path) -> store::Result<String> {
    let store = Sqlite::open(options(dir)).await?;
    let contents = contents(&store).await;
    store.close().await;
    contents
}

/// The files of a state directory, to be spoilt again and again.
struct Copies {
    files: Vec<(PathBuf, Vec<u8>)>,
    dir: tempfile::TempDir,
}

impl Copies {
    fn of(dir: &Path) -> Self {
        let files = [SQLITE, "merge-train.sqlite-wal"].into_iter().filter_map(|name| {
            let content = fs::read(dir.join(name)).ok()?;
            Some((PathBuf::from(name), content))
        });
        Self { files: files.collect(), dir: tempfile::tempdir().unwrap() }
    }

    /// A directory in which one file was changed.
    fn spoilt(&self, name: &str, spoil: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
        let dir = self.dir.path().join("state");
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir(&dir).unwrap();
        let mut spoil = Some(spoil);
        for (file, content) in &self.files {
            let mut content = content.clone();
            if file == Path::new(name) {
                spoil.take().unwrap()(&mut content);
            }
            fs::write(dir.join(file), content).unwrap();
        }
        assert!(spoil.is_none(), "{name} is there");
        dir
    }

    fn len(&self, name: &str) -> usize {
        self.files.iter().find(|(file, _)| file == Path::new(name)).unwrap().1.len()
    }
}

/// The same numbers in every run, whatever they are.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

fn expect_clear(error: &Error, what: &str) {
    let told = error.to_string();
    match error {
        Error::Damaged { file, .. } => {
            assert!(file.to_string_lossy().contains(SQLITE), "{what}: {told}");
            assert!(told.contains("is damaged: ") && told.contains("`merge-train state import`"), "{what}: {told}");
        }
        // The number of a migration was hit.
        Error::NewerSchema { .. } => {}
        // The byte in the header that forbids to write.
        Error::Unavailable { reason, .. } if reason.contains("read-only") => {}
        other => panic!("{what}: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_bit_is_refused_or_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = large(dir.path()).await;
    let written = contents(&store).await.unwrap();
    store.close().await;
    let copies = Copies::of(dir.path());
    let size = copies.len(SQLITE);
    let mut dice = Dice(1);
    let (mut refused, mut unharmed) = (0, 0);
    // The header of the file, and then anywhere.
    let places = (0..100).map(Some).chain(std::iter::repeat_n(None, 250));
    for place in places {
        let (byte, bit) = (place.unwrap_or_else(|| dice.below(size)), dice.below(8));
        let what = format!("bit {bit} of byte {byte} in {size}");
        match reopened(&copies.spoilt(SQLITE, |content| content[byte] ^= 1 << bit)).await {
            Ok(read) => {
                assert!(read == written, "{what}: another state was read");
                unharmed += 1;
            }
            Err(error) => {
                expect_clear(&error, &what);
                refused += 1;
            }
        }
    }
    println!("{refused} refused, {unharmed} without harm");
    assert!(refused > 100, "much of the file says something: {refused} refused, {unharmed} not");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_bit_in_an_index_hides_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = large(dir.path()).await;
    let written = contents(&store).await.unwrap();
    store.close().await;
    let mut conn = sqlite_file(dir.path()).await;
    let query = "SELECT rootpage FROM sqlite_schema WHERE name IN ('inbox_pending', 'streams_by_wake')";
    let pages: Vec<i64> = sqlx::query_scalar(query).fetch_all(&mut conn).await.unwrap();
    sqlx::Connection::close(conn).await.unwrap();
    assert_eq!(pages.len(), 2);
    let copies = Copies::of(dir.path());
    let mut dice = Dice(4);
    let mut refused = 0;
    for page in pages {
        // What an index says grows from the end of its page.
        for place in 0..60 {
            let (byte, bit) = (usize::try_from(page).unwrap() * 4096 - 1 - place * 7, dice.below(8));
            match reopened(&copies.spoilt(SQLITE, |content| content[byte] ^= 1 << bit)).await {
                Ok(read) => assert!(read == written, "bit {bit} of byte {byte}: another state was read"),
                Err(error) => {
                    expect_clear(&error, "an index");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 40, "{refused} of 120");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = large(dir.path()).await;
    let written = contents(&store).await.unwrap();
    store.close().await;
    let copies = Copies::of(dir.path());
    let size = copies.len(SQLITE);
    let mut dice = Dice(2);
    let lengths = [0, 1, 99, 100, 512, 4096, size / 2 / 4096 * 4096, size - 4096, size - 1];
    let random: Vec<_> = (0..40).map(|_| dice.below(size)).collect();
    for length in lengths.into_iter().chain(random) {
        let what = format!("{length} bytes of {size}");
        match reopened(&copies.spoilt(SQLITE, |content| content.truncate(length))).await {
            // Of the last page, a byte that is zero.
            Ok(read) => assert!(length == size - 1 && read == written, "{what}: taken for whole"),
            Err(error) => expect_clear(&error, &what),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_was_damaged_in_its_middle_is_refused_and_one_that_was_cut_short_is_not() {
    const LOG: &str = "merge-train.sqlite-wal";
    let dir = tempfile::tempdir().unwrap();
    large(dir.path()).await.close().await;
    // A process that was killed leaves a log.
    let store = Sqlite::open(options(dir.path())).await.unwrap();
    let lease = store.acquire(request(REPO, "a", at(10))).await.unwrap();
    for seq in 81..100 {
        store.append(&lease, batch(seq, ["more"], at(11))).await.unwrap();
    }
    let before = reopened(&Copies::of(dir.path()).spoilt(SQLITE, |_| {})).await.unwrap();
    store.append(&lease, batch(100, ["last"], at(12))).await.unwrap();
    let copies = Copies::of(dir.path());
    let written = reopened(&copies.spoilt(LOG, |_| {})).await.unwrap();
    assert_ne!(before, written);
    let size = copies.len(LOG);
    let mut dice = Dice(3);
    let mut refused = 0;
    for place in 0..120 {
        let (byte, bit) = (if place < 32 { place } else { dice.below(size) }, dice.below(8));
        let what = format!("bit {bit} of byte {byte} in {size} of the log");
        match reopened(&copies.spoilt(LOG, |content| content[byte] ^= 1 << bit)).await {
            Ok(read) => assert!(read == written || read == before, "{what}: another state was read"),
            Err(error) => {
                expect_clear(&error, &what);
                refused += 1;
            }
        }
    }
    assert!(refused > 60, "{refused}");
    // What is in the database already was synchronised before, the last commit as well.
    let mut other = sqlite_file(dir.path()).await;
    sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").execute(&mut other).await.unwrap();
    let settled = Copies::of(dir.path());
    for place in 0..60 {
        let (byte, bit) = (size - 1 - place * 137, dice.below(8));
        let what = format!("bit {bit} of byte {byte} in {size} of the log");
        match reopened(&settled.spoilt(LOG, |content| content[byte] ^= 1 << bit)).await {
            Ok(read) => assert!(read == written, "{what}: another state was read"),
            Err(error) => expect_clear(&error, &what),
        }
    }
    // The last commit was under way, and nobody was told that it is there.
    let cut = reopened(&copies.spoilt(LOG, |content| content.truncate(size - 100))).await.unwrap();
    assert!(cut == before);
    store.close().await;
}
