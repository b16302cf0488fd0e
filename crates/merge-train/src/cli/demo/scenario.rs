//! The story of the demo: it is played, and told as it goes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use merge_train_core::ids::PrNumber;
use merge_train_core::repo::ratchet;
use merge_train_core::repo::trains::CascadePhase;
use merge_train_core::repo::{Event, RecordedEvent, trains};
use serde::Deserialize;
use serde_json::Value;

use super::api::SimulatorApi;
use super::daemon::DemoDaemonApi;
use super::stack::{DemoStack, acknowledged};

/// Some seconds are enough, and as many as somebody who watches is given; a machine under load gets more.
const DEADLINE: Duration = Duration::from_secs(180);
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// More than happens between two looks.
const EVENTS: usize = 500;

/// How long there is to see what happens.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum DemoPace {
    /// As long as somebody needs who reads.
    Human,
    /// As long as it takes.
    Fast,
}

impl DemoPace {
    async fn pause(self, seconds: u64) {
        if self == Self::Human {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
        }
    }

    /// How long a fixer's push waits for whoever watches to approve it.
    fn patience(self) -> Duration {
        match self {
            Self::Human => Duration::from_secs(20),
            Self::Fast => Duration::ZERO,
        }
    }
}

/// Somebody who watches the trains.
struct DemoNarrator {
    began: Instant,
    /// The last event that was told.
    seen: u64,
    /// What has landed.
    landed: BTreeSet<PrNumber>,
    /// What was told of the phase that each train is in, and of why it waits.
    phases: BTreeMap<PrNumber, String>,
    waits: BTreeMap<PrNumber, String>,
    /// Since when a fixer's push waits for approval, by its run.
    asked: BTreeMap<String, Instant>,
}

/// The story: a stack is declared, planned and started, something breaks and is fixed, and all of it lands.
pub async fn play(api: &SimulatorApi, daemon: &DemoDaemonApi, stack: &DemoStack, pace: DemoPace) -> anyhow::Result<()> {
    let mut narrator = DemoNarrator {
        began: Instant::now(),
        seen: 0,
        landed: BTreeSet::new(),
        phases: BTreeMap::new(),
        waits: BTreeMap::new(),
        asked: BTreeMap::new(),
    };
    let bottom = stack.bottom();
    pace.pause(3).await;
    let mut declared = Vec::new();
    for (pull, below) in stack.declarations() {
        narrator.tell(&format!("{} comments on #{pull}: @merge-train predecessor #{below}", api.login));
        declared.push(api.comment(pull, &format!("@merge-train predecessor #{below}")).await?);
        pace.pause(1).await;
    }
    for comment in declared {
        acknowledged(api, comment).await?;
    }
    narrator.tell("the daemon has recorded the stack");
    pace.pause(2).await;
    narrator.tell(&format!("{} comments on #{bottom}: @merge-train plan", api.login));
    api.comment(bottom, "@merge-train plan").await?;
    pace.pause(5).await;
    let broken = stack.slip(api).await?;
    let broken: Vec<String> = broken.iter().map(|pull| format!("#{pull}")).collect();
    narrator.tell(&format!("{} pushes commits to {} that break the tests", api.login, broken.join(" and ")));
    narrator.tell(&format!("{} comments on #{bottom}: @merge-train start", api.login));
    api.comment(bottom, "@merge-train start").await?;
    while narrator.look(api, daemon, stack).await? {
        narrator.approve(daemon, pace).await?;
        ensure!(narrator.began.elapsed() < DEADLINE, "not everything landed within {} s", DEADLINE.as_secs());
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
    for pull in &stack.pulls {
        let found = api.in_repo("GET", &format!("/pulls/{pull}"), Value::Null).await?;
        ensure!(found["merged"] == true, "the trains completed, but #{pull} has not landed");
    }
    Ok(())
}

impl DemoNarrator {
    /// Tells what happened since the last look; whether there is more to come.
    async fn look(&mut self, api: &SimulatorApi, daemon: &DemoDaemonApi, stack: &DemoStack) -> anyhow::Result<bool> {
        let state = daemon.get(&format!("/api/v1/repos/{}/state?events={EVENTS}", api.repo)).await?;
        let events = Vec::<RecordedEvent>::deserialize(&state["recent_events"]).context("the daemon's events")?;
        for RecordedEvent { seq, event, .. } in events {
            if seq <= self.seen {
                continue;
            }
            self.seen = seq;
            match event {
                Event::Trains(trains::Event::TrainStarted { root_pr, .. }) => {
                    self.tell(&format!("the train of #{root_pr} starts"));
                }
                Event::Trains(trains::Event::FanOutCompleted { old_root, new_roots, .. }) => {
                    let parts: Vec<String> = new_roots.iter().map(|root| format!("#{root}")).collect();
                    self.tell(&format!("the train of #{old_root} splits into the trains of {}", parts.join(" and ")));
                }
                Event::Trains(trains::Event::PhaseTransition { train_root, current_pr, phase, .. }) => {
                    self.waits.remove(&train_root);
                    self.enter(train_root, words(current_pr, &phase));
                }
                Event::Trains(trains::Event::SquashCommitted { pr, sha, .. }) => {
                    self.landed.insert(pr);
                    self.tell(&format!("#{pr} has landed as {}", short(&sha.to_string())));
                }
                Event::Trains(trains::Event::TrainWaiting { train_root, why, .. }) => {
                    self.wait(train_root, why.blocker);
                }
                Event::Ratchet(event) => self.mended(&event),
                Event::Trains(trains::Event::TrainCompleted { root_pr }) => {
                    self.tell(&format!("the train of #{root_pr} has completed"));
                }
                Event::Trains(trains::Event::TrainStopped { root_pr, .. }) => {
                    bail!("the train of #{root_pr} was stopped")
                }
                Event::Trains(trains::Event::TrainAborted { root_pr, error }) => {
                    let why = error.map_or_else(|| "it does not say why".to_owned(), |error| error.message);
                    bail!("the train of #{root_pr} was aborted: {why}");
                }
                Event::Trains(trains::Event::TrainFrozen { root_pr, error }) => {
                    bail!("the train of #{root_pr} is frozen: {}", error.message);
                }
                _ => {}
            }
        }
        let is_under_way = state["active_trains"].as_object().is_none_or(|trains| !trains.is_empty());
        Ok(is_under_way || self.landed.len() < stack.pulls.len())
    }

    /// Approves what fixers want to push, unless somebody else decides first.
    async fn approve(&mut self, daemon: &DemoDaemonApi, pace: DemoPace) -> anyhow::Result<()> {
        let held = daemon.get("/api/v1/runs?type=fixer&status=awaiting_approval").await?;
        for run in held["runs"].as_array().into_iter().flatten() {
            let (id, pull) = (run["id"].as_str().context("a run has an id")?, run["prId"].as_str().unwrap_or_default());
            let since = match self.asked.get(id) {
                Some(since) => *since,
                None => {
                    let page = format!("{}/runs/{id}", daemon.url);
                    self.tell(&format!("a fixer's push to #{pull} needs approval: {page}"));
                    self.asked.insert(id.to_owned(), Instant::now());
                    Instant::now()
                }
            };
            if since.elapsed() >= pace.patience() {
                // Somebody may be quicker.
                if daemon.post(&format!("/api/v1/runs/{id}/approve")).await.is_ok() {
                    self.tell("the demo approves it");
                }
            }
        }
        Ok(())
    }

    /// Tells of fixers.
    fn mended(&self, event: &ratchet::Event) {
        match event {
            ratchet::Event::FixDispatched { pr, .. } => self.tell(&format!("CI failed on #{pr}: a fixer starts")),
            ratchet::Event::FixSettled { pr, settled, .. } => match &settled.pushed {
                Some(head) => self.tell(&format!("the fixer pushed {} to #{pr}", short(head.as_str()))),
                None => self.tell(&format!("the fixer of #{pr} did not push: {}", settled.sentence())),
            },
            _ => {}
        }
    }

    /// Tells once what a train waits for.
    fn wait(&mut self, root: PrNumber, blocker: String) {
        if self.waits.get(&root) != Some(&blocker) {
            self.tell(&format!("the train of #{root} waits: {blocker}"));
            self.waits.insert(root, blocker);
        }
    }

    /// Tells of a phase once, however often its progress is recorded.
    fn enter(&mut self, root: PrNumber, phase: Option<String>) {
        let Some(phase) = phase else { return };
        if self.phases.insert(root, phase.clone()).as_ref() != Some(&phase) {
            self.tell(&phase);
        }
    }

    fn tell(&self, what: &str) {
        println!("{:6.1} s  {what}", self.began.elapsed().as_secs_f32());
    }
}

/// What happens to `pr` in a phase; none where the phase passes at once, because nothing stands on it.
fn words(pr: PrNumber, phase: &CascadePhase) -> Option<String> {
    let above: Vec<String> = phase.frozen_descendants().iter().map(|above| format!("#{above}")).collect();
    let above = above.join(", ");
    match phase {
        CascadePhase::Idle => Some(format!("#{pr} is next")),
        CascadePhase::SquashPending { .. } => Some(format!("#{pr} is ready: squash")),
        _ if above.is_empty() => None,
        CascadePhase::Preparing { .. } => Some(format!("#{pr} is ready: prepare {above} for its squash")),
        CascadePhase::Reconciling { .. } => Some(format!("reconcile {above} with the squash of #{pr}")),
        CascadePhase::CatchingUp { .. } => Some(format!("catch {above} up with the default branch")),
        CascadePhase::Retargeting { .. } => Some(format!("retarget {above} to the default branch")),
    }
}

/// The commits of the default branch as `git log --oneline` shows them.
pub async fn log(api: &SimulatorApi, stack: &DemoStack) -> anyhow::Result<String> {
    let commits = api.in_repo("GET", &format!("/commits?sha={}", stack.default_branch), Value::Null).await?;
    let line = |commit: &Value| {
        let title = commit["commit"]["message"].as_str().and_then(|message| message.lines().next());
        format!("{} {}\n", short(commit["sha"].as_str().unwrap_or_default()), title.unwrap_or_default())
    };
    Ok(commits.as_array().context("a list of commits")?.iter().map(line).collect())
}

fn short(sha: &str) -> &str {
    sha.get(..7).unwrap_or(sha)
}
