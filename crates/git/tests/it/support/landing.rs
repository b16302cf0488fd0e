//! How pull requests reach `main`: with files, an index and plain `git merge`, as far from the code under test as can be.

use std::process::Output;

use git::Oid;

use super::{World, oid, process};

/// What `git merge` in a checkout came to.
pub struct CheckoutMerge {
    pub clean: bool,
    /// Of a clean merge.
    pub tree: Option<Oid>,
    /// Of one in conflict: mode, object, stage and path of each entry, as `git ls-files -u` lists them, sorted.
    pub unmerged: Vec<String>,
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
        self.on_checkout(&["checkout", "-qf", "--detach", head.as_str()]);
        self.set_ref("refs/heads/main", head);
        head.clone()
    }

    /// Merges two commits with files, and says what became of it.
    pub fn merge_in_checkout(&self, ours: &Oid, theirs: &Oid) -> CheckoutMerge {
        self.on_checkout(&["checkout", "-qf", "--detach", ours.as_str()]);
        self.on_checkout(&["clean", "-ffdxq"]);
        let Output { status, stdout, stderr } = process::run_at(
            &self.checkout(),
            &["-c", "submodule.recurse=false", "merge", "--no-ff", "--no-edit", theirs.as_str()],
            self.tick(),
        );
        let text = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
        let mut unmerged = Vec::new();
        if !status.success() {
            assert_eq!(status.code(), Some(1), "git merge could not even try: {text}");
            let listed = String::from_utf8(self.on_checkout(&["ls-files", "-u", "-z"])).expect("paths are UTF-8");
            unmerged = listed.split_terminator('\0').map(str::to_owned).collect();
            unmerged.sort();
        }
        let tree = status.success().then(|| oid(&self.on_checkout(&["rev-parse", "HEAD^{tree}"])));
        CheckoutMerge { clean: status.success(), tree, unmerged }
    }

    /// Runs git in a checkout of `main` as it is now.
    fn on_main(&self, args: &[&str]) {
        self.on_checkout(&["checkout", "-qf", "-B", "main", self.main().as_str()]);
        self.on_checkout(args);
    }

    fn on_checkout(&self, args: &[&str]) -> Vec<u8> {
        process::git_at(&self.checkout(), args, self.tick())
    }
}
