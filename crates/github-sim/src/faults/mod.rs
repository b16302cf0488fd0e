//! What the simulator was told to do wrong.
//!
//! A fault waits for its n-th matching occasion, strikes `count` times and is spent. Everything random about it
//! comes from the simulator's seed, so a run can be repeated.

use serde::{Deserialize, Serialize};

use crate::world::{Doc, Id, Key, LagMode, World};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fault {
    #[serde(default)]
    pub id: Id,
    #[serde(default, rename = "match")]
    pub matcher: Matcher,
    #[serde(flatten)]
    pub kind: FaultKind,
    /// How often it strikes; `null` means for ever.
    #[serde(default = "once")]
    pub count: Option<u64>,
    /// Matching occasions so far, whether it struck or not.
    #[serde(default)]
    pub seen: u64,
    /// How often it struck.
    #[serde(default)]
    pub struck: u64,
}

fn once() -> Option<u64> {
    Some(1)
}

impl Doc for Fault {
    const KIND: &'static str = "fault";
    fn key(&self) -> Key {
        Key { scope: 0, id: self.id }
    }
}

/// Which occasions a fault is about. What is left out matches everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Matcher {
    /// `GET`, `PUT`, …
    pub method: Option<String>,
    /// The path without `/api/v3`; `*` stands for anything (`/repos/*/pulls/*/merge`).
    pub path: Option<String>,
    /// `owner/name`.
    pub repository: Option<String>,
    /// Of a webhook: `push`, or with its action `pull_request.opened`.
    pub event: Option<String>,
    /// Strike from the n-th matching occasion on (the first is 1).
    pub nth: Option<u64>,
    /// Strike with this probability, from 0 to 1, drawn from the simulator's seed.
    pub probability: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FaultKind {
    /// Answer this instead of doing the work: 500, 502, 503, 429, 403, …
    Status {
        status: u16,
        #[serde(default)]
        message: Option<String>,
        /// `Retry-After`, in seconds.
        #[serde(default)]
        retry_after: Option<u64>,
    },
    /// Do nothing for a while, then close the connection.
    Timeout {
        ms: u64,
    },
    /// Do the work, but late.
    Delay {
        ms: u64,
    },
    /// Do the work, send half of the answer, close the connection.
    Truncate,
    /// Do the work, close the connection without an answer.
    LoseResponse,
    /// Never send the webhook.
    DropWebhook,
    DelayWebhook {
        ms: u64,
    },
    /// Send the webhook this many times more, with the same delivery id.
    DuplicateWebhook {
        #[serde(default = "one_more")]
        times: u64,
    },
    /// Send the webhook after the next one to the same receiver.
    ReorderWebhook,
    /// Show the merge state of the head before a push for this long.
    LagMergeState {
        ms: u64,
        #[serde(default = "stale")]
        mode: LagMode,
    },
    /// Show no `merge_commit_sha` for this long after a merge.
    LagMergeCommitSha {
        ms: u64,
    },
    /// Squash, but wrongly.
    WrongSquash {
        how: WrongSquash,
    },
}

fn one_more() -> u64 {
    1
}

fn stale() -> LagMode {
    LagMode::Stale
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WrongSquash {
    /// The landed tree is the head's own: what landed on the base since is reverted.
    RevertBase,
    /// The landed tree is the base's: the change is lost.
    LoseChange,
    /// A merge commit with two parents.
    TwoParents,
    /// One commit for each of the pull request's.
    Rebase,
}

/// Where faults can strike; each asks only for the kinds it can carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    Request,
    Webhook,
    Push,
    Merge,
    Squash,
}

impl FaultKind {
    fn occasion(&self) -> Occasion {
        match self {
            Self::Status { .. } | Self::Timeout { .. } | Self::Delay { .. } | Self::Truncate | Self::LoseResponse => {
                Occasion::Request
            }
            Self::DropWebhook | Self::DelayWebhook { .. } | Self::DuplicateWebhook { .. } | Self::ReorderWebhook => {
                Occasion::Webhook
            }
            Self::LagMergeState { .. } => Occasion::Push,
            Self::LagMergeCommitSha { .. } => Occasion::Merge,
            Self::WrongSquash { .. } => Occasion::Squash,
        }
    }
}

/// What is happening, for matchers to look at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Circumstances<'a> {
    pub method: &'a str,
    pub path: &'a str,
    /// `owner/name`.
    pub repository: &'a str,
    /// `push` or `pull_request.opened`.
    pub event: &'a str,
}

/// The first fault that strikes now. Counts the occasion for every fault it matches.
pub fn strike(world: &mut World, occasion: Occasion, now: Circumstances<'_>) -> Option<FaultKind> {
    let matching: Vec<Id> = world
        .faults
        .within(0)
        .filter(|fault| fault.kind.occasion() == occasion && fault.count != Some(0) && fault.matcher.matches(now))
        .map(|fault| fault.id)
        .collect();
    let mut struck = None;
    for id in matching {
        let seed = world.meta().seed;
        let fault = world.faults.edit(0, id).expect("listed a moment ago");
        fault.seen += 1;
        let draw = draw(seed, id, fault.seen);
        let due = fault.matcher.nth.is_none_or(|nth| fault.seen >= nth)
            && fault.matcher.probability.is_none_or(|probability| draw < probability);
        if due && struck.is_none() {
            fault.struck += 1;
            fault.count = fault.count.map(|left| left - 1);
            tracing::info!(fault = id, kind = ?fault.kind, ?now, "a fault strikes");
            struck = Some(fault.kind.clone());
        }
    }
    struck
}

/// From 0 to 1. Decided by the fault and by how many occasions it has seen, so that nothing else that is random (and
/// may happen earlier or later in another run) has a say in it.
fn draw(seed: u64, fault: Id, occasion: u64) -> f64 {
    let stream = fault.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ occasion.wrapping_mul(0xD1B5_4A32_D192_ED03);
    fastrand::Rng::with_seed(seed ^ stream).f64()
}

/// Whether any fault waits for such an occasion; spares requests a transaction when there is none.
pub fn any(world: &World, occasion: Occasion) -> bool {
    world.faults.within(0).any(|fault| fault.kind.occasion() == occasion && fault.count != Some(0))
}

impl Matcher {
    fn matches(&self, now: Circumstances<'_>) -> bool {
        let event_name = now.event.split('.').next().unwrap_or_default();
        self.method.as_deref().is_none_or(|method| method.eq_ignore_ascii_case(now.method))
            && self.path.as_deref().is_none_or(|path| glob(path, now.path))
            && self.repository.as_deref().is_none_or(|name| name.eq_ignore_ascii_case(now.repository))
            && self.event.as_deref().is_none_or(|event| event == now.event || event == event_name)
    }
}

/// `*` stands for anything, also across `/`.
pub fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, rest)) => text.strip_prefix(head).is_some_and(|tail| {
            rest.is_empty()
                || tail.char_indices().map(|(at, _)| at).chain([tail.len()]).any(|at| glob(rest, &tail[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        assert!(glob("/repos/*/pulls/*/merge", "/repos/a/b/pulls/7/merge"));
        assert!(glob("*", ""));
        assert!(glob("a*", "a"));
        assert!(!glob("/repos/*/merge", "/repos/a/b/merges"));
        assert!(!glob("a", "ab"));
        assert!(glob("*é", "né"));
    }

    #[test]
    fn a_fault_reads_as_people_write_it() {
        let fault: Fault = serde_json::from_str(
            r#"{"match": {"method": "PUT", "path": "/repos/*/merge", "nth": 2}, "kind": "status", "status": 502, "count": 3}"#,
        )
        .expect("valid");
        assert_eq!(fault.kind, FaultKind::Status { status: 502, message: None, retry_after: None });
        assert_eq!((fault.count, fault.matcher.nth), (Some(3), Some(2)));
        let for_ever: Fault = serde_json::from_str(r#"{"kind": "drop_webhook", "count": null}"#).expect("valid");
        assert_eq!(for_ever.count, None);
    }
}
