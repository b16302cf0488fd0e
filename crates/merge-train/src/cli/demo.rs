//! `merge-train demo`: a simulated GitHub with a stack of four pull requests, a daemon that lands them, and a story.

mod api;
mod daemon;
mod scenario;
mod stack;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;

use anyhow::{Context, anyhow, ensure};
use serde_json::json;
use tokio::process::Command;
use url::Url;

use super::sim::{Simulator, stop_signal};
use api::SimulatorApi;
use daemon::{DemoDaemon, DemoDaemonApi};
use scenario::DemoPace;
use stack::DemoStack;

#[derive(clap::Args)]
pub struct Args {
    /// Run the demo without pauses, report its progress, and exit: 0 if everything has landed, 1 otherwise.
    #[arg(long)]
    once: bool,
    /// The address of the dashboard, on this machine (default: 127.0.0.1:8929, or another port if that one is taken).
    #[arg(long, value_name = "ADDRESS", value_parser = of_this_machine)]
    listen: Option<SocketAddr>,
    /// The address of the simulated GitHub (default: 127.0.0.1:8930, or another port if that one is taken).
    #[arg(long, value_name = "ADDRESS")]
    github_listen: Option<SocketAddr>,
}

/// Where to look for it again tomorrow.
const DASHBOARD: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8929);
const GITHUB: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8930);

/// Nobody signs in to the demo, so that nobody else may reach it.
fn of_this_machine(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|error| format!("{error}; such as 127.0.0.1:8929"))?;
    let is_own = address.ip().is_loopback();
    is_own
        .then_some(address)
        .ok_or_else(|| "anyone who reaches the demo may do anything: it must be 127.0.0.1".to_owned())
}

/// Where to listen: where somebody wants it, at the usual address, or, if that is taken, at any port.
fn place(wanted: Option<SocketAddr>, usual: SocketAddr) -> SocketAddr {
    let is_taken = || TcpListener::bind(usual).is_err();
    match wanted {
        Some(wanted) => wanted,
        None if is_taken() => SocketAddr::new(usual.ip(), 0),
        None => usual,
    }
}

const NAME: &str = "lighthouse";

pub async fn run(args: Args) -> anyhow::Result<()> {
    // From the first moment on: whatever is stopped cleans up.
    let stopped = tokio::spawn(stop_signal());
    let data = tempfile::tempdir().context("cannot create the demo's data folder")?;
    let (dashboard, listen) = (place(args.listen, DASHBOARD), place(args.github_listen, GITHUB));
    let sim = Simulator::start(&data.path().join("github"), listen).await.with_context(|| {
        format!("the simulator did not start; is {listen} taken? Use another address: --github-listen 127.0.0.1:0")
    })?;
    let mut daemon = DemoDaemon::start(data.path(), &sim.description, dashboard)
        .await
        .with_context(|| format!("is {dashboard} taken? Use another address: --listen 127.0.0.1:0"))?;
    let setup = DemoSetup::of(&sim, &daemon)?;
    if args.listen.is_none() && dashboard.port() == 0 {
        println!("{DASHBOARD} is taken, perhaps by another demo; the dashboard uses another address this time.");
    }
    let show = async {
        let stack = setup.set().await.context("could not create the demo's repository")?;
        println!(
            "A simulated GitHub is running, with a stack of {} pull requests in {}, and a daemon to land them.\n",
            stack.pulls.len(),
            setup.api.repo
        );
        if args.once {
            return perform(&setup, &stack).await;
        }
        print!("{}", guide(&setup, &stack));
        match scenario::play(&setup.api, &setup.daemon, &stack, DemoPace::Human).await {
            Ok(()) => println!(
                "\nEverything has landed, and the demo keeps running: look around, and open your own pull requests."
            ),
            // Whoever joins in may tell another story.
            Err(error) => println!("\nThe demo's script ends here: {error:#}. The demo keeps running."),
        }
        std::future::pending().await
    };
    let outcome = tokio::select! {
        _ = stopped => if args.once { Err(anyhow!("stopped before everything had landed")) } else { Ok(()) },
        death = daemon.died() => Err(death),
        outcome = Box::pin(show) => outcome,
    };
    daemon.stop().await;
    sim.stop().await.context("the simulator did not stop")?;
    outcome
}

/// Who plays, and where.
struct DemoSetup {
    api: SimulatorApi,
    daemon: DemoDaemonApi,
    config: PathBuf,
    log: PathBuf,
    program: PathBuf,
    web: Url,
}

impl DemoSetup {
    fn of(sim: &Simulator, daemon: &DemoDaemon) -> anyhow::Result<Self> {
        Ok(Self {
            api: SimulatorApi::new(&sim.description, NAME)?,
            daemon: daemon.access.clone(),
            config: daemon.config.clone(),
            log: daemon.log.clone(),
            program: std::env::current_exe().unwrap_or_else(|_| "merge-train".into()),
            web: sim.description["web_url"].as_str().unwrap_or_default().parse().context("the simulator's address")?,
        })
    }

    /// A page of the repository, or the repository for git.
    fn page(&self, rest: &str) -> String {
        format!("{}{}{rest}", self.web, self.api.repo)
    }

    /// The stack, seen by the daemon as it comes into being.
    async fn set(&self) -> anyhow::Result<DemoStack> {
        let hook = json!({ "webhook_url": format!("{}/webhook", self.daemon.url) });
        self.api.control("PATCH", "/app", hook).await?;
        DemoStack::make(&self.api).await
    }

    /// `merge-train status`, as anybody would ask.
    async fn print_status(&self) -> anyhow::Result<()> {
        let mut status = Command::new(&self.program);
        status.args(["status", &self.api.repo, "--server", &self.daemon.url]);
        let ended = status.env("MERGE_TRAIN_API_KEY", &self.daemon.key).kill_on_drop(true).status().await?;
        ensure!(ended.success(), "merge-train status: {ended}");
        Ok(())
    }
}

/// The story from its beginning to its end, and what is there then.
async fn perform(setup: &DemoSetup, stack: &DemoStack) -> anyhow::Result<()> {
    let landed = scenario::play(&setup.api, &setup.daemon, stack, DemoPace::Fast).await;
    println!("\ngit log --oneline {}", stack.default_branch);
    print!("{}", scenario::log(&setup.api, stack).await?);
    println!("\nmerge-train status {}", setup.api.repo);
    setup.print_status().await?;
    landed
}

/// What there is to see and to do.
fn guide(setup: &DemoSetup, stack: &DemoStack) -> String {
    let DemoSetup { api, daemon, config, log, program, .. } = setup;
    let (repo, bottom, program) = (&api.repo, stack.bottom(), program.display());
    let access = format!("--server {} --key {}", daemon.url, daemon.key);
    let lines = [
        format!("Watch it here: {}/", daemon.url),
        String::new(),
        "In a moment, the stack is declared, planned and started. A check fails and a fixer fixes it. Another fixer \
         changes a protected file"
            .to_owned(),
        "and waits for your approval, for twenty seconds at most. Join in: comment on the pull requests, press the \
         buttons."
            .to_owned(),
        String::new(),
        format!("  GitHub:   {}", setup.page(&format!("/pull/{bottom}"))),
        format!("  Status:   {program} status {access}"),
        format!("  Plan:     {program} plan --config {} '{repo}#{bottom}'", config.display()),
        format!("  Ratchet:  {program} ratchet log '{repo}#{}' {access}", stack.pulls[1]),
        format!("  Fixers:   {program} runs list {access}"),
        format!("  REST:     curl -H 'Authorization: Bearer {}' {}", api.token, api.url("/pulls")),
        format!("  Log:      {}", log.display()),
        String::new(),
        "Press Ctrl-C to stop the demo and remove its data.".to_owned(),
        String::new(),
    ];
    lines.join("\n") + "\n"
}
