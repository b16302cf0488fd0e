//! What failed, in a word: the same failure again has the same signature, at whatever time and in whatever folder.

mod line;

use std::collections::BTreeSet;

use aws_lc_rs::digest::{SHA256, digest};

use super::{FailedCheck, FixerBrief};

/// Told apart from signatures that are made in another way one day.
const VERSION: &str = "1";

/// None where no failure says more than that it failed: what says nothing cannot be told apart.
pub fn signature(brief: &FixerBrief) -> Option<String> {
    let told: BTreeSet<Told> = brief.checks.iter().map(told).collect();
    if told.iter().all(|told| told.annotations.is_empty() && told.lines.is_empty()) {
        return None;
    }
    let mut parts = vec![VERSION];
    for Told { name, conclusion, annotations, lines } in &told {
        parts.extend(["check", name, conclusion]);
        for (path, message) in annotations {
            parts.extend(["annotation", path, message]);
        }
        for line in lines {
            parts.extend(["line", line]);
        }
    }
    // Each with its length: no text can pass for the end of one and the beginning of another.
    let text: String = parts.iter().map(|part| format!("{}:{part}", part.len())).collect();
    Some(hex::encode(digest(&SHA256, text.as_bytes())))
}

/// What a failed check tells, whenever it is asked. Sorted: tests that run side by side report in any order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Told<'a> {
    name: &'a str,
    conclusion: &'a str,
    annotations: BTreeSet<(&'a str, String)>,
    lines: BTreeSet<String>,
}

fn told(check: &FailedCheck) -> Told<'_> {
    let annotations = check.annotations.iter().filter_map(|annotation| {
        let message: Vec<String> = annotation.message.lines().filter_map(line::said).collect();
        (!message.is_empty()).then(|| (annotation.path.as_str(), message.join("\n")))
    });
    let log = check.log.as_ref().map_or("", |log| &log.text);
    Told {
        name: &check.name,
        conclusion: &check.conclusion,
        annotations: annotations.collect(),
        lines: log.lines().filter_map(line::telling).collect(),
    }
}
