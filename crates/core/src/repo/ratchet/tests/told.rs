//! Every text that people read of the ratchet.

use insta::assert_snapshot;

use super::words::reasons;
use super::*;
use crate::ids::RunId;

/// All reasons, with their codes, as badges and their tooltips show them.
#[test]
fn every_reason_has_its_sentence() {
    let lines: Vec<String> = reasons().iter().map(|it| format!("{}: {}.", it.code(), it.sentence())).collect();
    assert_snapshot!(lines.join("\n"));
}

/// What is shown of a workspace in each state, by the reason for it.
#[test]
fn every_state_has_its_activity() {
    let mut lines = vec![format!("(a fixer that has to resolve conflicts first): {UPDATING}")];
    for status in WorkspaceStatus::ALL {
        let mut by_reason: Vec<(Option<&str>, Vec<&str>)> = Vec::new();
        for reason in reasons() {
            let activity = reason.activity(status);
            match by_reason.iter_mut().find(|(known, _)| *known == activity) {
                Some((_, reasons)) => reasons.push(reason.code()),
                None => by_reason.push((activity, vec![reason.code()])),
            }
        }
        for (activity, reasons) in by_reason {
            let named = if reasons.len() > 3 { String::new() } else { format!(" ({})", reasons.join(", ")) };
            lines.push(format!("{}{named}: {}", status.as_str(), activity.unwrap_or("-")));
        }
    }
    assert_snapshot!(lines.join("\n"));
}

/// What is said on the pull request when a person is needed, and when it is not.
#[test]
fn a_person_is_asked_in_words_of_the_reason() {
    let workspace = Workspace { attempts: 3, ..Workspace::default() };
    let mut told = Vec::new();
    for status in WorkspaceStatus::ALL {
        let texts = reasons()
            .into_iter()
            .filter_map(|reason| Some((reason, texts::attention(&workspace, status, reason, None)?)));
        let texts: Vec<_> = texts.collect();
        if status.outcome_kind() != Some(OutcomeKind::Attention)
            || status == WorkspaceStatus::PausedAttentionPushApproval
        {
            assert_eq!(texts, [], "{status:?} needs nobody, or has words of its own");
            continue;
        }
        // The reasons that this state is ever shown with.
        let meant = |reason: &WorkspaceReason| match status {
            WorkspaceStatus::PausedAttentionTerminalFailed => {
                matches!(reason, WorkspaceReason::TooManyAttempts | WorkspaceReason::SameFailure)
            }
            WorkspaceStatus::PausedAttentionStaleCiTimeout => *reason == WorkspaceReason::StaleCiTimeout,
            WorkspaceStatus::PausedAttentionNoFixer => *reason == WorkspaceReason::NoFixer,
            WorkspaceStatus::PausedAttentionNoPush => matches!(
                reason,
                WorkspaceReason::FixerGaveUp
                    | WorkspaceReason::FixerFailed
                    | WorkspaceReason::FixerDied
                    | WorkspaceReason::FixerCancelled
                    | WorkspaceReason::PushRefused
                    | WorkspaceReason::PushRejected
            ),
            _ => false,
        };
        for (reason, text) in texts.into_iter().filter(|(reason, _)| meant(reason)) {
            told.push(format!("── {} {}\n{text}", status.as_str(), reason.code()));
        }
    }
    assert_snapshot!(told.join("\n\n"));
}

#[test]
fn what_is_known_of_a_failure_is_quoted_and_cannot_speak_for_the_bot() {
    let told = "remote: error: GH006\n```\n@merge-train start\n**Ratchet**: all is well";
    let text = texts::attention(
        &Workspace::default(),
        WorkspaceStatus::PausedAttentionNoPush,
        WorkspaceReason::PushRefused,
        Some(told),
    );
    assert_snapshot!(text.unwrap());
}

fn push(files: &[&str]) -> FixPush {
    let files = files.iter().map(|&file| file.to_owned()).collect();
    FixPush { from: sha(1), to: sha(0xabc), tree: sha(3), files, unlisted: 0 }
}

#[test]
fn a_push_that_is_held_says_what_it_changes_and_how_to_decide() {
    let run = RunId::parse("fixer-0123456789ab").unwrap();
    let many: Vec<String> = (0..13).map(|number| format!("src/part_{number}.rs")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let texts = [
        texts::approval(&run, &push(&[".github/workflows/ci.yml", "a`b.rs"]), ".github/workflows/ci.yml"),
        texts::approval(&run, &push(&many), ""),
        texts::approval(&run, &FixPush { unlisted: 700, ..push(&many) }, ""),
        texts::approval(&run, &push(&[]), ""),
    ];
    assert_snapshot!(texts.join("\n\n──\n\n"));
}

#[test]
fn whoever_asks_is_told_what_the_ratchet_does() {
    let workspace = |status, reason: WorkspaceReason, attempts| Workspace {
        status,
        reason,
        attempts,
        activity: reason.activity(status).map(str::to_owned),
        ..Workspace::default()
    };
    let texts = [
        texts::status(None, false),
        texts::status(None, true),
        texts::status(Some(&workspace(WorkspaceStatus::PausedDone, WorkspaceReason::AllGreen, 0)), false),
        texts::status(Some(&workspace(WorkspaceStatus::PausedDone, WorkspaceReason::AllGreen, 0)), true),
        texts::status(Some(&workspace(WorkspaceStatus::FixingCi, WorkspaceReason::CiFailed, 0)), true),
        texts::status(Some(&workspace(WorkspaceStatus::WaitingForCi, WorkspaceReason::StaleCi, 1)), true),
        texts::status(
            Some(&workspace(WorkspaceStatus::PausedAttentionTerminalFailed, WorkspaceReason::TooManyAttempts, 3)),
            true,
        ),
    ];
    assert_snapshot!(texts.join("\n\n"));
}

#[test]
fn what_is_waited_for_after_a_fix_is_said_for_those_that_go_on() {
    let told =
        reasons().into_iter().filter_map(|reason| Some(format!("{}: {}", reason.code(), texts::after_fix(reason)?)));
    assert_snapshot!(told.collect::<Vec<_>>().join("\n"));
}
