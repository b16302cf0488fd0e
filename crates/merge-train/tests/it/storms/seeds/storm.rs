//! One stack in its weather, and a person who looks after it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::Value;

use super::forecast::{Forecast, What, branch};
use super::weather;
use crate::storms::support::{Edit, Repo, reason_of, within};

/// Within this time something happens: it lands, it gets on, or it says why not.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a person waits for a sign of life before asking again.
const NO_ANSWER: Duration = Duration::from_secs(8);
/// How often they ask for the same before they give up.
const MOST_STARTS: usize = 10;
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// How a stack came through.
pub struct Seen {
    pub landed: usize,
    /// What went wrong how often.
    pub faults: BTreeMap<String, u64>,
    /// How often somebody said `start`.
    pub starts: usize,
    /// Why trains halted on the way, in their words.
    pub halts: BTreeSet<String>,
    /// What is left open, and why.
    pub left: Option<String>,
}

impl Seen {
    pub fn outcome(&self) -> String {
        let mut text = match &self.left {
            None => format!("all {} landed", self.landed),
            Some(why) => format!("{} landed; {why}", self.landed),
        };
        if self.starts > 1 {
            write!(text, " ({} starts)", self.starts).expect("a string takes it");
        }
        for halt in self.halts.iter().filter(|halt| self.left.as_ref() != Some(halt)) {
            write!(text, " [{halt}]").expect("a string takes it");
        }
        text
    }
}

/// Lets the storm pass over a stack, and holds what must hold afterwards.
pub async fn through(repo: &Repo, forecast: &Forecast) -> Result<Seen, String> {
    if let Some(ci) = forecast.ci_definition() {
        repo.control(Method::PUT, "/ci", ci).await;
    }
    if let Some(ci) = forecast.ci.as_ref().filter(|ci| ci.required) {
        repo.protect(&["ci"], ci.strict).await;
    }
    repo.yard.control(Method::POST, "/faults", weather::over(repo, forecast.seed)).await;
    let numbers = build(repo, forecast).await;
    let mut person = Person { repo, forecast, numbers, starts: 0, halts: BTreeSet::new() };
    let left = person.look_after().await?;
    let struck = weather::clear(&repo.yard).await;
    person.settled().await?;
    repo.verify().await;
    repo.yard.expect_no_forced_push().await;
    let landed = repo.all_pulls().await.iter().filter(|pull| !pull["merged_at"].is_null()).count();
    let (starts, halts) = (person.starts, person.halts);
    if !forecast.may_halt() && !halts.is_empty() {
        return Err(format!("bad weather alone halts no train: {halts:?}"));
    }
    Ok(Seen { landed, faults: struck, starts, halts, left })
}

async fn build(repo: &Repo, forecast: &Forecast) -> Vec<u64> {
    let mut numbers: Vec<u64> = Vec::new();
    for (at, below) in forecast.below.iter().enumerate() {
        let base = below.map_or("main".to_owned(), branch);
        let number = repo.open(&branch(at), &base, &forecast.edits[at]).await;
        if let Some(below) = below {
            repo.declares(number, numbers[*below]).await;
        }
        numbers.push(number);
    }
    numbers
}

/// What there is to be seen at one moment.
struct Look {
    open: Vec<u64>,
    merged: BTreeSet<u64>,
    trains: Vec<Value>,
    state: Value,
}

impl Look {
    /// How far everything is.
    fn progress(&self) -> String {
        let places = self.trains.iter().map(|train| (&train["record"]["cascade_phase"], &train["state"]));
        format!("{:?} {:?}", self.merged, places.collect::<Vec<_>>())
    }

    fn is_under_way(&self) -> bool {
        let is_live = |train: &Value| matches!(train["state"].as_str(), Some("running" | "waiting_ci"));
        self.trains.iter().any(is_live) || self.state["starts"].as_object().is_some_and(|starts| !starts.is_empty())
    }
}

/// Somebody who started the train, does other things meanwhile, and asks again when nothing happens.
struct Person<'a> {
    repo: &'a Repo,
    forecast: &'a Forecast,
    numbers: Vec<u64>,
    starts: usize,
    halts: BTreeSet<String>,
}

impl Person<'_> {
    /// Until everything has landed (none), or it is clear why it does not (that).
    async fn look_after(&mut self) -> Result<Option<String>, String> {
        let begun = Instant::now();
        let (mut last_sign, mut last_progress) = (None, (String::new(), begun));
        let mut acts = self.forecast.acts.iter();
        let mut next = acts.next();
        while last_progress.1.elapsed() < PATIENCE {
            while let Some(act) = next.filter(|act| act.after <= begun.elapsed()) {
                self.act(&act.what).await;
                next = acts.next();
            }
            let look = self.look().await;
            if look.progress() != last_progress.0 {
                last_progress = (look.progress(), Instant::now());
            }
            self.halts.extend(look.trains.iter().filter(|train| !train["error"].is_null()).filter_map(reason_of));
            if look.open.is_empty() && next.is_none() && !look.is_under_way() {
                return Ok(None);
            }
            if look.is_under_way() {
                last_sign = Some(Instant::now());
            } else if next.is_none()
                && self.forecast.conflicts
                && let Some(told) = self.told_of_conflict().await
            {
                return Ok(Some(told));
            } else if last_sign.is_none_or(|sign| sign.elapsed() > NO_ANSWER) {
                if self.starts > MOST_STARTS {
                    return Err(format!("started {} times in vain", self.starts));
                }
                self.start_what_is_lowest(&look).await;
                last_sign = Some(Instant::now());
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        Err(format!("for {} s nothing happened", PATIENCE.as_secs()))
    }

    async fn look(&self) -> Look {
        let (mut open, mut merged) = (Vec::new(), BTreeSet::new());
        for pull in self.repo.all_pulls().await {
            let number = pull["number"].as_u64().expect("a number");
            if pull["merged_at"].is_null() {
                open.push(number);
            } else {
                merged.insert(number);
            }
        }
        open.sort_unstable();
        let trains = self.repo.trains().await;
        for train in &trains {
            let is_silent = reason_of(train).is_none() && train["state"] != "running";
            assert!(!is_silent, "a train that does not run says why: {train}");
        }
        Look { open, merged, trains, state: self.repo.state().await }
    }

    async fn act(&self, what: &What) {
        match what {
            What::Push(at) if self.repo.is_merged(self.numbers[*at]).await => {}
            What::Push(at) => {
                let name = format!("{}-more-{}.txt", branch(*at), self.repo.changes.lock().len());
                self.repo.commit(&branch(*at), &Edit::File(name)).await;
            }
            What::Main(edit) => drop(self.repo.commit("main", edit).await),
        }
    }

    /// Every open one that stands on nothing, or on what has landed.
    async fn start_what_is_lowest(&mut self, look: &Look) {
        self.starts += 1;
        for number in &look.open {
            let at = self.numbers.iter().position(|known| known == number).expect("a pull request of this stack");
            if self.forecast.below[at].is_none_or(|below| look.merged.contains(&self.numbers[below])) {
                self.repo.start(*number).await;
            }
        }
    }

    async fn told_of_conflict(&self) -> Option<String> {
        let comments = self.repo.bot_comments().await;
        let told = comments.iter().filter_map(|comment| comment["body"].as_str());
        let mut told = told.filter(|body| body.to_lowercase().contains("conflict") && body.contains("shared.txt"));
        told.next_back()
            .and_then(|body| body.lines().find(|line| line.to_lowercase().contains("conflict")))
            .map(str::to_owned)
    }

    /// Waits until there is nothing left to do or to say, and the status comments show what the records say.
    async fn settled(&self) -> Result<(), String> {
        within(Duration::from_secs(60), "the bot has said and tidied up everything", async || {
            let state = self.repo.state().await;
            let owed = state["outbox"]["owed"].as_object().is_some_and(|owed| !owed.is_empty());
            let details = state["train_details"].as_object().cloned().unwrap_or_default();
            let is_busy = |detail: &Value| !detail["tidying"].is_null() || !detail["status"]["closing"].is_null();
            let is_named = |pull: &Value| pull["merged_at"].is_null() || !pull["merge_commit_sha"].is_null();
            let is_quiet = !owed && !details.values().any(is_busy) && self.repo.all_pulls().await.iter().all(is_named);
            (is_quiet && self.comments_are_true(&state).await).then_some(())
        })
        .await
    }

    async fn comments_are_true(&self, state: &Value) -> bool {
        let comments = self.repo.bot_comments().await;
        let trains = state["active_trains"].as_object().cloned().unwrap_or_default();
        trains.iter().all(|(root, train)| {
            let issue = format!("/issues/{root}");
            let error = train["error"]["message"].as_str().and_then(|error| error.lines().next()).unwrap_or_default();
            let is_true = |comment: &&Value| {
                let body = comment["body"].as_str().unwrap_or_default();
                let on = comment["issue_url"].as_str().unwrap_or_default();
                let seq = format!("\"recovery_seq\": {}", train["recovery_seq"]);
                on.ends_with(&issue) && body.contains(&seq) && !error.is_empty() && body.contains(error)
            };
            comments.iter().any(|comment| is_true(&comment))
        })
    }
}

/// For whoever has to find out what went wrong.
pub async fn everything(repo: &Repo) -> String {
    let mut text = String::new();
    writeln!(text, "state: {:#}", repo.state().await).expect("a string takes it");
    for comment in repo.bot_comments().await {
        let (on, body) = (&comment["issue_url"], comment["body"].as_str().unwrap_or_default());
        writeln!(text, "──── {on}\n{body}").expect("a string takes it");
    }
    writeln!(text, "log:\n{}", repo.log()).expect("a string takes it");
    text
}
