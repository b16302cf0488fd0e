//! Places where a test can end the daemon as a power cut would: at once, and with nothing cleaned up.
//!
//! Nothing of this is in a released binary. It is built with `fail` as it is, whose macros are empty; only the tests ask for
//! its feature `failpoints`, and cargo gives it to the program that it builds for them, and to every crate below.
//!
//! | point | what is true there |
//! |---|---|
//! | `append.EVENT.before` | it was decided, and nothing of it is durable |
//! | `append.EVENT.after` | it is durable, and nothing that follows of it was begun |
//! | `commit.before`, `commit.after` | the same of any transaction; after it, whoever waits for it does not know yet |
//! | `effect.EFFECT.start` | what asks for it is durable, and nothing was done |
//! | `effect.EFFECT.middle` | GitHub has answered, but nobody has read it; a push: git is at it, and goes on alone |
//! | `effect.EFFECT.end` | it is done, and that is not recorded |
//! | `fixer.start` | a fixer has its checkout, and its process is not begun |
//! | `fixer.exited`, `fixer.end` | its process has ended, and that is not durable; it is, and nothing was taken from it |
//! | `response.KIND.before` | what came in is durable, and who sent it waits for the answer |
//! | `response.KIND.after` | the answer is out |
//! | `notify.before`, `notify.sent` | something is to be told in Slack; it was, and that is not recorded |
//! | `schedule.ordered` | a slot of a schedule is ordered, and that is not remembered |
//! | `snapshot.before`, `snapshot.after` | what is to be forgotten is; the new generation has not begun, or has |
//!
//! `FAILPOINTS`, in the words of the `fail` crate, says where to die: `effect.push.end=2*off->return` is the third end of a
//! push. The point `any` is reached with each of the others. With `MERGE_TRAIN_FAILPOINTS_REACHED` naming a file, a line is
//! written to it for each point that is reached, and another for the one that is the end.

use std::fmt::Display;
use std::fs::File;
use std::future::Future;
use std::io::Write;
use std::sync::{Arc, LazyLock};

use axum::response::Response;
use merge_train_core::repo::Event;

const REACHED: &str = "MERGE_TRAIN_FAILPOINTS_REACHED";
/// What is reached with every point.
#[allow(dead_code, reason = "without the feature, `fail_point!` leaves out whatever it is given")]
const ANY: &str = "any";
/// git is at it; GitHub's answers meanwhile are those about its token.
const PUSH: &str = "push";

tokio::task_local! {
    /// What is done outside in this task.
    static EFFECT: &'static str;
}

/// Takes `FAILPOINTS` to heart. Once, before anything else.
pub fn arm() {
    if !fail::has_failpoints() {
        return;
    }
    // What it says holds until the end of the process.
    std::mem::forget(fail::FailScenario::setup());
    // The crates below say only that they are there; what that means is known here.
    on("store: before commit", || reach("commit.before"));
    on("store: after commit", || reach("commit.after"));
    on("git: push", || reach(format_args!("effect.{PUSH}.middle")));
    on("github: answered", || {
        let effect = EFFECT.try_with(|effect| *effect).ok().filter(|effect| *effect != PUSH);
        effect.into_iter().for_each(|effect| reach(format_args!("effect.{effect}.middle")));
    });
}

fn on(place: &str, arrived: impl Fn() + Send + Sync + 'static) {
    fail::cfg_callback(place, arrived).expect("a callback has no grammar");
}

/// A point: whoever armed it wants the process dead.
pub fn reach(point: impl Display) {
    if !fail::has_failpoints() {
        return;
    }
    let point = point.to_string();
    note(&point);
    // As functions, since what is armed makes them return.
    let named = || fail::fail_point!(&point, |_| die(&point));
    let any = || fail::fail_point!(ANY, |_| die(&point));
    named();
    any();
}

/// A point for each event of a batch.
pub fn append<'e>(moment: &str, events: impl Iterator<Item = &'e Event>) {
    if !fail::has_failpoints() {
        return;
    }
    for event in events {
        let event = serde_json::to_value(event).expect("an event is JSON");
        reach(format_args!("append.{}.{moment}", event["type"].as_str().unwrap_or_default()));
    }
}

/// Does something outside, so that the crates below know what it is for.
pub async fn during<T>(effect: &'static str, work: impl Future<Output = T>) -> T {
    if fail::has_failpoints() { EFFECT.scope(effect, work).await } else { work.await }
}

/// An answer that is about to be given.
pub fn answer(kind: &'static str, mut response: Response) -> Response {
    if fail::has_failpoints() {
        reach(format_args!("response.{kind}.before"));
        response.extensions_mut().insert(Arc::new(Answered(kind)));
    }
    response
}

/// Goes with an answer, and is dropped when its head is written.
struct Answered(&'static str);

impl Drop for Answered {
    /// Whoever writes the head sends it before another task has its turn.
    fn drop(&mut self) {
        let kind = self.0;
        tokio::spawn(async move { reach(format_args!("response.{kind}.after")) });
    }
}

fn note(line: &str) {
    static FILE: LazyLock<Option<File>> = LazyLock::new(|| {
        let path = std::env::var_os(REACHED)?;
        Some(File::options().append(true).create(true).open(path).expect("what is reached can be written down"))
    });
    if let Some(mut file) = FILE.as_ref() {
        // One write for each line: several threads write, and none of it waits in a buffer when the end comes.
        file.write_all(format!("{line}\n").as_bytes()).expect("what is reached can be written down");
    }
}

#[allow(dead_code, reason = "as above")]
fn die(point: &str) {
    note(&format!("killed at {point}"));
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
        .expect("a process can end itself");
    loop {
        std::thread::park();
    }
}
