//! Whoever starts the train, and does what the story wants of them. They look at what there is to be seen and do what is next,
//! so that it does not matter when the daemon dies.

use reqwest::Method;
use serde_json::{Value, json};

use crate::crashes::place::Place;
use crate::crashes::scenario::Scenario;

pub struct Person {
    scenario: Scenario,
    next: Deed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Deed {
    Declare,
    Start,
    /// What makes the story another than that of a plain stack.
    Interfere,
    StartAgain,
    Wait,
}

impl Person {
    pub fn of(scenario: Scenario) -> Self {
        Self { scenario, next: Deed::Declare }
    }

    /// Does what is next, if it is time for it.
    pub async fn act(&mut self, place: &Place, state: &Value) {
        self.next = match self.next {
            Deed::Declare => {
                for (pr, predecessor) in self.scenario.declared() {
                    says(place, *pr, &format!("@merge-train predecessor #{predecessor}")).await;
                }
                Deed::Start
            }
            Deed::Start if self.is_declared(state) => {
                says(place, 1, "@merge-train start").await;
                Deed::Interfere
            }
            Deed::Interfere => self.interfere(place, state).await,
            Deed::StartAgain => Self::start_again(place, state).await,
            waiting => waiting,
        };
    }

    /// Says something that means nothing.
    pub async fn greet(&self, place: &Place) {
        says(place, 1, "Hello.").await;
    }

    fn is_declared(&self, state: &Value) -> bool {
        let declared = |(pr, predecessor): &(u64, u64)| state["prs"][pr.to_string()]["predecessor"] == *predecessor;
        self.scenario.declared().iter().all(declared)
    }

    async fn interfere(&self, place: &Place, state: &Value) -> Deed {
        match self.scenario {
            Scenario::Late if is_frozen(state) => {
                says(place, 3, "@merge-train predecessor #1").await;
                Deed::Wait
            }
            Scenario::Stop if has_struck(place).await => {
                says(place, 1, "@merge-train stop").await;
                Deed::StartAgain
            }
            Scenario::Late | Scenario::Stop => Deed::Interfere,
            Scenario::Linear | Scenario::FanOut | Scenario::Behind => Deed::Wait,
        }
    }

    /// Where the stop came when everything was over, there is nothing to start again.
    async fn start_again(place: &Place, state: &Value) -> Deed {
        let is_stopped = state["active_trains"]["1"]["state"] == "stopped";
        if is_stopped && place.ask_daemon("/trains/1/start", "again").await { Deed::Wait } else { Deed::StartAgain }
    }

    /// Whether everything has landed, and the bot has nothing left to say or to tidy up.
    pub fn is_content(&self, state: &Value) -> bool {
        let is_empty = |part: &Value| part.as_object().is_none_or(serde_json::Map::is_empty);
        let all = 1..=self.scenario.pulls().len();
        let landed = all.into_iter().all(|pr| state["prs"][pr.to_string()]["state"] == "merged");
        let details = state["train_details"].as_object().into_iter().flatten();
        let tidy = details
            .map(|(_, detail)| detail)
            .all(|detail| detail["tidying"].is_null() && detail["status"]["closing"].is_null());
        let done = matches!(self.next, Deed::Wait | Deed::StartAgain);
        done && landed && tidy && is_empty(&state["active_trains"]) && is_empty(&state["outbox"]["owed"])
    }
}

/// Whether it is settled who is prepared for the squash of #1, or it has landed.
fn is_frozen(state: &Value) -> bool {
    let phase = &state["active_trains"]["1"]["cascade_phase"];
    let is_under_way = phase.is_object() && state["active_trains"]["1"]["current_pr"] == 1;
    is_under_way || state["prs"]["1"]["state"] == "merged"
}

async fn has_struck(place: &Place) -> bool {
    let faults = place.control(Method::GET, "/faults", Value::Null).await;
    faults.as_array().expect("a list").iter().any(|fault| fault["struck"].as_u64() > Some(0))
}

async fn says(place: &Place, pr: u64, text: &str) {
    place.call(Method::POST, &format!("/issues/{pr}/comments"), json!({ "body": text })).await;
}
