//! When a failure is the same again.

use super::*;

fn of_log(log: &str) -> Option<String> {
    let mut brief = brief(FixIssue::FixCi);
    brief.checks = vec![check("test", log)];
    signature(&brief)
}

fn of_annotation(path: &str, line: u64, message: &str) -> Option<String> {
    let mut brief = brief(FixIssue::FixCi);
    let annotation = CheckAnnotation { path: path.to_owned(), line, level: None, message: message.to_owned() };
    brief.checks = vec![FailedCheck { annotations: vec![annotation], log: None, ..check("test", "") }];
    signature(&brief)
}

#[track_caller]
fn same(one: &str, other: &str) {
    assert!(of_log(one).is_some(), "{one} tells nothing");
    assert_eq!(of_log(one), of_log(other), "{one}\n{other}");
}

#[track_caller]
fn different(one: &str, other: &str) {
    assert!(of_log(one).is_some() && of_log(other).is_some(), "{one}\n{other}");
    assert_ne!(of_log(one), of_log(other), "{one}\n{other}");
}

#[test]
fn what_differs_from_run_to_run_makes_no_other_failure() {
    same(
        "2026-01-02T03:04:05.1234567Z ##[error]assertion failed: a == b",
        "2026-02-03T04:05:06.7654321Z \u{1b}[31m##[error]assertion failed: a == b\u{1b}[0m",
    );
    same("[10:11:12] error in build", "[22:00:01.5] error in build");
    same("error: src/lib.rs:12:5: no such name", "error: src/lib.rs:40:9: no such name");
    same(r#"File "a.py", line 12, AssertionError"#, r#"File "a.py", line 9, AssertionError"#);
    same("FAILED after 1.23s", "FAILED after 45 ms");
    same("error in 2 minutes", "error in 3 minutes");
    same("object 4a5f0c1e9d not found", "object 99887766aa not found");
    same("panic at 0x7ffe12", "panic at 0xdead");
    same("run 550e8400-e29b-41d4-a716-446655440000 failed", "run 123e4567-e89b-12d3-a456-426614174000 failed");
    same("cannot open /tmp/build-x1/y.txt", "cannot open /tmp/build-z9/q.txt");
    same(r"cannot open C:\Users\r\Temp\a1\y", r"cannot open C:\Users\r\Temp\b2\z");
    same("thread 'counts' (4711) panicked at src/lib.rs:3:5:", "thread 'counts' (815) panicked at src/lib.rs:9:5:");
    same(
        "test result: FAILED. 11 passed; 1 failed; finished in 0.03s",
        "test result: FAILED. 12 passed; 1 failed; finished in 1.10s",
    );
    same("connect to localhost:40123 failed", "connect to localhost:33333 failed");
}

#[test]
fn the_order_and_the_noise_make_no_other_failure() {
    same(
        "error: a\nerror: b\n",
        "downloading\nerror: b\nok 1 - error handling\nerror: a\nerror: a\ntest fails_well ... ok\n",
    );
    same("error: a", "error: a\ntest result: ok. 9 passed; 0 failed\n##[error]Process completed with exit code 1.");
}

#[test]
fn another_failure_has_another_signature() {
    different("error: a", "error: b");
    different("assertion failed: expected 3, got 4", "assertion failed: expected 3, got 5");
    different("error: a", "error: a\nerror: b");
    assert_ne!(of_annotation("a.rs", 1, "unused"), of_annotation("b.rs", 1, "unused"));
    assert_ne!(of_annotation("a.rs", 1, "unused"), of_annotation("a.rs", 1, "unknown"));
    assert_eq!(of_annotation("a.rs", 1, "unused"), of_annotation("a.rs", 70, "unused"), "lines move with every edit");
    let named = |name: &str, conclusion: &str| {
        let mut brief = brief(FixIssue::FixCi);
        brief.checks = vec![FailedCheck { conclusion: conclusion.to_owned(), ..check(name, "error: a") }];
        signature(&brief)
    };
    assert_ne!(named("test", "failure"), named("lint", "failure"));
    assert_ne!(named("test", "failure"), named("test", "timed_out"));
}

#[test]
fn which_check_comes_first_does_not_matter() {
    let both = |checks: [FailedCheck; 2]| {
        let mut brief = brief(FixIssue::FixCi);
        brief.checks = checks.into();
        signature(&brief)
    };
    let (one, two) = (check("a", "error: x"), check("b", "error: y"));
    assert_eq!(both([one.clone(), two.clone()]), both([two, one]));
}

#[test]
fn a_failure_that_says_nothing_has_none() {
    assert_eq!(of_log(""), None);
    assert_eq!(
        of_log("building\ndone\n##[error]Process completed with exit code 1.\nmake: *** [Makefile:3: test] Error 1"),
        None
    );
    assert_eq!(of_log("npm ERR! code ELIFECYCLE\nnpm ERR! errno 1\nnpm ERR!"), None);
    assert_eq!(of_annotation(".github", 1, "Process completed with exit code 1."), None);
    assert_eq!(signature(&brief(FixIssue::FixReview)), None);
    let mut silent = brief(FixIssue::FixCi);
    silent.checks = vec![FailedCheck { log: None, title: Some("The build failed".to_owned()), ..check("ci", "") }];
    assert_eq!(signature(&silent), None);
}

#[test]
fn one_that_tells_makes_up_for_one_that_does_not() {
    let mut brief = brief(FixIssue::FixCi);
    brief.checks = vec![check("test", "error: a"), FailedCheck { log: None, ..check("ci", "") }];
    assert!(signature(&brief).is_some());
}

#[test]
fn a_line_without_end_takes_no_time_without_end() {
    let long = r"a:\a.".repeat(200_000) + " error";
    assert_eq!(of_log(&long), None, "what is that far out is not looked at");
}
