//! Which crate may depend on which, that every source file says what it is for, and that no two types share a name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

struct Package {
    name: String,
    /// What it is built from: its normal and build dependencies.
    dependencies: BTreeSet<String>,
    /// With those of its tests.
    with_tests: BTreeSet<String>,
}

/// The workspace's crates, as cargo sees them.
fn packages() -> Vec<Package> {
    #[expect(clippy::disallowed_methods, reason = "cargo is not a program that the product starts")]
    let output = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo's JSON");
    let names = |package: &Value, wanted: fn(&Value) -> bool| {
        let all = package["dependencies"].as_array().expect("dependencies");
        all.iter().filter(|found| wanted(found)).map(|found| text(&found["name"])).collect()
    };
    let packages = metadata["packages"].as_array().expect("packages");
    packages
        .iter()
        .map(|package| Package {
            name: text(&package["name"]),
            dependencies: names(package, |found| found["kind"] != "dev"),
            with_tests: names(package, |_| true),
        })
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

#[test]
fn the_simulator_depends_on_no_other_crate_of_the_workspace_but_in_its_tests_on_test_support() {
    let packages = packages();
    let members: BTreeSet<String> = packages.iter().map(|package| package.name.clone()).collect();
    let sim = packages.iter().find(|package| package.name == "github-sim").expect("the simulator's crate");
    assert_eq!(shared(&sim.dependencies, &members), [""; 0]);
    // Its tests know no client of the daemon's: a mistake in one must not be mirrored by the simulator.
    assert_eq!(shared(&sim.with_tests, &members), ["test-support"]);
}

#[test]
fn what_tests_share_depends_on_no_other_crate_of_the_workspace_and_only_tests_depend_on_it() {
    let packages = packages();
    let members: BTreeSet<String> = packages.iter().map(|package| package.name.clone()).collect();
    let support = packages.iter().find(|package| package.name == "test-support").expect("the crate that tests share");
    // With nothing of its own it brings nothing into the tests of others: not the daemon's crates into the simulator's.
    assert_eq!(shared(&support.with_tests, &members), [""; 0]);
    let built_on_it = packages.iter().filter(|package| package.dependencies.contains("test-support"));
    assert_eq!(built_on_it.map(|package| &package.name).collect::<Vec<_>>(), [""; 0]);
}

fn shared<'a>(dependencies: &'a BTreeSet<String>, members: &'a BTreeSet<String>) -> Vec<&'a String> {
    dependencies.intersection(members).collect()
}

#[test]
fn nothing_is_built_on_the_simulator() {
    let users: Vec<String> = packages()
        .into_iter()
        .filter(|package| package.dependencies.contains("github-sim"))
        .map(|package| package.name)
        .collect();
    assert_eq!(users, [""; 0]);
}

/// All that a crate is built from, however far down.
fn everything_below(name: &str) -> BTreeSet<String> {
    #[expect(clippy::disallowed_methods, reason = "cargo is not a program that the product starts")]
    let output = std::process::Command::new(env!("CARGO"))
        .args([
            "tree",
            "--package",
            name,
            "--edges",
            "normal,build",
            "--prefix",
            "none",
            "--format",
            "{p}",
            "--offline",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn what_decides_cannot_reach_the_world() {
    let below = everything_below("merge-train-core");
    assert!(below.contains("serde_json"), "the list is read right: {below:?}");
    for crate_name in
        ["tokio", "axum", "hyper", "sqlx", "sqlx-core", "rusqlite", "reqwest", "rustix", "async-trait", "mio"]
    {
        assert!(!below.contains(crate_name), "core can reach {crate_name}");
    }
}

#[test]
fn dependencies_between_our_crates_point_one_way() {
    let packages = packages();
    let members: BTreeSet<String> = packages.iter().map(|package| package.name.clone()).collect();
    let allowed = |name: &str| -> &[&str] {
        match name {
            "merge-train" => &["merge-train-core", "store", "git", "github"],
            "store" | "git" | "github" => &["merge-train-core"],
            _ => &[],
        }
    };
    for package in &packages {
        let ours = package.dependencies.intersection(&members);
        let wrong: Vec<&String> = ours.filter(|name| !allowed(&package.name).contains(&name.as_str())).collect();
        assert!(wrong.is_empty(), "{} must not depend on {wrong:?}", package.name);
    }
}

/// The Rust files of a folder, and of those below it.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

#[test]
fn every_source_file_says_first_what_it_is_for() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of crates");
    let each = std::fs::read_dir(crates).expect("crates").map(|entry| entry.expect("an entry").path().join("src"));
    let all: Vec<PathBuf> = each.filter(|src| src.is_dir()).flat_map(|src| sources(&src)).collect();
    assert!(all.iter().any(|path| path == &crates.join("core/src/lib.rs")), "the sources are found");
    let says = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("a source file");
        text.strip_prefix("//! ").is_some_and(|line| line.starts_with(|first: char| !first.is_whitespace()))
    };
    let silent: Vec<&PathBuf> = all.iter().filter(|path| !says(path)).collect();
    assert!(silent.is_empty(), "these do not begin with a line `//! …`: {silent:#?}");
}

/// The names that each feature has for itself, always read with their module: `doctor::Args`, `ratchet::Event`.
const CONVENTIONAL: [&str; 6] = [
    // The arguments of a command of the command line.
    "Args",
    // What decisions lead to: every feature has its events, its effects, and the keys by which effects are known.
    "Event",
    "Effect",
    "EffectKey",
    // What can go wrong, of each module that has errors.
    "Error",
    // The settings that a feature goes by.
    "Settings",
];

/// Two decisions, about a repository and about a run of a workflow, have the same shape: `decide(state, input) -> Plan`.
const OF_BOTH_DECISIONS: [&str; 3] = ["Input", "Plan", "Request"];

/// The name of the public type that a line declares, if it declares one.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub ")?;
    let rest = ["struct ", "enum ", "trait ", "type "].iter().find_map(|kind| rest.strip_prefix(kind))?;
    let name = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
    name.starts_with(|first: char| first.is_ascii_uppercase()).then_some(name)
}

/// The lines of a file that are not for tests only, and the modules beside it that are.
fn production(path: &Path) -> (Vec<String>, Vec<PathBuf>) {
    let text = std::fs::read_to_string(path).expect("a source file");
    let is_folders_own = ["mod.rs", "lib.rs", "main.rs"].iter().any(|name| path.ends_with(name));
    let inside = if is_folders_own { path.parent().expect("a folder").to_owned() } else { path.with_extension("") };
    let (mut lines, mut of_tests) = (Vec::new(), Vec::new());
    let mut all = text.lines();
    while let Some(line) = all.next() {
        if line != "#[cfg(test)]" {
            lines.push(line.to_owned());
            continue;
        }
        let next = all.next().unwrap_or_default();
        match next.split_once("mod ").map(|(_, name)| name) {
            Some(name) if name.ends_with('{') => break,
            Some(name) => of_tests.push(inside.join(name.trim_end_matches(';'))),
            None => {}
        }
    }
    (lines, of_tests)
}

/// The public types of these folders, without those of tests, and where each name is declared.
fn public_types(folders: &[PathBuf]) -> BTreeMap<String, Vec<PathBuf>> {
    let read = folders.iter().flat_map(|folder| sources(folder));
    let read: Vec<_> = read.map(|path| (production(&path), path)).collect();
    let of_tests: Vec<&PathBuf> = read.iter().flat_map(|((_, of_tests), _)| of_tests).collect();
    let mut types: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for ((lines, _), path) in &read {
        if of_tests.iter().any(|module| path.with_extension("").starts_with(module)) {
            continue;
        }
        for name in lines.iter().filter_map(|line| public_type(line)) {
            types.entry(name.to_owned()).or_default().push(path.clone());
        }
    }
    types
}

#[test]
fn no_two_public_types_of_the_core_and_the_binary_share_a_name() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of crates");
    let types = public_types(&["core", "merge-train"].map(|name| crates.join(name).join("src")));
    for (name, file) in [("RepoId", "core/src/ids.rs"), ("Args", "merge-train/src/cli/doctor.rs")] {
        assert!(types.get(name).is_some_and(|files| files.contains(&crates.join(file))), "{name} is found in {file}");
    }
    assert!(!types.contains_key("Storm"), "types of tests do not count");
    let may_be_shared: BTreeSet<&str> = [&CONVENTIONAL[..], &OF_BOTH_DECISIONS].concat().into_iter().collect();
    let is_shared =
        |(name, files): &(&String, &Vec<PathBuf>)| files.len() > 1 && !may_be_shared.contains(name.as_str());
    let shared: Vec<_> = types.iter().filter(is_shared).collect();
    assert!(shared.is_empty(), "give these names that say what each is: {shared:#?}");
}

/// What a line of the map has between backticks.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// All test sources and all other sources, as one text.
fn all_sources(root: &Path) -> String {
    let texts = sources(&root.join("crates")).into_iter().map(|path| std::fs::read_to_string(path).expect("a file"));
    texts.collect()
}

#[test]
fn each_invariant_on_the_map_names_a_test_that_holds_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let map = std::fs::read_to_string(root.join("ARCHITECTURE.md")).expect("the map");
    let all = all_sources(&root);
    let invariants: Vec<&str> = map.lines().filter(|line| line.contains("**Invariant:**")).collect();
    assert!(invariants.len() > 15, "the invariants are found");
    let is_held = |line: &&str| {
        let test = line.rsplit_once("(`").and_then(|(_, test)| test.strip_suffix("`)"));
        test.is_some_and(|test| all.contains(&format!("fn {test}(")))
    };
    let loose: Vec<&str> = invariants.into_iter().filter(|line| !is_held(line)).collect();
    assert!(loose.is_empty(), "no test has the name at the end of: {loose:#?}");
}

#[test]
fn the_map_leads_to_files_and_functions_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let map = std::fs::read_to_string(root.join("ARCHITECTURE.md")).expect("the map");
    let (mut wrong, mut crate_folder, mut file) = (Vec::new(), root.clone(), None);
    for span in map.lines().flat_map(code_spans) {
        if span.starts_with("crates/") || span.starts_with("docs/") {
            let path = root.join(span);
            if !path.exists() {
                wrong.push(span.to_owned());
            }
            if span.matches('/').count() == 1 {
                crate_folder = path.clone();
            }
            file = path.is_file().then_some((span, path));
        } else if span.starts_with("src/") || span.starts_with("tests/") {
            if !crate_folder.join(span).exists() {
                wrong.push(format!("{span} in {}", crate_folder.display()));
            }
        } else if let Some((name, path)) = file.take() {
            // `crates/…/file.rs`: `function`
            let text = std::fs::read_to_string(&path).expect("a file");
            let is_function = span.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            if is_function && map.contains(&format!("`{name}`: `{span}`")) && !text.contains(&format!("fn {span}(")) {
                wrong.push(format!("{span} in {name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "the map names what is not there: {wrong:#?}");
}

#[test]
fn the_map_is_read_in_five_minutes() {
    let map = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let words = std::fs::read_to_string(map).expect("the map").split_whitespace().count();
    assert!(words <= 1_500, "{words} words");
}
