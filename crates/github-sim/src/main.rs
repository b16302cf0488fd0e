//! The `github-sim` program: the simulator alone.

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitCode;

use clap::Parser;
use futures_util::FutureExt as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tracing_subscriber::EnvFilter;

/// Run a simulated GitHub on this machine: REST, GraphQL, git over HTTP, signed webhooks, CI.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// The address to listen on; port 0 means any free port.
    #[arg(long, default_value = "127.0.0.1:8930")]
    listen: SocketAddr,
    /// The data directory. Starting again on the same directory keeps the state.
    #[arg(long, default_value = "sim-data")]
    data: PathBuf,
    /// The URL prefix of links in answers, if it differs from the listening address.
    #[arg(long)]
    public_url: Option<String>,
    /// Make tokens, ids and random faults reproducible (for a new data directory).
    #[arg(long)]
    seed: Option<u64>,
    /// The app's webhook URL.
    #[arg(long)]
    webhook_url: Option<String>,
    /// An RSA private key (PEM) for the app, instead of a new one (for a new data directory).
    #[arg(long)]
    app_key: Option<PathBuf>,
    /// Append every request and response to this file, one JSON object per line.
    #[arg(long)]
    record: Option<PathBuf>,
    /// Stop when standard input ends, for example because the parent program died.
    #[arg(long)]
    stop_with_stdin: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| "warn".into());
    let colours = std::io::stderr().is_terminal();
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours).with_writer(std::io::stderr).init();
    match run(Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: the simulator did not start");
            let mut cause: Option<&dyn std::error::Error> = Some(&*error);
            while let Some(error) = cause {
                eprintln!("  because: {error}");
                cause = error.source();
            }
            ExitCode::FAILURE
        }
    }
}

async fn run(args: Args) -> Result<(), Box<dyn std::error::Error>> {
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
    .await?;
    // The reader of the lines below may ask it to stop at once.
    let mut stopped = pin!(asked_to_stop(args.stop_with_stdin));
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

/// Resolves at Ctrl-C or SIGTERM, and, if wanted, at the end of standard input.
async fn asked_to_stop(with_stdin: bool) -> std::io::Result<()> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let stdin_ended = async { if with_stdin { end_of_stdin().await } else { std::future::pending().await } };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        () = stdin_ended => {}
    }
    Ok(())
}

/// Read in a thread of its own: the runtime would wait for a read that never returns.
async fn end_of_stdin() {
    let (reading, ended) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        drop(reading);
    });
    let _ = ended.await;
}
