//! Stories in which a change was lost, brought back or landed by the wrong pull request, each seen to happen.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};

use super::{BOTH, shared};
use crate::trains::support::outage::Call;
use crate::trains::support::{ADMIN, AUTHOR, Change, Checkout, MAIN, Rules, Trains};

const ONE: Change<'_> = ("one.txt", Some("mine\n"));
const TWO: Change<'_> = ("two.txt", Some("mine\n"));
const SECRET: Change<'_> = ("secret.env", Some("TOKEN=hunter2\n"));
const DELETING: &str = "[behavior]\ndelete_branches = true\n";

impl Trains {
    /// Waits until all of these have landed, or every train has come to a halt.
    async fn at_rest(&self, all: &[u64]) {
        self.until("all have landed, or a train is at a halt", async || {
            let state = self.state().await;
            let mut trains = state["active_trains"].as_object().into_iter().flatten();
            if trains.any(|(_, train)| train["state"] == "running") {
                return None;
            }
            let mut trains = state["active_trains"].as_object().into_iter().flatten();
            if trains.any(|(_, train)| train["state"] == "aborted" || train["state"] == "needs_manual_review") {
                return Some(());
            }
            for number in all {
                if !self.is_merged(*number).await {
                    return None;
                }
            }
            Some(())
        })
        .await;
    }

    /// The files of the default branch.
    async fn on_main(&self) -> BTreeMap<String, String> {
        let checkout = self.checkout(ADMIN).await;
        let mut files = BTreeMap::new();
        for path in checkout.sh("git ls-tree -r --name-only origin/main").await.lines() {
            files.insert(path.to_owned(), checkout.sh(&format!("git show 'origin/main:{path}'")).await);
        }
        files
    }

    async fn has_branch(&self, branch: &str) -> bool {
        self.ask(ADMIN, Method::GET, &format!("/git/ref/heads/{branch}"), Value::Null).await.0 == 200
    }
}

/// The author says the same once more, in other words, by force.
async fn amend(author: &Checkout, branch: &str, words: &str) {
    author.sh(&format!("git checkout -q {branch} && git commit -q --amend -m '{words}'")).await;
    author.sh(&format!("git push -q --force origin {branch}")).await;
}

/// The blocks of shell of a comment, as they are copied: whole.
fn blocks(comment: &str) -> Vec<String> {
    let parts = comment.split("```sh\n").skip(1);
    parts.filter_map(|part| part.split_once("\n```")).map(|(block, _)| block.to_owned()).collect()
}

// Files that git merges line by line, whatever both sides did.

const ATTRIBUTES: Change<'_> = (".gitattributes", Some("log.txt merge=union\n"));

/// #1 adds a line to the log, and #2 takes it away; then #1 adds another one below.
async fn a_line_is_taken_away(attributes_on_main: bool) {
    let world = Trains::new().await;
    if attributes_on_main {
        world.write(ADMIN, MAIN, ".gitattributes", "log.txt merge=union\n").await;
    }
    world.write(ADMIN, MAIN, "log.txt", "first\nsecond\n").await;
    let author = world.checkout(AUTHOR).await;
    author.branch("one", "main", &[ONE, ATTRIBUTES, ("log.txt", Some("first\nsecond\nsecret\n"))]).await;
    author.branch("two", "one", &[TWO, ("log.txt", Some("first\nsecond\n"))]).await;
    let one = world.propose("one", "main", None).await;
    let two = world.propose("two", "one", Some(one)).await;
    author.push("one", "One more", &[("log.txt", Some("first\nsecond\nsecret\nthird\n"))]).await;
    world.settled().await;
    let given = world.start(one).await;
    world
        .until("it is refused, or done", async || {
            let refused = world.notes(one).await.iter().any(|note| note.starts_with("Cannot start"));
            (refused || world.reactions(given).await.contains(&"+1".to_owned())).then_some(())
        })
        .await;
    if !world.notes(one).await.is_empty() {
        return world.finish_after_a_wrong_landing().await;
    }
    world.at_rest(&[one, two]).await;
    let log = world.on_main().await["log.txt"].clone();
    assert!(!world.is_merged(two).await || !log.contains("secret"), "#2 took it away, and it is on main: {log}");
    world.finish_after_a_wrong_landing().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_union_merge_does_not_bring_back_what_the_upper_one_deletes() {
    a_line_is_taken_away(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attributes_that_come_with_the_stack_do_not_bring_back_what_the_upper_one_deletes() {
    a_line_is_taken_away(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_union_merge_with_what_came_after_the_squash_does_not_bring_back_what_the_upper_one_deletes() {
    let world = Trains::new().await;
    world.write(ADMIN, MAIN, ".gitattributes", "log.txt merge=union\n").await;
    world.write(ADMIN, MAIN, "log.txt", "first\nsecond\n").await;
    let author = world.checkout(AUTHOR).await;
    author.branch("one", "main", &[ONE, ("log.txt", Some("first\nsecond\nsecret\n"))]).await;
    author.branch("two", "one", &[TWO, ("log.txt", Some("first\nsecond\n"))]).await;
    let one = world.propose("one", "main", None).await;
    let two = world.propose("two", "one", Some(one)).await;
    world.delay(Call::Push(1), 2500).await;
    world.start(one).await;
    world.struck().await;
    world.merged(one).await;
    world.write(ADMIN, MAIN, "log.txt", "first\nsecond\nsecret\nfrom elsewhere\n").await;
    world.at_rest(&[one, two]).await;
    let log = world.on_main().await["log.txt"].clone();
    assert!(!world.is_merged(two).await || !log.contains("secret"), "#2 took it away, and it is on main: {log}");
    world.finish_after_a_wrong_landing().await;
}

// The disk is lost, and somebody forces a branch.

async fn lose_everything(world: &mut Trains) {
    world.kill().await;
    world.lose_state();
}

async fn comes_back(world: &mut Trains) {
    world.forget_faults().await;
    world.restart().await;
}

/// Both landed exactly, or a train is at a halt.
async fn expect_both_or_a_halt(world: &Trains, all: &[u64]) {
    world.at_rest(all).await;
    if world.is_merged(all[1]).await {
        world.expect_main(&BOTH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_predecessor_amended_while_the_disk_was_lost_brings_nothing_back_that_was_deleted_of_it() {
    let mut world = Trains::polling().await;
    let (author, all) = world.one_brings_and_two_takes_back().await;
    world.hold(Call::Squash).await;
    world.start(all[0]).await;
    world.struck().await;
    lose_everything(&mut world).await;
    amend(&author, "one", "Say it better").await;
    comes_back(&mut world).await;
    expect_both_or_a_halt(&world, &all).await;
    world.finish_after_a_wrong_landing().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_predecessor_amended_before_the_disk_was_lost_brings_nothing_back_that_was_deleted_of_it() {
    let mut world = Trains::polling().await;
    let (author, all) = world.one_brings_and_two_takes_back().await;
    amend(&author, "one", "Say it better").await;
    world.settled().await;
    lose_everything(&mut world).await;
    comes_back(&mut world).await;
    world.settled().await;
    world.start(all[0]).await;
    expect_both_or_a_halt(&world, &all).await;
    world.finish_after_a_wrong_landing().await;
}

/// The status comment is written a second after the one before at the earliest.
async fn shows_who_is_left_out(world: &Trains, root: u64, left_out: u64) {
    world
        .until("the status comment shows who is left out", async || {
            (world.status(root).await?["left_out"] == json!([left_out])).then_some(())
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_left_out_while_a_train_waits_is_left_out_after_the_disk_is_lost() {
    let mut world = Trains::polling().await;
    world.protect(Rules { checks: &["ci"], ..Rules::default() }).await;
    world.ci_waits("ci").await;
    let (_, [one, two]) = world.one_brings_and_two_takes_back().await;
    world.start_and_wait_for_ci(one).await;
    world.retarget(two, "main").await;
    world.told(two, &format!("continues without PR #{two}.")).await;
    world.retarget(two, "one").await;
    world.told(two, "The current train continues without it").await;
    shows_who_is_left_out(&world, one, two).await;
    lose_everything(&mut world).await;
    comes_back(&mut world).await;
    world.ci_passes("ci").await;
    world.landed(&[one]).await;
    world.look().await;
    world.settled().await;
    assert!(!world.is_merged(two).await, "it landed after the bot had said twice that it will not");
    world.finish_after_a_wrong_landing().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_left_out_during_a_squash_is_left_out_after_the_disk_is_lost() {
    let mut world = Trains::polling().await;
    let (_, [one, two]) = world.one_brings_and_two_takes_back().await;
    world.hold(Call::Squash).await;
    world.start(one).await;
    world.struck().await;
    world.retarget(two, "main").await;
    world.told(two, &format!("continues without PR #{two}.")).await;
    world.retarget(two, "one").await;
    world.told(two, "The current train continues without it").await;
    shows_who_is_left_out(&world, one, two).await;
    lose_everything(&mut world).await;
    comes_back(&mut world).await;
    world.landed(&[one]).await;
    world.look().await;
    world.settled().await;
    assert!(!world.is_merged(two).await, "it landed after the bot had said twice that it will not");
    world.finish_after_a_wrong_landing().await;
}

// Advice.

/// #1 has landed, and somebody pushes to #2 inside the push that reconciles it. What the bot says is done, and started again.
async fn what_was_pushed_inside_lands(commands: &str, pushed: &[Change<'_>]) {
    let world = Trains::new().await;
    let (author, [one, two]) = world.one_brings_and_two_takes_back().await;
    author.branch("three", "two", &[("three.txt", Some("mine\n"))]).await;
    let three = world.propose("three", "two", Some(two)).await;
    author.sh("git checkout -q two").await;
    world.delay(Call::Push(1), 2500).await;
    world.start(one).await;
    world.struck().await;
    world.merged(one).await;
    author.sh(commands).await;
    world.becomes(one, "aborted").await;
    let told = world.told(two, "Nothing pushed to it is lost.").await;
    if !blocks(&told).is_empty() {
        world.follow(AUTHOR, &told, &[]).await;
    }
    world.settled().await;
    world.start(two).await;
    world
        .until("both have landed", async || (world.is_merged(two).await && world.is_merged(three).await).then_some(()))
        .await;
    let main = world.on_main().await;
    for (path, _) in pushed {
        assert!(main.contains_key(*path), "{path} was pushed to #2, which has landed, and is not on main: {main:?}");
    }
    world.finish_after_a_wrong_landing().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_advice_after_a_push_inside_the_reconciling_push_loses_nothing() {
    let push = "echo more > more.txt && git add -A && git commit -q -m 'One more' && git push -q origin two";
    what_was_pushed_inside_lands(push, &[("more.txt", Some("more\n"))]).await;
}

/// GitHub calls #3 merged then.
#[tokio::test(flavor = "multi_thread")]
async fn the_advice_after_a_collapse_inside_the_reconciling_push_loses_nothing() {
    let push = "git fetch -q origin && git merge -q --no-edit origin/three && git push -q origin two";
    what_was_pushed_inside_lands(push, &[("three.txt", Some("mine\n"))]).await;
}

/// #2 has two commits, of which the first conflicts with main; and the comment that says so.
async fn the_first_of_two_commits_conflicts(world: &Trains) -> String {
    let author = world.checkout(AUTHOR).await;
    author.branch("one", "main", &[ONE]).await;
    author.branch("two", "one", &[("shared.txt", Some(&shared(&[(40, "what two says")])))]).await;
    author.push("two", "Write more", &[TWO]).await;
    let one = world.propose("one", "main", None).await;
    let two = world.propose("two", "one", Some(one)).await;
    world.delay(Call::Squash, 2000).await;
    world.start(one).await;
    world.struck().await;
    world.change_line(MAIN, 40, "what main says").await;
    world.becomes(one, "aborted").await;
    world.told(two, "Cannot reconcile PR #2 with the squash of #1").await
}

/// Pastes what the bot gives into a shell that runs line by line, as a terminal does.
async fn paste(checkout: &Checkout, comment: &str) {
    for block in blocks(comment) {
        checkout.sh(&format!("bash <<'PASTED' || true\n{block}\nPASTED")).await;
    }
}

/// Nobody's work is off the branch, whatever became of the commands.
async fn expect_two_has_its_work(world: &Trains) {
    let files = world.checkout(AUTHOR).await.sh("git ls-tree -r --name-only origin/two").await;
    assert!(files.lines().any(|path| path == "two.txt"), "the branch of #2 has lost its commits; it has: {files}");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_are_pasted_as_a_whole_do_not_push_when_the_rebase_stops() {
    let world = Trains::new().await;
    let told = the_first_of_two_commits_conflicts(&world).await;
    paste(&world.checkout(AUTHOR).await, &told).await;
    expect_two_has_its_work(&world).await;
    world.finish_after_a_wrong_landing().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_are_pasted_as_a_whole_do_not_push_another_branch_when_the_checkout_fails() {
    let world = Trains::new().await;
    let told = the_first_of_two_commits_conflicts(&world).await;
    let checkout = world.checkout(AUTHOR).await;
    checkout.sh("echo notes > two.txt").await;
    paste(&checkout, &told).await;
    expect_two_has_its_work(&world).await;
    world.finish_after_a_wrong_landing().await;
}

/// #1 is closed because of what it brings. What the bot says on #2 is done.
#[tokio::test(flavor = "multi_thread")]
async fn the_advice_for_an_orphan_does_not_land_what_was_withdrawn_with_its_predecessor() {
    let world = Trains::new().await;
    let author = world.checkout(AUTHOR).await;
    author.branch("one", "main", &[SECRET]).await;
    author.branch("two", "one", &[TWO]).await;
    let one = world.propose("one", "main", None).await;
    let two = world.open_pull("two", "one", json!({})).await;
    let declaration = world.declares(two, one).await;
    world.acknowledged(declaration).await;
    world.close(one).await;
    world.told(two, "first move only the commits of PR #2 onto `main`").await;
    author
        .sh("git checkout -q two && git rebase -q --onto origin/main one two && git push -q --force origin two")
        .await;
    world.retarget(two, "main").await;
    world.deletes(AUTHOR, declaration).await;
    world.settled().await;
    let given = world.start(two).await;
    world.acknowledged(given).await;
    world.at_rest(&[two]).await;
    let main = world.on_main().await;
    assert!(!main.contains_key("secret.env"), "#1 was closed, and what it brought has landed: {main:?}");
    world.finish_after_a_wrong_landing().await;
}

// Branches that are more than the head of one pull request.

/// A pull request that brings the default branch into #1's branch, as people open it to update that.
#[tokio::test(flavor = "multi_thread")]
async fn the_default_branch_is_never_pushed_to_although_it_is_the_head_of_a_pull_request() {
    let world = Trains::new().await;
    let author = world.checkout(AUTHOR).await;
    author.branch("one", "main", &[ONE]).await;
    let one = world.propose("one", "main", None).await;
    world.commit_on_main("meanwhile.txt").await;
    let back = world.open_pull(MAIN, "one", json!({})).await;
    world.declares(back, one).await;
    world.settled().await;
    world.told(back, "cannot be part of a stack").await;
    let before = world.head(MAIN).await;
    world.hold(Call::Squash).await;
    world.start(one).await;
    // All that is prepared before a squash has been.
    world.struck().await;
    assert_eq!(world.head(MAIN).await, before, "the bot pushed to main");
    world.forget_faults().await;
    world.finish_after_a_wrong_landing().await;
}

/// #2 and #3 come from one branch: #2 is stacked on #1, and #3 goes to main.
async fn one_branch_two_pull_requests(world: &Trains) -> [u64; 3] {
    let author = world.checkout(AUTHOR).await;
    author.branch("one", "main", &[ONE]).await;
    author.branch("two", "main", &[TWO]).await;
    let one = world.propose("one", "main", None).await;
    let two = world.propose("two", "one", Some(one)).await;
    let three = world.propose("two", "main", None).await;
    world.hold(Call::Squash).await;
    world.start(one).await;
    world.struck().await;
    [one, two, three]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_prepared_into_a_branch_does_not_land_with_another_pull_request_of_it() {
    let world = Trains::new().await;
    let [one, _, three] = one_branch_two_pull_requests(&world).await;
    let given = world.start(three).await;
    world
        .until("the start of #3 is answered, and it is at rest", async || {
            let is_answered = world.reactions(given).await.contains(&"+1".to_owned());
            let is_refused = !world.notes(three).await.is_empty();
            let is_halted = world.train(three).await["state"] == "aborted";
            (is_refused || is_halted || is_answered && world.is_merged(three).await).then_some(())
        })
        .await;
    assert!(!world.is_merged(one).await, "#1 has not landed");
    let main = world.on_main().await;
    assert!(!main.contains_key("one.txt"), "#3 has landed the change of #1: {main:?}");
    world.forget_faults().await;
    world.finish_after_a_wrong_landing().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_somebody_pushed_to_after_the_landing_is_not_deleted() {
    let world = Trains::wish().config(DELETING).start().await;
    let (author, [one, two]) = world.one_brings_and_two_takes_back().await;
    // The first push relates #2 to the squash, the second deletes the branch.
    world.delay(Call::Push(2), 3000).await;
    world.start(one).await;
    world.struck().await;
    author.push("one", "Later work", &[("late.txt", Some("late\n"))]).await;
    world.landed(&[one, two]).await;
    world
        .until("the branch is left alone", async || {
            world.daemon().log().contains("the branch stays: somebody pushed to it").then_some(())
        })
        .await;
    assert!(world.has_branch("one").await, "it had a commit that is nowhere else");
    world.finish_after_a_wrong_landing().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_is_the_head_of_another_open_pull_request_is_not_deleted() {
    let world = Trains::wish().config(DELETING).start().await;
    let (_, [one, two]) = world.one_brings_and_two_takes_back().await;
    world.branch("release", MAIN).await;
    let backport = world.open_pull("one", "release", json!({})).await;
    world.settled().await;
    world.start_and_land(one, &[one, two]).await;
    world.look().await;
    world.settled().await;
    assert_eq!(world.pull(backport).await["state"], "open", "GitHub closes it with its branch");
    world.finish_after_a_wrong_landing().await;
}

/// The bot says that it can be re-opened.
#[tokio::test(flavor = "multi_thread")]
async fn the_base_of_a_skipped_descendant_is_not_deleted() {
    let world = Trains::wish().config(DELETING).start().await;
    let (_, [one, two]) = world.one_brings_and_two_takes_back().await;
    world.delay(Call::Squash, 1500).await;
    world.start(one).await;
    world.struck().await;
    world.close(two).await;
    world.landed(&[one]).await;
    world.told(one, "To land it anyway, re-open it").await;
    world.look().await;
    world.settled().await;
    let (status, answer) = world.ask(AUTHOR, Method::PATCH, &format!("/pulls/{two}"), json!({ "state": "open" })).await;
    assert_eq!(status, 200, "{answer}");
    world.finish_after_a_wrong_landing().await;
}
