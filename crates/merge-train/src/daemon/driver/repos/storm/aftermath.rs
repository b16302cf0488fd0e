//! After the storm: GitHub is well again, every webhook arrives, people wait. Then everything must come to its end.

use std::collections::BTreeSet;

use merge_train_core::ids::{StreamId, UserId};
use merge_train_core::repo::trains::status;
use merge_train_core::repo::{Event, Position, Snapshot, mirror};
use reqwest::Method;
use serde_json::Value;
use store::Since;

use super::super::super::recorded;
use super::super::super::session::Session;
use super::super::Repository;
use super::daemon::{Daemon, repo};
use super::gate::Stage;
use super::hub::text;
use super::run::{Seen, Storm};

/// So often may somebody have to say `start` again.
const MOST_STARTS: usize = 8;
/// So often may a worker look again before everything is at rest.
const MOST_TICKS: usize = 400;
/// After so long the whole repository was looked at again, whatever was lost.
const LONG_ENOUGH_MS: i64 = 65 * 60 * 1000;

impl Storm {
    pub(super) async fn aftermath(mut self, daemon: &Daemon) -> Seen {
        self.note("the storm is over");
        self.hub.control(Method::DELETE, "/faults", Value::Null).await;
        let mut session = self.open(daemon).await;
        let mut starts = 0;
        loop {
            self.come_to_rest(&mut session, daemon).await;
            let left = left(&session);
            if self.crew.roots(&self.history).is_empty() {
                break;
            }
            assert!(
                self.crew.meddled || left.is_empty(),
                "bad weather alone halts no train: {left:?}\n{}",
                shown(&session)
            );
            let most = if self.forecast.conflict.is_some() { 2 } else { MOST_STARTS };
            if starts == most {
                break;
            }
            starts += 1;
            self.note("people try again");
            self.crew.repent(&mut self.hub, &mut self.history).await;
            for root in self.crew.roots(&self.history) {
                self.hub.says(root, "@merge-train start").await;
            }
            self.look(&session).await;
        }
        let left = if self.crew.roots(&self.history).is_empty() { Vec::new() } else { left(&session) };
        let all_landed = self.crew.roots(&self.history).is_empty();
        assert!(all_landed || self.forecast.conflict.is_some(), "it does not land: {left:?}\n{}", shown(&session));
        self.expect_status_comments(&session).await;
        self.expect_no_worktree(&session);
        let events = self.expect_every_delivery_processed(daemon).await;
        drop(session);
        let (hub, seen) = self.seen(starts, left, events);
        hub.stop().await;
        seen
    }

    /// Lets everything happen that can happen, until nothing is owed to anybody.
    async fn come_to_rest(&mut self, session: &mut Session<'_, Repository>, daemon: &Daemon) {
        let mut begun = self.hub.time.ms();
        for _ in 0..MOST_TICKS {
            self.work_off(session, daemon).await;
            self.crew.content(&mut self.hub, &mut self.history).await;
            self.look(session).await;
            if !self.mail.is_empty() {
                continue;
            }
            if self.hub.time.ms() - begun > LONG_ENOUGH_MS {
                if at_rest(session) {
                    return;
                }
                // A train may wait for people, and then says for whom.
                if self.crew.meddled {
                    self.note("people mend what they did");
                    self.crew.repent(&mut self.hub, &mut self.history).await;
                    self.look(session).await;
                }
                begun = self.hub.time.ms();
            }
            self.note("Tick");
            self.tick(session).await;
            self.look(session).await;
        }
        panic!("it does not come to rest:\n{}", shown(session));
    }

    /// Every webhook arrives, and everything that is asked for is done.
    pub(super) async fn work_off(&mut self, session: &mut Session<'_, Repository>, daemon: &Daemon) {
        loop {
            while !self.mail.is_empty() {
                self.deliver(daemon, 0).await;
            }
            self.open_inbox(session).await;
            self.look(session).await;
            let Some((key, stage)) = daemon.gate.under_way().into_iter().next() else {
                if self.mail.is_empty() {
                    return;
                }
                continue;
            };
            if stage == Stage::Asked {
                self.begin(daemon, key).await;
            }
            daemon.gate.answer(key);
            self.hear(session).await;
            self.look(session).await;
        }
    }

    /// What the comments say of trains is what the records say.
    async fn expect_status_comments(&self, session: &Session<'_, Repository>) {
        for (root, train) in session.subject.state.active_trains() {
            let Some(comment) = self.history.status(root.get()) else {
                panic!("the train of #{root} has no status comment: {train:?}");
            };
            let comment = self.hub.get(&format!("/issues/comments/{comment}")).await;
            let author = UserId::new(comment["user"]["id"].as_u64().expect("a number"));
            let shown = status::parse(text(&comment["body"]), author, author);
            let shown = shown.unwrap_or_else(|error| panic!("{error:?}: {comment}"));
            assert_eq!(shown.recovery_seq, train.recovery_seq, "the status of #{root}");
        }
    }

    /// Worktrees are for trains that are under way, or that can go on.
    fn expect_no_worktree(&self, session: &Session<'_, Repository>) {
        let folder = self.hub.dir.path().join("clones/octocat-hello/worktrees");
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let name = entry.expect("an entry").file_name().into_string().expect("text");
            let root = name.strip_prefix("stack-").unwrap_or_else(|| panic!("left behind: {name}"));
            let trains = session.subject.state.active_trains();
            let train = trains.iter().find(|(number, _)| number.to_string() == root);
            assert!(train.is_some(), "{name} was left behind");
        }
    }

    /// Every webhook that was acknowledged was worked on. All events, as the log has them.
    async fn expect_every_delivery_processed(&self, daemon: &Daemon) -> Vec<String> {
        let stream = StreamId::Repo(repo());
        let loaded = daemon.shared.store.load(&stream, Since::Oldest).await.expect("the store works");
        let mut processed = BTreeSet::new();
        for event in &loaded.events {
            if let Event::Mirror(mirror::Event::DeliveryProcessed { delivery, .. }) =
                recorded(event).expect("an event").event
            {
                processed.insert(delivery.to_string());
            }
        }
        let lost: Vec<&String> = self.admitted.difference(&processed).collect();
        assert!(lost.is_empty(), "acknowledged, and never worked on: {lost:?}");
        loaded.events.iter().map(|event| format!("{} {} {}", event.seq, event.ts, event.data)).collect()
    }
}

fn snapshot(session: &Session<'_, Repository>) -> Value {
    let position = Position { generation: 0, next_seq: 0, taken_at: session.now() };
    serde_json::to_value(Snapshot::of(&session.subject.state, position)).expect("a snapshot is JSON")
}

fn shown(session: &Session<'_, Repository>) -> String {
    serde_json::to_string_pretty(&snapshot(session)).expect("JSON")
}

/// Whether no train is under way, none is to start, and nothing is to be said.
fn at_rest(session: &Session<'_, Repository>) -> bool {
    let state = snapshot(session);
    let is_empty = |value: &Value| value.as_object().is_none_or(serde_json::Map::is_empty);
    let is_live = |train: &Value| matches!(train["state"].as_str(), Some("running" | "waiting_ci"));
    let live = state["active_trains"].as_object().into_iter().flatten().any(|(_, train)| is_live(train));
    !live && is_empty(&state["starts"]) && is_empty(&state["outbox"]["owed"]) && session.subject.under_way.is_empty()
}

/// The trains that halted, and why.
fn left(session: &Session<'_, Repository>) -> Vec<String> {
    let trains = session.subject.state.active_trains().iter();
    trains
        .map(|(root, train)| {
            let why = train.error.as_ref().map_or("", |error| error.message.lines().next().unwrap_or_default());
            format!("#{root} {:?}: {why}", train.state)
        })
        .collect()
}
