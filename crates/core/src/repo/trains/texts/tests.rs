//! Snapshots of every comment that the bot can post about trains, and of the same comments with hostile names in them.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::*;
use crate::ids::{CommentId, RunId, Sha};
use crate::repo::commands::{self, AddressedLine, ClosePrs, Command, CommandVerb};
use crate::repo::trains::conflict::{Conflict, ConflictKind, ConflictedFile};
use crate::repo::trains::difference::{Difference, NamedCommit};
use crate::repo::trains::plan::{ConflictsWith, LandingPlan, PlannedStep, PredictedConflict, PredictedDifference};

use crate::repo::trains::blockers;
use crate::repo::trains::status::WaitReason;
use crate::repo::trains::work::{AuthoredHead, WithdrawnCommits};
use crate::workflow::Decision;
use answer::AllowedPeople;
use train_end::Dismissal;

fn pr(number: u64) -> PrNumber {
    PrNumber::new(number)
}

fn prs(numbers: &[u64]) -> Vec<PrNumber> {
    numbers.iter().copied().map(PrNumber::new).collect()
}

fn name(text: &str) -> BranchName {
    BranchName::parse(text).unwrap()
}

fn main() -> BranchName {
    name("main")
}

fn sha(digit: char) -> Sha {
    Sha::parse(digit.to_string().repeat(40)).unwrap()
}

fn conflict() -> Conflict {
    let file = |path: &str, kind| ConflictedFile { path: path.into(), kind, message: String::new(), versions: vec![] };
    Conflict { files: vec![file("src/a.rs", ConflictKind::Content), file("odd`name", ConflictKind::ModifyDelete)] }
}

fn plan() -> LandingPlan {
    let steps = vec![PlannedStep::Squash { pull: pr(123), tree: sha('a') }];
    LandingPlan {
        root: pr(123),
        default_branch: main(),
        steps,
        conflicts: vec![],
        differences: vec![],
        unreached: vec![],
    }
}

fn moved() -> train_end::ManualBranchMove {
    train_end::ManualBranchMove::of(&name("add-login"), &difference().standing, &main())
}

fn merge_in(from: &BranchName) -> train_end::ManualMerge {
    train_end::ManualMerge::new(&name("add-login"), from)
}

fn named(commit: char, subject: &str, by_merge_train: bool) -> NamedCommit {
    let (subject, author) = (subject.to_owned(), "Mona".to_owned());
    NamedCommit { sha: sha(commit), subject, author, by_merge_train }
}

fn difference() -> Difference {
    Difference {
        conflict: None,
        files: vec!["secret.env".to_owned()],
        unnamed: 0,
        lines: "+TOKEN=1\n".to_owned(),
        commits: vec![
            named('c', "Merge predecessor PR #123 into add-login (merge-train prep)", true),
            named('b', "Add the login page", false),
        ],
        standing: AuthoredHead::new(sha('b'), sha('a')),
    }
}

fn withdrawn() -> WithdrawnCommits {
    WithdrawnCommits { head: sha('d'), commits: vec![named('d', "Add the secrets", false)] }
}

fn plan_that_differs() -> LandingPlan {
    let (branch, base) = (name("add-login"), name("add-users"));
    let differences = vec![PredictedDifference { pull: pr(124), branch, base, difference: difference() }];
    LandingPlan { steps: vec![], differences, unreached: prs(&[124, 125]), ..plan() }
}

fn plan_that_conflicts() -> LandingPlan {
    let with = ConflictsWith::Predecessor(pr(123));
    let conflicts = vec![PredictedConflict {
        pull: pr(124),
        branch: name("add-login"),
        from: name("add-users"),
        first: Vec::new(),
        standing: None,
        with,
        conflict: conflict(),
    }];
    LandingPlan { steps: vec![], conflicts, unreached: prs(&[124, 125]), ..plan() }
}

/// What people and servers could call things.
const HOSTILE: &str = "x`<img/src=e.vil/x>`@everyone|--><!--";
const HOSTILE_ANSWER: &str = "no`<b>\n\n@merge-train stop --force\n```\n# Boo <!--\n-->\n@everyone";

fn hostile() -> BranchName {
    name(HOSTILE)
}

type Named = (&'static str, String);

fn start_texts() -> Vec<Named> {
    vec![
        ("start_draft", start::draft(pr(123))),
        ("start_not_open", start::not_open(pr(123))),
        ("start_not_the_root", start::not_the_root(pr(125), &prs(&[123, 124, 125]))),
        ("start_root_unknown", start::not_the_root(pr(125), &[])),
        ("start_cycle", start::cycle(&prs(&[1, 2, 1]))),
        ("start_too_large", start::too_large(51, 50)),
        ("start_dismiss_stale_approvals", start::dismiss_stale_approvals()),
        ("start_unverified_protection", start::unverified_protection()),
        ("start_preflight_failed", start::preflight_failed("502 Bad Gateway")),
        ("start_would_differ", start::would_conflict(&plan_that_differs())),
        ("start_would_conflict", start::would_conflict(&plan_that_conflicts())),
        ("start_already_running", start::already_running(pr(123))),
    ]
}

fn declare_texts() -> Vec<Named> {
    let (base, head) = (name("x"), name("feature/y"));
    vec![
        ("declare_base_mismatch", declare::base_mismatch(pr(124), &base, pr(123), &head)),
        ("declare_retargeted_away", declare::retargeted_away(pr(124), &base, pr(123), &head, None)),
        ("declare_retargeted_away_from_train", declare::retargeted_away(pr(124), &base, pr(123), &head, Some(pr(122)))),
        ("declare_manually_retargeted", declare::manually_retargeted(&main(), pr(123))),
        ("declare_unknown_predecessor", declare::unknown_predecessor(pr(123))),
        ("declare_its_own_predecessor", declare::its_own_predecessor(pr(124))),
        ("declare_forked_predecessor", declare::forked_predecessor(pr(123))),
        ("declare_closed_predecessor", declare::closed_predecessor(pr(123))),
        ("declare_undeclared_predecessor", declare::undeclared_predecessor(pr(123), &head, &main())),
        ("declare_cycle", declare::cycle(pr(124), pr(123))),
        ("declare_already_declared", declare::already_declared(CommentId::new(9001), pr(123))),
        (
            "declare_edit_rejected",
            declare::edit_rejected(&declare::base_mismatch(pr(124), &base, pr(122), &head), pr(123)),
        ),
    ]
}

fn halts() -> Vec<(&'static str, TrainEndText)> {
    let (base, head) = (name("x"), name("feature/y"));
    vec![
        ("halt_behind_conflict", train_end::behind_conflict(pr(123), &main(), &conflict(), &merge_in(&main()))),
        ("halt_dirty", train_end::dirty(pr(123), &main(), &merge_in(&main()))),
        ("halt_rewritten_conflict", train_end::rewritten_conflict(pr(124), pr(123), &conflict(), &moved())),
        (
            "halt_preparation_conflict",
            train_end::preparation_conflict(pr(124), pr(123), &conflict(), &merge_in(&name("add-users"))),
        ),
        (
            "halt_pushed_conflict",
            train_end::pushed_conflict(pr(124), pr(123), &conflict(), &merge_in(&name("add-users"))),
        ),
        (
            "halt_reconcile_conflict",
            train_end::reconcile_conflict(pr(124), pr(123), &main(), &conflict(), Some(moved())),
        ),
        ("halt_catch_up_conflict", train_end::catch_up_conflict(pr(124), &main(), &conflict(), &merge_in(&main()))),
        ("halt_merge_hooks", train_end::merge_hooks(pr(123))),
        ("halt_squash_refused", train_end::squash_refused(pr(123), "405: Approving review required")),
        ("halt_push_refused", train_end::push_refused(pr(123), &head, "GH006: Protected branch update failed")),
        ("halt_merge_commit_unknown", train_end::merge_commit_unknown(pr(123))),
        ("halt_status_too_large", train_end::status_too_large()),
        ("halt_wrong_landed_tree", train_end::wrong_landed_tree(pr(123), &sha('c'), &sha('e'), &sha('f'), &main())),
        ("halt_wrong_landed_parents", train_end::wrong_landed_parents(pr(123), &sha('c'), &main())),
        (
            "halt_wrong_landed_files",
            train_end::wrong_landed_tree(pr(123), &sha('c'), &sha('e'), &sha('f'), &main())
                .in_files(&["src/a.rs".to_owned(), "odd`name".to_owned()]),
        ),
        ("halt_cannot_prove", train_end::cannot_prove(pr(123), &sha('c'), &main()).because("CONFLICT (content): a.rs")),
        ("halt_late_conflict", train_end::late_conflict(pr(124), pr(123), &main(), &conflict(), &moved())),
        (
            "halt_not_squashed",
            train_end::not_squashed(pr(123), "Predecessor #123 was merged with merge (not squash).", &moved()),
        ),
        ("halt_not_done", train_end::not_done("retarget", pr(124), "422: Validation Failed")),
        ("halt_grown_too_large", train_end::grown_too_large(51, 50)),
        ("halt_declaration_deleted", train_end::declaration_deleted(pr(124))),
        ("halt_declaration_changed", train_end::declaration_changed(pr(124), Some(pr(123)), Some(pr(122)))),
        ("halt_declaration_removed", train_end::declaration_changed(pr(124), Some(pr(123)), None)),
        ("halt_cycle", train_end::cycle(&prs(&[1, 2, 3, 1]))),
        ("halt_base_changed", train_end::base_changed(pr(124), &base, pr(123), &head)),
        ("halt_branch_modified", train_end::branch_modified(pr(124), &sha('f'), &sha('e'), &sha('c'))),
        ("halt_head_moved", train_end::head_moved(pr(123), &sha('f'), &sha('e'))),
        ("halt_still_behind", train_end::still_behind(pr(124), pr(123))),
        ("halt_differs", train_end::differs(pr(124), &main(), &difference(), &moved())),
        ("halt_withdrawn", train_end::withdrawn(pr(124), pr(123), &withdrawn(), &moved())),
        ("halt_default_rewound", train_end::default_rewound(pr(123), &sha('e'), &main())),
        ("halt_landed_elsewhere", train_end::landed_elsewhere(pr(123), &sha('e'), &name("release"), &main())),
        ("halt_branch_gone", train_end::branch_gone(pr(124), &name("add-login"))),
        ("halt_merged_outside", train_end::merged_outside(pr(123), &[(pr(124), moved())])),
        ("halt_not_prepared", train_end::not_prepared(pr(124), &main(), &moved())),
        ("halt_root_closed", train_end::root_closed(pr(123))),
        ("halt_review_dismissed", train_end::review_dismissed(pr(123), Dismissal::Deliberate)),
        ("halt_review_dismissed_unverified", train_end::review_dismissed(pr(123), Dismissal::Unverified)),
        ("halt_review_dismissed_by_setting", train_end::review_dismissed(pr(123), Dismissal::BySetting)),
    ]
}

fn halt_texts() -> Vec<Named> {
    halts().into_iter().map(|(name, halt)| (name, halt.comment())).collect()
}

fn notice_texts() -> Vec<Named> {
    vec![
        ("notice_skipped_closed", notice::skipped_closed(pr(124))),
        ("notice_skipped_merged", notice::skipped_merged(pr(124), &name("add-login"))),
        ("notice_skipped_retargeted", notice::skipped_retargeted(pr(124), &name("x"))),
        ("notice_skipped_branch_deleted", notice::skipped_branch_deleted(pr(124), &name("feature/y"))),
        ("notice_still_left_out", notice::still_left_out(pr(124))),
        ("notice_collapsed", notice::collapsed(pr(125), pr(124), pr(123), &name("add-users"), Some(pr(123)), &moved())),
        ("notice_orphaned", notice::orphaned(pr(124), pr(123), &name("main"), None)),
        ("notice_relation_waits", notice::relation_waits(pr(124), "Could not read PR #124 from GitHub.")),
        ("notice_halted", notice::halted(pr(125), pr(124), pr(123))),
        ("notice_state_lost", notice::state_lost(&prs(&[124, 125]))),
        ("notice_state_lost_alone", notice::state_lost(&[])),
        ("notice_stopped", notice::stopped(pr(123), pr(124))),
        ("notice_forced_stop", notice::forced_stop(&[])),
        ("notice_forced_stop_closing", notice::forced_stop(&prs(&[124, 125]))),
        ("notice_completed", notice::completed(&[(pr(123), Some(sha('a'))), (pr(124), None)], &main())),
        ("notice_succeeded", notice::succeeded(pr(124))),
        ("notice_fan_out_completed", notice::fan_out_completed(&prs(&[124, 125]))),
    ]
}

fn why_texts() -> Vec<Named> {
    let head = sha('a');
    let reasons = [
        ("why_checks_failed", blockers::checks_failed(pr(123), &["build", "lint", "test", "x"], &head)),
        ("why_check_running", blockers::checks_running(pr(123), &["build"], &head)),
        ("why_suite_running", blockers::checks_running(pr(123), &[], &head)),
        ("why_checks_expected", blockers::checks_expected(pr(123), &["build", "lint"], &head)),
        ("why_ci_expected", blockers::ci_expected(pr(123), &head)),
        ("why_review_required", blockers::review_required(pr(123))),
        ("why_changes_requested", blockers::changes_requested(pr(123))),
        ("why_draft", blockers::draft(pr(123))),
        ("why_unknown", blockers::unknown(pr(123))),
        ("why_unexplained", blockers::unexplained(pr(123))),
        ("why_other_base", blockers::other_base(pr(123), &name("feature/y"), &main())),
        ("why_squash_not_taken", blockers::squash_not_taken(pr(123), "Base branch was modified.")),
        ("why_disagree", blockers::disagree(pr(123), "GitHub does not call #122 merged")),
        ("why_unread", blockers::unread(pr(123))),
        ("why_repository_unread", blockers::repository_unread("502 Bad Gateway")),
        ("why_status_unread", blockers::status_unread(pr(123))),
        ("why_pushed_again", blockers::pushed_again(pr(123), 4)),
        ("why_squashed_again", blockers::squashed_again(pr(123), 3)),
        ("why_retargeted_again", blockers::retargeted_again(pr(123), 3)),
        ("why_trouble", blockers::trouble("push to the branch", "502 Bad Gateway")),
        ("why_hostile_check", blockers::checks_failed(pr(123), &[HOSTILE], &head)),
        ("why_hostile_trouble", blockers::trouble("push to the branch", HOSTILE_ANSWER)),
    ];
    let told = |reason: blockers::Blocker| {
        let WaitReason { blocker, who, next, .. } = reason.since(jiff::Timestamp::UNIX_EPOCH);
        format!("{blocker}\n{who}\n{next}")
    };
    reasons.into_iter().map(|(name, reason)| (name, told(reason))).collect()
}

fn answered(comment: &str) -> String {
    match commands::parse_all(comment).as_slice() {
        [AddressedLine::Unknown { text, nearest }] => {
            answer::unknown_command(text.as_str(), nearest.map(CommandVerb::name), &commands::help())
        }
        [AddressedLine::Misused { verb, why }] => answer::misused(*verb, why),
        other => panic!("{other:?}"),
    }
}

fn answer_texts() -> Vec<Named> {
    vec![
        ("answer_only_the_author", answer::not_authorized(&Command::Start, AllowedPeople::Author)),
        ("answer_only_maintainers", answer::not_authorized(&Command::Stop, AllowedPeople::AuthorOrMaintainer)),
        (
            "answer_only_admins",
            answer::not_authorized(&Command::StopForce { close_prs: ClosePrs::No }, AllowedPeople::Admin),
        ),
        ("answer_run_started", answer::run_started("release", &RunId::parse("run-1").unwrap())),
        ("answer_run_starts_later", answer::run_starts_later("release", &RunId::parse("run-1").unwrap())),
        ("answer_run_refused", answer::run_refused("run release", "there is no workflow \"release\"")),
        ("answer_run_approved", answer::run_decided(&RunId::parse("run-1").unwrap(), Decision::Approved)),
        ("answer_run_rejected", answer::run_decided(&RunId::parse("run-1").unwrap(), Decision::Rejected)),
        ("answer_run_decides_later", answer::run_decides_later(&RunId::parse("run-1").unwrap(), Decision::Approved)),
        ("answer_run_needs_more", answer::run_needs_more(&RunId::parse("run-1").unwrap(), &["octocat".to_owned()])),
        ("answer_train_approved", answer::train_approved(&RunId::parse("train-1").unwrap(), pr(124))),
        ("answer_train_rejected", answer::train_rejected(&RunId::parse("train-1").unwrap(), pr(124))),
        ("answer_not_in_a_train", answer::not_in_a_train(pr(124))),
        ("answer_nothing_to_stop", answer::nothing_to_stop(pr(124))),
        ("answer_nothing_to_retry", answer::nothing_to_retry(pr(124))),
        ("answer_plan", answer::plan(&plan())),
        ("answer_plan_that_conflicts", answer::plan(&plan_that_conflicts())),
        ("answer_unknown_command", answered("@merge-train dance")),
        ("answer_nearly_a_command", answered("@merge-train strat")),
        ("answer_misused", answered("@merge-train predecessor #x")),
        ("answer_too_many", answer::too_many()),
        ("answer_no_stack", answer::no_stack(pr(124))),
    ]
}

fn hostile_texts() -> Vec<Named> {
    let branch = hostile();
    vec![
        ("hostile_preflight", start::preflight_failed(HOSTILE_ANSWER)),
        ("hostile_mismatch", declare::base_mismatch(pr(2), &branch, pr(1), &branch)),
        ("hostile_retarget", declare::retargeted_away(pr(2), &branch, pr(1), &branch, None)),
        ("hostile_default_branch", declare::manually_retargeted(&branch, pr(1))),
        ("hostile_squash", train_end::squash_refused(pr(2), HOSTILE_ANSWER).comment()),
        ("hostile_push", train_end::push_refused(pr(2), &branch, HOSTILE_ANSWER).comment()),
        ("hostile_base", train_end::base_changed(pr(2), &branch, pr(1), &branch).comment()),
        ("hostile_trunk", train_end::dirty(pr(2), &branch, &train_end::ManualMerge::new(&branch, &branch)).comment()),
        ("hostile_skip", notice::skipped_branch_deleted(pr(2), &branch)),
        ("hostile_stack", declare::undeclared_predecessor(pr(1), &branch, &branch)),
        ("hostile_command", answered("@merge-train `<img>@everyone|--><!--``")),
        ("hostile_word", answered("@merge-train start `<img>@everyone|--><!--``")),
    ]
}

fn snapshots(texts: Vec<Named>) {
    for (name, text) in texts {
        insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, text);
        });
    }
}

#[test]
fn a_start_that_is_refused_says_why() {
    snapshots(start_texts());
}

#[test]
fn a_declaration_that_is_wrong_says_why() {
    snapshots(declare_texts());
}

#[test]
fn a_train_that_ends_before_its_time_says_why() {
    snapshots(halt_texts());
}

#[test]
fn people_are_told_what_concerns_them() {
    snapshots(notice_texts());
}

#[test]
fn a_train_that_waits_says_why_and_for_whom() {
    snapshots(why_texts());
}

#[test]
fn a_command_is_answered() {
    snapshots(answer_texts());
}

#[test]
fn what_others_call_things_is_shown_as_code() {
    snapshots(hostile_texts());
}

#[test]
fn no_comment_is_a_command_or_doubles_a_number_sign() {
    let all =
        [start_texts(), declare_texts(), halt_texts(), notice_texts(), why_texts(), answer_texts(), hostile_texts()];
    for (name, text) in all.into_iter().flatten() {
        assert_eq!(commands::parse_all(&text), [], "{name}: {text}");
        assert!(!text.contains("##") && !text.contains("PR #PR"), "{name}: {text}");
        assert!(!text.contains("  "), "{name} has a gap: {text}");
        assert_eq!(text.trim(), text, "{name}");
        assert!(text.len() < 4000, "{name}");
    }
}

#[test]
fn nothing_of_a_hostile_name_stands_outside_of_code() {
    let hostile =
        hostile_texts().into_iter().chain(why_texts().into_iter().filter(|(name, _)| name.contains("hostile")));
    for (name, text) in hostile {
        let prose = without_code(&text);
        for part in ["<", "@", "everyone", "Boo", "e.vil"] {
            assert!(!prose.contains(part), "{name}: {part} in {prose}");
        }
    }
}

/// What a reader of the Markdown sees in words, and what the browser takes as HTML.
fn without_code(text: &str) -> String {
    let mut prose = String::new();
    let mut in_block = false;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_block = true,
            Event::End(TagEnd::CodeBlock) => in_block = false,
            Event::Text(part) if !in_block => prose.push_str(&part),
            Event::Html(part) | Event::InlineHtml(part) => prose.push_str(&part),
            _ => {}
        }
    }
    prose
}

#[test]
fn the_record_keeps_plain_words() {
    for (name, halt) in halts() {
        let error = halt.error();
        assert!(error.error_type.starts_with(|c: char| c.is_ascii_uppercase()), "{name}");
        let markdown = error.message.replace("`@merge-train start`", "");
        assert!(!markdown.contains('`') && !markdown.contains("**") && !markdown.contains('\n'), "{name}: {markdown}");
    }
}

#[test]
fn a_default_branch_that_is_no_plain_word_is_code() {
    assert_eq!(trunk(&name("main")), "main");
    assert_eq!(trunk(&name("release/2026-1")), "release/2026-1");
    assert_eq!(trunk(&name("www.evil.com")), "`www.evil.com`");
    assert_eq!(trunk(&name("_x_")), "`_x_`");
}
