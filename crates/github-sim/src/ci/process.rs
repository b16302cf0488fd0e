//! A command in a process group of its own, so that nothing it started outlives it.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::FusedFuture;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};

use super::log::Log;
use crate::Sim;

const CHUNK_BYTES: usize = 64 * 1024;
/// How long to read on after the shell has ended: something that left its process group may hold the pipe open.
const DRAIN: Duration = Duration::from_secs(1);

pub enum Ended {
    Exited(ExitStatus),
    TimedOut,
}

pub struct Shell<'a> {
    pub command: &'a str,
    pub folder: &'a Path,
    /// All of the environment.
    pub env: Vec<(&'static str, OsString)>,
    pub timeout: Duration,
}

impl Shell<'_> {
    /// Runs it to its end or its timeout. When this is dropped before, everything it started is killed.
    pub async fn run(self, sim: &Sim, log: &mut Log) -> std::io::Result<Ended> {
        let (mut child, group, output) = self.spawn()?;
        let mut reading = std::pin::pin!(read(sim, output, log).fuse());
        let waiting = async {
            tokio::select! {
                status = child.wait() => status,
                // Closing its output does not end a command.
                read = &mut reading => match read {
                    Ok(()) => child.wait().await,
                    Err(error) => Err(error),
                },
            }
        };
        let status = tokio::time::timeout(self.timeout, waiting).await;
        drop(group);
        if !reading.is_terminated() {
            let _ = tokio::time::timeout(DRAIN, &mut reading).await;
        }
        match status {
            Ok(status) => Ok(Ended::Exited(status?)),
            Err(_) => {
                let _ = tokio::time::timeout(DRAIN, child.wait()).await;
                Ok(Ended::TimedOut)
            }
        }
    }

    fn spawn(&self) -> std::io::Result<(Child, Group, Receiver)> {
        // One pipe for both, so that the log has the lines in the order they were printed.
        let (reader, writer) = std::io::pipe()?;
        let mut command = Command::new("sh");
        command
            .args(["-c", self.command])
            .current_dir(self.folder)
            .env_clear()
            .envs(self.env.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0)
            .kill_on_drop(true);
        let child = command.spawn()?;
        let group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
        Ok((child, group, Receiver::from_owned_fd(OwnedFd::from(reader))?))
    }
}

async fn read(sim: &Sim, mut output: Receiver, log: &mut Log) -> std::io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let length = output.read(&mut chunk).await?;
        if length == 0 {
            return Ok(());
        }
        log.printed(&chunk[..length], sim.read(|world| world.now))?;
    }
}

/// Kills the whole group when it goes.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // Nobody left to kill is what one hopes for.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
