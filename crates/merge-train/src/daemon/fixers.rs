//! Fixers on this machine: so many at once, each in a folder of its own, sealed off from all that is the daemon's.
//!
//! ```text
//! WORK_DIR/fixer-…/        the run of one fix
//!   own/checkout           where it works; own/gateway.git takes its pushes
//!   own/home, own/tmp      what it takes for its home
//!   own/prompt.md          what it is told; prompt.md is the copy that stays
//!   logs/fix-1.log         what it prints
//!   ended.json             how it ended: it is not begun again once this is there
//! ```

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use merge_train_core::ids::{PrNumber, RepoId, RunId, Sha};
use merge_train_core::repo::ratchet::{FixExit, FixIssue};
use merge_train_core::workflow::Program;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

use crate::config::{Config, HomeFolder};
use crate::daemon::agent::fixer::{FixerCommand, run_fixer};
use crate::daemon::agent::{FixerProcessExit, ResourceLimits, UnixSockets, memory};
use crate::daemon::failpoint;

/// Between asking a fixer to end and ending it.
const GRACE: Duration = Duration::from_secs(10);
/// What has to be left on the disk of the working folders while a fixer runs: the daemon's database may be on it as well.
const LEAST_FREE: u64 = 256 << 20;
/// So many prompts wait for their fixers; what is forgotten is put together again.
const PROMPTS: usize = 64;
/// What of a fixer's folder is gone when it has ended.
const OWN: &str = "own";
const ENDED: &str = "ended.json";
const PROMPT: &str = "prompt.md";
/// Stands for the file with the prompt in a command.
const PROMPT_PLACE: &str = "{prompt}";

pub struct Fixers {
    base: PathBuf,
    command: Vec<String>,
    timeout: Duration,
    inherited: Vec<String>,
    /// Of the daemon itself.
    sealed: Vec<PathBuf>,
    home: HomeFolder,
    unix_sockets: UnixSockets,
    limits: ResourceLimits,
    room: Semaphore,
    prompts: Mutex<HashMap<PromptKey, String>>,
}

/// What a prompt is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PromptKey {
    pub repo: RepoId,
    pub pr: PrNumber,
    pub head: Sha,
    pub issue: FixIssue,
}

/// The folder of one fix.
pub struct FixerFolder {
    folder: PathBuf,
}

impl FixerFolder {
    /// What belongs to the fixer: the gateway and the checkout are made in it.
    pub fn own(&self) -> PathBuf {
        self.folder.join(OWN)
    }

    fn log(&self) -> PathBuf {
        self.folder.join("logs/fix-1.log")
    }

    /// How the fixer ended, if it has.
    pub async fn ended(&self) -> Option<FixExit> {
        let text = tokio::fs::read(self.folder.join(ENDED)).await.ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Durable before anybody acts on it: whoever comes later must not begin the fixer again.
    async fn has_ended(&self, exit: &FixExit) -> std::io::Result<()> {
        let (folder, text) = (self.folder.clone(), serde_json::to_vec(exit).expect("an exit is JSON"));
        let write = move || {
            let file = tempfile::NamedTempFile::new_in(&folder)?;
            std::fs::write(file.path(), text)?;
            file.as_file().sync_all()?;
            file.persist(folder.join(ENDED)).map_err(|error| error.error)?;
            std::fs::File::open(&folder)?.sync_all()
        };
        tokio::task::spawn_blocking(write).await.map_err(std::io::Error::other)?
    }

    /// Removes what the fixer worked with. What it printed and was told stays as long as its run.
    pub async fn clear(&self) -> std::io::Result<()> {
        remove(self.own()).await
    }
}

async fn remove(folder: PathBuf) -> std::io::Result<()> {
    let removed = tokio::task::spawn_blocking(move || git::gateway::remove_all(&folder)).await;
    removed.map_err(std::io::Error::other)?
}

/// What a fixer is started with.
pub struct FixerStart<'a> {
    pub run: &'a RunId,
    pub place: &'a FixerFolder,
    pub checkout: &'a Path,
    pub prompt: &'a str,
    pub environment: Vec<(String, String)>,
}

impl Fixers {
    /// None where the configuration names no fixer.
    pub fn new(config: &Config, config_file: Option<&Path>) -> Option<Self> {
        let fixer = &config.ratchet.fixer;
        let command = fixer.program();
        if command.is_empty() {
            return None;
        }
        let mebibytes = |count: u64| count.saturating_mul(1 << 20);
        let limits = ResourceLimits {
            log_bytes: mebibytes(fixer.max_log_mb),
            disk_bytes: mebibytes(fixer.max_disk_mb),
            free_bytes: LEAST_FREE,
            memory_bytes: fixer.max_memory_mb.map(mebibytes).or_else(memory::half),
            processes: Some(fixer.max_processes),
            grace: GRACE,
            ..ResourceLimits::default()
        };
        let home = HomeFolder::of_process();
        Some(Self {
            base: absolute(&config.runs.work_dir),
            command,
            timeout: fixer.timeout_mins.duration(),
            inherited: fixer.environment(),
            sealed: config.private_paths(config_file, &home).iter().map(|path| absolute(path)).collect(),
            home,
            unix_sockets: if fixer.unix_sockets { UnixSockets::Allowed } else { UnixSockets::Refused },
            limits,
            room: Semaphore::new(fixer.max_concurrent),
            prompts: Mutex::default(),
        })
    }

    pub fn place(&self, run: &RunId) -> FixerFolder {
        FixerFolder { folder: self.base.join(run.as_str()) }
    }

    /// Keeps what a fixer will be told until it is sent.
    pub fn remember(&self, subject: PromptKey, prompt: String) {
        let mut prompts = self.prompts.lock();
        if prompts.len() >= PROMPTS {
            prompts.clear();
        }
        prompts.insert(subject, prompt);
    }

    pub fn recall(&self, subject: &PromptKey) -> Option<String> {
        self.prompts.lock().remove(subject)
    }

    /// Waits for a turn; none if it is called off before.
    pub async fn turn(&self, stop: &CancellationToken) -> Option<SemaphorePermit<'_>> {
        tokio::select! {
            () = stop.cancelled() => None,
            turn = self.room.acquire() => turn.ok(),
        }
    }

    /// Lets a fixer work to its end. That it ended is durable then, unless it was stopped.
    pub async fn run(&self, start: FixerStart<'_>, stop: CancellationToken) -> std::io::Result<FixExit> {
        let (place, own) = (start.place, start.place.own());
        let (home, tmp) = (own.join("home"), own.join("tmp"));
        for folder in [&home, &tmp] {
            tokio::fs::create_dir_all(folder).await?;
        }
        let prompt = own.join(PROMPT);
        for file in [&prompt, &place.folder.join(PROMPT)] {
            tokio::fs::write(file, start.prompt).await?;
        }
        let named = |word: &String| word.replace(PROMPT_PLACE, &prompt.to_string_lossy());
        let program = Program {
            command: self.command.iter().map(named).collect(),
            timeout_ms: u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX),
        };
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut environment = start.environment;
        environment.extend([
            ("HOME".to_owned(), text(&home)),
            ("TMPDIR".to_owned(), text(&tmp)),
            ("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned()),
            ("MERGE_TRAIN_RUN_ID".to_owned(), start.run.to_string()),
            ("MERGE_TRAIN_PROMPT_FILE".to_owned(), text(&prompt)),
        ]);
        let sealed: Vec<PathBuf> = self.sealed.iter().cloned().chain(self.home.credentials()).collect();
        let command = FixerCommand {
            program: &program,
            input: start.prompt.as_bytes(),
            folder: start.checkout,
            own: &own,
            log: &place.log(),
            environment: &environment,
            inherited: &self.inherited,
            sealed: &sealed,
            unix_sockets: self.unix_sockets,
            limits: self.limits,
        };
        let result = run_fixer(command, stop).await;
        let mut told = result.exit.tell(&program, &self.limits);
        if !result.tail.is_empty() {
            told = format!("{told}\nThe end of its log:\n{}", result.tail);
        }
        let exit = match result.exit {
            FixerProcessExit::Stopped => return Ok(FixExit::Stopped),
            FixerProcessExit::Done => FixExit::Done,
            FixerProcessExit::Failed { .. } => FixExit::Failed { told },
            FixerProcessExit::TimedOut => FixExit::TimedOut { told },
            FixerProcessExit::Killed { .. }
            | FixerProcessExit::OverMemory
            | FixerProcessExit::OverProcesses
            | FixerProcessExit::OverDisk
            | FixerProcessExit::Unseen
            | FixerProcessExit::DiskScarce
            | FixerProcessExit::NotStarted { .. }
            | FixerProcessExit::Lost => FixExit::Died { told },
        };
        failpoint::reach("fixer.exited");
        place.has_ended(&exit).await?;
        Ok(exit)
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
