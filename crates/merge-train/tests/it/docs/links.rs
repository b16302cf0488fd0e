//! Links lead somewhere, and what is named is there.

use std::collections::BTreeSet;
use std::path::Path;

use crate::docs::pages::{Page, all, guides, root};

/// Without the code in it, which may look like anything.
fn plain(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// What stands behind `](` in a page, with its line.
fn targets(page: &Page) -> Vec<(usize, String)> {
    let in_line = |(number, line): &(usize, String)| {
        let line = plain(line);
        let found =
            line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.to_owned());
        found.map(|target| (*number, target)).collect::<Vec<_>>()
    };
    page.prose.iter().flat_map(in_line).collect()
}

/// The anchors that GitHub gives the headings of a page.
fn anchors(page: &Page) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, line) in &page.prose {
        let Some(heading) = line.strip_prefix('#').map(|rest| rest.trim_start_matches('#').trim()) else { continue };
        let kept =
            heading.to_lowercase().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>();
        let anchor = kept.replace(' ', "-");
        let again = (1..).map(|count| format!("{anchor}-{count}"));
        let free = std::iter::once(anchor.clone()).chain(again).find(|name| !anchors.contains(name));
        anchors.extend(free);
    }
    anchors
}

#[test]
fn every_link_to_a_file_or_a_heading_leads_there() {
    let pages = all();
    let mut wrong = Vec::new();
    let mut followed = 0;
    for page in &pages {
        for (line, target) in targets(page) {
            if target.contains("://") {
                continue;
            }
            followed += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let folder = page.path.parent().expect("a folder");
            let path = if file.is_empty() { page.path.clone() } else { folder.join(file) };
            let Ok(path) = path.canonicalize() else {
                wrong.push(format!("{}:{line}: there is no {file}", page.name));
                continue;
            };
            let led = pages.iter().find(|page| page.path == path);
            if !anchor.is_empty() && !led.is_some_and(|page| anchors(page).contains(anchor)) {
                wrong.push(format!("{}:{line}: {target} has no such heading", page.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(followed > 100, "only {followed} links were found");
}

#[test]
fn every_page_can_be_reached_from_the_index() {
    let pages = all();
    let mut reached = BTreeSet::from([root().join("docs/README.md")]);
    let mut open: Vec<_> = reached.iter().cloned().collect();
    while let Some(path) = open.pop() {
        let Some(page) = pages.iter().find(|page| page.path == path) else { continue };
        for (_, target) in targets(page) {
            let file = target.split('#').next().unwrap_or_default();
            let Ok(path) = page.path.parent().expect("a folder").join(file).canonicalize() else { continue };
            if reached.insert(path.clone()) {
                open.push(path);
            }
        }
    }
    let is_reached = |page: &Page| {
        reached.contains(&page.path)
            || page.path.ancestors().skip(1).any(|folder| folder != root() && reached.contains(folder))
    };
    let lost: Vec<&str> = pages
        .iter()
        .filter(|page| page.name.starts_with("docs/") && !is_reached(page))
        .map(|page| page.name.as_str())
        .collect();
    assert!(lost.is_empty(), "nothing leads to {lost:?}");
}

#[test]
fn every_file_of_the_deployment_that_is_named_is_there() {
    let mut named = BTreeSet::new();
    for page in guides() {
        let lines = page.prose.iter().map(|(_, line)| line.as_str());
        let blocks = page.blocks.iter().flat_map(|block| block.text.lines());
        for line in lines.chain(blocks) {
            for word in line.split(|c: char| !c.is_alphanumeric() && !"/.-_".contains(c)) {
                let Some(at) = word.find("deploy/").filter(|at| *at == 0 || word[..*at].ends_with("../")) else {
                    continue;
                };
                let file = word[at..].trim_end_matches('.').to_owned();
                assert!(root().join(&file).exists(), "{}: there is no {file}", page.name);
                named.insert(file);
            }
        }
    }
    let there = std::fs::read_dir(root().join("deploy")).expect("a folder").flatten();
    for file in there.map(|entry| format!("deploy/{}", entry.file_name().to_string_lossy())) {
        assert!(named.contains(&file), "no page says what {file} is for");
    }
}

#[test]
fn every_picture_is_shown_and_says_what_it_shows() {
    let pictures = std::fs::read_dir(root().join("docs/images")).expect("a folder").flatten().map(|entry| entry.path());
    let shown: BTreeSet<String> = all()
        .iter()
        .flat_map(targets)
        .filter_map(|(_, target)| Some(Path::new(&target).file_name()?.to_str()?.to_owned()))
        .collect();
    for picture in pictures {
        let name = picture.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(shown.contains(&name), "{name} is shown nowhere");
        if name.ends_with(".svg") {
            let text = std::fs::read_to_string(&picture).expect("a text");
            assert!(text.contains("<title") && text.contains("<desc"), "{name} has no title or no description");
        }
    }
}

/// The security model says where each claim is held; elsewhere paths may be shortened.
#[test]
fn every_file_that_the_security_model_points_to_is_there() {
    let page = guides().into_iter().find(|page| page.name == "docs/security.md").expect("the page");
    let places = [root(), root().join("crates/merge-train"), root().join("crates/merge-train/src")];
    let named = page.spans().into_iter().filter(|(_, span)| span.starts_with("crates/") || span.ends_with(".rs"));
    let mut pointed = 0;
    for (line, span) in named {
        assert!(places.iter().any(|place| place.join(&span).exists()), "docs/security.md:{line}: there is no {span}");
        pointed += 1;
    }
    assert!(pointed > 8, "only {pointed} files were found");
}

#[test]
fn every_target_and_every_suite_that_is_named_is_there() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).expect("a text");
    let is_target = |name: &str| makefile.lines().any(|line| line.starts_with(&format!("{name}:")));
    let mut named = 0;
    for page in all() {
        let blocks = page.blocks.iter().flat_map(|block| block.text.lines().map(|line| (block.line, line.to_owned())));
        for (line, text) in page.spans().into_iter().chain(blocks) {
            let mut words = text.split_whitespace();
            match words.next() {
                Some("make") => {
                    let Some(target) = words.next() else { continue };
                    assert!(is_target(target), "{}:{line}: there is no `make {target}`", page.name);
                    named += 1;
                }
                Some("cargo" | "…") => {
                    let package = if text.contains("-p git ") { "git" } else { "merge-train" };
                    let suites = root().join("crates").join(package).join("tests/it");
                    for suite in words.filter_map(|word| Some(word.split_once("::")?.0)) {
                        let is_there = suites.join(suite).exists() || suites.join(format!("{suite}.rs")).exists();
                        assert!(is_there, "{}:{line}: there is no suite {suite}", page.name);
                        named += 1;
                    }
                }
                _ => {}
            }
        }
    }
    assert!(named > 15, "only {named} were found");
}

/// An address with what differs from one request to the next left out.
fn shape(path: &str) -> String {
    let is_name = |part: &str| {
        let is_upper = part.chars().any(|c| c.is_ascii_uppercase()) && !part.contains(|c: char| c.is_ascii_lowercase());
        let is_number = !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
        part.starts_with('{') || is_upper || is_number || ["octocat", "hello", "run-1"].contains(&part)
    };
    let parts = path.split(['?', ' ']).next().unwrap_or_default().split('/');
    parts.map(|part| if is_name(part) { "*" } else { part }).collect::<Vec<_>>().join("/")
}

#[test]
fn every_request_that_prose_names_is_one_that_the_daemon_takes() {
    let pages = guides();
    let reference = pages.iter().find(|page| page.name == "docs/api.md").expect("the reference");
    let headings =
        reference.prose.iter().filter_map(|(_, line)| line.strip_prefix("### `")?.strip_suffix('`')?.split_once(' '));
    let known: BTreeSet<(String, String)> = headings.map(|(method, path)| (method.to_owned(), shape(path))).collect();
    let mut named = 0;
    for page in &pages {
        for (line, span) in page.spans() {
            let Some((method, path)) = span.split_once(' ') else { continue };
            let is_request = ["GET", "POST", "PUT", "DELETE"].contains(&method) && path.starts_with('/');
            // The simulator has an API of its own, and GitHub has.
            if !is_request || path.starts_with("/_sim") || path.contains(['…', '*']) || page.name == "docs/simulator.md"
            {
                continue;
            }
            let asked = (method.to_owned(), shape(path));
            assert!(known.contains(&asked), "{}:{line}: the daemon does not take {method} {path}", page.name);
            named += 1;
        }
    }
    assert!(named > 50, "only {named} were found");
}
