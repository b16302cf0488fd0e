//! A fixer's prompt: its words, its size, and text of strangers in it.

mod fit;
mod hostile;
mod same;
mod words;

use super::*;

pub(super) fn brief(issue: FixIssue) -> FixerBrief {
    FixerBrief {
        issue,
        repo: "acme/widgets".parse().expect("a repository"),
        pr: PrNumber::new(7),
        title: "Count the widgets".to_owned(),
        branch: BranchName::parse("count").expect("a branch"),
        base: BranchName::parse("main").expect("a branch"),
        head: "4a5f0c1e9d7b3a2f4a5f0c1e9d7b3a2f4a5f0c1e".parse().expect("a commit"),
        conflicts: false,
        checks: Vec::new(),
        threads: Vec::new(),
        reviews: Vec::new(),
    }
}

pub(super) fn check(name: &str, log: &str) -> FailedCheck {
    FailedCheck {
        name: name.to_owned(),
        conclusion: "failure".to_owned(),
        url: None,
        title: None,
        summary: None,
        annotations: Vec::new(),
        log: Some(LogExcerpt { text: log.to_owned(), truncated: false }),
    }
}

pub(super) fn said(by: &str, body: &str) -> BriefComment {
    let at = "2026-03-01T10:00:00.123Z".parse().expect("a time");
    BriefComment { by: by.to_owned(), at, body: body.to_owned(), url: None }
}
