//! What a person sees of many runs.

use merge_train_core::workflow::{ApprovalNeed, Decision};
use serde_json::json;

use super::{Trial, agent, gate, now, snapshot, train};
use crate::cli::runs::table::overview;
use crate::terminal::Ink;

#[test]
fn each_run_has_a_row() {
    let read = || Trial::of(vec![agent("read"), gate("ok", &[], ApprovalNeed::Any)]);
    let at_gate = || read().ends("11:00:02", Ok(json!({})));
    let runs = [
        train("waiting_external", json!({})),
        read().document(),
        at_gate().document(),
        at_gate().decides("11:00:09", "api:ops", Decision::Approved, None).document(),
        at_gate().decides("11:00:09", "api:ops", Decision::Rejected, None).document(),
        read().cancelled("11:30:00").document(),
        read().cancelled("11:30:00").ends("11:30:01", Err("")).ends("11:30:02", Ok(json!({}))).document(),
    ];
    snapshot("list", &overview(&runs, Ink::Plain, now()));
    let coloured = overview(&runs, Ink::Coloured, now());
    for status in ["\u{1b}[33mwaiting_external \u{1b}[0m", "\u{1b}[32mcompleted        \u{1b}[0m"] {
        assert!(coloured.contains(status), "{status} is not in {coloured}");
    }
}

#[test]
fn no_terminal_obeys_what_stands_in_a_row() {
    let run = train("running", json!({ "type": "\u{1b}[2Jtype\nof it", "currentStep": "a\tb", "repoId": "o/r\r" }));
    let told = overview(&[run], Ink::Plain, now());
    assert!(told.contains("[2Jtype of it  running  o/r#12  a b"), "{told}");
    assert_eq!(told.lines().count(), 2);
}
