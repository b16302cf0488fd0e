//! The command line as a whole: with examples in every help, as completion for a shell, and as manual pages.

mod examples;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Command, CommandFactory as _};
use clap_complete::Shell;

use crate::cli::Cli;

#[derive(clap::Args)]
pub struct CompletionArgs {
    /// The shell.
    shell: Shell,
}

#[derive(clap::Args)]
pub struct ManArgs {
    /// A folder to write one page per command into (default: print the first page).
    dir: Option<PathBuf>,
}

/// Every command, with its examples.
pub fn command() -> Command {
    with_examples(Cli::command(), "")
}

fn with_examples(mut command: Command, path: &str) -> Command {
    if let Some(text) = examples::of(path) {
        command = command.after_help(text);
    }
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    for name in names {
        let inner = if path.is_empty() { name.clone() } else { format!("{path} {name}") };
        command = command.mut_subcommand(name, |command| with_examples(command, &inner));
    }
    command
}

pub fn completion(args: &CompletionArgs) -> anyhow::Result<ExitCode> {
    io::stdout().write_all(&script(args.shell)).context("nobody reads it")?;
    Ok(ExitCode::SUCCESS)
}

fn script(shell: Shell) -> Vec<u8> {
    let (mut command, mut script) = (command(), Vec::new());
    let name = command.get_name().to_owned();
    clap_complete::generate(shell, &mut command, &name, &mut script);
    // It calls its own states by two names where a program's has a hyphen, and so finds none of them:
    // <https://github.com/clap-rs/clap/issues/6421>
    let (wrong, right) = (name.replace('-', "__subcmd__"), name.replace('-', "__"));
    String::from_utf8_lossy(&script).replace(&wrong, &right).into_bytes()
}

pub fn man(args: &ManArgs) -> anyhow::Result<ExitCode> {
    match &args.dir {
        Some(dir) => {
            std::fs::create_dir_all(dir).with_context(|| format!("{} cannot be made", dir.display()))?;
            clap_mangen::generate_to(command(), dir).with_context(|| format!("{} cannot be written", dir.display()))?;
            eprintln!("The manual pages are in {}. To read one: man -l {}/merge-train.1", dir.display(), dir.display());
        }
        None => clap_mangen::Man::new(command()).render(&mut io::stdout())?,
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests;
