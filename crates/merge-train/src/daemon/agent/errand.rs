//! A fixer at work: any program that fixes a pull request. It is not trusted.

use std::io;
use std::path::{Path, PathBuf};

use merge_train_core::workflow::Program;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::super::telemetry::redact::Mask;
use super::attend::{self, Job, Over};
use super::exit::{self, Exit};
use super::guarded::{Guarded, Outputs};
use super::order::{Seal, UnixSockets};
use super::{LINGER, Limits, disk, log};

/// What every fixer gets of the daemon's environment.
const INHERITED: [&str; 2] = ["PATH", "LANG"];
/// What none gets of it, whatever is listed: these say where its files go, and that is not where the daemon's go.
const NEVER_INHERITED: [&str; 2] = ["HOME", "TMPDIR"];
/// More than is ever said in one log.
const NOTICES: usize = 4;

/// A fixer that is to be run, what it gets, and what is kept from it.
#[derive(Clone, Copy, Debug)]
pub struct Errand<'a> {
    pub program: &'a Program,
    /// What it reads on standard input: the prompt.
    pub input: &'a [u8],
    /// Where it runs, the checkout. It has to be there.
    pub folder: &'a Path,
    /// All that is its own: the checkout, its home, its temporary files. Its size is bounded.
    pub own: &'a Path,
    /// What it prints, on either output, is added to this file as it comes.
    pub log: &'a Path,
    /// What it gets besides what it inherits, and in its stead where the names are the same.
    pub environment: &'a [(String, String)],
    /// The variables of the daemon that it inherits besides `PATH` and `LANG`; never `HOME` and `TMPDIR`.
    pub inherited: &'a [String],
    /// Files and folders of the daemon that it may neither read, list nor write; but for `own`, if that is in one of them.
    /// Where the daemon may not mount, a folder above one of these takes nothing new from it, and is not listed for it.
    pub sealed: &'a [PathBuf],
    pub unix_sockets: UnixSockets,
    pub limits: Limits,
}

/// What became of a fixer.
#[derive(Debug)]
pub struct Watched {
    pub exit: Exit,
    /// The last lines of its log, as text that is safe on a terminal and in a comment: what it inherits is masked in both.
    pub tail: String,
}

/// Runs a fixer to its end, or until `stop`.
///
/// Who drops this has it killed at once, without the grace that `stop` gives.
pub async fn watch(errand: Errand<'_>, stop: CancellationToken) -> Watched {
    watch_guarded_by(&super::this_program(), errand, stop).await
}

/// The same with another program that knows [`super::guard::SUBCOMMAND`].
pub async fn watch_guarded_by(guard: &Path, errand: Errand<'_>, stop: CancellationToken) -> Watched {
    let (pipe, outputs) = match output() {
        Ok(output) => output,
        Err(error) => return Watched { exit: exit::unguarded(&errand, guard, &error), tail: String::new() },
    };
    let (notices, heard) = mpsc::channel(NOTICES);
    let mask = Mask::of(&values_of(listed(&errand)));
    let log = tokio::spawn(log::keep(pipe, errand.log.to_owned(), errand.limits.log_bytes, mask, heard));
    let notice = |exit: &Exit| {
        if exit.is_of_our_doing() {
            let _ = notices.try_send(exit.tell(errand.program, &errand.limits));
        }
    };
    let exit = Box::pin(attend(guard, &errand, outputs, notice, &stop)).await;
    drop(notices);
    let tail = tokio::time::timeout(LINGER, log).await.ok().and_then(Result::ok).unwrap_or_default();
    Watched { exit, tail: tail.text() }
}

/// One pipe for both outputs: what is printed arrives in the order in which it was.
fn output() -> io::Result<(tokio::net::unix::pipe::Receiver, Outputs)> {
    let (pipe, stdout) = attend::output()?;
    let stderr = stdout.try_clone()?;
    Ok((pipe, (stdout, stderr)))
}

/// `notice` is told of the exit as soon as it is known: what the command says of it stands behind.
async fn attend(
    guard: &Path,
    errand: &Errand<'_>,
    outputs: Outputs,
    notice: impl Fn(&Exit),
    stop: &CancellationToken,
) -> Exit {
    let limits = &errand.limits;
    let begun = seal(errand).and_then(|seal| Ok((seal, begin(guard, errand, outputs, stop)?)));
    let (seal, mut guarded) = match begun {
        Ok(begun) => begun,
        Err(exit) => {
            notice(&exit);
            return exit;
        }
    };
    let job = Job { program: errand.program, input: errand.input, own: errand.own, limits, seal: Some(seal) };
    let over = attend::until_over(&mut guarded, &job, stop).await;
    let is_to_be_ended = !matches!(over, Over::Ended(_));
    let exit = exit::of(over, errand);
    notice(&exit);
    if is_to_be_ended {
        guarded.ask_to_end().await;
    }
    guarded.gone(limits.grace).await;
    // One that was quick may have ended before its folder was ever measured.
    if exit == Exit::Done && disk::is_beyond(errand.own, limits.disk_bytes, stop).await {
        notice(&Exit::OverDisk);
        return Exit::OverDisk;
    }
    exit
}

/// What the guard is to seal off. It runs elsewhere: a path that begins where the daemon runs would mean another there.
fn seal(errand: &Errand<'_>) -> Result<Seal, Exit> {
    let absolute = |path: &Path| Ok(std::path::absolute(path)?.into_os_string());
    let seal = || -> io::Result<Seal> {
        let sealed = errand.sealed.iter().map(|path| absolute(path)).collect::<io::Result<_>>()?;
        Ok(Seal { sealed, own: absolute(errand.own)?, unix_sockets: errand.unix_sockets })
    };
    seal().map_err(|error| exit::unsealable(errand, &error))
}

/// The variables that it inherits because somebody listed them.
fn listed<'a>(errand: &Errand<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    errand.inherited.iter().map(String::as_str).filter(|name| !NEVER_INHERITED.contains(name))
}

/// What they hold, as far as it is text.
fn values_of<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    names.filter_map(|name| std::env::var(name).ok()).collect()
}

fn begin(guard: &Path, errand: &Errand<'_>, outputs: Outputs, stop: &CancellationToken) -> Result<Guarded, Exit> {
    if stop.is_cancelled() {
        return Err(Exit::Stopped);
    }
    if !errand.folder.is_dir() {
        return Err(exit::homeless(errand));
    }
    let environment = attend::environment(INHERITED.into_iter().chain(listed(errand)), errand.environment);
    Guarded::start(guard, errand.folder, environment, outputs).map_err(|error| exit::unguarded(errand, guard, &error))
}
