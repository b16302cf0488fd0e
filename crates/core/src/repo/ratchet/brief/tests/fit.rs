//! A brief is cut to its size: logs first, then texts.

use super::*;

fn sizes(brief: &FixerBrief) -> (Vec<usize>, Vec<usize>) {
    let logs = brief.checks.iter().map(|check| check.log.as_ref().map_or(0, |log| log.text.len())).collect();
    (logs, brief.reviews.iter().map(|said| said.body.len()).collect())
}

#[test]
fn what_fits_is_left_alone() {
    let mut brief = brief(FixIssue::FixCi);
    brief.checks = vec![check("a", &"x\n".repeat(50))];
    let before = brief.clone();
    brief.fit(brief.bytes());
    assert_eq!(brief, before);
}

#[test]
fn the_longest_logs_are_cut_first_and_from_their_beginnings() {
    let mut brief = brief(FixIssue::FixCi);
    let log = |lines: usize| (0..lines).map(|line| format!("{line:09}\n")).collect::<String>();
    brief.checks = vec![check("a", &log(1000)), check("b", &log(10)), check("c", &log(2000))];
    brief.reviews = vec![said("mona", &"y".repeat(5000))];
    brief.fit(10_000);
    assert!(brief.bytes() <= 10_000, "{}", brief.bytes());
    let (logs, reviews) = sizes(&brief);
    assert_eq!((logs[1], reviews), (100, vec![5000]), "nothing is cut that need not be");
    assert_eq!(logs[0], logs[2], "one length for all that are too long");
    let long = brief.checks[2].log.as_ref().expect("a log");
    assert!(
        long.truncated && long.text.ends_with("000001999\n") && long.text.len().is_multiple_of(10),
        "whole lines of its end"
    );
    assert!(!brief.checks[1].log.as_ref().expect("a log").truncated);
}

#[test]
fn of_a_log_that_ends_in_one_long_line_the_end_of_that_line_is_left() {
    let long = format!("{}the reason", "ü".repeat(9000));
    for end in ["", "\n", "\nexit 1\n"] {
        let mut brief = brief(FixIssue::FixCi);
        brief.checks = vec![check("a", &format!("begin\n{long}{end}"))];
        brief.fit(1000);
        let log = brief.checks[0].log.as_ref().expect("a log");
        assert!(log.truncated && (900..=1000).contains(&log.text.len()), "{end:?}: {}", log.text.len());
        assert!(log.text.starts_with('ü') && log.text.ends_with(&format!("the reason{end}")), "{end:?}");
    }
}

#[test]
fn texts_are_cut_when_there_are_no_logs_left_to_cut() {
    let mut brief = brief(FixIssue::FixReview);
    brief.checks = vec![check("a", &"x\n".repeat(500))];
    brief.reviews = vec![said("mona", &"ü".repeat(5000)), said("hubot", "short")];
    brief.fit(6000);
    assert!(brief.bytes() <= 6000 && brief.checks[0].log.is_none(), "{}", brief.bytes());
    assert!(brief.reviews[0].body.ends_with("[cut: it is too long]") && brief.reviews[1].body == "short");
}

#[test]
fn however_much_is_said_there_is_an_end_to_it() {
    let mut brief = brief(FixIssue::FixReview);
    let thread = |index: usize| UnresolvedThread {
        path: format!("{index}"),
        line: None,
        outdated: false,
        said: vec![said("mona", &"z".repeat(3000)); 10],
    };
    brief.threads = (0..500).map(thread).collect();
    brief.fit(200 << 10);
    assert!(brief.bytes() <= 200 << 10);
    assert!(brief.threads.len() > 50 && brief.threads[0].path == "0", "{}", brief.threads.len());
}
