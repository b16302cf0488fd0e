//! One train from its start to its end, told as it goes.

use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use merge_train_core::ids::PrNumber;
use merge_train_core::ratchet;
use merge_train_core::repo::{Event, Recorded};
use merge_train_core::train::CascadePhase;
use serde::Deserialize;
use serde_json::Value;

use super::api::Api;
use super::daemon::Access;
use super::stack::Stack;

/// Some seconds are enough; a machine under load gets more.
const DEADLINE: Duration = Duration::from_secs(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// More than happens between two looks.
const EVENTS: usize = 500;

/// Whether there is more to come.
#[derive(PartialEq, Eq)]
enum Course {
    UnderWay,
    Completed,
}

/// Somebody who watches the train.
struct Witness {
    began: Instant,
    /// The last event that was told.
    seen: u64,
    /// The pull request whose turn it is.
    current: PrNumber,
    /// What is told of the phase that it is in.
    phase: Option<String>,
}

/// Starts the train with a comment, as a person would, and sees everything land: what is red, a fixer mends.
pub async fn land(api: &Api, daemon: &Access, stack: &Stack) -> anyhow::Result<()> {
    let mut witness = Witness { began: Instant::now(), seen: 0, current: PrNumber::new(stack.bottom()), phase: None };
    witness.tell(&format!("{} comments on #{}: @merge-train start", api.login, stack.bottom()));
    api.comment(stack.bottom(), "@merge-train start").await?;
    while witness.look(api, daemon).await? == Course::UnderWay {
        ensure!(witness.began.elapsed() < DEADLINE, "the train has not arrived within {} s", DEADLINE.as_secs());
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
    for pull in &stack.pulls {
        let found = api.in_repo("GET", &format!("/pulls/{pull}"), Value::Null).await?;
        ensure!(found["merged"] == true, "the train says that it has arrived, and #{pull} has not landed");
    }
    Ok(())
}

impl Witness {
    /// Tells what happened since the last look.
    async fn look(&mut self, api: &Api, daemon: &Access) -> anyhow::Result<Course> {
        let state = daemon.get(&format!("/api/v1/repos/{}/state?events={EVENTS}", api.repo)).await?;
        let events = Vec::<Recorded>::deserialize(&state["recent_events"]).context("the daemon's events")?;
        let mut course = Course::UnderWay;
        for Recorded { seq, event, .. } in events {
            if seq <= self.seen {
                continue;
            }
            self.seen = seq;
            match event {
                Event::TrainStarted { root_pr, .. } => self.tell(&format!("the train of #{root_pr} starts")),
                Event::PhaseTransition { current_pr, phase, .. } => {
                    self.current = current_pr;
                    self.enter(words(current_pr, &phase));
                }
                Event::SquashCommitted { pr, sha, .. } => {
                    self.tell(&format!("#{pr} has landed as {}", short(&sha.to_string())));
                }
                Event::TrainWaiting { why, .. } => {
                    self.tell(&format!("#{} waits: {}", self.current, why.blocker));
                }
                Event::Ratchet(event) => self.mended(&event),
                Event::TrainCompleted { .. } => {
                    self.tell("the train has arrived");
                    course = Course::Completed;
                }
                Event::TrainStopped { root_pr, .. } => bail!("the train of #{root_pr} was stopped"),
                Event::TrainAborted { root_pr, error } => {
                    let why = error.map_or_else(|| "it does not say why".to_owned(), |error| error.message);
                    bail!("the train of #{root_pr} was aborted: {why}");
                }
                Event::TrainFrozen { root_pr, error } => {
                    bail!("the train of #{root_pr} is frozen: {}", error.message);
                }
                _ => {}
            }
        }
        Ok(course)
    }

    /// Tells of fixers.
    fn mended(&self, event: &ratchet::Event) {
        match event {
            ratchet::Event::FixDispatched { pr, .. } => self.tell(&format!("CI failed on #{pr}: a fixer is sent")),
            ratchet::Event::FixSettled { pr, settled, .. } => match &settled.pushed {
                Some(head) => self.tell(&format!("the fixer pushed {} to #{pr}", short(head.as_str()))),
                None => self.tell(&format!("the fixer of #{pr} did not push: {}", settled.sentence())),
            },
            _ => {}
        }
    }

    /// Tells of a phase once, however often its progress is recorded.
    fn enter(&mut self, phase: Option<String>) {
        if phase != self.phase {
            phase.iter().for_each(|phase| self.tell(phase));
            self.phase = phase;
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
        CascadePhase::SquashPending { .. } => Some(format!("#{pr} is ready: squash it")),
        _ if above.is_empty() => None,
        CascadePhase::Preparing { .. } => Some(format!("#{pr} is ready: prepare {above} for its squash")),
        CascadePhase::Reconciling { .. } => Some(format!("reconcile {above} with the squash of #{pr}")),
        CascadePhase::CatchingUp { .. } => Some(format!("catch {above} up with the default branch")),
        CascadePhase::Retargeting { .. } => Some(format!("retarget {above} to the default branch")),
    }
}

/// The commits of the default branch as `git log --oneline` shows them.
pub async fn log(api: &Api, stack: &Stack) -> anyhow::Result<String> {
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
