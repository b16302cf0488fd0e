//! What people and CI do meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use reqwest::Method;
use serde_json::{Value, json};

use super::forecast::{Forecast, Rules, Temper, branch};
use super::history::History;
use super::hub::{Edit, Hub, MAIN, text};

/// Where pull requests are sent astray.
const ELSEWHERE: &str = "elsewhere";
/// No stack grows larger.
const MOST: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// A commit more on a pull request.
    Push(usize),
    /// A commit on the default branch.
    PushMain,
    /// The commit on the default branch that the stack cannot be merged with.
    Fight,
    Start(usize),
    Stop(usize),
    Close(usize),
    Reopen(usize),
    Retarget(usize, Whereto),
    /// The comment that declares the predecessor says something else now.
    Undeclare(usize),
    Declare(usize),
    Dismiss(usize),
    Approve(usize),
    /// A pull request more, upon this one: it may come too late to be prepared.
    Join(usize),
    /// CI says something of a pull request's head.
    Ci(usize, Verdict),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereto {
    Elsewhere,
    Default,
    Predecessor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Running,
    Failure,
    Success,
}

/// The stack, as people see it.
pub struct Crew {
    pub numbers: Vec<u64>,
    below: Vec<Option<usize>>,
    rules: Rules,
    conflict: Option<Edit>,
    declarations: BTreeMap<usize, u64>,
    /// Whose approval was taken away.
    dismissed: BTreeSet<usize>,
    commits: usize,
    /// Whether anybody did something that can end a train, or keep it from its end.
    pub meddled: bool,
}

impl Crew {
    /// Opens the stack.
    pub async fn gather(hub: &mut Hub, forecast: &Forecast) -> Self {
        let rules = forecast.rules;
        protect(hub, rules).await;
        let made = json!({ "ref": format!("refs/heads/{ELSEWHERE}"), "sha": hub.origin });
        hub.call(Method::POST, "/git/refs", made).await;
        let mut crew = Self {
            numbers: Vec::new(),
            below: forecast.below.clone(),
            rules,
            conflict: forecast.conflict.clone(),
            declarations: BTreeMap::new(),
            dismissed: BTreeSet::new(),
            commits: 0,
            meddled: false,
        };
        for (at, below) in forecast.below.iter().enumerate() {
            let base = below.map_or(MAIN.to_owned(), branch);
            let number = hub.open(&branch(at), &base, &forecast.edits[at]).await;
            crew.numbers.push(number);
            crew.declare(hub, at).await;
            if rules.approval {
                hub.approve(number).await;
            }
        }
        crew
    }

    pub fn branches(&self) -> BTreeMap<u64, String> {
        self.numbers.iter().enumerate().map(|(at, number)| (*number, branch(at))).collect()
    }

    async fn declare(&mut self, hub: &Hub, at: usize) {
        let Some(below) = self.below[at] else { return };
        let words = format!("@merge-train predecessor #{}", self.numbers[below]);
        match self.declarations.get(&at) {
            Some(comment) => {
                hub.call(Method::PATCH, &format!("/issues/comments/{comment}"), json!({ "body": words })).await;
            }
            None => {
                let comment = hub.says(self.numbers[at], &words).await;
                self.declarations.insert(at, comment);
            }
        }
    }

    /// Something that somebody of this temper might do now.
    pub fn draw(&mut self, rng: &mut Rng, temper: Temper) -> Deed {
        let at = rng.usize(..self.numbers.len());
        if self.rules.ci && rng.u8(0..3) > 0 {
            let verdict = match rng.u8(0..6) {
                0 => Verdict::Running,
                1 => Verdict::Failure,
                _ => Verdict::Success,
            };
            return Deed::Ci(at, verdict);
        }
        let kinds = match temper {
            Temper::Calm => 2,
            Temper::Busy => 7,
            Temper::Unruly => 14,
        };
        match rng.u8(0..kinds) {
            0 if self.conflict.is_some() => Deed::Fight,
            0 | 1 => Deed::PushMain,
            2 => Deed::Push(at),
            3 => Deed::Stop(at),
            4 | 5 => Deed::Start(at),
            6 => Deed::Join(at),
            7 => Deed::Close(at),
            8 => Deed::Reopen(at),
            9 => Deed::Retarget(at, Whereto::Elsewhere),
            10 => Deed::Retarget(at, if rng.bool() { Whereto::Default } else { Whereto::Predecessor }),
            11 => Deed::Undeclare(at),
            12 => Deed::Declare(at),
            _ if rng.bool() => Deed::Dismiss(at),
            _ => Deed::Approve(at),
        }
    }

    /// Does it, as far as GitHub lets one.
    pub async fn perform(&mut self, hub: &mut Hub, history: &mut History, deed: Deed) {
        self.meddled |= !matches!(
            deed,
            Deed::PushMain | Deed::Start(_) | Deed::Reopen(_) | Deed::Declare(_) | Deed::Approve(_) | Deed::Ci(..)
        );
        match deed {
            Deed::Push(at) if !history.landed().contains(&self.numbers[at]) => {
                self.commits += 1;
                hub.commit(&branch(at), Edit::File(format!("more-{}.txt", self.commits))).await;
            }
            Deed::Push(_) => {}
            Deed::PushMain => {
                self.commits += 1;
                hub.commit(MAIN, Edit::File(format!("elsewhere-{}.txt", self.commits))).await;
            }
            Deed::Fight => {
                if let Some(edit) = self.conflict.take() {
                    hub.commit(MAIN, edit).await;
                }
            }
            Deed::Start(at) => drop(hub.says(self.numbers[at], "@merge-train start").await),
            Deed::Stop(at) => drop(hub.says(self.numbers[at], "@merge-train stop").await),
            Deed::Close(at) => self.edit(hub, at, json!({ "state": "closed" })).await,
            Deed::Reopen(at) => self.edit(hub, at, json!({ "state": "open" })).await,
            Deed::Retarget(at, whereto) => {
                let base = match (whereto, self.below[at]) {
                    (Whereto::Elsewhere, _) => ELSEWHERE.to_owned(),
                    (Whereto::Default, _) | (Whereto::Predecessor, None) => MAIN.to_owned(),
                    (Whereto::Predecessor, Some(below)) => branch(below),
                };
                self.edit(hub, at, json!({ "base": base })).await;
            }
            Deed::Undeclare(at) => {
                if let Some(comment) = self.declarations.get(&at) {
                    let path = format!("/issues/comments/{comment}");
                    hub.call(Method::PATCH, &path, json!({ "body": "never mind" })).await;
                }
            }
            Deed::Declare(at) => self.declare(hub, at).await,
            Deed::Dismiss(at) => self.dismiss(hub, at).await,
            Deed::Join(at) => {
                let is_open = !history.landed().contains(&self.numbers[at]);
                if is_open && self.numbers.len() < MOST {
                    self.join(hub, history, at).await;
                }
            }
            Deed::Approve(at) => {
                if self.rules.approval && !history.landed().contains(&self.numbers[at]) {
                    hub.approve(self.numbers[at]).await;
                }
            }
            Deed::Ci(at, verdict) => self.ci(hub, history, at, verdict).await,
        }
    }

    async fn join(&mut self, hub: &mut Hub, history: &mut History, below: usize) {
        let at = self.numbers.len();
        let edits = [Edit::File(format!("{}.txt", branch(at)))];
        let number = hub.open(&branch(at), &branch(below), &edits).await;
        self.numbers.push(number);
        self.below.push(Some(below));
        history.opened(number, branch(at));
        self.declare(hub, at).await;
        if self.rules.approval {
            hub.approve(number).await;
        }
    }

    async fn edit(&self, hub: &Hub, at: usize, change: Value) {
        // What has landed cannot be closed, and what is closed cannot be retargeted.
        let _ = hub.try_call(Method::PATCH, &format!("/pulls/{}", self.numbers[at]), change).await;
    }

    async fn dismiss(&mut self, hub: &Hub, at: usize) {
        let path = format!("/pulls/{}/reviews", self.numbers[at]);
        let reviews = hub.get(&path).await;
        let approved = reviews.as_array().expect("a list").iter().find(|review| review["state"] == "APPROVED");
        if let Some(review) = approved {
            self.dismissed.insert(at);
            let path = format!("{path}/{}/dismissals", review["id"]);
            let _ = hub.try_call(Method::PUT, &path, json!({ "message": "Not yet." })).await;
        }
    }

    async fn ci(&self, hub: &Hub, history: &mut History, at: usize, verdict: Verdict) {
        let pull = hub.get(&format!("/pulls/{}", self.numbers[at])).await;
        if pull["state"] != "open" {
            return;
        }
        let sha = text(&pull["head"]["sha"]);
        let (said, name) = match verdict {
            Verdict::Running => (json!({ "status": "in_progress" }), "in_progress"),
            Verdict::Failure => (json!({ "conclusion": "failure" }), "failure"),
            Verdict::Success => (json!({ "conclusion": "success" }), "success"),
        };
        hub.check(sha, said).await;
        history.judged(sha, name);
    }

    /// CI passes on every head that it has not passed on, and who was dismissed is approved again.
    pub async fn content(&mut self, hub: &mut Hub, history: &mut History) {
        let open = hub.get("/pulls?state=open&per_page=100").await;
        for pull in open.as_array().expect("a list") {
            let number = pull["number"].as_u64().expect("a number");
            let at = self.numbers.iter().position(|known| *known == number).expect("one of the stack");
            let head = text(&pull["head"]["sha"]);
            if self.dismissed.remove(&at) {
                hub.approve(number).await;
            }
            if self.rules.ci && !history.has_passed(head) {
                self.ci(hub, history, at, Verdict::Success).await;
            }
        }
    }

    /// People take back what keeps the stack from landing: who was sent astray is led back, who was dismissed is approved.
    pub async fn repent(&mut self, hub: &mut Hub, history: &mut History) {
        for at in 0..self.numbers.len() {
            let number = self.numbers[at];
            if history.landed().contains(&number) {
                continue;
            }
            self.edit(hub, at, json!({ "state": "open" })).await;
            let below = self.below[at].filter(|below| !history.landed().contains(&self.numbers[*below]));
            self.edit(hub, at, json!({ "base": below.map_or(MAIN.to_owned(), branch) })).await;
            self.declare(hub, at).await;
            if self.rules.approval {
                hub.approve(number).await;
            }
        }
        self.content(hub, history).await;
    }

    /// The lowest pull requests that are still open: whoever wants the rest to land says start there.
    pub fn roots(&self, history: &History) -> Vec<u64> {
        let landed = |at: usize| history.landed().contains(&self.numbers[at]);
        let is_root = |at: &usize| !landed(*at) && self.below[*at].is_none_or(landed);
        (0..self.numbers.len()).filter(is_root).map(|at| self.numbers[at]).collect()
    }
}

async fn protect(hub: &Hub, rules: Rules) {
    let checks = if rules.ci || rules.strict {
        json!({ "strict": rules.strict, "contexts": if rules.ci { vec!["ci"] } else { vec![] } })
    } else {
        Value::Null
    };
    let reviews = if rules.approval { json!({ "required_approving_review_count": 1 }) } else { Value::Null };
    let body = json!({
        "required_status_checks": checks, "required_pull_request_reviews": reviews,
        "enforce_admins": false, "restrictions": null,
    });
    hub.call(Method::PUT, &format!("/branches/{MAIN}/protection"), body).await;
}
