//! Snapshots of the part of the status comment that people read.

use pulldown_cmark::{Event, Options, Parser, TagEnd};

use super::*;
use crate::ids::BranchName;

fn branch(name: &str) -> BranchName {
    BranchName::parse(name).unwrap()
}

fn view() -> TrainStatusView {
    let row = |number, name, predecessor: Option<u64>, standing| StackRow {
        pr: pr(number),
        branch: branch(name),
        predecessor: predecessor.map(pr),
        standing,
    };
    let landed = Sha::parse("0123456789abcdef0123456789abcdef01234567").unwrap();
    TrainStatusView {
        default_branch: branch("main"),
        stack: vec![
            row(123, "parser", None, StackRowState::Landed(Some(landed))),
            row(124, "parser-errors", Some(123), StackRowState::Landed(None)),
            row(125, "parser-recovery", Some(124), StackRowState::Open),
            row(126, "odd|`name`", Some(124), StackRowState::Draft),
            row(127, "closed", Some(124), StackRowState::Closed),
            row(128, "top", Some(125), StackRowState::Open),
        ],
        why: None,
    }
}

/// Before anything landed: 124 is on its way, with 125 and 126 upon it.
fn early_view() -> TrainStatusView {
    let mut view = view();
    view.stack.remove(0);
    view.stack[0] = StackRow { predecessor: None, standing: StackRowState::Open, ..view.stack[0].clone() };
    view
}

fn blocked() -> WaitReason {
    WaitReason {
        blocker: "The required check `build` failed on PR #124.".into(),
        who: "The author of PR #124,\nby pushing a fix.".into(),
        since: at("2024-01-15T09:30:00Z"),
        next: "PR #124 is squash-merged once its checks pass.".into(),
        party: WaitParty::Author,
    }
}

#[track_caller]
fn snapshot(name: &str, text: &str) {
    assert!(!text.contains("##"), "{text}");
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(format!("status__{name}"), text);
    });
}

#[test]
fn a_running_train_says_what_it_does_in_each_phase() {
    let (c, s, f) = (|| prs(&[125]), || prs(&[127]), || prs(&[125, 126, 127]));
    for (name, phase, view) in [
        ("idle", CascadePhase::Idle, early_view()),
        ("preparing", CascadePhase::Preparing { completed: c(), skipped: s(), frozen_descendants: f() }, early_view()),
        ("squashing", CascadePhase::SquashPending { skipped: s(), frozen_descendants: f() }, early_view()),
        ("reconciling", reconciling(), view()),
        ("catching_up", CascadePhase::CatchingUp { completed: c(), skipped: s(), frozen_descendants: f() }, view()),
        ("retargeting", CascadePhase::Retargeting { completed: c(), skipped: s(), frozen_descendants: f() }, view()),
    ] {
        snapshot(name, &human(&TrainRecord { cascade_phase: phase, ..record() }, &view));
    }
    assert!(
        human(&record(), &view())
            .starts_with("Train running — reconciling PR #124 after squash (1/2 descendants complete)\n")
    );
}

#[test]
fn a_waiting_train_says_why_who_since_when_and_what_next() {
    let view = TrainStatusView { why: Some(blocked()), ..early_view() };
    let waiting = TrainRecord { state: TrainState::WaitingCi, cascade_phase: CascadePhase::Idle, ..record() };
    snapshot("waiting", &human(&waiting, &view));
    let phase = CascadePhase::SquashPending { skipped: vec![], frozen_descendants: prs(&[125]) };
    snapshot("waiting_in_a_phase", &human(&TrainRecord { cascade_phase: phase, ..waiting }, &view));
}

#[test]
fn a_train_that_ended_early_says_how_to_go_on() {
    let stopped_at = Some(at("2024-01-15T10:00:00Z"));
    snapshot("stopped", &human(&TrainRecord { state: TrainState::Stopped, stopped_at, ..record() }, &view()));
    snapshot("aborted", &human(&failed("Branch was `modified` -->"), &view()));
    snapshot("aborted_with_output", &human(&failed("error: no\n```\n@merge-train stop"), &view()));
    let lost = TrainRecord { state: TrainState::NeedsManualReview, cascade_phase: CascadePhase::Idle, ..record() };
    snapshot("needs_manual_review", &human(&lost, &early_view()));
}

#[test]
fn a_long_error_leaves_room_for_the_rest() {
    let text = human(&failed(&"x".repeat(5000)), &view());
    assert!(text.len() < 3000, "{}", text.len());
    assert!(text.contains("... [truncated]`"), "{text}");
}

/// What is left of the comment when GitHub has read it as Markdown: in `html` the comments, in `words` what people see.
fn rendered(text: &str) -> (String, String) {
    let (mut html, mut words) = (String::new(), String::new());
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Html(part) | Event::InlineHtml(part) => html.push_str(&part),
            Event::Text(part) => words.push_str(&part),
            Event::Code(part) => words.push_str(&format!("[{part}]")),
            Event::End(TagEnd::TableCell) => words.push('|'),
            _ => {}
        }
    }
    (html, words)
}

#[test]
fn people_see_the_words_and_not_the_state() {
    let record = failed("boom -->\n<img src=x>\n```\n<!-- @merge-train stop");
    let (html, words) = rendered(&body(&record, &human(&record, &view())).unwrap());
    assert!(html.starts_with("<!-- merge-train-state\n{") && html.contains("\n}\n-->\n"), "{html}");
    assert_eq!(html.matches("<!--").count(), 1, "{html}");
    assert!(!html.contains("<img"), "{html}");
    assert!(words.starts_with("Merge Train StatusTrain aborted — it was reconciling PR #124"), "{words}");
    assert!(!words.contains("recovery_seq"), "{words}");
    assert!(
        words.contains("#126|[odd|`name`]|#124|draft; not yet reconciled|"),
        "a bar does not end its cell: {words}"
    );
}
