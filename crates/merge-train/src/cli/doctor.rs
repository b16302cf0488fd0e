//! `merge-train doctor`: tries out what the daemon depends on, and says how to fix what does not work.
//!
//! **Invariant:** it changes nothing: no directory, no state, nothing at GitHub. A daemon may be at work meanwhile. (Whoever
//! connects to PostgreSQL brings its schema up to date.)

mod app;
mod configuration;
mod database;
mod disk;
mod git;
mod github;
mod programs;
mod repository;

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use merge_train_core::ids::RepoId;
use serde::Serialize;

use crate::config::{Config, Environment};
use crate::telemetry;
use crate::terminal::{GREEN, Ink, RED, YELLOW, paragraph};

pub use app::WEBHOOK_PATH;

#[derive(clap::Args)]
pub struct Args {
    /// Repositories whose settings and rules to check as well.
    #[arg(value_name = "OWNER/REPO")]
    repos: Vec<RepoId>,
    /// The configuration (default: merge-train.toml in the working directory, if it exists).
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum CheckResult {
    Ok,
    /// The daemon works, with a drawback that somebody should know of.
    Warning,
    /// The daemon does not start, or does not do its work.
    Failed,
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    check: &'static str,
    result: CheckResult,
    found: String,
    /// What to do about it.
    fix: Option<String>,
}

impl Finding {
    fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, result: CheckResult::Ok, found: found.into(), fix: None }
    }

    fn warning(check: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, result: CheckResult::Warning, found: found.into(), fix: Some(fix.into()) }
    }

    fn failed(check: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, result: CheckResult::Failed, found: found.into(), fix: Some(fix.into()) }
    }
}

/// All that was found.
#[derive(Debug, Serialize)]
pub struct DoctorReport {
    checks: Vec<Finding>,
    failed: usize,
    warnings: usize,
}

impl DoctorReport {
    /// Tries out everything that the configuration at `path` is about, and tells each finding as it comes: some take their time.
    pub async fn of(path: Option<&Path>, repos: &[RepoId], tell: impl FnMut(&Finding)) -> Self {
        let mut findings = Findings { all: Vec::new(), tell };
        Box::pin(examine(path, repos, &mut findings)).await;
        Self::new(findings.all)
    }

    /// 1 if anything failed.
    pub fn exit_code(&self) -> ExitCode {
        if self.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    fn new(checks: Vec<Finding>) -> Self {
        let count = |verdict| checks.iter().filter(|finding| finding.result == verdict).count();
        Self { failed: count(CheckResult::Failed), warnings: count(CheckResult::Warning), checks }
    }
}

/// Exits with 1 if anything failed.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    telemetry::init_plain();
    if args.json {
        let report = DoctorReport::of(args.config.as_deref(), &args.repos, |_| {}).await;
        println!("{}", serde_json::to_string_pretty(&report)?);
        return Ok(report.exit_code());
    }
    Ok(run_and_print(args.config.as_deref(), &args.repos).await.exit_code())
}

/// The same, told on standard output.
pub async fn run_and_print(path: Option<&Path>, repos: &[RepoId]) -> DoctorReport {
    let ink = Ink::of(&io::stdout());
    let report = DoctorReport::of(path, repos, |finding| print!("{}", told(finding, ink))).await;
    print!("{}", verdict(&report));
    report
}

/// What was found so far.
struct Findings<F> {
    all: Vec<Finding>,
    tell: F,
}

impl<F: FnMut(&Finding)> Findings<F> {
    fn push(&mut self, finding: Finding) {
        (self.tell)(&finding);
        self.all.push(finding);
    }

    fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        findings.into_iter().for_each(|finding| self.push(finding));
    }
}

async fn examine(path: Option<&Path>, repos: &[RepoId], findings: &mut Findings<impl FnMut(&Finding)>) {
    let loaded = Config::load(path, &Environment::of_process());
    findings.push(configuration::readable(path, &loaded));
    let (found, git) = git::version().await;
    findings.push(found);
    // What the configuration does not say cannot be tried.
    let Ok(config) = loaded else { return };
    findings.push(configuration::private(path, &config));
    findings.push(git::signing(&config, git.as_ref()).await);
    findings.push(disk::clones(&config));
    findings.push(database::opens(&config).await);
    findings.push(configuration::address(&config));
    findings.push(configuration::api_keys(&config));
    findings.extend(programs::fixer(&config));
    findings.extend(programs::steps(&config));
    let (found, contact) = github::answers(&config).await;
    findings.push(found);
    if let Some(contact) = &contact {
        findings.push(github::clock(&contact.client));
        findings.extend(app::installed(contact).await);
    }
    findings.push(app::webhooks(&config, contact.as_ref()).await);
    if let Some(contact) = &contact {
        for repo in repos {
            findings.push(repository::lets_land(contact, repo).await);
        }
    }
}

/// Whether the daemon could write there, if whoever asks were to run it.
pub fn is_writable(directory: &Path) -> bool {
    disk::writable(directory).is_ok()
}

/// A finding for a person: a line, and what to do below it.
fn told(finding: &Finding, ink: Ink) -> String {
    const VERDICTS: usize = "warning".len();
    // The longest of them, with `installations`: what comes later has the same columns.
    const NAMES: usize = "configuration".len();
    const MARGIN: usize = VERDICTS + NAMES + 4;
    // Each line of it below the first, and as many of them as the terminal is narrow.
    let hanging = |said: &str| {
        let lines: Vec<String> = said.lines().map(|line| paragraph(line, MARGIN)).collect();
        lines.join("\n").trim_start().to_owned()
    };
    let (verdict, colour) = match finding.result {
        CheckResult::Ok => ("ok", GREEN),
        CheckResult::Warning => ("warning", YELLOW),
        CheckResult::Failed => ("failed", RED),
    };
    let verdict = ink.paint(colour, &format!("{verdict:VERDICTS$}"));
    let mut text = format!("{verdict}  {:NAMES$}  {}\n", finding.check, hanging(&finding.found));
    if let Some(fix) = &finding.fix {
        let _ = writeln!(text, "{:MARGIN$}{}", "", hanging(&format!("→ {fix}")));
    }
    text
}

/// What all of it comes to.
fn verdict(report: &DoctorReport) -> String {
    let count = |number: usize, one: &str, many: &str| format!("{number} {}", if number == 1 { one } else { many });
    let warnings = count(report.warnings, "warning", "warnings");
    match (report.failed, report.warnings) {
        (0, 0) => "\nEverything works.\n".to_owned(),
        (0, _) => format!("\nIt works, with {warnings}.\n"),
        (failed, _) => {
            let failures = count(failed, "failure", "failures");
            format!("\n{failures} and {warnings}: fix what failed before you run `merge-train serve`.\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_reads_as_a_column_of_verdicts_with_the_fix_below() {
        let all = |report: &DoctorReport| {
            report.checks.iter().map(|finding| told(finding, Ink::Plain)).collect::<String>() + &verdict(report)
        };
        let report = DoctorReport::new(vec![
            Finding::ok("git", "2.47.3"),
            Finding::warning("signing", "off", "sign"),
            Finding::failed("configuration", "one\ntwo", "mend it"),
        ]);
        let expected = "\
ok       git            2.47.3
warning  signing        off
                        → sign
failed   configuration  one
                        two
                        → mend it

1 failure and 1 warning: fix what failed before you run `merge-train serve`.
";
        assert_eq!(all(&report), expected);
        assert!(all(&DoctorReport::new(vec![Finding::ok("git", "x")])).ends_with("\nEverything works.\n"));
        let warned = DoctorReport::new(vec![Finding::warning("a", "b", "c"), Finding::warning("d", "e", "f")]);
        assert!(all(&warned).ends_with("\nIt works, with 2 warnings.\n"));
    }
}
