//! The worker: takes what is queued, a few jobs at a time, and runs it.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::sync::Semaphore;

use super::commands::NO_FILE;
use super::log::Log;
use super::process::{Ended, Shell};
use super::report::{self, Outcome};
use crate::Sim;
use crate::world::{Annotation, CiJob, Key, RunConclusion};

/// How many commands run at the same time; the rest waits.
const CONCURRENT_JOBS: usize = 4;

/// Runs what is queued, now and as it comes. What ran when the simulator was last stopped is still queued.
pub fn start(sim: &Sim) {
    let folder = sim.data().join("checkouts");
    // What a killed simulator left behind.
    let _ = std::fs::remove_dir_all(&folder);
    let worker = Arc::new(Worker { folder, slots: Semaphore::new(CONCURRENT_JOBS), taken: Mutex::default() });
    let this = sim.clone();
    sim.spawn(async move {
        loop {
            let changed = this.changed();
            for key in worker.untaken(&this) {
                let (sim, worker) = (this.clone(), Arc::clone(&worker));
                this.spawn(async move {
                    tokio::select! {
                        () = worker.run(&sim, key) => {}
                        () = called_off(&sim, key) => {}
                    }
                    worker.taken.lock().remove(&key);
                });
            }
            changed.await;
        }
    });
}

struct Worker {
    folder: PathBuf,
    slots: Semaphore,
    taken: Mutex<HashSet<Key>>,
}

/// Resolves when the job has lost its place in the queue: it was cancelled, or set by hand.
async fn called_off(sim: &Sim, key: Key) {
    loop {
        let changed = sim.changed();
        if sim.read(|world| world.ci_jobs.get(key.scope, key.id).is_none()) {
            return;
        }
        changed.await;
    }
}

impl Worker {
    fn untaken(&self, sim: &Sim) -> Vec<Key> {
        let mut taken = self.taken.lock();
        sim.read(|world| {
            let queued = world.ci_jobs.all().map(|job| Key { scope: job.repo, id: job.id });
            queued.filter(|key| taken.insert(*key)).collect()
        })
    }

    async fn run(&self, sim: &Sim, key: Key) {
        let Some(job) = sim.read(|world| world.ci_jobs.get(key.scope, key.id).cloned()) else { return };
        tokio::time::sleep(Duration::from_millis(job.check.delay_ms)).await;
        let Ok(_slot) = self.slots.acquire().await else { return };
        let exists = sim.write(|world| {
            let exists = world.repo(job.repo).is_some();
            if exists {
                report::started(world, &job);
            } else {
                world.ci_jobs.remove(job.repo, job.id);
            }
            Ok(exists)
        });
        if !matches!(exists, Ok(true)) {
            return;
        }
        let outcome = self.execute(sim, &job).await.unwrap_or_else(|error| {
            tracing::error!(job = job.id, error = &*error, "a CI job could not be run");
            broken(&error.to_string())
        });
        let stored = sim.write(|world| {
            if world.ci_jobs.remove(job.repo, job.id).is_some() {
                report::finished(world, &job, outcome);
            }
            Ok(())
        });
        if let Err(error) = stored {
            tracing::error!(job = job.id, error = error.message, "the result of a CI job could not be stored");
        }
    }

    async fn execute(&self, sim: &Sim, job: &CiJob) -> Result<Outcome, Box<dyn std::error::Error + Send + Sync>> {
        let command = job.check.command.as_deref().unwrap_or_default();
        std::fs::create_dir_all(&self.folder)?;
        let folder = tempfile::Builder::new().prefix("job-").tempdir_in(&self.folder)?;
        let now = || sim.read(|world| world.now);
        let mut log = Log::create(&sim.log_path(job.id))?;
        log.note(&format!("Checking out {}", job.sha), now())?;
        let work = folder.path().join("work");
        if let Err(error) = sim.git(job.repo).check_out(&job.sha, &work).await {
            log.note(&format!("##[error]{error}"), now())?;
            log.finish(now())?;
            return Err(error.into());
        }
        log.note(&format!("##[group]Run {}", command.lines().next().unwrap_or_default()), now())?;
        for line in command.lines() {
            log.note(line, now())?;
        }
        log.note("shell: sh -c {0}", now())?;
        log.note("##[endgroup]", now())?;
        let timeout = Duration::from_millis(job.check.timeout_ms);
        let shell = Shell { command, folder: &work, env: environment(sim, job, folder.path())?, timeout };
        let ended = shell.run(sim, &mut log).await?;
        let outcome = outcome(&ended, job.check.timeout_ms, &mut log);
        if outcome.conclusion != RunConclusion::Success {
            log.note(&format!("##[error]{}", outcome.title), now())?;
        }
        log.finish(now())?;
        remove(folder);
        Ok(outcome)
    }
}

/// Off the async threads: a checkout can be large.
fn remove(folder: TempDir) {
    tokio::task::spawn_blocking(move || drop(folder));
}

/// Only this: what the machine has set must not decide whether a check passes.
fn environment(sim: &Sim, job: &CiJob, folder: &Path) -> std::io::Result<Vec<(&'static str, OsString)>> {
    let (home, temp) = (folder.join("home"), folder.join("tmp"));
    std::fs::create_dir_all(&home)?;
    std::fs::create_dir_all(&temp)?;
    let repository = sim.read(|world| world.repo(job.repo).map(|repo| world.full_name(repo))).unwrap_or_default();
    let actor = sim.read(|world| world.account(job.actor).login.clone());
    let run = job.workflow_run.unwrap_or(job.id);
    let mut env: Vec<(&'static str, OsString)> = vec![
        ("HOME", home.into()),
        ("TMPDIR", temp.into()),
        ("LANG", "C.UTF-8".into()),
        ("CI", "true".into()),
        ("GITHUB_ACTIONS", "true".into()),
        ("GITHUB_SHA", job.sha.clone().into()),
        ("GITHUB_REF", format!("refs/heads/{}", job.branch).into()),
        ("GITHUB_REF_NAME", job.branch.clone().into()),
        ("GITHUB_REPOSITORY", repository.into()),
        ("GITHUB_EVENT_NAME", job.event.clone().into()),
        ("GITHUB_ACTOR", actor.into()),
        ("GITHUB_JOB", job.check.name.clone().into()),
        ("GITHUB_RUN_ID", run.to_string().into()),
        ("GITHUB_WORKSPACE", folder.join("work").into()),
        ("GITHUB_SERVER_URL", sim.urls().web("").into()),
        ("GITHUB_API_URL", sim.urls().api("").into()),
    ];
    env.extend(std::env::var_os("PATH").map(|path| ("PATH", path)));
    Ok(env)
}

fn outcome(ended: &Ended, timeout_ms: u64, log: &mut Log) -> Outcome {
    let (conclusion, title) = match ended {
        Ended::Exited(status) if status.success() => (RunConclusion::Success, "Succeeded".to_owned()),
        Ended::Exited(status) => {
            // A shell reports the signal that killed a command as 128 and its number; so is the shell's own.
            let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
            (RunConclusion::Failure, format!("Process completed with exit code {code}."))
        }
        Ended::TimedOut => {
            (RunConclusion::TimedOut, format!("The job has exceeded the maximum execution time of {timeout_ms}ms."))
        }
    };
    let mut annotations = std::mem::take(&mut log.annotations);
    if conclusion != RunConclusion::Success {
        annotations.push(failure_annotation(&title, log.line_count()));
    }
    let quoted = log.quoted();
    let summary = if quoted.is_empty() { title.clone() } else { format!("{title}\n\n````\n{quoted}\n````") };
    Outcome { conclusion, title, summary, annotations }
}

fn failure_annotation(message: &str, line: u64) -> Annotation {
    Annotation {
        path: NO_FILE.to_owned(),
        start_line: line,
        end_line: line,
        start_column: None,
        end_column: None,
        annotation_level: "failure".into(),
        title: None,
        message: message.to_owned(),
        raw_details: None,
    }
}

/// The simulator could not do its part.
fn broken(reason: &str) -> Outcome {
    Outcome {
        conclusion: RunConclusion::Failure,
        title: "The job could not be started.".into(),
        summary: format!("The job could not be started: {reason}"),
        annotations: Vec::new(),
    }
}
