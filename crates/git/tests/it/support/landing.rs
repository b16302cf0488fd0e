//! How pull requests reach `main`: with files, an index and plain `git merge`, as far from the code under test as can be.

use std::process::Output;

use git::Oid;

use super::{World, oid, process};

/// What `git merge` in a checkout came to.
#[derive(Debug)]
pub enum CheckoutMerge {
    /// With this tree.
    Clean(Oid),
    /// Mode, object, stage and path of each entry, as `git ls-files -u` lists them, sorted.
    Conflict(Vec<String>),
    /// Git itself fell over a conflict of its own making.
    Broken,
}

impl World {
    /// Squashes `head` onto `main` as GitHub does: one commit of its own date and message.
    pub fn squash(&self, head: &Oid, message: &str) -> Oid {
        self.on_main(&["merge", "--squash", "-q", head.as_str()]);
        self.on_checkout(&["commit", "-q", "--allow-empty", "--allow-empty-message", "-m", message]);
        self.main()
    }

    /// Writes every commit of `head` anew on `main`, as GitHub does: author, date and message stay, the committer changes.
    pub fn rebase_merge(&self, head: &Oid) -> Oid {
        self.rebase_merge_with(head, &[])
    }

    /// The same, with more of `git rebase`'s options.
    pub fn rebase_merge_with(&self, head: &Oid, options: &[&str]) -> Oid {
        let main = self.main();
        self.on_checkout(&["checkout", "-qf", "--detach", head.as_str()]);
        let args = [&["rebase", "-q", "--force-rebase"], options, &[main.as_str()]].concat();
        self.on_checkout(&args);
        let rebased = oid(&self.on_checkout(&["rev-parse", "HEAD"]));
        self.fast_forward(&rebased)
    }

    /// Merges with a merge commit.
    pub fn true_merge(&self, head: &Oid) -> Oid {
        self.on_main(&["merge", "-q", "--no-ff", "-m", "Merge pull request", head.as_str()]);
        self.main()
    }

    /// Lets somebody push `head` to `main`.
    pub fn fast_forward(&self, head: &Oid) -> Oid {
        self.set_ref("refs/heads/main", head);
        head.clone()
    }

    /// Merges two commits with files, and says what became of it.
    pub fn merge_in_checkout(&self, ours: &Oid, theirs: &Oid) -> CheckoutMerge {
        self.empty_checkout();
        self.on_checkout(&["checkout", "-qf", "--detach", ours.as_str()]);
        let Output { status, stdout, stderr } = process::run_at(
            &self.program,
            &self.checkout(),
            &["-c", "submodule.recurse=false", "merge", "--no-ff", "--no-edit", theirs.as_str()],
            self.tick(),
        );
        let text = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
        match status.code() {
            Some(0) => CheckoutMerge::Clean(oid(&self.on_checkout(&["rev-parse", "HEAD^{tree}"]))),
            Some(1) => {
                let listed = String::from_utf8(self.on_checkout(&["ls-files", "-u", "-z"])).expect("paths are UTF-8");
                let mut unmerged: Vec<String> = listed.split_terminator('\0').map(str::to_owned).collect();
                unmerged.sort();
                CheckoutMerge::Conflict(unmerged)
            }
            // It died of an assertion of its own: `process_renames` has some.
            None => CheckoutMerge::Broken,
            _ if text.contains("cache entry has null sha1") || text.contains("BUG: merge-ort") => CheckoutMerge::Broken,
            _ => panic!("git merge could not even try: {text}"),
        }
    }

    /// Runs git in a checkout of `main` as it is now.
    fn on_main(&self, args: &[&str]) {
        self.on_checkout(&["checkout", "-qf", "-B", "main", self.main().as_str()]);
        self.on_checkout(args);
    }

    /// Leaves no file behind: one whose line endings were another commit's attributes' would pass for changed.
    fn empty_checkout(&self) {
        let entries = std::fs::read_dir(self.checkout()).expect("the checkout").map(|entry| entry.expect("an entry"));
        for entry in entries.filter(|entry| entry.file_name() != ".git") {
            let is_folder = entry.file_type().expect("a type").is_dir();
            let removed =
                if is_folder { std::fs::remove_dir_all(entry.path()) } else { std::fs::remove_file(entry.path()) };
            removed.expect("it can be removed");
        }
        // A git that fell over leaves its lock.
        for name in ["index", "index.lock"] {
            let path = self.origin().join("worktrees/checkout").join(name);
            if path.exists() {
                std::fs::remove_file(path).expect("it can be removed");
            }
        }
    }

    fn on_checkout(&self, args: &[&str]) -> Vec<u8> {
        process::git_at(&self.checkout(), args, self.tick())
    }
}
