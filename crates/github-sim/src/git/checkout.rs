//! Working copies. The CI needs files to run commands in; this is the one place where any are checked out.

use std::path::Path;

use super::GitRepo;
use super::command::{Error, GitCommand};

impl GitRepo {
    /// Checks a commit out into `folder`, which must be empty or missing: a clone that borrows this repository's objects.
    pub async fn check_out(&self, sha: &str, folder: &Path) -> Result<(), Error> {
        GitCommand::anywhere()
            .args(["clone", "--quiet", "--shared", "--no-checkout", "--"])
            .arg(&self.dir)
            .arg(folder)
            .run()
            .await?;
        GitCommand::anywhere()
            .arg("-C")
            .arg(folder)
            .args(["-c", "advice.detachedHead=false", "checkout", "--quiet", "--detach", sha])
            .run()
            .await?;
        Ok(())
    }
}
