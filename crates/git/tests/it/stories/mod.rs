//! Stories of people who act between two steps of a train, and inside of them: whatever they do, what lands for a pull request
//! is its own change and nothing else.
//!
//! The decider and the git engine are the real ones, in one process and on a clock that is moved by hand. GitHub is a bare
//! repository with what GitHub knows beside it. What must land is computed by an oracle that knows what people wrote and
//! nothing else. `make soak` tells a hundred thousand.

mod advice;
mod blind;
mod contents;
mod daemon;
mod github;
mod honest;
mod oracle;
mod people;
mod plain;
mod story;
mod told;
mod unforeseen;

use std::fmt::Write;
use std::path::Path;

use honest::Cascades;
use story::{Report, Story, Teller};

/// How many stories `make test` tells, over all of its parts.
const STORIES: u64 = 2_000;
const PARTS: u64 = 4;
const HONEST: u64 = 400;
/// What stories leave behind makes git slow.
const STORIES_PER_REPOSITORY: u64 = 25;

/// A number from the environment: `MERGE_TRAIN_STORIES` of them in all, from the seed `MERGE_TRAIN_FIRST_STORY` on.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Tells one part of all stories.
fn tell(part: u64) {
    let per_part = setting("MERGE_TRAIN_STORIES", STORIES).div_ceil(PARTS);
    let first = setting("MERGE_TRAIN_FIRST_STORY", 0) + part * per_part;
    let mut teller = Teller::new();
    for seed in first..first + per_part {
        if seed % STORIES_PER_REPOSITORY == 0 {
            teller = Teller::after(teller.report);
        }
        teller.tell_and_report(&Story::generated(seed));
        if std::env::var_os("MERGE_TRAIN_SHOW_STORIES").is_some() {
            println!("{:?}\n{}\n{}", Story::generated(seed), teller.conversation(), teller.daemon.log());
        }
    }
    leave(&format!("part-{}", part + 1), &summary(&teller.report));
    assert!(teller.report.flaws.is_empty(), "{}", flaws(&teller.report));
}

/// Where whoever runs the tests can read it: `scripts/tables` shows it.
fn leave(name: &str, text: &str) {
    println!("{text}");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("stories");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join(format!("{name}.md")), format!("{text}\n")).expect("a file");
}

fn summary(report: &Report) -> String {
    let Report { stories, landed, rounds, commands, conflicts, halts, .. } = report;
    let mut text = format!(
        "{stories} stories: {landed} pull requests landed, {} halts, followed in {rounds} rounds with {commands} blocks of \
         commands and {conflicts} conflicts; {} flaws",
        halts.values().sum::<usize>(),
        report.flaws.len()
    );
    for (halt, count) in halts {
        let _ = write!(text, "\n{count:>6} {halt}");
    }
    text
}

/// Each with the seed that tells it again.
fn flaws(report: &Report) -> String {
    let mut text = String::new();
    for (story, flaws, conversation) in &report.flaws {
        let _ = write!(text, "\n=== {story:?}\n{}\n{conversation}", flaws.join("\n"));
    }
    for (story, flaws, _) in &report.flaws {
        let _ = write!(text, "\nMERGE_TRAIN_FIRST_STORY={} {}", story.seed, flaws.join("; "));
    }
    text
}

#[test]
fn whatever_people_do_no_change_is_lost_part_1() {
    tell(0);
}

#[test]
fn whatever_people_do_no_change_is_lost_part_2() {
    tell(1);
}

#[test]
fn whatever_people_do_no_change_is_lost_part_3() {
    tell(2);
}

#[test]
fn whatever_people_do_no_change_is_lost_part_4() {
    tell(3);
}

#[test]
fn a_story_that_nobody_disturbs_lands_without_a_word() {
    let mut teller = Teller::new();
    for shape in [&[0][..], &[0, 1], &[0, 1, 2], &[0, 1, 1]] {
        let outcome = teller.tell(&Story::told(shape, &[]));
        assert_eq!(outcome, Ok(()), "{}\n{}", teller.conversation(), teller.daemon.log());
        assert!(teller.github.said.is_empty(), "{}", teller.conversation());
    }
}

#[test]
fn the_two_ways_agree_on_honest_cascades() {
    let (first, count) = (setting("MERGE_TRAIN_FIRST_STORY", 0), setting("MERGE_TRAIN_HONEST", HONEST));
    let mut cascades = Cascades::new();
    for seed in first..first + count {
        if seed % STORIES_PER_REPOSITORY == 0 {
            cascades = Cascades::after(cascades.honest);
        }
        cascades.land(seed);
    }
    let honest = &cascades.honest;
    let mut text = format!(
        "{} honest cascades: {} landings, {} ended by a conflict, {} by a difference",
        honest.cascades,
        honest.landings,
        honest.conflicts,
        honest.differences.len()
    );
    for (seed, difference) in &honest.differences {
        let _ = write!(text, "\n=== seed {seed}\n{difference}");
    }
    leave("honest", &text);
    assert!(honest.flaws.is_empty(), "{:?}", honest.flaws);
    // What is understood and left: docs/decisions/0020.
    assert!(honest.differences.len() * 1_000 <= honest.cascades, "{:?}", honest.differences);
}
