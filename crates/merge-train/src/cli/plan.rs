//! `merge-train plan`: what landing a stack would do, before anything is done.
//!
//! **Invariant:** GitHub and the remote are only read. What is computed is thrown away; a daemon may use the same clone.

mod stack;
pub mod target;

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use git::{Git, Signing};
use github::{Class, RepoSettings};
use jiff::{SignedDuration, Timestamp};
use merge_train_core::facts::PullState;
use merge_train_core::ids::{BranchName, PrNumber};
use merge_train_core::repo::trains::check_merge_method_preflight;
use merge_train_core::repo::trains::plan::{LandingPlan, StackMember};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::config::{Config, Environment};
use crate::daemon::account;
use crate::daemon::clones::{self, Clones};
use crate::terminal::patiently;
use crate::{clock, telemetry};
use stack::StackReading;
use target::PullRequestArgument;

/// The exit code of a stack that would not land as it is.
const WOULD_NOT_LAND: u8 = 2;
/// How far back closed pull requests are looked at, to tell why a link is missing.
const CLOSED_OF_LATE: SignedDuration = SignedDuration::from_hours(7 * 24);

#[derive(clap::Args)]
pub struct Args {
    /// A pull request of the stack, such as octocat/hello#12.
    #[arg(value_name = "OWNER/REPO#N")]
    target: PullRequestArgument,
    /// The configuration (default: merge-train.toml in the working directory, if it exists).
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What there is to say about a stack.
#[derive(Serialize)]
struct StackPlan {
    repository: String,
    pull: PrNumber,
    would_land: bool,
    members: Vec<StackMember>,
    plan: LandingPlan,
    /// Why a start would be refused.
    refusals: Vec<String>,
    notes: Vec<String>,
}

/// Exits with 0 if the stack would land, and with 2 if not.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    telemetry::init_plain();
    let config = Config::load(args.config.as_deref(), &Environment::of_process()).context("the configuration")?;
    let github = account::client(&config, &config.credentials()?)?;
    let git = Git::find(clones::PROGRAM).await.context("a plan is computed by git")?;
    let repo = github.repo(&args.target.repo);
    let reading = || format!("reading the pull requests of {}", args.target.repo);
    let (stack, settings) = patiently(reading, Box::pin(read_stack(&repo, &args.target))).await?;

    // Nothing of a plan is kept, so that nothing of it is signed.
    let clones = Clones::new(git, config.git.clones(Signing::Off), config.github.git_url.clone(), github);
    let work = Box::pin(compute(&clones, &args.target, &stack, &settings.default_branch));
    let plan = patiently(|| "fetching what is missing, and computing".to_owned(), work).await?;
    let stack_plan = judge(&args.target, stack, &settings, plan, config.behavior.max_stack_size);
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&stack_plan)?),
        false => print!("{}", stack_plan.told()),
    }
    Ok(if stack_plan.would_land { ExitCode::SUCCESS } else { ExitCode::from(WOULD_NOT_LAND) })
}

async fn read_stack(repo: &github::Repo, target: &PullRequestArgument) -> anyhow::Result<(StackReading, RepoSettings)> {
    let PullRequestArgument { repo: name, pull } = target;
    let unseen = || {
        format!("{name} cannot be read: check the name, and that the app is installed there or the token may see it")
    };
    let settings = repo.settings().await.with_context(unseen)?;
    match repo.pull(*pull).await {
        Ok(found) => match found.facts.state {
            PullState::Open => {}
            PullState::Merged { .. } => bail!("#{pull} is already merged"),
            PullState::Closed { .. } => bail!("#{pull} is closed: reopen it to land it"),
        },
        Err(error) if error.class() == Class::NotFound => bail!("there is no pull request #{pull} in {name}"),
        Err(error) => return Err(error).context(format!("#{pull} cannot be read")),
    }
    let since = clock::now().checked_sub(CLOSED_OF_LATE).unwrap_or(Timestamp::MIN);
    let facts = repo.survey(since).await.context("the open pull requests cannot be read")?;
    let stack = stack::form(&facts, *pull).with_context(|| format!("#{pull} is not in a stack that can land"))?;
    Ok((stack, settings))
}

/// Fetches what is needed and computes, until it is done or somebody interrupts it.
async fn compute(
    clones: &Clones,
    target: &PullRequestArgument,
    stack: &StackReading,
    default: &BranchName,
) -> anyhow::Result<LandingPlan> {
    if io::stderr().is_terminal() {
        let how = if clones.has(&target.repo) { "" } else { " for the first time" };
        eprintln!("Fetching from {}{how} …", target.repo);
    }
    let cancel = CancellationToken::new();
    let interrupted = tokio::spawn({
        let cancel = cancel.clone();
        async move {
            if crate::cli::sim::stop_signal().await.is_ok() {
                cancel.cancel();
            }
        }
    });
    let unusable = || format!("the clone of {} below git.clone_base_dir cannot be used", target.repo);
    let view = clones.open(&target.repo).await.with_context(unusable)?.glance(cancel).await.with_context(unusable)?;
    let planned = view.plan(&stack.members, default).await;
    if let Err(error) = view.close().await {
        tracing::warn!(%error, "something of the plan is left behind; the daemon's housekeeping removes it");
    }
    interrupted.abort();
    planned.context("the plan could not be computed")
}

fn judge(
    target: &PullRequestArgument,
    stack: StackReading,
    settings: &RepoSettings,
    plan: LandingPlan,
    max_stack_size: usize,
) -> StackPlan {
    let StackReading { members, mut refusals, mut notes } = stack;
    match settings.merge_methods() {
        Some(methods) => {
            if let Err(refusal) = check_merge_method_preflight(&methods) {
                let reason = refusal.reason();
                refusals.push(format!("{} must allow only squash merging: {reason}", target.repo));
            }
        }
        None => notes.push(
            "It is unknown which merge methods the repository allows: GitHub does not show this to the app.".into(),
        ),
    }
    if members.len() > max_stack_size {
        let size = members.len();
        refusals.push(format!("{size} pull requests exceed behavior.max_stack_size, which is {max_stack_size}"));
    }
    StackPlan {
        repository: target.repo.to_string(),
        pull: target.pull,
        would_land: refusals.is_empty() && plan.lands_everything(),
        members,
        plan,
        refusals,
        notes,
    }
}

impl StackPlan {
    fn told(&self) -> String {
        let place = |member: &StackMember| match member.predecessor {
            None => format!("#{}", member.pull),
            Some(predecessor) => format!("#{} on #{predecessor}", member.pull),
        };
        let stack: Vec<String> = self.members.iter().map(place).collect();
        let mut text = format!("{}: {}\n\n{}\n", self.repository, stack.join(", "), self.plan);
        for refusal in &self.refusals {
            text += &format!("\nA start would be refused: {refusal}.\n");
        }
        for note in &self.notes {
            text += &format!("\nNote: {note}\n");
        }
        text
    }
}
