//! That nothing of this is in the program that people run.

#[test]
fn a_released_program_has_no_failpoints() {
    #[expect(clippy::disallowed_methods, reason = "cargo is not a program that the product starts")]
    let output = std::process::Command::new(env!("CARGO"))
        .args(["tree", "--package", "merge-train", "--edges", "normal,build", "--prefix", "none"])
        .args(["--format", "{p} [{f}]", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all = String::from_utf8(output.stdout).expect("text");
    let found: Vec<&str> = all.lines().filter(|line| line.starts_with("fail ")).collect();
    assert!(!found.is_empty(), "it is looked for in the right place:\n{all}");
    assert!(found.iter().all(|line| line.contains("[]")), "the program is built with failpoints: {found:?}");
}
