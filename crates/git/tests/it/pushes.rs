//! Pushes: what lands, what does not, and why; and what is told of them after a crash.

use git::Oid;
use git::cascade::{Advance, Step};
use git::push::{Deleted, Expected, PushProbe, Pushed};
use git::repository::{Extent, Wanted};
use git::stack::Stack;
use tokio_util::sync::CancellationToken;

use crate::support::engine::{branch, pr, pull};
use crate::support::{Change, World};
use test_support::git_server::{Fault, Server};

/// A branch `feature` of #1 that is behind `main`, and the merge that is to be pushed.
struct Pushing {
    world: World,
    server: Server,
    stack: Stack,
    advance: Advance,
}

fn pushing() -> Pushing {
    let world = World::new();
    let base = world.base().clone();
    let feature = world.commit(&[&base], &[Change::write("feature", "1\n")], "feature");
    let main = world.commit(&[&base], &[Change::write("main", "1\n")], "main");
    world.set_ref("refs/heads/main", &main);
    world.set_ref("refs/heads/feature", &feature);
    let server = world.serve();
    let repository = world.repository_on(&server, Extent::Partial);
    let stack = world.run(repository.stack(pr(1), CancellationToken::new())).expect("a stack");
    let step = world.run(stack.update_root(&pull(1, "feature"), &branch("main"))).expect("merged");
    let Step::Advance(advance) = step else { panic!("something to push: {step:?}") };
    Pushing { world, server, stack, advance }
}

impl Pushing {
    fn push(&self) -> Pushed {
        self.world.run(self.stack.push(&branch("feature"), &self.advance)).expect("an outcome")
    }

    fn delete(&self, head: &Oid) -> Deleted {
        let (feature, never) = (branch("feature"), CancellationToken::new());
        let deleted = self.stack.repository().delete_branch(&feature, head, &never);
        self.world.run(deleted).expect("an outcome")
    }

    fn expected(&self) -> Expected {
        let contains = vec![self.world.main()];
        Expected { from: self.advance.from.clone(), tree: self.advance.tree.clone(), contains }
    }

    fn probe(&self) -> PushProbe {
        let feature = Wanted::Branch(pr(1), branch("feature"));
        self.world.run(self.stack.probe_push(&feature, &self.expected())).expect("an answer")
    }

    fn remote(&self) -> Oid {
        self.world.rev_parse("refs/heads/feature")
    }

    /// Somebody else's commit upon `on`.
    fn foreign(&self, on: &Oid) -> Oid {
        self.world.commit(&[on], &[Change::write("foreign", "1\n")], "somebody else")
    }
}

#[test]
fn a_push_lands_and_is_recognised_afterwards() {
    let pushing = pushing();
    assert_eq!(pushing.probe(), PushProbe::NotYet);
    assert_eq!(pushing.push(), Pushed::Landed);
    assert_eq!(pushing.remote(), pushing.advance.to);
    assert_eq!(pushing.probe(), PushProbe::Landed { head: pushing.advance.to.clone() });
    // Once more, as after a crash between the push and its record: it is there already.
    assert_eq!(pushing.push(), Pushed::Landed);
}

#[test]
fn another_commit_with_the_same_tree_and_history_counts_as_landed() {
    let pushing = pushing();
    // As a merge that was computed anew after a crash: another date, another name, the same content.
    let parents = [&pushing.advance.from, &pushing.world.main()];
    let again =
        pushing.world.run(pushing.stack.objects().write_commit(&pushing.advance.tree, &parents, "again")).unwrap();
    let other = Advance { to: again.clone(), ..pushing.advance.clone() };
    let pushed = pushing.world.run(pushing.stack.push(&branch("feature"), &other)).unwrap();
    assert_eq!(pushed, Pushed::Landed);
    assert_ne!(again, pushing.advance.to);
    assert_eq!(pushing.probe(), PushProbe::Landed { head: again });
}

#[test]
fn the_same_tree_without_the_history_has_not_landed() {
    let pushing = pushing();
    // Somebody committed the same files by hand: the default branch is not in the history.
    let tree = &pushing.advance.tree;
    let by_hand = pushing.world.run(pushing.stack.objects().write_commit(tree, &[&pushing.advance.from], "by hand"));
    let other = Advance { to: by_hand.unwrap(), ..pushing.advance.clone() };
    assert_eq!(pushing.world.run(pushing.stack.push(&branch("feature"), &other)).unwrap(), Pushed::Landed);
    assert_eq!(pushing.probe(), PushProbe::Foreign { head: other.to });
}

#[test]
fn a_foreign_advance_is_told_and_not_overwritten() {
    let pushing = pushing();
    let head = pushing.foreign(&pushing.advance.from);
    pushing.world.set_ref("refs/heads/feature", &head);
    assert_eq!(pushing.push(), Pushed::ForeignAdvance { head: head.clone() });
    assert_eq!(pushing.remote(), head);
    assert_eq!(pushing.probe(), PushProbe::Foreign { head });
}

#[test]
fn a_rewound_branch_is_not_brought_back() {
    let pushing = pushing();
    // To a commit that the push contains: git alone would call it a fast-forward.
    let base = pushing.world.base().clone();
    pushing.world.set_ref("refs/heads/feature", &base);
    assert_eq!(pushing.push(), Pushed::ForeignAdvance { head: base.clone() });
    assert_eq!(pushing.remote(), base);
    assert_eq!(pushing.probe(), PushProbe::Rewound { head: base });
}

#[test]
fn a_deleted_branch_stays_deleted() {
    let pushing = pushing();
    pushing.world.delete_ref("refs/heads/feature");
    assert_eq!(pushing.push(), Pushed::BranchGone);
    assert_eq!(pushing.probe(), PushProbe::BranchGone);
    assert!(!pushing.world.has_ref("refs/heads/feature"));
}

#[test]
fn what_a_hook_of_the_server_says_is_passed_on_and_not_retried() {
    let pushing = pushing();
    pushing.world.add_hook("pre-receive", "#!/bin/sh\necho 'GH006: Protected branch update failed' >&2\nexit 1\n");
    let Pushed::Rejected { reason } = pushing.push() else { panic!("rejected") };
    assert_eq!(reason, "pre-receive hook declined: GH006: Protected branch update failed");
    assert_eq!(pushing.remote(), pushing.advance.from);
}

#[test]
fn a_token_without_the_right_to_push_is_a_rejection() {
    let pushing = pushing();
    pushing.server.fail("/git-receive-pack", Fault::Status(403));
    assert!(matches!(pushing.push(), Pushed::Rejected { .. }));
}

#[test]
fn a_server_in_trouble_is_worth_another_try() {
    let pushing = pushing();
    pushing.server.fail("/git-receive-pack", Fault::Status(503));
    assert!(matches!(pushing.push(), Pushed::Transient { .. }));
    pushing.server.fail("/info/refs", Fault::Status(500));
    assert!(matches!(pushing.push(), Pushed::Transient { .. }));
    pushing.server.mend();
    assert_eq!(pushing.push(), Pushed::Landed);
}

#[test]
fn a_fetch_that_breaks_off_is_worth_another_try_and_no_reason_to_doubt_the_clone() {
    let pushing = pushing();
    let marker = pushing.stack.repository().clone_dir().join("marker");
    std::fs::write(&marker, "").unwrap();
    let news = pushing.foreign(&pushing.world.main());
    pushing.world.set_ref("refs/heads/main", &news);
    let wanted = [Wanted::Default(branch("main"))];
    // Where the refs are is told, and the objects do not come.
    pushing.server.fail("/git-upload-pack?fetch", Fault::Status(502));
    let broken = pushing.world.run(pushing.stack.fetch(&wanted)).unwrap_err();
    assert!(broken.is_transient(), "{broken:?}");
    pushing.server.mend();
    let heads = pushing.world.run(pushing.stack.fetch(&wanted)).unwrap();
    assert_eq!(heads.of(&wanted[0]).unwrap(), &news);
    assert!(marker.exists(), "the clone is the one it was");
}

#[test]
fn a_push_whose_answer_was_lost_has_landed() {
    let pushing = pushing();
    pushing.server.fail("/git-receive-pack", Fault::LostAnswer);
    assert_eq!(pushing.push(), Pushed::Landed);
    assert_eq!(pushing.remote(), pushing.advance.to);
}

#[test]
fn what_does_not_contain_the_old_head_is_refused_before_it_is_sent() {
    let pushing = pushing();
    let unrelated = Advance { to: pushing.world.main(), ..pushing.advance.clone() };
    let refused = pushing.world.run(pushing.stack.push(&branch("feature"), &unrelated)).unwrap_err();
    assert!(refused.to_string().contains("would lose work"), "{refused}");
    assert_eq!(pushing.remote(), pushing.advance.from);
}

#[test]
fn a_push_that_is_called_off_ends_with_all_that_it_started() {
    let pushing = pushing();
    pushing.server.fail("/git-receive-pack", Fault::Silence);
    let cancel = CancellationToken::new();
    let repository = pushing.stack.repository().clone();
    let stack = pushing.world.run(repository.stack(pr(1), cancel.clone())).unwrap();
    let ended = pushing.world.run(async {
        let feature = branch("feature");
        let push = stack.push(&feature, &pushing.advance);
        tokio::pin!(push);
        // Until git's helper speaks with the server, which never answers.
        loop {
            tokio::select! {
                ended = &mut push => panic!("it should hang: {ended:?}"),
                () = tokio::time::sleep(std::time::Duration::from_millis(20)) => {}
            }
            if helpers(pushing.server.url()) > 0 {
                break;
            }
        }
        cancel.cancel();
        push.await
    });
    assert!(matches!(ended, Err(git::Error::Cancelled)), "{ended:?}");
    assert_eq!(helpers(pushing.server.url()), 0);
}

/// How many processes of this machine have the server's address among their arguments.
fn helpers(url: &str) -> usize {
    let processes = std::fs::read_dir("/proc").expect("Linux").flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(url)).count()
}

#[test]
fn a_branch_is_deleted_only_where_it_was_left() {
    let pushing = pushing();
    let (was, foreign) = (pushing.remote(), pushing.foreign(&pushing.remote()));
    pushing.world.set_ref("refs/heads/feature", &foreign);
    assert_eq!(pushing.delete(&was), Deleted::Moved { head: foreign.clone() });
    assert_eq!(pushing.remote(), foreign, "somebody's push is still there");
    assert_eq!(pushing.delete(&foreign), Deleted::Yes);
    assert_eq!(pushing.delete(&foreign), Deleted::Yes, "it is gone already");
}
