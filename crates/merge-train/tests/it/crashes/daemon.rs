//! A daemon that may end itself.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;

use crate::support::{PATIENCE, Setup};

/// What a shutdown may take; as a rule it is milliseconds.
const SHUTDOWN: Duration = Duration::from_secs(30);

pub struct Daemon {
    child: Child,
    pub url: String,
    log: Arc<Mutex<String>>,
}

/// What became of a process that was started.
pub enum Started {
    Running(Daemon),
    /// It ended before it said where it listens.
    Ended {
        log: String,
    },
}

impl Daemon {
    /// `armed`: where it is to die. `reached`: where it writes down what it passes.
    pub async fn start(setup: &Setup, armed: &str, reached: &Path) -> Started {
        let mut command = setup.command(&["serve"]);
        command.env("FAILPOINTS", armed).env("MERGE_TRAIN_FAILPOINTS_REACHED", reached);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let log = Arc::new(Mutex::new(String::new()));
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let kept = log.clone();
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                kept.lock().push_str(&format!("{line}\n"));
            }
        });
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let first = tokio::time::timeout(PATIENCE, lines.next_line()).await.expect("it starts in time").expect("text");
        match first.as_deref().and_then(|line| line.split_whitespace().last()) {
            Some(url) => Started::Running(Self { child, url: url.to_owned(), log }),
            None => {
                child.wait().await.expect("a status");
                Started::Ended { log: log.lock().clone() }
            }
        }
    }

    /// All that it logged so far.
    pub fn log(&self) -> String {
        self.log.lock().clone()
    }

    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().expect("its status is known").is_none()
    }

    /// Asks it to end, and waits until it has.
    pub async fn stop(&mut self) -> ExitStatus {
        if let Some(pid) = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
            // It may have ended itself just now.
            let _ = kill_process(pid, Signal::TERM);
        }
        tokio::time::timeout(SHUTDOWN, self.child.wait()).await.expect("it ends in time").expect("a status")
    }
}
