//! What of a run people want to hear, and how it reads.

use std::time::Duration;

use merge_train_core::repo::{FIXER, TRAIN, WaitingFor};
use merge_train_core::workflow::{Run, RunStatus};
use serde_json::{Value, json};

use crate::daemon::server::{escape_for_slack as escape, page_of};

/// How long a train has to wait for a person before somebody is told: GitHub takes a moment to say what it means.
const SETTLED: Duration = Duration::from_secs(3);
/// How much is shown of what others wrote.
const LONGEST_NAME: usize = 200;
const LONGEST_REASON: usize = 1000;
/// How many pull requests are named.
const MOST_NAMED: usize = 20;

/// What the configuration calls the kinds of news.
pub const KINDS: &[&str] = &["blocked", "needs_approval", "landed"];

/// The kinds of news, by the names that the configuration has for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NoticeKind {
    Blocked,
    NeedsApproval,
    Landed,
}

impl NoticeKind {
    pub const ALL: [Self; 3] = [Self::Blocked, Self::NeedsApproval, Self::Landed];

    pub fn name(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::NeedsApproval => "needs_approval",
            Self::Landed => "landed",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Something to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub kind: NoticeKind,
    /// What tells it from others of its kind about the same run.
    pub about: String,
    /// A sentence or two, as Slack reads it.
    text: String,
    /// Whether it may pass by itself in a moment.
    is_hasty: bool,
}

impl Notice {
    /// What is to be told of a run as it is.
    pub fn of(run: &Run) -> Option<Self> {
        let reason = |text: &str| escape(text.trim(), LONGEST_REASON);
        let new = |kind, about: &str, text: String| Some(Self { kind, about: about.to_owned(), text, is_hasty: false });
        let told = run.last_transition.as_ref()?;
        match (run.kind.as_str(), run.status) {
            (TRAIN, RunStatus::Completed) => {
                let landed = numbers(run, "landed");
                if landed.is_empty() {
                    return None;
                }
                let parted = match numbers(run, "newTrains").as_slice() {
                    [] => String::new(),
                    trains => format!(" It continues as the {} of {}.", plural("train", trains), list(trains)),
                };
                let text = format!(":tada: A train has landed: {}.{parted}", list(&landed));
                new(NoticeKind::Landed, "", text)
            }
            (TRAIN, RunStatus::Failed) => {
                let why = run.error.as_deref().unwrap_or("no reason given");
                new(NoticeKind::Blocked, why, format!(":octagonal_sign: A train was aborted: {}", reason(why)))
            }
            (TRAIN, RunStatus::AwaitingApproval) => {
                let why = run.error.as_deref().unwrap_or("someone has to review it");
                new(
                    NoticeKind::Blocked,
                    why,
                    format!(":rotating_light: A train is frozen and needs a person: {}", reason(why)),
                )
            }
            (TRAIN, RunStatus::WaitingExternal) => {
                let WaitingFor { blocker, who, party } = WaitingFor::of(run)?;
                let text =
                    format!(":hourglass: A train waits. {} Who can change that: {}", reason(&blocker), reason(&who));
                party.is_to_be_told().then_some(Self {
                    kind: NoticeKind::Blocked,
                    about: blocker,
                    text,
                    is_hasty: true,
                })
            }
            (FIXER, RunStatus::AwaitingApproval) => {
                let why = told.approval.as_ref()?.reason.as_deref().unwrap_or("its push needs approval");
                let about = run.result.as_ref().and_then(|result| result["push"]["to"].as_str()).unwrap_or_default();
                new(
                    NoticeKind::NeedsApproval,
                    about,
                    format!(":raised_hand: A fixer's push needs approval: {}", reason(why)),
                )
            }
            (kind, RunStatus::AwaitingApproval) => {
                let step = run.current_step.as_deref().unwrap_or_default();
                let about = format!("{step} {}", run.resume_count);
                let (kind, shown) = (escape(kind, LONGEST_NAME), escape(step, LONGEST_NAME));
                new(
                    NoticeKind::NeedsApproval,
                    &about,
                    format!(":raised_hand: A run of `{kind}` needs approval of `{shown}`."),
                )
            }
            _ => None,
        }
    }

    /// Whether it is the same news.
    pub fn is(&self, other: &Self) -> bool {
        (self.kind, &self.about) == (other.kind, &other.about)
    }

    pub fn settles_in(&self) -> Duration {
        if self.is_hasty { SETTLED } else { Duration::ZERO }
    }

    /// The message, with where to look; the dashboard's address has no slash at its end.
    pub fn message(&self, run: &Run, dashboard: Option<&str>) -> Value {
        let mut links = Vec::new();
        if !run.pr_id.is_empty() && !run.pr_url.is_empty() {
            let name = escape(&format!("{}#{}", run.repo_id, run.pr_id), LONGEST_NAME);
            links.push(format!("<{}|{name}>", escape(&run.pr_url, LONGEST_REASON)));
        } else if !run.repo_id.is_empty() {
            links.push(escape(&run.repo_id, LONGEST_NAME));
        }
        links.push(format!("run `{}`", escape(run.id.as_str(), LONGEST_NAME)));
        let page = |address: &str| escape(&format!("{address}{}", page_of(run)), LONGEST_REASON);
        links.extend(dashboard.map(|address| format!("<{}|dashboard>", page(address))));
        let text = format!("{}\n{}", self.text, links.join(" · "));
        // What others wrote mentions nobody, and no link is looked into.
        json!({
            "text": text,
            "blocks": [{ "type": "section", "text": { "type": "mrkdwn", "text": text, "verbatim": true } }],
            "unfurl_links": false,
            "unfurl_media": false,
        })
    }
}

fn numbers(run: &Run, member: &str) -> Vec<u64> {
    let found = run.result.as_ref().and_then(|result| result[member].as_array());
    found.into_iter().flatten().filter_map(Value::as_u64).collect()
}

fn list(numbers: &[u64]) -> String {
    let shown: Vec<String> = numbers.iter().take(MOST_NAMED).map(|number| format!("#{number}")).collect();
    match numbers.len().saturating_sub(MOST_NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn plural(word: &str, numbers: &[u64]) -> String {
    if numbers.len() == 1 { word.to_owned() } else { format!("{word}s") }
}

#[cfg(test)]
mod tests {
    use merge_train_core::repo::trains::status::WaitParty;
    use serde_json::json;

    use super::*;

    fn run(kind: &str, status: &str, more: Value) -> Run {
        let mut run = json!({
            "id": "train-0123456789abcdef01234567", "schemaVersion": 1, "tenantId": "acme", "repoId": "acme/widgets", "prId": "12",
            "prUrl": "https://github.com/acme/widgets/pull/12", "type": kind, "status": status,
            "trigger": { "source": "webhook" }, "lastTransition": {}, "resumeCount": 0,
            "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z",
        });
        run.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(run).unwrap()
    }

    fn waits(blocker: &str, who: &str, party: WaitParty) -> Run {
        let told = json!({ "blocker": blocker, "who": who, "party": party });
        run("train", "waiting_external", json!({ "lastTransition": { "metadata": told } }))
    }

    #[test]
    fn every_message_reads_well_and_nothing_in_it_is_obeyed() {
        let approval = |reason: &str| json!({ "action": "push", "reason": reason });
        let all = [
            run("train", "completed", json!({ "result": { "landed": [12, 13, 14] } })),
            run("train", "completed", json!({ "result": { "landed": [12], "newTrains": [13, 14] } })),
            run("train", "failed", json!({ "error": "merge conflict in <!channel> & a<b>c" })),
            run("train", "awaiting_approval", json!({ "error": "what landed is not what should have" })),
            waits("PR #12 needs an approving review.", "A reviewer of PR #12, by approving it.", WaitParty::Reviewer),
            run(
                "fixer",
                "awaiting_approval",
                json!({
                    "lastTransition": { "approval": approval("it changes .github/workflows/ci.yml") },
                    "result": { "push": { "to": "abc" } },
                }),
            ),
            run("deploy", "awaiting_approval", json!({ "currentStep": "ok", "prId": "", "prUrl": "" })),
        ];
        let told: Vec<String> = all
            .iter()
            .map(|run| {
                let message = Notice::of(run).unwrap().message(run, Some("https://trains.example.com"));
                message["text"].as_str().unwrap().to_owned()
            })
            .collect();
        insta::assert_snapshot!(told.join("\n\n"));
    }

    #[test]
    fn what_needs_nobody_is_not_told() {
        for quiet in [
            run("train", "running", json!({})),
            run("train", "cancelled", json!({})),
            run("train", "completed", json!({ "result": { "landed": [] } })),
            waits("CI has not finished on PR #12.", "CI: nobody needs to do anything.", WaitParty::Ci),
            waits(
                "What a fixer wants to push waits.",
                "A maintainer, by approving or rejecting it.",
                WaitParty::Maintainer,
            ),
            run("fixer", "running", json!({})),
            run("deploy", "completed", json!({})),
            run("deploy", "failed", json!({})),
        ] {
            assert_eq!(Notice::of(&quiet), None, "{quiet:?}");
        }
    }

    #[test]
    fn every_kind_has_the_name_that_the_configuration_knows() {
        assert_eq!(NoticeKind::ALL.map(NoticeKind::name), KINDS);
        assert_eq!(KINDS.iter().filter_map(|name| NoticeKind::named(name)).collect::<Vec<_>>(), NoticeKind::ALL);
    }

    #[test]
    fn the_same_reason_is_the_same_news_and_another_is_not() {
        let of = |run: &Run| Notice::of(run).unwrap();
        let who = "A reviewer of PR #12, by approving it.";
        let waits = |blocker: &str| of(&waits(blocker, who, WaitParty::Reviewer));
        assert!(waits("one").is(&waits("one")));
        assert!(!waits("one").is(&waits("another")));
    }

    #[test]
    fn a_run_of_a_version_that_stored_no_party_tells_it_by_whom_it_names() {
        let waits = |who: &str| {
            let told = json!({ "blocker": "PR #12 lacks something.", "who": who });
            Notice::of(&run("train", "waiting_external", json!({ "lastTransition": { "metadata": told } })))
        };
        assert!(waits("The author of PR #12, by pushing a fix.").is_some());
        assert!(waits("A reviewer of PR #12, by approving it.").is_some());
        assert_eq!(waits("A maintainer, by approving or rejecting it."), None);
    }
}
