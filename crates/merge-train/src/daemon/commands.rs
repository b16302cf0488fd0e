//! The commands of steps, on this machine: so many at once, each run in a folder of its own.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use merge_train_core::workflow::CommandOutput;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::config::RunSettings;
use crate::daemon::agent::{self, ResourceLimits};
use crate::daemon::driver::{StepRunner, StepTask};

/// Between asking a command to end and ending it.
const GRACE: Duration = Duration::from_secs(10);

pub struct Commands {
    base: PathBuf,
    room: Semaphore,
    limits: ResourceLimits,
}

impl Commands {
    pub fn new(runs: &RunSettings) -> Self {
        let limits = ResourceLimits {
            output_bytes: runs.max_output_kb.saturating_mul(1 << 10),
            log_bytes: runs.max_log_mb.saturating_mul(1 << 20),
            disk_bytes: runs.max_disk_mb.saturating_mul(1 << 20),
            free_bytes: 0,
            memory_bytes: None,
            processes: None,
            grace: GRACE,
        };
        Self { base: runs.work_dir.clone(), room: Semaphore::new(runs.max_concurrent), limits }
    }
}

#[async_trait]
impl StepRunner for Commands {
    async fn run(&self, task: StepTask, stop: CancellationToken) -> Result<CommandOutput, String> {
        let _turn = tokio::select! {
            () = stop.cancelled() => return Err("it was stopped before it started".to_owned()),
            turn = self.room.acquire() => turn.map_err(|_| "the daemon ends".to_owned())?,
        };
        let own = self.base.join(task.run.as_str());
        let (folder, logs) = (own.join("work"), own.join("logs"));
        let log = logs.join(format!("{}-{}.log", task.step, task.attempt));
        let environment = [
            ("MERGE_TRAIN_RUN_ID".to_owned(), task.run.to_string()),
            ("MERGE_TRAIN_STEP_ID".to_owned(), task.step.clone()),
            ("MERGE_TRAIN_STEP_ATTEMPT".to_owned(), task.attempt.to_string()),
        ];
        let task = agent::StepCommand {
            program: &task.program,
            input: &task.input,
            folder: &folder,
            log: &log,
            environment: &environment,
            limits: self.limits,
        };
        agent::run(task, stop).await
    }
}
