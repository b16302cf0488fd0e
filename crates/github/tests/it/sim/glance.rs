use github::{Depth, Glances};
use merge_train_core::facts::{CheckConclusion, HeartbeatFacts};
use merge_train_core::ids::{PrNumber, RepoId};
use serde_json::{Value, json};

use super::{FIRST, World, remark};

fn places(glances: &[HeartbeatFacts]) -> Vec<(String, u64)> {
    glances.iter().map(|glance| (glance.repo.name().to_owned(), glance.merge.number.get())).collect()
}

#[tokio::test]
async fn pull_requests_of_several_repositories_are_seen_in_one_call() {
    let world = World::new().await;
    let (widgets, gadgets) = (world.repo("widgets", 2).await, world.repo("gadgets", 1).await);
    remark(&world.octocat, &gadgets, "why?").await;
    world
        .control("POST", "/repos/octocat/widgets/checks", json!({ "pull": 2, "name": "test", "conclusion": "failure" }))
        .await;
    let gone: RepoId = "octocat/gone".parse().expect("a repository");
    let wanted = [
        (gone, vec![FIRST]),
        (widgets.id().clone(), vec![PrNumber::new(2), PrNumber::new(77), FIRST]),
        (gadgets.id().clone(), vec![FIRST]),
    ];
    // So that only the looks themselves are counted.
    world.client.glance(&wanted, Depth::Brief).await.expect("an answer");
    for depth in [Depth::Brief, Depth::Thorough] {
        world.control("DELETE", "/calls", Value::Null).await;
        let seen = world.client.glance(&wanted, depth).await.expect("an answer").seen;
        let calls = world.control("GET", "/calls", Value::Null).await;
        assert_eq!(calls["calls"]["POST /graphql"], 1, "{calls}");
        assert_eq!(places(&seen), [("widgets".into(), 2), ("widgets".into(), 1), ("gadgets".into(), 1)]);
        let states = widgets.merge_states(&[PrNumber::new(2), FIRST]).await.expect("an answer");
        assert_eq!(seen.iter().take(2).map(|glance| glance.merge.clone()).collect::<Vec<_>>(), states.found);
        assert!(seen[0].merge.ci.checks.contains_key("test"));
        let talk = gadgets.talk(&[FIRST]).await.expect("an answer").remove(0).1;
        assert_eq!(seen[2].talk.overview, talk.overview);
        assert_eq!(seen[2].talk.detail, talk.detail.filter(|_| depth == Depth::Thorough));
    }
    world.stop().await;
}

#[tokio::test]
async fn a_failed_check_behind_a_hundred_that_passed_is_not_overlooked() {
    let world = World::new().await;
    let widgets = world.repo("widgets", 1).await;
    let check = |number: usize, conclusion: &str| json!({ "pull": 1, "name": format!("check {number}"), "conclusion": conclusion });
    for number in 0..100 {
        world.control("POST", "/repos/octocat/widgets/checks", check(number, "success")).await;
    }
    let ci = |glances: Glances| glances.seen[0].merge.ci.clone();
    let wanted = [(widgets.id().clone(), vec![FIRST])];
    let all = ci(world.client.glance(&wanted, Depth::Brief).await.expect("an answer"));
    assert_eq!((all.checks.len(), all.overall), (100, None));
    world.control("POST", "/repos/octocat/widgets/checks", check(100, "failure")).await;
    let more = ci(world.client.glance(&wanted, Depth::Brief).await.expect("an answer"));
    assert_eq!((more.checks.len(), more.overall), (100, Some(CheckConclusion::Failed)));
    world.stop().await;
}

#[tokio::test]
async fn all_of_an_owner_that_is_gone_is_nothing_and_no_error() {
    let world = World::new().await;
    let gone: RepoId = "octocat/gone".parse().expect("a repository");
    assert_eq!(world.client.glance(&[(gone, vec![FIRST])], Depth::Brief).await.expect("an answer"), Glances::default());
    assert_eq!(world.client.glance(&[], Depth::Thorough).await.expect("an answer"), Glances::default());
    world.stop().await;
}
