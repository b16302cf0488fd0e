use github::Error;
use merge_train_core::ids::PrNumber;

use super::{FIRST, World, remark, review};

#[tokio::test]
async fn what_reviewers_want_is_read_with_their_words() {
    let world = World::new().await;
    let repo = world.repo("widgets", 1).await;
    let mona = world.person("mona", repo.id()).await;
    let comment = remark(&mona, &repo, "why?").await;
    let token = world.client.token_for(repo.id()).await.expect("a token");
    let bot = world.octocat.with_token("merge-train[bot]", token.expose());
    let replies = format!("/repos/{}/pulls/1/comments/{comment}/replies", repo.id());
    bot.call("POST", &replies, serde_json::json!({ "body": "It is being mended." })).await;
    review(&mona, &repo, "REQUEST_CHANGES", "Add a test.").await;
    review(&world.octocat, &repo, "COMMENT", "I will.").await;
    let wishes = repo.wishes(FIRST).await.expect("an answer");
    assert_eq!(wishes.title, "Change 1");
    let [thread] = wishes.threads.as_slice() else { panic!("{wishes:?}") };
    assert_eq!((thread.path.as_str(), thread.line), ("change-1.txt", Some(1)));
    assert_eq!(thread.comments.iter().map(|comment| comment.body.as_str()).collect::<Vec<_>>(), ["why?"]);
    let [wish] = wishes.reviews.as_slice() else { panic!("{wishes:?}") };
    assert_eq!((wish.login.as_str(), wish.body.as_str()), ("mona", "Add a test."));
    let points = repo.talk(&[FIRST]).await.expect("an answer").remove(0).1.detail.expect("a close look").points;
    let mut same = vec![(thread.id.clone(), thread.said_at().expect("a time")), (wish.id.clone(), wish.said_at)];
    same.sort();
    assert_eq!(points.into_iter().map(|point| (point.id, point.said_at)).collect::<Vec<_>>(), same);
    assert!(matches!(repo.wishes(PrNumber::new(77)).await, Err(Error::NotFound { .. })));
    world.stop().await;
}
