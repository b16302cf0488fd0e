//! Each way to fail has its exit code and says what to do.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn wrong_words_are_told_which_are_right() {
    let place = workflows();
    let daemon = place.setup.start().await;
    for (words, word) in [
        (&["list", "--status", "done"][..], "awaiting_approval"),
        (&["list", "--limit", "0"], "--limit"),
        (&["list", "--limit", "5", "--all"], "--all"),
        (&["list", "--repo", "widgets"], "OWNER/NAME"),
        (&["show"], "<RUN>"),
        (&["show", "run/../../state"], "a run id"),
        (&["reject", "run-1"], "--reason"),
        (&["reject", "run-1", "--reason", ""], "--reason"),
        (&["start"], "<WORKFLOW>"),
        (&["start", "one", "-i", "pr"], "KEY=VALUE"),
        (&["start", "one", "--inputs", "[1]"], "must be a JSON object"),
        (&["start", "one", "--pr", "7"], "--repo"),
        (&["start", "one", "--repo", "acme/widgets", "--pr", "0"], "--pr"),
        (&["derail", "run-1"], "derail"),
    ] {
        let said = runs(&place, &daemon, words).await;
        assert_eq!(said.code, Some(2), "{words:?}: {}", said.err);
        assert!(said.err.contains(word), "{words:?}: {}", said.err);
    }
    let help = runs(&place, &daemon, &["watch", "--help"]).await.done();
    assert!(help.contains("Exit code 0: the run completed."), "{help}");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_daemon_refuses_is_told_in_its_words() {
    let place = workflows();
    let daemon = place.setup.start().await;
    let (done, alice) = (create(&daemon, "one").await, create(&daemon, "alice").await);
    becomes(&daemon, &done, "completed").await;
    becomes(&daemon, &alice, "awaiting_approval").await;
    let viewer = format!("{KEY} viewer");
    let missing = place.dir.path().join("missing.json");
    let missing = format!("@{}", missing.display());
    for (words, key, code, word) in [
        (
            vec!["start", "two", "--tenant", "acme"],
            KEY,
            1,
            "there is no workflow \"two\"; configured: alice, ask, both",
        ),
        (vec!["start", "one"], KEY, 1, "the API key is for all tenants: name a repo or a tenant"),
        (vec!["start", "one", "--tenant", "acme", "-i", "pr=x"], KEY, 1, "the inputs do not fit the workflow \"one\""),
        (vec!["start", "one", "--tenant", "acme", "--inputs", &missing], KEY, 1, "missing.json cannot be read"),
        (vec!["approve", &done], KEY, 1, "the run is already completed"),
        (vec!["approve", &alice], KEY, 1, "api:all may not decide this; these may: alice"),
        (vec!["cancel", &alice], &viewer, 1, "this needs the role \"operator\""),
        (vec!["list"], "", 1, "no API key: set MERGE_TRAIN_API_KEY"),
        (vec!["list"], "wrong", 1, "refused the API key"),
        (vec!["watch", &done], "wrong", 1, "refused the API key"),
        (vec!["list", "--server", "http://127.0.0.1:9"], KEY, 1, "cannot reach the daemon at http://127.0.0.1:9"),
        (vec!["watch", &done, "--server", "http://127.0.0.1:9"], KEY, 1, "cannot reach the daemon"),
    ] {
        let mut command = asking(&place.setup, &daemon.url, &words);
        let said = Said::of(command.env("MERGE_TRAIN_API_KEY", key).output().await.expect("it runs"));
        assert_eq!((said.code, said.out.as_str()), (Some(code), ""), "{words:?}: {}", said.err);
        assert!(said.err.starts_with("error: ") && said.err.contains(word), "{words:?}: {}", said.err);
        assert!(!said.err.contains(KEY), "{words:?}: {}", said.err);
    }
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_named_by_as_much_of_its_id_as_tells_it_from_others() {
    let place = workflows();
    let daemon = place.setup.start().await;
    let (first, second) = (create(&daemon, "ask").await, create(&daemon, "alice").await);
    for run in [&first, &second] {
        becomes(&daemon, run, "awaiting_approval").await;
    }
    let shared = first.bytes().zip(second.bytes()).take_while(|(one, other)| one == other).count();
    let enough = &first[..=shared];
    assert_eq!(runs(&place, &daemon, &["show", enough, "--json"]).await.json()["id"], json!(first));
    for verb in ["show", "watch", "approve", "cancel", "resume"] {
        let said = runs(&place, &daemon, &[verb, &first[..shared]]).await;
        assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{verb}: {}", said.err);
        let begins = format!("error: 2 of the newest runs have an id that begins with {}; give more", &first[..shared]);
        assert!(said.err.starts_with(&begins), "{verb}: {}", said.err);
        assert!(said.err.contains(&format!("\n{first}  ask ")) && said.err.contains(&format!("\n{second}  alice ")));
        let said = runs(&place, &daemon, &[verb, "run-x"]).await;
        let nothing = "error: there is no run run-x, and none of the newest 200 has an id that begins with it\n";
        assert_eq!((said.code, said.err.as_str()), (Some(3), nothing), "{verb}");
    }
    let stranger = format!("{KEY} stranger");
    let said = runs(&place, &daemon, &["show", &first, "--key", &stranger]).await;
    assert_eq!(said.code, Some(3), "another tenant's is not there: {}", said.err);
    let approved = runs(&place, &daemon, &["approve", enough, "--json"]).await.json();
    assert_eq!(approved["run"]["id"], json!(first));
    assert!(daemon.stop().await.success());
}
