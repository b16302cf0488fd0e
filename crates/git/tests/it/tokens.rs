//! A token is in the environment of git and of what git starts, and nowhere else.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use git::cascade::Step;
use git::repository::{Extent, Wanted};
use tokio_util::sync::CancellationToken;

use crate::support::engine::{branch, pr, pull};
use crate::support::{Change, World};
use test_support::git_server::{Fault, TOKEN};

/// Looks at the arguments of every process, again and again, until it is dropped.
struct Watch {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<Seen>>,
}

#[derive(Default)]
struct Seen {
    /// Processes of git that spoke with the server: without them nothing was looked at.
    helpers: usize,
    leaks: Vec<String>,
}

impl Watch {
    fn start(url: &str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, url) = (stop.clone(), url.to_owned());
        let thread = std::thread::spawn(move || {
            let mut seen = Seen::default();
            while !stopped.load(Ordering::Relaxed) {
                for entry in std::fs::read_dir("/proc").expect("Linux").flatten() {
                    let Ok(line) = std::fs::read(entry.path().join("cmdline")) else { continue };
                    let line = String::from_utf8_lossy(&line).replace('\0', " ");
                    seen.helpers += usize::from(line.contains(&url));
                    if contains_token(line.as_bytes()) {
                        seen.leaks.push(line);
                    }
                }
            }
            seen
        });
        Self { stop, thread: Some(thread) }
    }

    fn end(mut self) -> Seen {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().expect("it runs").join().expect("it looked")
    }
}

/// Also in the form in which HTTP has it.
fn contains_token(bytes: &[u8]) -> bool {
    use base64::Engine;
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("x-access-token:{TOKEN}"));
    let holds = |needle: &str| bytes.windows(needle.len()).any(|window| window == needle.as_bytes());
    holds(TOKEN) || holds(&encoded)
}

fn files_with_token(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        match entry.file_type().expect("a type") {
            kind if kind.is_dir() => files_with_token(&path, found),
            kind if kind.is_file() && contains_token(&std::fs::read(&path).expect("a file")) => {
                found.push(path.display().to_string());
            }
            _ => {}
        }
    }
}

#[test]
fn a_token_is_never_in_arguments_files_or_errors() {
    let world = World::new();
    let base = world.base().clone();
    let feature = world.commit(&[&base], &[Change::write("feature", "1\n"), Change::write("README", "x\n")], "feature");
    let main = world.commit(&[&base], &[Change::write("main", "1\n")], "main");
    world.set_ref("refs/heads/main", &main);
    world.set_ref("refs/heads/feature", &feature);
    let server = world.serve();
    let watch = Watch::start(server.url());
    let repository = world.repository_on(&server, Extent::Partial);
    let mut texts = Vec::new();
    world.run(async {
        let stack = repository.stack(pr(1), CancellationToken::new()).await.expect("a stack");
        let step = stack.update_root(&pull(1, "feature"), &branch("main")).await.expect("merged");
        let Step::Advance(advance) = step else { panic!("something to push: {step:?}") };
        texts.push(format!("{:?}", stack.push(&branch("feature"), &advance).await));
        for fault in [Fault::Status(403), Fault::Status(500), Fault::Status(404)] {
            server.fail("/info/refs", fault);
            let error = stack.fetch(&[Wanted::Default(branch("main"))]).await.expect_err("it fails");
            texts.push(format!("{error} {error:?}"));
            texts.push(format!("{:?}", stack.push(&branch("feature"), &advance).await));
            server.mend();
        }
    });
    texts.push(format!("{repository:?}"));
    let seen = watch.end();
    assert!(seen.helpers > 0, "no process of git was seen at work");
    assert_eq!(seen.leaks, [""; 0]);
    for text in texts {
        assert!(!contains_token(text.as_bytes()), "{text}");
    }
    let mut files = Vec::new();
    files_with_token(&world.clones(), &mut files);
    assert_eq!(files, [""; 0]);
}

#[test]
fn without_the_right_token_access_is_denied_and_says_so() {
    let world = World::new();
    let server = world.serve();
    // Over another address than the one the token is for, no token is sent.
    server.fail("/info/refs", Fault::Status(401));
    let repository = world.repository_on(&server, Extent::Full);
    let denied = world.run(async {
        let stack = repository.stack(pr(1), CancellationToken::new()).await.expect("a stack");
        stack.fetch(&[Wanted::Default(branch("main"))]).await.expect_err("no access")
    });
    assert!(matches!(denied, git::Error::Denied { .. }), "{denied:?}");
    assert!(denied.to_string().contains("Is merge-train installed on the repository"), "{denied}");
}
