//! What lands for a pull request is its own change and nothing else, whatever people do between two steps of a cascade.
//!
//! The upper pull requests take back what the lower ones brought: this is what a merge loses without a word. What must be on
//! the default branch is written down by each test. Where the bot gives commands, they are carried out.

mod advice;
mod by_hand;
mod during_a_push;
mod left_out;
mod loops;
mod shifting_ground;
mod unforeseen;
mod withdrawn;

use crate::trains::support::{AUTHOR, Change, Checkout, Trains};

/// The file that is there from the beginning, with these lines of it changed.
fn shared(changes: &[(usize, &str)]) -> String {
    let line = |number: usize| {
        let changed = changes.iter().find(|(at, _)| *at == number);
        changed.map_or_else(|| format!("line {number}\n"), |(_, text)| format!("{text}\n"))
    };
    (0..64).map(line).collect()
}

/// What a pull request adds to the file, and another one takes back.
const DEBUG: (usize, &str) = (10, "line 10\ndebug = on");

/// Adds a file of its own, a helper, and two lines to what was there.
fn brings<'a>(own: &'a str, with_debug: &'a str) -> [Change<'a>; 3] {
    [(own, Some("mine\n")), ("helper.txt", Some("helps\n")), ("shared.txt", Some(with_debug))]
}

/// Adds a file of its own, and takes the helper and the two lines away.
fn takes_back<'a>(own: &'a str, without_debug: &'a str) -> [Change<'a>; 3] {
    [(own, Some("mine\n")), ("helper.txt", None), ("shared.txt", Some(without_debug))]
}

/// Both have landed, and nothing is left of what the second took back.
const BOTH: [Change<'_>; 2] = [("one.txt", Some("mine\n")), ("two.txt", Some("mine\n"))];
const ALL_THREE: [Change<'_>; 3] = [BOTH[0], BOTH[1], ("three.txt", Some("mine\n"))];

impl Trains {
    /// Opens a pull request of the author for a branch that was pushed, and declares what it is stacked on.
    async fn propose(&self, branch: &str, base: &str, predecessor: Option<u64>) -> u64 {
        let pr = self.open_pull(branch, base, serde_json::json!({})).await;
        if let Some(predecessor) = predecessor {
            let declared = self.declares(pr, predecessor).await;
            self.acknowledged(declared).await;
        }
        pr
    }

    /// #1 brings a helper and two lines, and #2 takes both back.
    async fn one_brings_and_two_takes_back(&self) -> (Checkout, [u64; 2]) {
        let author = self.checkout(AUTHOR).await;
        author.branch("one", "main", &brings("one.txt", &shared(&[DEBUG]))).await;
        author.branch("two", "one", &takes_back("two.txt", &shared(&[]))).await;
        let one = self.propose("one", "main", None).await;
        let two = self.propose("two", "one", Some(one)).await;
        (author, [one, two])
    }

    /// #1 brings a helper and two lines, #2 has nothing to do with them, and #3 takes both back.
    async fn one_brings_and_three_takes_back(&self) -> (Checkout, [u64; 3]) {
        let author = self.checkout(AUTHOR).await;
        author.branch("one", "main", &brings("one.txt", &shared(&[DEBUG]))).await;
        author.branch("two", "one", &[("two.txt", Some("mine\n"))]).await;
        author.branch("three", "two", &takes_back("three.txt", &shared(&[]))).await;
        let one = self.propose("one", "main", None).await;
        let two = self.propose("two", "one", Some(one)).await;
        let three = self.propose("three", "two", Some(two)).await;
        (author, [one, two, three])
    }

    /// Starts a train after another one halted, and waits until it has landed all of these.
    async fn start_and_land(&self, root: u64, all: &[u64]) {
        let given = self.start(root).await;
        self.acknowledged(given).await;
        self.landed(all).await;
    }

    /// Starts a train that waits for CI.
    async fn start_and_wait_for_ci(&self, root: u64) {
        self.start(root).await;
        self.waits_because(root, &format!("The check `ci` has not finished on PR #{root} at `SHA`.")).await;
    }
}
