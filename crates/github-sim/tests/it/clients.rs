//! Clients that others wrote, as they are. What they do is in `tests/clients`; what is needed is installed by `make test`.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::conformance::cache;
use crate::support::World;

const PATIENCE: Duration = Duration::from_secs(240);

fn client(name: &str) -> PathBuf {
    let folder = cache().join("clients").join(name);
    assert!(folder.is_dir(), "{} is not there; `make test` and `scripts/setup` install it", folder.display());
    folder
}

fn script(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(path)
}

/// Runs a script with the simulator's description in `SIM`. All it says is shown if it fails.
async fn run(world: &World, program: &Path, script: &Path) {
    let mut command = Command::new(program);
    command
        .arg(script)
        .env("SIM", world.running().description().to_string())
        .env("NO_PROXY", "127.0.0.1,localhost")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.expect("in time").expect("it starts");
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{} ended with {}:\n{said}", script.display(), output.status);
}

#[tokio::test]
async fn pygithub_lands_a_stack() {
    let world = World::new().await;
    world.user("hubot").await;
    run(&world, &client("pygithub").join("bin/python"), &script("pygithub/scenario.py")).await;
    world.finish().await;
}

#[tokio::test]
async fn octokit_lands_a_stack() {
    let world = World::new().await;
    world.user("hubot").await;
    // Node looks for packages beside the script, and those are in the cache folder.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let copy = folder.path().join("scenario.mjs");
    std::fs::copy(script("octokit/scenario.mjs"), &copy).expect("the script");
    std::os::unix::fs::symlink(client("octokit").join("node_modules"), folder.path().join("node_modules"))
        .expect("a link");
    run(&world, Path::new("node"), &copy).await;
    world.finish().await;
}
