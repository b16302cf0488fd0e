//! A train is a run, too.

use super::*;
use crate::serve::trains_api::yard::Yard;
use crate::support::REPO;

#[tokio::test(flavor = "multi_thread")]
async fn a_train_is_listed_shown_watched_and_stopped_as_a_run() {
    let yard = Yard::new(2, |setup| setup).await;
    yard.require_check().await;
    yard.start().await;
    yard.becomes("waiting_ci").await;
    let say = async |words: &[&str]| {
        Said::of(asking(&yard.world.setup, &yard.daemon.url, words).output().await.expect("it runs"))
    };
    let list = say(&["list", "--type", "train", "--repo", REPO, "--json"]).await.json();
    let run = list["runs"][0]["id"].as_str().expect("a run").to_owned();
    assert_eq!(list["runs"].as_array().map(Vec::len), Some(1), "{list}");
    let told = say(&["show", &run]).await.done();
    let what = format!("what       train for {REPO}#{}", yard.root());
    for expected in [&*what, "waits for  ", "who        ", "then       ", "to check again now\n"] {
        assert!(told.contains(expected), "{expected} is not in:\n{told}");
    }
    let watcher = asking(&yard.world.setup, &yard.daemon.url, &["watch", &run]).spawn().expect("it starts");
    let stopped = say(&["cancel", &run, "--reason", "enough"]).await;
    assert_eq!(stopped.code, Some(0), "{}", stopped.err);
    yard.becomes("stopped").await;
    let said = Said::of(watcher.wait_with_output().await.expect("it ends"));
    assert_eq!(said.code, Some(2), "{}{}", said.out, said.err);
    assert!(
        said.out.contains(&format!("  the train of #{} starts at the request of api:all\n", yard.root())),
        "{}",
        said.out
    );
    assert!(said.out.contains("  the train was stopped at the request of api:all: enough\n"), "{}", said.out);
    let told = say(&["show", &run]).await.done();
    let anew = format!("  merge-train train start '{REPO}#{}'  to start over\n", yard.root());
    assert!(told.ends_with(&anew), "{told}");
    yard.close().await;
}
