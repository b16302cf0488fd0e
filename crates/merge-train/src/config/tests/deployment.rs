//! The examples in `deploy/` fit the configuration that the program has.

use super::*;

fn deployed(file: &str) -> String {
    let path = format!("{}/../../deploy/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn the_configuration_for_kubernetes_can_be_read_and_served() {
    let manifest = deployed("kubernetes.yaml");
    let (_, after) = manifest.split_once("  merge-train.toml: |\n").expect("a configuration");
    let block = after.lines().take_while(|line| line.is_empty() || line.starts_with("    "));
    let text: String = block.map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or_default())).collect();
    let config = parse(&text, &Environment::from([("WEBHOOK_SECRET", "x")])).expect("it can be read");
    assert!(config.server.public_url.is_some() && config.signing().is_ok() && config.api_keys.len() == 1);
    // What is kept is on the volume, and what is asked for is where it listens.
    for folder in [&config.state.state_dir, &config.git.clone_base_dir, &config.runs.work_dir] {
        assert!(folder.starts_with("/var/lib/merge-train"), "{}", folder.display());
    }
    assert!(manifest.contains("mountPath: /var/lib/merge-train }") && manifest.contains("replicas: 1\n"));
    assert_eq!(config.server.bind_address.port(), 8080);
    assert!(
        manifest.contains("containerPort: 8080")
            && manifest.contains("path: /healthz")
            && manifest.contains("path: /readyz")
    );
    let grace: u64 = number_after(&manifest, "terminationGracePeriodSeconds: ");
    assert!(grace > config.server.shutdown_deadline_secs);
}

#[test]
fn the_service_lets_the_daemon_write_where_it_keeps_things_and_end_in_peace() {
    let unit = deployed("merge-train.service");
    let config = parse("", &Environment::default()).expect("the defaults");
    let setting = |name: &str| {
        let lines = unit.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(setting("StateDirectory"), ["merge-train"]);
    assert!(config.state.state_dir.starts_with("/var/lib/merge-train"));
    for (name, value) in [
        ("ProtectSystem", "strict"),
        ("NoNewPrivileges", "yes"),
        ("ProtectHome", "yes"),
        ("PrivateTmp", "yes"),
        ("CapabilityBoundingSet", ""),
        ("User", "merge-train"),
        ("UMask", "0077"),
    ] {
        assert_eq!(setting(name), [value], "{name}");
    }
    assert!(number_after(&unit, "TimeoutStopSec=") > config.server.shutdown_deadline_secs);
    // Every line is a section, a comment or a setting, and each setting stands in a section.
    let mut section = "";
    for line in unit.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(name) => section = name,
            None => assert!(line.contains('=') && ["Unit", "Service", "Install"].contains(&section), "{line}"),
        }
    }
}

fn number_after(text: &str, mark: &str) -> u64 {
    let digits = text.split_once(mark).expect("it is there").1.chars().take_while(char::is_ascii_digit);
    digits.collect::<String>().parse().expect("a number")
}

#[test]
fn the_image_is_built_statically_and_runs_as_nobody_in_particular() {
    let file = deployed("Dockerfile");
    let stages: Vec<&str> = file.lines().filter(|line| line.starts_with("FROM ")).collect();
    assert_eq!(stages.len(), 2, "{stages:?}");
    assert!(stages[0].contains("alpine"), "musl, so that the program is one static file");
    let last = file.rsplit_once("FROM ").expect("a stage").1;
    assert!(last.contains("\nUSER 10001") && last.contains(" git ") && last.contains("COPY --from=build"), "{last}");
}
