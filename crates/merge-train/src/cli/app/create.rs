//! `merge-train app create`: GitHub's manifest flow, from the first page to a `doctor` that finds nothing wrong.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use github::NewApp;
use parking_lot::Mutex;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::oneshot;
use tokio::time::Instant;
use url::Url;

use super::app_files::{AppFiles, SavedAppFiles};
use super::manifest::{GithubAddress, default_name, manifest};
use super::page::{self, PendingAppCreation};
use crate::cli::doctor::{self, DoctorReport};
use crate::cli::private_file::random_text;
use crate::cli::{init, sim};
use crate::config::{Config, DEFAULT_FILE, Environment, NewFileValues};
use crate::daemon::account;
use crate::telemetry;
use github::is_this_machine;

/// What a shell says of a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;
/// How often GitHub is asked whether the app is installed.
const PAUSE: Duration = Duration::from_secs(2);

#[derive(clap::Args)]
pub struct Args {
    /// The organization that owns the app (default: your own account).
    #[arg(long, value_name = "ORG")]
    org: Option<String>,
    /// The app's name, unique on GitHub; you can still change it there.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The URL at which GitHub and browsers reach the daemon, such as https://merge-train.example.com (default:
    /// server.public_url of the configuration).
    #[arg(long, value_name = "PUBLIC_URL", value_parser = web_address)]
    url: Option<Url>,
    /// The GitHub to create it on (default: the configuration's, or https://github.com).
    #[arg(long, value_name = "WEB_URL", value_parser = web_address)]
    github: Option<Url>,
    /// The folder for the key.
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// The configuration to write or add to (default: merge-train.toml in that folder).
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How many seconds to wait for you on GitHub: to confirm, and then to install the app.
    #[arg(long, value_name = "SECS", default_value_t = 900, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    /// Do not open a browser.
    #[arg(long)]
    no_browser: bool,
    /// Print JSON when everything is done; until then, instructions go to standard error.
    #[arg(long)]
    json: bool,
}

fn web_address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("{error}; write it with https://"))?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host() && url.query().is_none();
    if is_web { Ok(url) } else { Err("it must begin with https:// or http://, and have no query".to_owned()) }
}

pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    telemetry::init_plain();
    let config = args.config.clone().unwrap_or_else(|| args.dir.join(DEFAULT_FILE));
    let files = AppFiles::find(&args.dir, &config)?;
    let plan = AppProposal::of(&args, files.settings()?.as_ref())?;
    files.rehearse(plan.values.clone())?;
    let patience = Duration::from_secs(args.timeout);
    let say = |text: &str| if args.json { eprintln!("{text}") } else { println!("{text}") };
    let created = async {
        let new = plan.agree(&args, patience, &say).await?;
        let saved = files.save(&new, plan.values.clone())?;
        tell(&new, &saved, &say);
        say(&format!(
            "Waiting for that, for {} at most. Press Ctrl-C to stop; `merge-train doctor` continues from here …",
            minutes(patience)
        ));
        wait_for_installation(&saved, patience).await?;
        say("");
        let report = match args.json {
            true => DoctorReport::of(Some(&saved.config), &[], |_| {}).await,
            false => doctor::run_and_print(Some(&saved.config), &[]).await,
        };
        anyhow::Ok((new, saved, report))
    };
    let (new, saved, report) = tokio::select! {
        created = created => created?,
        _ = sim::stop_signal() => return Ok(ExitCode::from(INTERRUPTED)),
    };
    if args.json {
        let app = &new.app;
        let done = json!({
            "app": { "id": app.id, "slug": app.slug, "url": app.html_url, "install_url": app.install_url() },
            "private_key": saved.key,
            "config": saved.config,
            "api_key": saved.api_key,
            "doctor": report,
        });
        println!("{}", serde_json::to_string_pretty(&done)?);
    } else {
        println!("\nTo run the daemon: merge-train serve --config {}", saved.config.display());
    }
    Ok(report.exit_code())
}

/// What is made, and where.
struct AppProposal {
    github: GithubAddress,
    name: String,
    organization: Option<String>,
    public_url: String,
    /// What the configuration does not say yet.
    values: NewFileValues,
}

impl AppProposal {
    fn of(args: &Args, config: Option<&Config>) -> anyhow::Result<Self> {
        let mut values = NewFileValues::default();
        let known_url = config.and_then(|config| config.server.public_url.clone());
        let public_url = match (&args.url, known_url) {
            (Some(url), Some(known)) if url.as_str().trim_end_matches('/') != known => {
                bail!("--url is {url}, and the configuration's server.public_url is {known}; correct one of them")
            }
            (_, Some(known)) => known,
            (Some(url), None) => {
                let url = url.as_str().trim_end_matches('/').to_owned();
                values.text("server", "public_url", &url);
                url
            }
            (None, None) => bail!(
                "the webhook address is unknown; say how GitHub reaches the daemon: --url \
                 https://merge-train.example.com"
            ),
        };
        let known_api = config.map(|config| config.github.api_url.as_str());
        let known_github = known_api.and_then(GithubAddress::of_api);
        let github = match (&args.github, known_github) {
            (Some(url), _) => GithubAddress::at(url.as_str()),
            (None, Some(known)) => known,
            (None, None) => GithubAddress::at("https://github.com"),
        };
        let api_url = github.api_url();
        let is_safe = |url: Url| url.scheme() == "https" || url.host().is_some_and(is_this_machine);
        if !Url::parse(&api_url).is_ok_and(is_safe) {
            bail!("{api_url}: the app's key would cross the network unencrypted; the URL must begin with https://");
        }
        let is_default = api_url == GithubAddress::at("https://github.com").api_url();
        match known_api {
            Some(known) if known != api_url && config.is_some_and(|config| config.sets("github", "api_url")) => {
                bail!("--github does not match github.api_url of the configuration, {known}; correct one of them")
            }
            Some(known) if known == api_url => {}
            _ if is_default => {}
            _ => values.text("github", "api_url", &api_url),
        }
        let name = args.name.clone().unwrap_or_else(|| default_name(args.org.as_deref()));
        Ok(Self { github, name, organization: args.org.clone(), public_url, values })
    }

    /// Leads somebody to GitHub, and comes back with what they agreed to.
    async fn agree(&self, args: &Args, patience: Duration, say: &impl Fn(&str)) -> anyhow::Result<NewApp> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("cannot serve a page on this machine")?;
        let port = listener.local_addr()?.port();
        let address = format!("http://127.0.0.1:{port}");
        let state = random_text();
        let (sender, receiver) = oneshot::channel();
        let creation = Arc::new(PendingAppCreation {
            action: self.github.new_app_url(self.organization.as_deref(), &state)?.into(),
            manifest: manifest(&self.name, &self.public_url, &format!("{address}/made")),
            state,
            api_url: self.github.api_url(),
            hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")],
            waiting: Mutex::new(Some(sender)),
        });
        // For as long as the process lives: the last page is still on its way when the app is made.
        tokio::spawn(async move { axum::serve(listener, page::routes(creation)).await });
        say(&format!("Open this page to continue: {address}/"));
        say(&format!("Waiting for you to confirm on GitHub, for {} at most …", minutes(patience)));
        if !args.no_browser && io::stdout().is_terminal() {
            open(&address);
        }
        match tokio::time::timeout(patience, receiver).await {
            Ok(Ok(new)) => Ok(new),
            Ok(Err(_)) => bail!("the page on this machine is no longer served"),
            Err(_) => bail!(
                "nobody confirmed on GitHub within {} s, and no app was created; try again, with a longer --timeout \
                 SECS if needed",
                patience.as_secs()
            ),
        }
    }
}

/// How long somebody is waited for.
fn minutes(patience: Duration) -> String {
    match patience.as_secs() {
        seconds if seconds % 60 == 0 && seconds > 60 => format!("{} minutes", seconds / 60),
        seconds => format!("{seconds} seconds"),
    }
}

/// A browser, if there is one: the address is told in any case.
fn open(address: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = Stdio::null;
    let _ = Command::new(program).arg(address).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
}

fn tell(new: &NewApp, saved: &SavedAppFiles, say: &impl Fn(&str)) {
    say(&format!("\nThe app {} (id {}) is created.", new.app.slug, new.app.id));
    say(&format!("  its key:           {}", saved.key.display()));
    say(&format!("  the configuration: {}", saved.config.display()));
    if let Some(key) = &saved.api_key {
        say(&format!("\n{}", init::about_key(key)));
    }
    say(&format!("\nInstall it on your repositories: {}", new.app.install_url()));
}

/// Until it is installed somewhere, or for as long as anybody waits: `doctor` tells how it stands.
async fn wait_for_installation(saved: &SavedAppFiles, patience: Duration) -> anyhow::Result<()> {
    let config = Config::load(Some(&saved.config), &Environment::of_process())?;
    let client = account::client(&config, &config.credentials()?)?;
    let deadline = Instant::now() + patience;
    while Instant::now() < deadline {
        if client.installations().await.is_ok_and(|all| !all.is_empty()) {
            return Ok(());
        }
        tokio::time::sleep(PAUSE.min(patience)).await;
    }
    Ok(())
}
