//! Who may give which command, and the trail that every command leaves.

use serde_json::Value;

use crate::trains::support::{ADMIN, AUTHOR, MAINTAINER, STRANGER, Trains};

impl Trains {
    /// What is recorded of a command, once it is.
    async fn audited(&self, comment: u64) -> Value {
        self.until("the command is in the audit trail", async || {
            let all = self.events("command_handled").await;
            all.into_iter().find(|event| event["comment"]["id"].as_u64() == Some(comment))
        })
        .await
    }

    /// Gives a command, expects that nothing is done, and that it is said who may give it.
    async fn is_refused(&self, who: &str, pr: u64, command: &str, whom: &str) {
        let given = self.says(who, pr, &format!("@merge-train {command}")).await;
        let entry = self.audited(given).await;
        assert_eq!((&entry["outcome"], &entry["comment"]["pr"]), (&"refused".into(), &pr.into()), "{who}: {entry}");
        self.told(pr, &format!("Only {whom} can use `@merge-train {command}`, so nothing was done.")).await;
        assert!(!self.reactions(given).await.contains(&"+1".to_owned()), "{who} is not thanked for {command}");
    }

    /// Gives a command, and expects that it is done.
    async fn is_accepted(&self, who: &str, pr: u64, command: &str, permission: &str) {
        let given = self.says(who, pr, &format!("@merge-train {command}")).await;
        let entry = self.audited(given).await;
        assert_eq!((&entry["outcome"], &entry["permission"]), (&"done".into(), &permission.into()), "{who}: {entry}");
        assert!(entry["user"].is_u64() && entry["ts"].is_string() && entry["command"] == command, "{entry}");
        self.acknowledged(given).await;
    }
}

const THE_AUTHOR: &str = "the author of this pull request";
const AUTHOR_OR_MAINTAINER: &str = "the author of this pull request or an admin or maintainer of the repository";
const AN_ADMIN: &str = "an admin of the repository";

#[tokio::test(flavor = "multi_thread")]
async fn predecessor_is_for_the_author_alone() {
    let world = Trains::new().await;
    let one = world.open("one", "main").await;
    let two = world.open("two", "one").await;
    for who in [STRANGER, MAINTAINER, ADMIN] {
        world.is_refused(who, two, "predecessor #1", THE_AUTHOR).await;
    }
    assert!(world.state().await["prs"][two.to_string()]["predecessor"].is_null());
    world.is_accepted(AUTHOR, two, &format!("predecessor #{one}"), "author").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn start_is_for_the_author_alone() {
    let world = Trains::new().await;
    let [one] = world.stack([("one", "main")]).await;
    for who in [STRANGER, MAINTAINER, ADMIN] {
        world.is_refused(who, one, "start", THE_AUTHOR).await;
    }
    assert!(world.train(one).await.is_null());
    world.is_accepted(AUTHOR, one, "start", "author").await;
    world.landed(&[one]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_is_for_the_author() {
    let world = Trains::new().await;
    let [one] = world.waiting([("one", "main")]).await;
    world.is_refused(STRANGER, one, "stop", AUTHOR_OR_MAINTAINER).await;
    assert_eq!(world.train(one).await["state"], "waiting_ci");
    world.is_accepted(AUTHOR, one, "stop", "author").await;
    world.becomes(one, "stopped").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_is_for_maintainers() {
    let world = Trains::new().await;
    let [one] = world.waiting([("one", "main")]).await;
    world.is_accepted(MAINTAINER, one, "stop", "maintain").await;
    world.becomes(one, "stopped").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_is_for_admins() {
    let world = Trains::new().await;
    let [one] = world.waiting([("one", "main")]).await;
    world.is_accepted(ADMIN, one, "stop", "admin").await;
    world.becomes(one, "stopped").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forced_stop_is_for_admins_alone() {
    let world = Trains::new().await;
    let [one] = world.waiting([("one", "main")]).await;
    for who in [STRANGER, AUTHOR, MAINTAINER] {
        world.is_refused(who, one, "stop --force", AN_ADMIN).await;
    }
    assert_eq!(world.train(one).await["state"], "waiting_ci");
    world.is_accepted(ADMIN, one, "stop --force", "admin").await;
    world.told(one, "Train forcibly stopped by admin").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_who_may_only_write_cannot_stop_the_train_of_another() {
    let world = Trains::new().await;
    world.set_permission(STRANGER, "push").await;
    let [one] = world.waiting([("one", "main")]).await;
    world.is_refused(STRANGER, one, "stop", AUTHOR_OR_MAINTAINER).await;
    assert_eq!(world.train(one).await["state"], "waiting_ci");
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn anybody_may_ask_for_help_a_plan_or_the_status() {
    let world = Trains::new().await;
    let [one] = world.stack([("one", "main")]).await;
    world.says(STRANGER, one, "@merge-train help").await;
    world.told(one, "`@merge-train predecessor #123`").await;
    world.says(STRANGER, one, "@merge-train plan").await;
    world.told(one, "**Merge Train Plan** for PR #1").await;
    world.says(STRANGER, one, "@merge-train status").await;
    world.told(one, "PR #1 is not in a merge train.").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bots_own_comments_command_nothing() {
    let world = Trains::new().await;
    let [one] = world.stack([("one", "main")]).await;
    // Its answer holds every command there is.
    world.says(AUTHOR, one, "@merge-train help").await;
    world.told(one, "`@merge-train start`").await;
    world.settled().await;
    assert!(world.train(one).await.is_null());
    assert_eq!(world.bot_comments(one).await.len(), 1);
    world.finish().await;
}
