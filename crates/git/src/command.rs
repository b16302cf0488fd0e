//! The one door to git: everything that starts a git process starts it here.
//!
//! **Invariant:** no configuration but the clone's own and what is given here, no hook, no prompt, no pager, a pinned
//! locale, a deadline; a process that is called off ends with everything it started; a token is in the environment of
//! the process and nowhere else.

mod process;
mod version;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use merge_train_core::secret::{HIDDEN, Secret};
use tokio_util::sync::CancellationToken;

pub use version::Version;

use crate::{Error, Oid, Remote};

/// What is local is done in milliseconds; this is for machines that stall.
const LOCAL_DEADLINE: Duration = Duration::from_secs(120);
/// The first fetch of a large repository takes minutes.
const REMOTE_DEADLINE: Duration = Duration::from_secs(30 * 60);
/// The longest error text that is kept.
const STDERR_LIMIT: usize = 16 * 1024;
/// Through this variable the token reaches the credential helper below.
const TOKEN_VARIABLE: &str = "MERGE_TRAIN_GIT_TOKEN";
/// Run by git's shell for `get`, `store` and `erase`; answers the first alone.
const CREDENTIAL_HELPER: &str =
    "!f() { test \"$1\" = get && printf 'username=x-access-token\\npassword=%s\\n' \"$MERGE_TRAIN_GIT_TOKEN\"; }; f";

/// What of the daemon's environment concerns git: where programs are, how the network is reached.
const INHERITED: [&str; 11] = [
    "PATH",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
];
/// No proxy can reach this machine.
const NO_PROXY: &str = "localhost,127.0.0.1,::1";

/// Settings that hold for every process, over whatever a repository's own configuration says.
const SETTINGS: [&str; 16] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.sshCommand=false",
    "core.quotePath=false",
    "core.filesRefLockTimeout=5000",
    "core.packedRefsTimeout=5000",
    "credential.helper=",
    "protocol.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "advice.detachedHead=false",
];

/// The git of this machine.
#[derive(Clone, Debug)]
pub struct Git {
    program: PathBuf,
    version: Version,
    started: Arc<AtomicU64>,
    dates: Option<Dates>,
}

/// Where commits get their time from, in seconds since 1970.
#[derive(Clone)]
struct Dates(Arc<dyn Fn() -> i64 + Send + Sync>);

impl std::fmt::Debug for Dates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Dates({})", (self.0)())
    }
}

impl Git {
    /// Looks at the git that `program` names, and refuses one that is too old.
    pub async fn find(program: impl Into<PathBuf>) -> Result<Self, Error> {
        let mut git =
            Self { program: program.into(), version: Version::default(), started: Arc::default(), dates: None };
        let output = git.anywhere(["version"]).run().await?;
        git.version = Version::parse(&output.text()).ok_or_else(|| output.unexpected())?;
        if git.version < Version::OLDEST {
            return Err(Error::TooOld { found: git.version.to_string(), needed: "2.39" });
        }
        Ok(git)
    }

    /// Gives commits the time that `now` tells, in seconds since 1970, and not the machine's.
    #[must_use]
    pub fn dating_commits(mut self, now: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        self.dates = Some(Dates(Arc::new(now)));
        self
    }

    /// What git is to be told of the time, if it is to be told.
    pub(crate) fn date(&self) -> Option<String> {
        self.dates.as_ref().map(|dates| format!("@{} +0000", (dates.0)()))
    }

    pub fn version(&self) -> &Version {
        &self.version
    }

    /// How many git processes this door has started.
    pub fn started(&self) -> u64 {
        self.started.load(Ordering::Relaxed)
    }

    /// A command on the repository in `dir`.
    pub(crate) fn on<I, S>(&self, dir: &Path, args: I) -> Command
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.anywhere(args).env("GIT_DIR", dir)
    }

    /// A command that needs no repository, or makes one.
    pub(crate) fn anywhere<I, S>(&self, args: I) -> Command
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        Command {
            git: self.clone(),
            settings: SETTINGS.map(OsString::from).to_vec(),
            attr_source: None,
            args: args.into_iter().map(|arg| arg.as_ref().to_owned()).collect(),
            env: Vec::new(),
            folder: None,
            stdin: Vec::new(),
            token: None,
            deadline: LOCAL_DEADLINE,
            cancel: CancellationToken::new(),
        }
    }
}

/// One git process that is to be. Arguments that come from outside are [`Oid`]s, full ref names or paths after `--`.
#[must_use]
pub(crate) struct Command {
    git: Git,
    settings: Vec<OsString>,
    attr_source: Option<Oid>,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    folder: Option<PathBuf>,
    stdin: Vec<u8>,
    token: Option<Secret>,
    deadline: Duration,
    cancel: CancellationToken,
}

impl Command {
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub fn args<I, S>(mut self, args: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// A setting for this process alone: `key=value`.
    pub fn setting(mut self, setting: impl AsRef<OsStr>) -> Self {
        self.settings.push(setting.as_ref().to_owned());
        self
    }

    pub fn env(mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((key.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Where the process runs. Without it: the root folder, so that no path is relative to anything.
    pub fn folder(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    /// The tree that attributes are read from.
    pub fn attr_source(mut self, tree: Oid) -> Self {
        self.attr_source = Some(tree);
        self
    }

    /// What the process reads; without it its standard input is closed.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Ends the process, and all that it started, when `cancel` is.
    pub fn until(mut self, cancel: &CancellationToken) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// Lets the process speak with `remote`, and with nobody else.
    pub async fn speaking_with(mut self, remote: &Remote) -> Result<Self, Error> {
        self = self.setting(format!("protocol.{}.allow=always", remote.scheme()));
        if let Some(token) = remote.token().await? {
            self = self.setting(format!("credential.{}.helper={CREDENTIAL_HELPER}", remote.origin()));
            // Git 2.46 then sends the token at once, and spares each exchange a refusal.
            self = self.setting("http.proactiveAuth=basic");
            self.token = Some(token);
        }
        self.deadline = REMOTE_DEADLINE;
        Ok(self)
    }

    /// Runs it; an exit code other than 0 is an error.
    pub async fn run(self) -> Result<Output, Error> {
        self.run_allowing(&[0]).await
    }

    /// Runs it; an exit code that is not among `codes` is an error.
    pub async fn run_allowing(self, codes: &[i32]) -> Result<Output, Error> {
        let name = self.name();
        let token = self.token.clone();
        let output = process::run(self).await?;
        let stderr = without(&output.stderr, token.as_ref());
        if codes.contains(&output.code) {
            Ok(Output { command: name, code: output.code, stdout: output.stdout, stderr })
        } else {
            Err(Error::Failed { command: name, code: output.code, stderr })
        }
    }

    /// How it is named in errors: the subcommand and its arguments, as far as a reader cares.
    fn name(&self) -> String {
        const LONGEST: usize = 160;
        let all = self.args.iter().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" ");
        if all.chars().count() <= LONGEST { all } else { all.chars().take(LONGEST).chain(['…']).collect() }
    }

    fn all_args(&self) -> Vec<OsString> {
        let mut all = Vec::new();
        for setting in &self.settings {
            all.push("-c".into());
            all.push(setting.clone());
        }
        if let Some(tree) = &self.attr_source {
            all.push(format!("--attr-source={tree}").into());
        }
        all.extend(self.args.iter().cloned());
        all
    }

    fn all_env(&self) -> Vec<(OsString, OsString)> {
        let inherited = INHERITED.iter().filter_map(|key| Some(((*key).into(), std::env::var_os(key)?)));
        let fixed = [
            ("HOME", "/nonexistent"),
            ("LC_ALL", "C.UTF-8"),
            ("LANGUAGE", "C"),
            ("TZ", "UTC"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_SYSTEM", "/dev/null"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ASKPASS", "true"),
            ("SSH_ASKPASS", "true"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_PAGER", "cat"),
            ("GIT_EDITOR", "false"),
        ];
        let fixed = fixed.into_iter().map(|(key, value)| (key.into(), value.into()));
        let mut direct = OsString::from(NO_PROXY);
        if let Some(own) = ["no_proxy", "NO_PROXY"].iter().find_map(std::env::var_os) {
            direct.push(",");
            direct.push(own);
        }
        let direct = [("no_proxy".into(), direct)];
        let token = self.token.iter().map(|token| (TOKEN_VARIABLE.into(), token.expose().into()));
        inherited.chain(direct).chain(fixed).chain(self.env.iter().cloned()).chain(token).collect()
    }
}

/// What a git process left behind.
#[derive(Debug)]
pub(crate) struct Output {
    command: String,
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Output {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The one object that the process named.
    pub fn oid(&self) -> Result<Oid, Error> {
        Oid::parse(self.text().trim()).map_err(|_| self.unexpected())
    }

    pub fn unexpected(&self) -> Error {
        Error::Unexpected { command: self.command.clone(), output: self.text().chars().take(400).collect() }
    }
}

/// A path among several in one variable: a colon would end it.
pub(crate) fn among_paths(path: &Path) -> OsString {
    let text = path.display().to_string();
    if text.contains(':') {
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")).into()
    } else {
        path.into()
    }
}

/// Git does not print tokens; this is for the day it does.
fn without(stderr: &[u8], token: Option<&Secret>) -> String {
    let text = String::from_utf8_lossy(stderr).trim().to_owned();
    match token {
        Some(token) if !token.expose().is_empty() => text.replace(token.expose(), HIDDEN),
        _ => text,
    }
}
