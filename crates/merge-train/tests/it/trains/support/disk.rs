//! What becomes of the daemon's disk, and what is put there by hand.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{REPO, Trains};

impl Trains {
    /// The daemon's disk is gone: all that it remembers, and its clones.
    pub fn lose_state(&self) {
        assert!(self.daemon.is_none(), "the daemon is not running");
        for folder in [self.world.setup.state_dir(), self.world.setup.clones()] {
            if folder.exists() {
                std::fs::remove_dir_all(folder).expect("it is removed");
            }
        }
    }

    /// A copy of the daemon's state as it is now. The daemon does not run.
    pub fn back_up(&self) -> PathBuf {
        assert!(self.daemon.is_none(), "the daemon is not running");
        let copy = self.world.dir.path().join("backup");
        copy_folder(&self.world.setup.state_dir(), &copy);
        copy
    }

    /// The disk is gone, and the state is the one of that copy again.
    pub fn restore(&self, copy: &Path) {
        self.lose_state();
        copy_folder(copy, &self.world.setup.state_dir());
    }

    /// The state as files. The daemon may go on working.
    pub async fn export(&self) -> PathBuf {
        let place = self.world.dir.path().join("export");
        self.succeed(&["state", "export", place.to_str().expect("a name")]).await;
        place
    }

    /// The disk is gone, and the state comes from these files.
    pub async fn import(&self, place: &Path) {
        self.lose_state();
        self.succeed(&["state", "import", place.to_str().expect("a name")]).await;
    }

    /// Replaces what the daemon remembers of the repository by what `edit` makes of it. The daemon dies before that.
    pub async fn doctor_state(&mut self, edit: impl FnOnce(&mut Value)) {
        let mut state = self.state().await;
        self.kill().await;
        edit(&mut state);
        let shown = state.as_object_mut().expect("an object");
        for name in ["lifecycle", "recent_events"] {
            shown.remove(name);
        }
        // Shown in other words than it is kept.
        shown.insert("sync".to_owned(), json!({ "last": shown["sync"]["synced_at"] }));
        shown.insert("snapshot_at".to_owned(), shown["touched_at"].clone());
        let generation = shown["log_generation"].clone();
        let place = self.world.dir.path().join("doctored");
        let folder = place.join(REPO);
        std::fs::create_dir_all(&folder).expect("a folder");
        for (name, content) in [
            ("generation".to_owned(), format!("{generation}\n")),
            (format!("snapshot.{generation}.json"), state.to_string()),
            (format!("events.{generation}.log"), String::new()),
        ] {
            std::fs::write(folder.join(name), content).expect("written");
        }
        self.import(&place).await;
    }

    /// Where the worktree of a train is.
    pub fn worktree(&self, root: u64) -> PathBuf {
        self.world.setup.clones().join(REPO.replace('/', "-")).join(format!("worktrees/stack-{root}"))
    }

    async fn succeed(&self, words: &[&str]) {
        let output = self.world.setup.command(words).output().await.expect("it runs");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

fn copy_folder(from: &Path, to: &Path) {
    if to.exists() {
        std::fs::remove_dir_all(to).expect("it is removed");
    }
    std::fs::create_dir(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let copy = to.join(path.file_name().expect("an entry has a name"));
        if path.is_dir() {
            copy_folder(&path, &copy);
        } else {
            std::fs::copy(&path, &copy).expect("it is copied");
        }
    }
}
