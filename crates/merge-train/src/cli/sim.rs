//! `merge-train sim`: the simulator alone.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;

use anyhow::Context;
use futures_util::FutureExt as _;

use crate::telemetry;

#[derive(clap::Args)]
pub struct Args {
    /// The address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:8930")]
    listen: SocketAddr,
    /// Where everything is kept. Start again on the same directory and the state is the same.
    #[arg(long, default_value = "sim-data")]
    data: PathBuf,
    /// What links in answers begin with, when it is not the address listened on.
    #[arg(long)]
    public_url: Option<String>,
    /// Make tokens, ids and random faults repeatable (for a new data directory).
    #[arg(long)]
    seed: Option<u64>,
    /// Where the app's webhooks go.
    #[arg(long)]
    webhook_url: Option<String>,
    /// An RSA private key (PEM) for the app, instead of a new one (for a new data directory).
    #[arg(long)]
    app_key: Option<PathBuf>,
    /// Append every exchange to this file, a JSON object a line.
    #[arg(long)]
    record: Option<PathBuf>,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    telemetry::init_plain();
    let description = args.data.join("sim.json");
    let running = github_sim::start(github_sim::Options {
        listen: args.listen,
        public_url: args.public_url,
        seed: args.seed,
        webhook_url: args.webhook_url,
        app_key: args.app_key,
        record: args.record,
        ..github_sim::Options::new(args.data)
    })
    .await
    .context("the simulator did not start")?;
    // Whoever reads where it is may ask it to stop at once.
    let mut stopped = pin!(stop_signal());
    let asked = stopped.as_mut().now_or_never();
    println!("GitHub simulator at {}", running.urls().web(""));
    println!("Addresses, tokens and the app's key: {}", description.display());
    match asked {
        Some(asked) => asked?,
        None => stopped.await?,
    }
    running.stop().await;
    Ok(())
}

/// Resolves at Ctrl-C or SIGTERM.
pub async fn stop_signal() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}
