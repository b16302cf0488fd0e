//! git, and the key that signs what it makes.

use git::signing::{self, Check, Fault};
use git::{Git, Signing};

use super::Finding;
use crate::config::Config;
use crate::daemon::clones::PROGRAM;

/// Which git there is; none if there is none to work with.
pub async fn version() -> (Finding, Option<Git>) {
    const CHECK: &str = "git";
    let fix = "install git 2.41 or newer, on the PATH of the user who runs merge-train (2.39 works with limits)";
    match Git::find(PROGRAM).await {
        Ok(git) if git.version().reads_attributes_from_a_tree() => {
            (Finding::ok(CHECK, git.version().to_string()), Some(git))
        }
        Ok(git) => {
            let found = format!(
                "{}: merges only use the .gitattributes in the root folder, not those in subfolders",
                git.version()
            );
            (Finding::warning(CHECK, found, "install git 2.41 or newer"), Some(git))
        }
        Err(error) => (Finding::failed(CHECK, told(&error), fix), None),
    }
}

/// Makes a signature and verifies it.
pub async fn signing(config: &Config, git: Option<&Git>) -> Finding {
    const CHECK: &str = "signing";
    let steps = "docs/operating.md, \"Signing commits\", has the steps for GPG and for SSH";
    let signing = match config.signing() {
        Ok(signing) => signing,
        Err(error) => return Finding::failed(CHECK, error.to_string(), steps),
    };
    if signing == Signing::Off {
        let found = "off: merge-train's commits show as unverified, and a rule that requires signed commits rejects \
                     them";
        return Finding::warning(CHECK, found, steps);
    }
    let Some(git) = git else { return Finding::failed(CHECK, "not checked without git", "install git first") };
    match signing::check(git, &config.git.clones(signing).committer).await {
        Ok(Check::Gpg { fingerprint }) => Finding::ok(CHECK, format!("signed and verified with GPG key {fingerprint}")),
        Ok(Check::Ssh { fingerprint }) => Finding::ok(CHECK, format!("signed and verified with SSH key {fingerprint}")),
        Ok(Check::Unsigned) => {
            Finding::failed(CHECK, "a commit was created unsigned although a key is configured", steps)
        }
        Err(Fault::Git(error)) => Finding::failed(CHECK, told(&error), steps),
        Err(fault) => Finding::failed(CHECK, told(&fault), steps),
    }
}

/// An error with its causes.
fn told(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
