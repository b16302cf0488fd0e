//! One process: fed, read, timed, and ended with its whole group.

use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;
use tokio_util::sync::CancellationToken;

use super::{Command, STDERR_LIMIT};
use crate::Error;

/// How long a process that is asked to end may take to remove its lock files.
const GRACE: Duration = Duration::from_secs(2);
/// How long something that the process left running may keep its output open.
const LINGER: Duration = Duration::from_secs(5);
/// The most that a process may print: names of many conflicting files, never the content of a repository.
const STDOUT_LIMIT: usize = 64 * 1024 * 1024;

pub(super) struct Ended {
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Runs the process in a task of its own: a caller that goes away ends it in the same orderly way as one that cancels.
pub(super) async fn run(command: Command) -> Result<Ended, Error> {
    let caller_left = CancellationToken::new();
    let task = tokio::spawn(attend(command, caller_left.clone()));
    let _guard = caller_left.drop_guard();
    task.await.unwrap_or(Err(Error::Cancelled))
}

async fn attend(command: Command, caller_left: CancellationToken) -> Result<Ended, Error> {
    if command.cancel.is_cancelled() {
        return Err(Error::Cancelled);
    }
    let mut child = spawn(&command)?;
    fail::fail_point!(&format!("git: {}", command.name().split(' ').next().unwrap_or_default()));
    command.git.started.fetch_add(1, Ordering::Relaxed);
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let stdin = child.stdin.take();
    let input = command.stdin.clone();
    let feed = tokio::spawn(async move {
        if let Some(mut pipe) = stdin {
            // Git may end without reading all of it; its exit code tells more than the broken pipe.
            let _ = pipe.write_all(&input).await;
        }
    });
    let stdout = tokio::spawn(read(child.stdout.take(), STDOUT_LIMIT));
    let stderr = tokio::spawn(read(child.stderr.take(), STDERR_LIMIT));
    let status = tokio::select! {
        biased;
        () = command.cancel.cancelled() => Err(Error::Cancelled),
        () = caller_left.cancelled() => Err(Error::Cancelled),
        status = child.wait() => status.map_err(Error::io("waiting for git")),
        () = tokio::time::sleep(command.deadline) => {
            Err(Error::Deadline { command: command.name(), after: command.deadline })
        }
    };
    let status = match status {
        Ok(status) => status,
        Err(error) => {
            end(&mut child, group).await;
            return Err(error);
        }
    };
    feed.abort();
    let Captured { bytes: stdout, truncated } = collect(stdout).await;
    let Captured { bytes: stderr, .. } = collect(stderr).await;
    if truncated {
        return Err(Error::Unexpected { command: command.name(), output: format!("more than {STDOUT_LIMIT} bytes") });
    }
    Ok(Ended { code: status.code().unwrap_or(-1), stdout, stderr })
}

fn spawn(command: &Command) -> Result<Child, Error> {
    let mut process = tokio::process::Command::new(&command.git.program);
    process
        .args(command.all_args())
        .env_clear()
        .envs(command.all_env())
        .current_dir(command.folder.as_deref().unwrap_or("/".as_ref()))
        .stdin(if command.stdin.is_empty() { Stdio::null() } else { Stdio::piped() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    process.spawn().map_err(Error::NotInstalled)
}

/// Ends the process and whatever it started. First politely: git removes its lock files when it is asked to end, and a lock
/// that stays behind would stop everyone after it.
async fn end(child: &mut Child, group: Option<Pid>) {
    let Some(group) = group else { return };
    let _ = kill_process_group(group, Signal::TERM);
    let polite = tokio::time::timeout(GRACE, child.wait()).await;
    let _ = kill_process_group(group, Signal::KILL);
    if polite.is_err() {
        let _ = child.wait().await;
    }
    // Whoever called it off may rely on it: nothing of it runs when this returns.
    let gone = async {
        while test_kill_process_group(group).is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let _ = tokio::time::timeout(GRACE, gone).await;
}

struct Captured {
    bytes: Vec<u8>,
    truncated: bool,
}

/// Reads to the end, keeps what comes first.
async fn read(pipe: Option<impl AsyncRead + Unpin>, limit: usize) -> Captured {
    let mut captured = Captured { bytes: Vec::new(), truncated: false };
    let Some(mut pipe) = pipe else { return captured };
    let mut chunk = vec![0; 16 * 1024];
    while let Ok(count) = pipe.read(&mut chunk).await {
        if count == 0 {
            break;
        }
        let room = limit - captured.bytes.len();
        captured.truncated |= count > room;
        captured.bytes.extend_from_slice(&chunk[..count.min(room)]);
    }
    captured
}

/// The output of a process that has ended. Something that it left running, an agent of gpg, may still hold the pipe.
async fn collect(reader: tokio::task::JoinHandle<Captured>) -> Captured {
    let abort = reader.abort_handle();
    match tokio::time::timeout(LINGER, reader).await {
        Ok(Ok(captured)) => captured,
        _ => {
            abort.abort();
            Captured { bytes: Vec::new(), truncated: false }
        }
    }
}
