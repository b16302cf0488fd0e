//! A daemon to test, and somebody who sends it webhooks.

mod daemon;
mod database;
mod log;
mod sender;
mod world;

use std::ffi::OsString;
use std::future::Future;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use daemon::{Daemon, KEY, SECRET, Setup};
pub use database::Database;
pub use log::Log;
pub use sender::{Sender, comment, pull_request, sign};
pub use test_support::cache::client;
use test_support::wait::within;
pub use world::{REPO, World};

/// Long enough for a machine under load; nothing waits this long unless something is wrong.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `look` finds something.
pub async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, look: impl FnMut() -> F) -> T {
    within(PATIENCE, what, look).await.unwrap_or_else(|never| panic!("{never}"))
}

/// A folder for the PATH with a git in it that says it is of this version, and can do nothing else.
pub fn fake_git(dir: &Path, version: &str) -> PathBuf {
    let folder = dir.join(format!("git-{version}"));
    std::fs::create_dir(&folder).expect("a folder");
    let program = folder.join("git");
    std::fs::write(&program, format!("#!/bin/sh\necho git version {version}\n")).expect("written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    folder
}

/// A PATH whose git calls itself current and is the machine's own: how old that is must not change what is tested.
pub fn path_with_current_git(dir: &Path) -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folder = dir.join("git-current");
    if !folder.exists() {
        std::fs::create_dir(&folder).expect("a folder");
        let program = folder.join("git");
        let real = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|git| git.exists()).expect("git");
        let script = "#!/bin/sh\nfor last; do :; done\n[ \"$last\" = version ] && exec echo git version 2.47.0\n";
        std::fs::write(&program, format!("{script}exec '{}' \"$@\"\n", real.display())).expect("written");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    std::env::join_paths(std::iter::once(folder).chain(std::env::split_paths(&path))).expect("a PATH")
}

/// Makes sure that the simulator is there as a program, beside this one. cargo builds it for the whole workspace, but not for one
/// package.
pub fn build_simulator() {
    let beside = Path::new(env!("CARGO_BIN_EXE_merge-train")).with_file_name("github-sim");
    if beside.exists() {
        return;
    }
    #[expect(clippy::disallowed_methods, reason = "cargo is not a program that the product starts")]
    let mut cargo = std::process::Command::new(env!("CARGO"));
    let built = cargo.args(["build", "--package", "github-sim"]).current_dir(env!("CARGO_MANIFEST_DIR")).status();
    assert!(built.expect("cargo starts").success() && beside.exists(), "{} is not there", beside.display());
}

pub fn http() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().expect("a client")
}
