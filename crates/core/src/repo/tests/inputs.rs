//! The ends of effects, without what nobody asks about them.

use jiff::Timestamp;

use super::{MirrorEffect, OutboxEffect, RatchetEffect, SettingsEffect, TrainsEffect, at, branch, pr, sha};
use crate::facts::{CommentFacts, Conversation, Listing, MergeFacts, PullFacts};
use crate::ids::{CommentId, PrNumber, Sha};
use crate::repo::ratchet::{FixEnd, FixPush, Issue};
use crate::repo::settings::{File, Proposal, Showing, Verdict};
use crate::repo::trains::Policy;
use crate::repo::trains::work::{Outcome, Work};
use crate::repo::{Answer, Diagnosis, Effect, Failure, Forwarded, Input, NoteId, Say, Tried};

pub(super) fn completed<T: Into<Answer>>(
    effect: impl Into<Effect>,
    requested_at: Timestamp,
    result: Result<T, Failure>,
) -> Input {
    Input::Completed { effect: effect.into(), requested_at, result: result.map(Into::into) }
}

pub(super) fn failed(effect: Effect, requested_at: Timestamp, failure: Failure) -> Input {
    Input::Completed { effect, requested_at, result: Err(failure) }
}

pub(super) fn surveyed(requested_at: Timestamp, result: Result<Listing, Failure>) -> Input {
    completed(MirrorEffect::Survey, requested_at, result)
}

pub(super) fn conversations_read(
    prs: Vec<PrNumber>,
    requested_at: Timestamp,
    result: Result<Vec<Conversation>, Failure>,
) -> Input {
    completed(MirrorEffect::ReadConversations { prs }, requested_at, result)
}

pub(super) fn fetched(pr: PrNumber, requested_at: Timestamp, result: Result<Option<PullFacts>, Failure>) -> Input {
    completed(MirrorEffect::FetchPull { pr }, requested_at, result)
}

pub(super) fn merge_states(
    prs: Vec<PrNumber>,
    requested_at: Timestamp,
    result: Result<Vec<MergeFacts>, Failure>,
) -> Input {
    completed(MirrorEffect::ReadMergeStates { prs }, requested_at, result)
}

pub(super) fn said(note: NoteId, result: Result<(), Failure>) -> Input {
    let effect = OutboxEffect::Say { note, pr: pr(1), say: Say::Close {}, since: at(0), tried: Tried::Never };
    completed(effect, at(0), result)
}

pub(super) fn worked(root: PrNumber, work: Work, result: Result<Outcome, Failure>) -> Input {
    completed(TrainsEffect::Work { root, work }, at(0), result)
}

pub(super) fn status_read(root: PrNumber, comment: CommentId, result: Result<Option<CommentFacts>, Failure>) -> Input {
    completed(TrainsEffect::ReadStatus { root, comment }, at(0), result)
}

pub(super) fn policy_read(result: Result<Policy, Failure>) -> Input {
    completed(TrainsEffect::ReadPolicy { default: branch("main") }, at(0), result)
}

pub(super) fn diagnosed(pr: PrNumber, head: Sha, issue: Issue, result: Result<Diagnosis, Failure>) -> Input {
    let (branch, base, handled) = (branch("feature"), branch("main"), Default::default());
    let effect = RatchetEffect::Diagnose { pr, issue, branch, base, head, conflicts: false, handled };
    completed(effect, at(0), result)
}

pub(super) fn fixed(pr: PrNumber, sent: Timestamp, result: Result<FixEnd, Failure>) -> Input {
    let (branch, base, handled) = (branch("feature"), branch("main"), Default::default());
    let (head, issue) = (sha(1), Issue::FixCi);
    completed(RatchetEffect::Fix { pr, at: sent, issue, branch, base, head, conflicts: false, handled }, at(0), result)
}

pub(super) fn forwarded(pr: PrNumber, sent: Timestamp, result: Result<Forwarded, Failure>) -> Input {
    let push = FixPush { from: sha(1), to: sha(2), tree: sha(2), files: Vec::new(), unlisted: 0 };
    let effect = RatchetEffect::Forward { pr, at: sent, branch: branch("feature"), push, doubted: false };
    completed(effect, at(0), result)
}

pub(super) fn fixer_cleared(pr: PrNumber, sent: Timestamp, result: Result<(), Failure>) -> Input {
    completed(RatchetEffect::ClearFixer { pr, at: sent, head: sha(1) }, at(0), result)
}

pub(super) fn settings_read(requested_at: Timestamp, result: Result<File, Failure>) -> Input {
    completed(SettingsEffect::ReadSettings { default: branch("main") }, requested_at, result)
}

pub(super) fn proposal_read(pr: PrNumber, head: Sha, result: Result<Proposal, Failure>) -> Input {
    completed(SettingsEffect::ReadProposal { pr, head }, at(0), result)
}

pub(super) fn check_shown(head: Sha, result: Result<Showing, Failure>) -> Input {
    completed(SettingsEffect::ShowCheck { head, verdict: Verdict::Removed {} }, at(0), result)
}
