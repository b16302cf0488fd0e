//! Which crate may depend on which.

use std::collections::BTreeSet;

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
fn the_simulator_depends_on_no_other_crate_of_the_workspace() {
    let packages = packages();
    let members: BTreeSet<String> = packages.iter().map(|package| package.name.clone()).collect();
    let sim = packages.iter().find(|package| package.name == "github-sim").expect("the simulator's crate");
    // Not even in its tests: a mistake in a client must not be mirrored by the simulator.
    let shared: Vec<&String> = sim.with_tests.intersection(&members).collect();
    assert_eq!(shared, [""; 0]);
}

#[test]
fn nothing_but_the_binary_is_built_on_the_simulator() {
    let users: Vec<String> = packages()
        .into_iter()
        .filter(|package| package.dependencies.contains("github-sim"))
        .map(|package| package.name)
        .collect();
    assert_eq!(users, ["merge-train"]);
}
