//! `merge-train runs list`.

use std::collections::BTreeMap;
use std::io;
use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use merge_train_core::ids::{RepoId, TenantId};
use merge_train_core::workflow::{Run, RunStatus};
use serde_json::{Value, json};

use super::{OutputFormat, print_json, read, say, table};
use crate::cli::remote::{DaemonClient, ListRemainder, PartialList};
use crate::clock;
use crate::terminal::Ink;

#[derive(clap::Args)]
pub struct Args {
    /// Only runs in this state; can be repeated.
    #[arg(long, value_name = "STATUS", value_parser = statuses())]
    status: Vec<RunStatus>,
    /// Only runs for this repository.
    #[arg(long, value_name = "OWNER/REPO")]
    repo: Option<RepoId>,
    /// Only runs of this type: a workflow name, `train` or `fixer`.
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// Only this tenant's runs: the owner of repositories, in lower case.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<TenantId>,
    /// How many to show at most.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Show all runs.
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

fn statuses() -> impl TypedValueParser<Value = RunStatus> {
    let called = |name: String| RunStatus::ALL.into_iter().find(|status| status.as_str() == name);
    PossibleValuesParser::new(RunStatus::ALL.map(RunStatus::as_str))
        .map(move |name| called(name).expect("it is one of the possible values"))
}

pub async fn run(daemon: &DaemonClient, args: &Args, format: OutputFormat) -> anyhow::Result<ExitCode> {
    let PartialList { items, rest } = args.ask(daemon).await?;
    if format == OutputFormat::Json {
        print_json(&json!({ "runs": items, "has_more": rest == ListRemainder::More }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if items.is_empty() {
        say(&format!("{}\n", args.nothing()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let runs: Vec<Run> = items.iter().map(read).collect::<Result<_, _>>()?;
    say(&table::overview(&runs, Ink::of(&io::stdout()), clock::now()))?;
    if rest == ListRemainder::More {
        say("There are more: use --limit N or --all to show them.\n")?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn query(&self, status: Option<RunStatus>) -> Vec<(&'static str, String)> {
        let given = [
            ("status", status.map(|status| status.to_string())),
            ("repo", self.repo.as_ref().map(ToString::to_string)),
            ("type", self.kind.clone()),
            ("tenant", self.tenant.as_ref().map(ToString::to_string)),
        ];
        given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// The daemon is asked for one state at a time.
    async fn ask(&self, daemon: &DaemonClient) -> anyhow::Result<PartialList<Value>> {
        let most = (!self.all).then_some(usize::try_from(self.limit)?);
        let asked: Vec<Option<RunStatus>> = match self.status.as_slice() {
            [] => vec![None],
            several => several.iter().copied().map(Some).collect(),
        };
        let mut parts = Vec::new();
        for status in asked {
            parts.push(daemon.partial_list(("/api/v1/runs", "runs"), &self.query(status), most).await?);
        }
        Ok(together(parts, most))
    }

    fn nothing(&self) -> &'static str {
        if self.query(self.status.first().copied()).is_empty() {
            "No runs yet. To start one: merge-train runs start WORKFLOW"
        } else {
            "No matching runs. To list all: merge-train runs list"
        }
    }
}

/// One list of several, the newest first. A run that changed its state meanwhile may be in two: the later word counts.
fn together(parts: Vec<PartialList<Value>>, most: Option<usize>) -> PartialList<Value> {
    let has_more = parts.iter().any(|part| part.rest == ListRemainder::More);
    let text = |run: &Value, field: &str| run[field].as_str().unwrap_or_default().to_owned();
    let mut all: BTreeMap<String, Value> = BTreeMap::new();
    for run in parts.into_iter().flat_map(|part| part.items) {
        let known = all.entry(text(&run, "id")).or_insert_with(|| run.clone());
        if at(&run, "updatedAt") > at(known, "updatedAt") {
            *known = run;
        }
    }
    let mut items: Vec<Value> = all.into_values().collect();
    items.sort_by_cached_key(|run| std::cmp::Reverse((at(run, "createdAt"), text(run, "id"))));
    let found = items.len();
    items.truncate(most.unwrap_or(found));
    let rest = if has_more || items.len() < found { ListRemainder::More } else { ListRemainder::Nothing };
    PartialList { items, rest }
}

fn at(run: &Value, field: &str) -> Option<jiff::Timestamp> {
    run[field].as_str().and_then(|text| text.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(id: &str, created: u32, updated: u32, status: &str) -> Value {
        let at = |second: u32| format!("2026-11-15T12:00:{second:02}Z");
        json!({ "id": id, "createdAt": at(created), "updatedAt": at(updated), "status": status })
    }

    fn part(items: Vec<Value>, rest: ListRemainder) -> PartialList<Value> {
        PartialList { items, rest }
    }

    fn ids(list: &PartialList<Value>) -> Vec<&str> {
        list.items.iter().filter_map(|run| run["id"].as_str()).collect()
    }

    #[test]
    fn lists_by_state_become_one_the_newest_first() {
        let failed = || part(vec![run("d", 9, 9, "failed"), run("a", 1, 1, "failed")], ListRemainder::Nothing);
        let running = || part(vec![run("c", 5, 5, "running"), run("b", 3, 3, "running")], ListRemainder::Nothing);
        let all = together(vec![failed(), running()], None);
        assert_eq!((ids(&all), all.rest), (vec!["d", "c", "b", "a"], ListRemainder::Nothing));
        let some = together(vec![failed(), running()], Some(3));
        assert_eq!(
            (ids(&some), some.rest),
            (vec!["d", "c", "b"], ListRemainder::More),
            "what is cut off is not forgotten"
        );
    }

    #[test]
    fn a_run_that_changed_its_state_meanwhile_is_told_once_as_it_is_now() {
        for (first, second) in [("running", "completed"), ("completed", "running")] {
            let seen = |status: &str| run("a", 1, if status == "running" { 2 } else { 3 }, status);
            let parts =
                vec![part(vec![seen(first)], ListRemainder::Nothing), part(vec![seen(second)], ListRemainder::More)];
            let all = together(parts, Some(20));
            assert_eq!((all.items, all.rest), (vec![seen("completed")], ListRemainder::More));
        }
    }
}
