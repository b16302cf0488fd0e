//! The programs that the configuration has started: fixers, and the commands of steps.

use std::path::{Path, PathBuf};

use merge_train_core::workflow::StepKind;
use rustix::fs::{Access, access};

use super::Finding;
use crate::config::Config;

pub fn fixer(config: &Config) -> Option<Finding> {
    const CHECK: &str = "fixer";
    let command = config.ratchet.fixer.program();
    let Some(program) = command.first() else {
        let fix = "name one with ratchet.fixer.agent or ratchet.fixer.command, or set ratchet.enabled = false";
        let found = "none, and the ratchet is on: it reports what breaks and fixes nothing";
        return config.ratchet.enabled.then(|| Finding::warning(CHECK, found, fix));
    };
    Some(match startable(program) {
        Ok(path) => Finding::ok(CHECK, path.display().to_string()),
        Err(why) => Finding::failed(CHECK, why.found(program), why.fix("ratchet.fixer.command")),
    })
}

/// The commands of all steps of all workflows; none where there is no workflow.
pub fn steps(config: &Config) -> Option<Finding> {
    const CHECK: &str = "workflows";
    let (mut found, mut fixes, mut count) = (Vec::new(), Vec::new(), 0_usize);
    for workflow in &config.workflows {
        let workflow = workflow.definition();
        for step in &workflow.steps {
            let StepKind::Agent(command) = &step.kind else { continue };
            let Some(program) = command.command.first() else { continue };
            count += 1;
            if let Err(why) = startable(program) {
                found.push(format!("{}, step {}: {}", workflow.name, step.id, why.found(program)));
                fixes.push(why.fix("the step's command"));
            }
        }
    }
    match fixes.into_iter().next() {
        Some(fix) => Some(Finding::failed(CHECK, found.join("\n"), fix)),
        None => (count > 0).then(|| Finding::ok(CHECK, "every step's command exists")),
    }
}

/// Why a program cannot be started.
#[derive(Debug, PartialEq, Eq)]
enum ProgramProblem {
    Missing,
    Unknown,
    Locked(PathBuf),
}

impl ProgramProblem {
    fn found(&self, program: &str) -> String {
        match self {
            Self::Missing => format!("there is no file {program}"),
            Self::Unknown => format!("{program} is not on the PATH"),
            Self::Locked(path) => format!("{} is not executable", path.display()),
        }
    }

    fn fix(&self, setting: &str) -> String {
        match self {
            Self::Missing => format!("install it, or correct the path in {setting}"),
            Self::Unknown => {
                format!("install it on the PATH of the user who runs merge-train, or set its full path in {setting}")
            }
            Self::Locked(path) => format!("chmod +x {}", path.display()),
        }
    }
}

/// Where it is. As the system looks for it: a name in the folders of the PATH, anything else as a file.
fn startable(program: &str) -> Result<PathBuf, ProgramProblem> {
    if program.contains('/') {
        return judge(Path::new(program)).ok_or(ProgramProblem::Missing)?;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).filter_map(|folder| judge(&folder.join(program))).collect::<Vec<_>>();
    // The first that can be started counts, wherever it is.
    let first = found.iter().position(Result::is_ok).unwrap_or_default();
    if found.is_empty() { Err(ProgramProblem::Unknown) } else { found.swap_remove(first) }
}

/// None where there is no such file.
fn judge(path: &Path) -> Option<Result<PathBuf, ProgramProblem>> {
    path.is_file().then(|| match access(path, Access::EXEC_OK) {
        Ok(()) => Ok(path.to_owned()),
        Err(_) => Err(ProgramProblem::Locked(path.to_owned())),
    })
}
