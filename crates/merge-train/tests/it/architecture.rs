//! Which crate may depend on which, and that every source file says what it is for.

use std::collections::BTreeSet;
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
