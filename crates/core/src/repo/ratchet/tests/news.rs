//! What is news about a pull request, and what is not.

use std::collections::BTreeMap;

use super::*;
use crate::facts::{
    Check, CheckConclusion, CheckProgress, CiFacts, HeartbeatFacts, MergeFacts, MergeState, ReviewActivity,
    ReviewDecision, ReviewThreadActivity, SettingsFileContent,
};
use crate::ids::{BranchName, CheckSuiteId, PrNumber};

fn markers() -> Markers {
    let seen = ObservedPullRequest {
        head: sha(1),
        ci: CiSummary::Failed,
        run: Some("7".to_owned()),
        merge_state: MergeState::Clean,
        review: None,
        points: BTreeMap::from([("thread".to_owned(), now())]),
        unresolved: 1,
        talk: "one comment".to_owned(),
    };
    Markers { seen, enabled: true }
}

fn changes(how: impl FnOnce(&mut Markers)) -> Vec<RatchetDelta> {
    let mut after = markers();
    how(&mut after);
    Markers::changes(Some(&markers()), &after).into_iter().collect()
}

#[test]
fn unit_heartbeat_delta_nothing_is_news_where_nothing_changed() {
    assert_eq!(changes(|_| {}), []);
}

#[test]
fn unit_heartbeat_delta_everything_is_news_where_nothing_is_known() {
    assert_eq!(Markers::changes(None, &markers()).len(), 5);
}

#[test]
fn unit_heartbeat_delta_each_kind_of_change_is_news_of_its_kind() {
    assert_eq!(changes(|it| it.seen.head = sha(2)), [RatchetDelta::Head]);
    assert_eq!(changes(|it| it.seen.ci = CiSummary::Passed), [RatchetDelta::Ci]);
    assert_eq!(changes(|it| it.seen.run = Some("8".to_owned())), [RatchetDelta::Ci], "it ran again, and fails again");
    assert_eq!(changes(|it| it.seen.review = Some(ReviewDecision::ChangesRequested)), [RatchetDelta::Review]);
    assert_eq!(changes(|it| it.seen.points.clear()), [RatchetDelta::Review], "all is resolved");
    assert_eq!(changes(|it| it.seen.merge_state = MergeState::Blocked), [RatchetDelta::Mergeability]);
    assert_eq!(changes(|it| it.enabled = false), [RatchetDelta::Toggle]);
}

#[test]
fn unit_heartbeat_delta_an_edit_of_what_was_said_is_news() {
    let later = now().checked_add(SignedDuration::from_secs(1)).unwrap();
    assert_eq!(changes(|it| it.seen.points = BTreeMap::from([("thread".to_owned(), later)])), [RatchetDelta::Review]);
    assert_eq!(changes(|it| it.seen.talk = "one comment, edited".to_owned()), [RatchetDelta::Review]);
}

#[test]
fn unit_heartbeat_delta_ci_that_has_not_ended_and_a_merge_state_that_is_not_computed_are_no_news() {
    assert_eq!(changes(|it| (it.seen.ci, it.seen.run) = (CiSummary::InProgress, Some("8".to_owned()))), []);
    assert_eq!(changes(|it| (it.seen.ci, it.seen.run) = (CiSummary::None, None)), []);
    assert_eq!(changes(|it| it.seen.merge_state = MergeState::Unknown), []);
}

#[test]
fn ci_is_in_progress_while_anything_of_it_is_and_failed_where_anything_failed() {
    let check = |verdict| Check { verdict, required: false };
    let ci = |suites: &[CheckProgress], verdicts: &[CheckConclusion]| {
        let suites = suites.iter().enumerate().map(|(at, progress)| (CheckSuiteId::new(at as u64), *progress));
        let checks = verdicts.iter().enumerate().map(|(at, verdict)| (format!("check {at}"), check(*verdict)));
        CiSummary::of(&CiFacts { suites: suites.collect(), checks: checks.collect(), ..CiFacts::default() })
    };
    let table: [(&[CheckProgress], &[CheckConclusion], CiSummary); 8] = [
        (&[], &[], CiSummary::None),
        (&[CheckProgress::Complete], &[], CiSummary::None),
        (&[CheckProgress::UnderWay], &[], CiSummary::InProgress),
        (&[CheckProgress::Complete, CheckProgress::UnderWay], &[CheckConclusion::Failed], CiSummary::InProgress),
        (&[CheckProgress::Complete], &[CheckConclusion::Passed, CheckConclusion::Pending], CiSummary::InProgress),
        (&[CheckProgress::Complete], &[CheckConclusion::Passed, CheckConclusion::Failed], CiSummary::Failed),
        (&[CheckProgress::Complete], &[CheckConclusion::Passed], CiSummary::Passed),
        (&[], &[CheckConclusion::Passed], CiSummary::Passed),
    ];
    for (suites, verdicts, expected) in table {
        assert_eq!(ci(suites, verdicts), expected, "{suites:?} {verdicts:?}");
    }
    assert!(CiSummary::Failed.is_terminal() && CiSummary::Passed.is_terminal());
    assert!(!CiSummary::None.is_terminal() && !CiSummary::InProgress.is_terminal());
}

#[test]
fn what_all_checks_come_to_counts_where_not_all_are_listed() {
    let listed = |verdict| BTreeMap::from([("check".to_owned(), Check { verdict, required: false })]);
    let ci = |verdict, overall| CiSummary::of(&CiFacts { checks: listed(verdict), overall, ..CiFacts::default() });
    assert_eq!(ci(CheckConclusion::Passed, Some(CheckConclusion::Failed)), CiSummary::Failed);
    assert_eq!(ci(CheckConclusion::Passed, Some(CheckConclusion::Pending)), CiSummary::InProgress);
    assert_eq!(ci(CheckConclusion::Failed, Some(CheckConclusion::Pending)), CiSummary::InProgress);
    assert_eq!(ci(CheckConclusion::Passed, Some(CheckConclusion::Passed)), CiSummary::Passed);
    assert_eq!(ci(CheckConclusion::Passed, None), CiSummary::Passed);
}

fn glance() -> HeartbeatFacts {
    HeartbeatFacts {
        repo: "acme/widgets".parse().unwrap(),
        merge: MergeFacts {
            number: PrNumber::new(1),
            is_open: true,
            head_sha: sha(1),
            base_ref: BranchName::parse("main").unwrap(),
            state: MergeState::Clean,
            draft: false,
            review: None,
            ci: CiFacts::default(),
            own_file: SettingsFileContent::Unseen,
        },
        talk: ReviewActivity {
            overview: "overview".to_owned(),
            detail: Some(ReviewThreadActivity { mark: "mark".to_owned(), points: Vec::new() }),
        },
    }
}

#[test]
fn unit_heartbeat_delta_filter_a_glance_is_worth_a_closer_look_exactly_where_something_differs() {
    let known = HeartbeatFingerprint::of(&glance().merge, &glance().talk);
    let differs = |how: fn(&mut HeartbeatFacts)| {
        let mut glance = glance();
        how(&mut glance);
        known.differs_from(&glance)
    };
    let news: [fn(&mut HeartbeatFacts); 9] = [
        |it| it.merge.head_sha = sha(2),
        |it| it.merge.base_ref = BranchName::parse("next").unwrap(),
        |it| it.merge.state = MergeState::Dirty,
        |it| it.merge.draft = true,
        |it| it.merge.is_open = false,
        |it| it.merge.review = Some(ReviewDecision::Approved),
        |it| it.merge.ci.suites = [(CheckSuiteId::new(1), CheckProgress::UnderWay)].into(),
        |it| it.talk.overview = "another".to_owned(),
        |it| it.talk.detail = Some(ReviewThreadActivity { mark: "edited".to_owned(), points: Vec::new() }),
    ];
    for (at, how) in news.into_iter().enumerate() {
        assert!(differs(how), "the one at {at} is news");
    }
    let none: [fn(&mut HeartbeatFacts); 3] =
        [|_| {}, |it| it.merge.state = MergeState::Unknown, |it| it.talk.detail = None];
    for (at, how) in none.into_iter().enumerate() {
        assert!(!differs(how), "the one at {at} is none");
    }
}

#[test]
fn the_pushes_that_wait_for_a_person_are_those_of_the_paths_that_are_named() {
    let files: Vec<String> = ["README.md", "src/lib.rs", ".github/workflows/ci.yml"].map(str::to_owned).into();
    let paths = |patterns: &[&str]| ApprovalRule::Paths(patterns.iter().map(|&pattern| pattern.to_owned()).collect());
    let table = [
        (ApprovalRule::Never, None),
        (ApprovalRule::Always, Some("README.md")),
        (paths(&[".github/**"]), Some(".github/workflows/ci.yml")),
        (paths(&[".github/*"]), None),
        (paths(&["docs/**", "*.md"]), Some("README.md")),
        (paths(&["*.rs"]), None),
        (paths(&["**/*.rs"]), Some("src/lib.rs")),
        (paths(&["src/lib.r?"]), Some("src/lib.rs")),
        (paths(&["["]), None),
        (paths(&[]), None),
    ];
    for (approve, expected) in table {
        assert_eq!(approve.reason(&files), expected, "{approve:?}");
    }
    assert_eq!(ApprovalRule::Always.reason(&[]), Some(""), "also where nothing is known of what it changes");
    let odd = ["[".to_owned()];
    assert_eq!(paths(&["["]).reason(&odd), Some("["), "what is no pattern is a name");
}
