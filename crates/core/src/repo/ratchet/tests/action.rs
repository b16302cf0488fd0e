//! Every combination of what the decision depends on, against the specification's list of guards.

use std::collections::BTreeMap;

use super::*;
use crate::facts::{MergeState, ReviewDecision};

const TIMEOUT: SignedDuration = SignedDuration::from_mins(5);
const GRACE: SignedDuration = SignedDuration::from_secs(60);
const MOMENT: SignedDuration = SignedDuration::from_secs(1);

/// One combination, in the words of the specification.
#[derive(Debug, Clone)]
struct Case {
    ci: CiSummary,
    merge: MergeState,
    review: Option<ReviewDecision>,
    comments: usize,
    /// Comments that a fixer has dealt with, and that nobody has resolved.
    dealt_with: usize,
    /// The run that the last fixer was sent for, and the one that there is now.
    recorded_run: Option<&'static str>,
    current_run: Option<&'static str>,
    /// For how long a new run has been waited for, and for how long everything has been green.
    stale_for: Option<SignedDuration>,
    green_for: Option<SignedDuration>,
}

impl Case {
    fn all() -> impl Iterator<Item = Self> {
        let cis = [CiSummary::None, CiSummary::InProgress, CiSummary::Failed, CiSummary::Passed];
        let merges = [
            MergeState::Clean,
            MergeState::Unstable,
            MergeState::Blocked,
            MergeState::Behind,
            MergeState::Dirty,
            MergeState::HasHooks,
            MergeState::Draft,
            MergeState::Unknown,
        ];
        let reviews = [
            None,
            Some(ReviewDecision::Approved),
            Some(ReviewDecision::ChangesRequested),
            Some(ReviewDecision::ReviewRequired),
        ];
        let runs = [(None, None), (None, Some("1")), (Some("1"), None), (Some("1"), Some("1")), (Some("1"), Some("2"))];
        let stale = [None, Some(SignedDuration::ZERO), Some(TIMEOUT - MOMENT), Some(TIMEOUT)];
        let green = [None, Some(SignedDuration::ZERO), Some(GRACE - MOMENT), Some(GRACE)];
        let mut all = Vec::new();
        for ci in cis {
            for merge in merges {
                for review in reviews {
                    for (comments, dealt_with) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                        for (recorded_run, current_run) in runs {
                            for stale_for in stale {
                                for green_for in green {
                                    all.push(Self {
                                        ci,
                                        merge,
                                        review,
                                        comments,
                                        dealt_with,
                                        recorded_run,
                                        current_run,
                                        stale_for,
                                        green_for,
                                    });
                                }
                            }
                        }
                    }
                }
            }
        }
        all.into_iter()
    }

    fn decided(&self) -> RatchetAction {
        let points = (0..self.comments).map(|point| (format!("thread-{point}"), now())).collect();
        let seen = ObservedPullRequest {
            head: sha(1),
            ci: self.ci,
            run: self.current_run.map(str::to_owned),
            merge_state: self.merge,
            review: self.review,
            points,
            unresolved: self.comments + self.dealt_with,
            talk: String::new(),
        };
        let standing = RatchetMemory {
            last_ci_run: self.recorded_run.map(str::to_owned),
            stale_since: self.stale_for.map(ago),
            stale_timeout: TIMEOUT,
            green_since: self.green_for.map(ago),
            grace: GRACE,
        };
        determine_fixup_action(&seen, &standing, now())
    }

    // The words that the guards are written in.

    /// "Run ID unchanged since last dispatch": a fixer was sent, for a run, and no other run has begun since.
    fn run_is_unchanged(&self) -> bool {
        self.stale_for.is_some() && self.recorded_run.is_some() && self.current_run != Some("2")
    }

    fn has_waited_for_a_run(&self) -> SignedDuration {
        self.stale_for.unwrap_or_default()
    }

    fn conflicts(&self) -> bool {
        self.merge == MergeState::Dirty
    }

    fn ci_failed(&self) -> bool {
        self.ci == CiSummary::Failed
    }

    fn is_blocked(&self) -> bool {
        self.merge == MergeState::Blocked
    }

    /// The rules ask for a review, or for what reviewers said to be resolved.
    fn asks_for_people(&self) -> bool {
        let asks_for_review = [Some(ReviewDecision::ReviewRequired), Some(ReviewDecision::ChangesRequested)];
        asks_for_review.contains(&self.review) || self.comments + self.dealt_with > 0
    }

    /// GitHub says that something has not passed, and not what.
    fn hides_ci(&self) -> bool {
        (self.merge, self.ci) == (MergeState::Unstable, CiSummary::None)
    }

    fn is_green(&self) -> bool {
        let ci_is_content = [CiSummary::Passed, CiSummary::None].contains(&self.ci) && !self.hides_ci();
        let github_is_content = ![MergeState::Unknown, MergeState::Blocked, MergeState::Dirty].contains(&self.merge);
        ci_is_content && github_is_content && self.comments == 0
    }

    fn has_been_green(&self) -> SignedDuration {
        self.green_for.unwrap_or_default()
    }
}

/// A line of the specification: its guard, and what it leads to.
struct Guard {
    line: &'static str,
    holds: fn(&Case) -> bool,
    action: RatchetAction,
}

/// "Guard evaluation order". The first that holds decides.
fn guards() -> Vec<Guard> {
    let guard = |line, holds, action| Guard { line, holds, action };
    vec![
        guard(
            "1. Stale CI run",
            |case| case.run_is_unchanged() && case.has_waited_for_a_run() < TIMEOUT,
            RatchetAction::Wait(WorkspaceReason::StaleCi),
        ),
        guard(
            "2. Stale CI timeout reached",
            |case| case.run_is_unchanged() && case.has_waited_for_a_run() >= TIMEOUT,
            RatchetAction::Pause(WorkspaceStatus::PausedAttentionStaleCiTimeout, WorkspaceReason::StaleCiTimeout),
        ),
        guard(
            "3. Merge conflict only",
            |case| case.conflicts() && !case.ci_failed() && case.comments == 0,
            RatchetAction::Pause(WorkspaceStatus::PausedWaitConflictOnly, WorkspaceReason::ConflictOnly),
        ),
        guard("4. CI failed", Case::ci_failed, RatchetAction::Fix(FixIssue::FixCi, WorkspaceReason::CiFailed)),
        guard(
            "5. Review comments",
            |case| case.comments > 0,
            RatchetAction::Fix(FixIssue::FixReview, WorkspaceReason::ReviewComments),
        ),
        guard(
            "6a. Merge blocked, and not on a human: no check has reported",
            |case| case.is_blocked() && !case.asks_for_people() && case.ci == CiSummary::None,
            RatchetAction::Wait(WorkspaceReason::CiExpected),
        ),
        guard(
            "6b. Merge blocked, and not on a human: the rules ask for something else than what has reported",
            |case| case.is_blocked() && !case.asks_for_people(),
            RatchetAction::Wait(WorkspaceReason::MergeBlocked),
        ),
        guard(
            "6. Merge blocked on human review",
            Case::is_blocked,
            RatchetAction::Pause(WorkspaceStatus::PausedWaitHumanReview, WorkspaceReason::HumanReview),
        ),
        guard(
            "7b. CI is not green, and cannot be seen",
            Case::hides_ci,
            RatchetAction::Wait(WorkspaceReason::CiUnseen),
        ),
        guard(
            "7a. All green, for a moment only: late comments may come",
            |case| case.is_green() && case.has_been_green() < GRACE,
            RatchetAction::Wait(WorkspaceReason::Grace),
        ),
        guard(
            "7. All green",
            Case::is_green,
            RatchetAction::Pause(WorkspaceStatus::PausedDone, WorkspaceReason::AllGreen),
        ),
        guard("8. No actionable change", |_| true, RatchetAction::Noop(WorkspaceReason::NothingActionable)),
    ]
}

#[test]
fn unit_every_guard_combination_for_determine_fixup_action_is_decided_in_the_order_of_the_specification() {
    let guards = guards();
    let mut times = BTreeMap::<&str, usize>::new();
    for case in Case::all() {
        let Guard { line, action, .. } = guards.iter().find(|guard| (guard.holds)(&case)).expect("the last holds");
        assert_eq!(case.decided(), *action, "by “{line}”: {case:?}");
        *times.entry(line).or_default() += 1;
    }
    let never: Vec<_> = guards.iter().filter(|guard| !times.contains_key(guard.line)).map(|guard| guard.line).collect();
    assert_eq!(never, [""; 0], "every line decides something");
    assert_eq!(times.values().sum::<usize>(), 4 * 8 * 4 * 4 * 5 * 4 * 4);
}

fn green() -> Case {
    Case {
        ci: CiSummary::Passed,
        merge: MergeState::Clean,
        review: None,
        comments: 0,
        dealt_with: 0,
        recorded_run: None,
        current_run: Some("2"),
        stale_for: None,
        green_for: None,
    }
}

#[test]
fn unit_a_merge_conflict_only_waits_for_something_else_to_mend() {
    let case = Case { merge: MergeState::Dirty, ..green() };
    let pause = RatchetAction::Pause(WorkspaceStatus::PausedWaitConflictOnly, WorkspaceReason::ConflictOnly);
    assert_eq!(case.decided(), pause);
    assert_eq!(Case { ci: CiSummary::None, ..case }.decided(), pause, "whatever CI says, as long as it does not fail");
}

#[test]
fn unit_a_conflict_beside_a_failure_is_mended_with_the_failure() {
    let case = Case { merge: MergeState::Dirty, ci: CiSummary::Failed, ..green() };
    assert_eq!(case.decided(), RatchetAction::Fix(FixIssue::FixCi, WorkspaceReason::CiFailed));
    let case = Case { merge: MergeState::Dirty, comments: 1, ..green() };
    assert_eq!(case.decided(), RatchetAction::Fix(FixIssue::FixReview, WorkspaceReason::ReviewComments));
}

#[test]
fn unit_ci_failed_comes_before_review_comments() {
    let case = Case { ci: CiSummary::Failed, comments: 1, ..green() };
    assert_eq!(case.decided(), RatchetAction::Fix(FixIssue::FixCi, WorkspaceReason::CiFailed));
    assert_eq!(
        Case { ci: CiSummary::Passed, ..case }.decided(),
        RatchetAction::Fix(FixIssue::FixReview, WorkspaceReason::ReviewComments),
        "which are next"
    );
}

#[test]
fn unit_merge_blocked_waits_for_people_however_long_it_has_been_green() {
    for green_for in [None, Some(GRACE)] {
        let case =
            Case { merge: MergeState::Blocked, review: Some(ReviewDecision::ReviewRequired), green_for, ..green() };
        assert_eq!(
            case.decided(),
            RatchetAction::Pause(WorkspaceStatus::PausedWaitHumanReview, WorkspaceReason::HumanReview)
        );
    }
}

#[test]
fn a_merge_that_is_blocked_on_no_review_is_not_said_to_wait_for_one() {
    let blocked = Case { merge: MergeState::Blocked, ..green() };
    for review in [None, Some(ReviewDecision::Approved)] {
        let case = Case { review, ..blocked.clone() };
        assert_eq!(case.decided(), RatchetAction::Wait(WorkspaceReason::MergeBlocked), "{review:?}");
        assert_eq!(
            Case { ci: CiSummary::None, ..case }.decided(),
            RatchetAction::Wait(WorkspaceReason::CiExpected),
            "{review:?}"
        );
    }
    let case = Case { dealt_with: 1, ..blocked };
    let people = RatchetAction::Pause(WorkspaceStatus::PausedWaitHumanReview, WorkspaceReason::HumanReview);
    assert_eq!(case.decided(), people, "somebody has to resolve what was said");
}

#[test]
fn what_github_calls_unstable_is_not_done_where_nobody_sees_what_has_not_passed() {
    let case = Case { merge: MergeState::Unstable, ci: CiSummary::None, green_for: Some(GRACE), ..green() };
    assert_eq!(case.decided(), RatchetAction::Wait(WorkspaceReason::CiUnseen));
    let seen = Case { ci: CiSummary::Passed, ..case };
    assert_eq!(
        seen.decided(),
        RatchetAction::Pause(WorkspaceStatus::PausedDone, WorkspaceReason::AllGreen),
        "where all is seen to have passed"
    );
}

#[test]
fn unit_all_green_is_done_after_the_grace_window_and_not_before() {
    assert_eq!(green().decided(), RatchetAction::Wait(WorkspaceReason::Grace));
    let within = Case { green_for: Some(GRACE - MOMENT), ..green() };
    assert_eq!(within.decided(), RatchetAction::Wait(WorkspaceReason::Grace));
    let over = Case { green_for: Some(GRACE), ..green() };
    assert_eq!(over.decided(), RatchetAction::Pause(WorkspaceStatus::PausedDone, WorkspaceReason::AllGreen));
}

#[test]
fn a_clock_that_was_set_back_neither_times_out_nor_ends_the_grace() {
    let ahead = Some(SignedDuration::from_hours(-2));
    let case =
        Case { recorded_run: Some("1"), current_run: Some("1"), stale_for: ahead, ci: CiSummary::Failed, ..green() };
    assert_eq!(case.decided(), RatchetAction::Wait(WorkspaceReason::StaleCi));
    assert_eq!(Case { green_for: ahead, ..green() }.decided(), RatchetAction::Wait(WorkspaceReason::Grace));
}
