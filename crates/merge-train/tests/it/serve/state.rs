//! `merge-train state`: out of one database, into another, and never half.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

use crate::serve::runs::{Place, agent, becomes, create, step};
use crate::support::{Database, Sender, Setup, comment, pull_request};

const REPOS: [&str; 2] = ["acme/widgets", "Globex/Gadgets"];

/// A daemon's state, with some history, compacted whenever so many events have gathered.
async fn with_history(dir: &Path, compact_after: u32) -> Setup {
    let setup = Setup::new(dir).more(&format!("[housekeeping]\ncompact_after_events = {compact_after}\n"));
    let daemon = setup.start().await;
    let sender = Sender::to(&daemon.url);
    for number in 1..=40 {
        for repo in REPOS {
            let mut opened = pull_request(repo, number, "opened", number, number);
            if number > 1 {
                opened["pull_request"]["base"]["ref"] = format!("feature-{}", number - 1).into();
            }
            let response = sender.send("pull_request", &format!("o-{number}"), &opened).await.expect("an answer");
            assert_eq!(response.status(), 202);
            let declared = format!("@merge-train predecessor #{}", number - 1);
            let said = comment(repo, number, 1000 + number, "created", &declared, "2026-01-01T00:00:00Z");
            sender.send("issue_comment", &format!("c-{number}"), &said).await.expect("an answer");
        }
    }
    Database::Sqlite.settled(&setup).await;
    assert!(daemon.stop().await.success());
    setup
}

async fn run(setup: &Setup, words: &[&str]) -> Output {
    setup.command(words).output().await.expect("it runs")
}

async fn succeed(setup: &Setup, words: &[&str]) -> String {
    let output = run(setup, words).await;
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a name")
}

/// Every file below a folder, with its content.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(dir).expect("below").to_str().expect("a name").to_owned();
                all.insert(name, std::fs::read(&path).expect("a file"));
            }
        }
    }
    all
}

/// What an import adds to each repository.
const LOOK: &str = r#""type":"sync_requested","reason":"behind""#;

fn without_the_look(files: BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    let is_about_the_state = |name: &String| !name.ends_with("SHA256SUMS");
    let own = |(name, bytes): (String, Vec<u8>)| {
        if !name.ends_with(".log") {
            return (name, bytes);
        }
        let text = String::from_utf8(bytes).expect("text");
        let lines: Vec<&str> = text.lines().filter(|line| !line.contains(LOOK)).collect();
        (name, lines.join("\n").into_bytes())
    };
    files.into_iter().filter(|(name, _)| is_about_the_state(name)).map(own).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_comes_back_the_same_through_the_other_database() {
    let dir = tempfile::tempdir().expect("a folder");
    let setup = with_history(dir.path(), 60).await;
    let (first, second) = (dir.path().join("first"), dir.path().join("second"));
    succeed(&setup, &["state", "export", text(&first)]).await;

    let other = tempfile::tempdir().expect("a folder");
    let postgres = Setup::new(other.path()).database(Database::postgres().await);
    let told = succeed(&postgres, &["state", "import", text(&first)]).await;
    assert!(told.contains("imported 2 streams"), "{told}");
    succeed(&postgres, &["state", "export", text(&second)]).await;
    let exported = files(&first);
    assert!(exported.contains_key("acme/widgets/generation"), "{:?}", exported.keys());
    assert_eq!(without_the_look(files(&first)), without_the_look(files(&second)));
    let log = files(&second).into_iter().find(|(name, _)| name.starts_with("acme/widgets/events.")).expect("a log").1;
    let log = String::from_utf8(log).expect("text");
    let last = log.lines().last().expect("a line");
    assert!(last.contains(LOOK), "an import asks for a look at what GitHub has by now: {last}");

    // The state that a daemon goes on from is the same as well.
    let before = succeed(&setup, &["state", "inspect", "--json"]).await;
    let after = succeed(&postgres, &["state", "inspect", "--json"]).await;
    let prs = |json: &str| {
        let seen: serde_json::Value = serde_json::from_str(json).expect("JSON");
        seen.as_array().expect("a list").iter().map(|stream| stream["prs"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(prs(&before), prs(&after));
    assert_eq!(prs(&before)[0].as_object().expect("pull requests").len(), 40);
    let of_files = succeed(&setup, &["state", "inspect", text(&first), "--json"]).await;
    assert_eq!(prs(&before), prs(&of_files));
    let again = run(&postgres, &["state", "import", text(&first)]).await;
    assert!(!again.status.success(), "what is there is not overwritten");
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_replays_everything_and_notices_what_does_not_fit() {
    let dir = tempfile::tempdir().expect("a folder");
    let setup = with_history(dir.path(), 60).await;
    let told = succeed(&setup, &["state", "verify"]).await;
    assert!(!told.contains("generation 0"), "they were compacted: {told}");
    assert_eq!(told.matches("ok    repo:").count(), 2, "{told}");

    // Somebody meddles with the newest snapshot.
    let file = setup.state_dir().join("merge-train.sqlite");
    let url = format!("sqlite://{}", file.display());
    let mut connection = <sqlx::SqliteConnection as sqlx::Connection>::connect(&url).await.expect("the database opens");
    let meddled =
        "UPDATE snapshots SET data = replace(data, '\"feature-7\"', '\"feature-8\"'), checksum = NULL WHERE stream = 'repo:acme/widgets'
                   AND generation = (SELECT max(generation) FROM snapshots WHERE stream = 'repo:acme/widgets')";
    let changed = sqlx::query(meddled).execute(&mut connection).await.expect("an update").rows_affected();
    assert_eq!(changed, 1);
    let output = run(&setup, &["state", "verify"]).await;
    assert!(!output.status.success());
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let difference = r#"/prs/7/head_ref: the events say "feature-7", the state says "feature-8""#;
    assert!(told.contains("WRONG repo:acme/widgets") && told.contains(difference), "{told}");
    assert!(told.contains("ok    repo:globex/gadgets"), "{told}");

    // A snapshot that does not match its checksum is not even compared.
    let flipped = "UPDATE snapshots SET checksum = 1 WHERE stream = 'repo:acme/widgets'";
    sqlx::query(flipped).execute(&mut connection).await.expect("an update");
    let told = String::from_utf8_lossy(&run(&setup, &["state", "verify"]).await.stdout).into_owned();
    assert!(told.contains("WRONG repo:acme/widgets") && told.contains("does not match its checksum"), "{told}");
    assert!(told.contains(text(&file)) && told.contains("ok    repo:globex/gadgets"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_notices_a_run_that_is_shown_as_something_else() {
    let place = Place::new(|dir| {
        format!("[[workflows]]\nname = \"work\"\n{}", agent(dir, "do", "echo '{}'"))
            + &step("ok", "kind = \"approval\"")
    });
    let daemon = place.setup.start().await;
    let id = create(&daemon, "work").await;
    becomes(&daemon, &id, "awaiting_approval").await;
    let told = succeed(&place.setup, &["state", "verify"]).await;
    assert!(told.contains(&format!("ok    run:{id}: ")), "{told}");
    let url = format!("sqlite://{}", place.setup.state_dir().join("merge-train.sqlite").display());
    let mut connection = <sqlx::SqliteConnection as sqlx::Connection>::connect(&url).await.expect("the database opens");
    let meddled = "UPDATE runs SET data = json_set(data, '$.status', 'completed')";
    sqlx::query(meddled).execute(&mut connection).await.expect("an update");
    let output = run(&place.setup, &["state", "verify"]).await;
    assert!(!output.status.success());
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let difference = r#"/status: the events say "awaiting_approval", the state says "completed""#;
    assert!(told.contains(&format!("WRONG run:{id}: ")) && told.contains(difference), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_torn_last_line_is_cut_and_any_other_damage_stops_the_import() {
    let dir = tempfile::tempdir().expect("a folder");
    let setup = with_history(dir.path(), 100_000).await;
    let export = dir.path().join("export");
    succeed(&setup, &["state", "export", text(&export)]).await;
    let log = std::fs::read_dir(export.join("acme/widgets"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("events.")))
        .expect("a log");
    let good = std::fs::read(&log).expect("a log");
    assert!(good.iter().filter(|byte| **byte == b'\n').count() > 3, "there is something to damage");
    let import = async || {
        let target = tempfile::tempdir().expect("a folder");
        let fresh = Setup::new(target.path());
        let output = run(&fresh, &["state", "import", text(&export)]).await;
        let streams = run(&fresh, &["state", "inspect", "--json"]).await.stdout;
        let streams =
            serde_json::from_slice::<serde_json::Value>(&streams).expect("JSON").as_array().map_or(0, Vec::len);
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned(), streams)
    };

    std::fs::write(&log, &good[..good.len() - 9]).expect("written");
    let (succeeded, told, streams) = import().await;
    assert!(!succeeded && told.contains("not what was exported") && told.contains(text(&log)), "{told}");
    assert_eq!(streams, 0);
    // Without the sums it could be anything that stopped in the middle of a line.
    std::fs::remove_file(export.join("SHA256SUMS")).expect("it is there");
    let (succeeded, told, streams) = import().await;
    assert!(succeeded && told.contains("warning") && told.contains("events."), "{told}");
    assert_eq!(streams, 2);

    let second = good.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
    let mut damaged = good.clone();
    damaged[second + 3] = b'!';
    std::fs::write(&log, &damaged).expect("written");
    let (succeeded, told, streams) = import().await;
    assert!(!succeeded && told.contains("line 2") && told.contains(text(&log)), "{told}");
    assert_eq!(streams, 0, "nothing of the other repository either");
}
