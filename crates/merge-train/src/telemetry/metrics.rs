//! The metrics there are: their names, what they mean, and the recorder that `GET /metrics` is answered from.

use std::time::Duration;

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

/// What kind of metric it is, as Prometheus sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Counter,
    Gauge,
    /// With the upper bounds of its buckets, in seconds: without any it would be exported as a summary, which nobody can add up.
    Histogram(&'static [f64]),
}

struct Metric {
    name: &'static str,
    kind: Kind,
    help: &'static str,
}

macro_rules! metrics {
    ($($kind:ident $(($buckets:ident))? $name:ident = $text:literal: $help:literal;)*) => {
        $(#[doc = $help] pub const $name: &str = $text;)*
        const METRICS: &[Metric] = &[$(Metric { name: $name, kind: Kind::$kind$(($buckets))?, help: $help }),*];
    };
}

metrics! {
    Counter RUN_TRANSITIONS = "gwi_run_transitions_total": "State transitions of runs, by from_state, to_state and tenant_id.";
    Histogram(RUN_BUCKETS) RUN_DURATION = "gwi_run_duration_seconds": "How long runs took, by type, status and tenant_id.";
    Gauge RUNS_ACTIVE = "gwi_run_active_gauge": "Runs that have not ended, by status and tenant_id.";
    Counter IDEMPOTENCY_HITS = "gwi_idempotency_hits_total": "Idempotency checks, by source and result.";
    Counter WEBHOOKS = "merge_train_webhooks_total": "Webhooks received, by event and result.";
    Histogram(ACK_BUCKETS) ACK = "merge_train_ack_seconds": "Time from the arrival of a webhook to its durable \
         acknowledgement.";
    Gauge INBOX_UNSETTLED = "merge_train_inbox_unsettled": "Events stored and not yet handled.";
    Gauge WORKERS = "merge_train_workers": "Repositories with a worker running.";
    Counter EFFECTS = "merge_train_effects_total": "Effects executed, by effect and result.";
    Gauge STORE_UP = "merge_train_store_up": "1 while the database can be written, 0 while not.";
    Gauge BODY_BYTES_IN_FLIGHT = "merge_train_body_bytes_in_flight": "Memory used by request bodies not yet stored.";
    Counter GITHUB_CALLS = "merge_train_github_calls_total": "Calls to GitHub, by governor (whose limits they count against) and result.";
    Counter GITHUB_RETRIES = "merge_train_github_retries_total": "Retried calls to GitHub, by governor.";
    Counter GITHUB_REFUSED = "merge_train_github_refused_total": "Calls refused because GitHub is down or the budget \
         is used up, by governor.";
    Gauge GITHUB_BUDGET_LIMIT = "merge_train_github_budget_limit": "Calls that GitHub allows between two resets, by governor and resource.";
    Gauge GITHUB_BUDGET_REMAINING = "merge_train_github_budget_remaining": "Calls left until the next reset, by governor and resource.";
    Gauge GITHUB_BUDGET_RESETS_IN = "merge_train_github_budget_resets_in_seconds": "Time until the next reset, by governor and resource.";
    Gauge GITHUB_IN_FLIGHT = "merge_train_github_in_flight": "Calls to GitHub under way, by governor.";
    Gauge GITHUB_WAITING = "merge_train_github_waiting": "Queued calls, by governor.";
    Gauge GITHUB_BLOCKED = "merge_train_github_blocked_seconds": "How long a secondary limit still blocks all calls, \
         by governor.";
    Counter RATCHET_TRANSITIONS = "ratchet_transitions_total": "Decisions of the ratchet, by action and reason.";
    Counter RATCHET_FIXERS = "ratchet_fixers_total": "Fixers that have ended, by issue and outcome.";
    Histogram(RUN_BUCKETS) RATCHET_FIXER_DURATION = "ratchet_fixer_seconds": "How long fixers took, by issue and outcome.";
    Gauge RATCHET_CANDIDATES = "ratchet_candidates": "Workspaces that the last heartbeat checked.";
    Counter RATCHET_NEWS = "ratchet_news_total": "Workspaces for which heartbeats saw a change.";
    Histogram(HEARTBEAT_BUCKETS) RATCHET_HEARTBEAT = "ratchet_heartbeat_seconds": "How long heartbeats took.";
    Gauge GITHUB_CIRCUIT_OPEN = "merge_train_github_circuit_open": "1 while GitHub counts as down and gets no calls, \
         by governor.";
}

/// How often [`PrometheusHandle::run_upkeep`] must be called, lest histograms nobody scrapes grow.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// An acknowledgement is a commit to disk: from a tenth of a millisecond to the ten seconds after which GitHub gives up.
const ACK_BUCKETS: &[f64] =
    &[0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// A run, or a fixer, takes from a moment to the day that somebody needs to approve it.
const RUN_BUCKETS: &[f64] = &[0.1, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 4.0 * 3600.0, 86_400.0];
/// A heartbeat is a request for each fifty pull requests: around the half minute that the example alerts call slow it is told exactly.
const HEARTBEAT_BUCKETS: &[f64] = &[0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0];

/// Makes this process's metrics, and gives the handle that renders them. Call it once; the second call is an error.
pub fn install() -> Result<PrometheusHandle, BuildError> {
    let handle = builder()?.install_recorder()?;
    describe();
    Ok(handle)
}

/// Calls it, for as long as the task lives.
pub async fn run_upkeep(handle: PrometheusHandle) {
    let mut due = tokio::time::interval(UPKEEP_INTERVAL);
    loop {
        due.tick().await;
        handle.run_upkeep();
    }
}

fn builder() -> Result<PrometheusBuilder, BuildError> {
    METRICS.iter().try_fold(PrometheusBuilder::new(), |builder, metric| match metric.kind {
        Kind::Histogram(buckets) => builder.set_buckets_for_metric(Matcher::Full(metric.name.into()), buckets),
        Kind::Counter | Kind::Gauge => Ok(builder),
    })
}

fn describe() {
    for metric in METRICS {
        match metric.kind {
            Kind::Counter => metrics::describe_counter!(metric.name, metric.help),
            Kind::Gauge => metrics::describe_gauge!(metric.name, metric.help),
            Kind::Histogram(_) => metrics::describe_histogram!(metric.name, metric.help),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn metrics_are_rendered_under_the_names_of_the_specifications_with_help() {
        let recorder = builder().unwrap().build_recorder();
        metrics::with_local_recorder(&recorder, || {
            describe();
            metrics::counter!(IDEMPOTENCY_HITS, "source" => "github", "result" => "new").increment(2);
            metrics::gauge!(STORE_UP).set(1.0);
            metrics::histogram!(ACK).record(0.003);
        });
        let text = recorder.handle().render();
        for line in [
            "# HELP gwi_idempotency_hits_total Idempotency checks, by source and result.",
            "# TYPE gwi_idempotency_hits_total counter",
            "gwi_idempotency_hits_total{source=\"github\",result=\"new\"} 2",
            "merge_train_store_up 1",
            "# TYPE merge_train_ack_seconds histogram",
            "merge_train_ack_seconds_bucket{le=\"0.0025\"} 0",
            "merge_train_ack_seconds_bucket{le=\"0.005\"} 1",
            "merge_train_ack_seconds_count 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("gwi_run_active_gauge"), "what nobody uses is not shown");
    }

    #[test]
    fn every_metric_has_a_name_of_its_own_that_says_its_kind() {
        let mut names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METRICS.len());
        for metric in METRICS {
            assert_eq!(metric.name.ends_with("_total"), metric.kind == Kind::Counter, "{}", metric.name);
            assert!(!matches!(metric.kind, Kind::Histogram(_)) || metric.name.ends_with("_seconds"), "{}", metric.name);
        }
    }

    /// The names in a query that are ours, as the exporter writes them.
    fn names_in(query: &str) -> Vec<&str> {
        let words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.filter(|word| ["gwi_", "merge_train_", "ratchet_"].iter().any(|ours| word.starts_with(ours))).collect()
    }

    /// The names of all series that the exporter writes, once everything has happened.
    fn exported() -> BTreeSet<String> {
        let recorder = builder().unwrap().build_recorder();
        metrics::with_local_recorder(&recorder, || {
            for metric in METRICS {
                match metric.kind {
                    Kind::Counter => metrics::counter!(metric.name).increment(1),
                    Kind::Gauge => metrics::gauge!(metric.name).set(1.0),
                    Kind::Histogram(_) => metrics::histogram!(metric.name).record(1.0),
                }
            }
        });
        let text = recorder.handle().render();
        let series = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        series.map(|line| line.split(['{', ' ']).next().unwrap().to_owned()).collect()
    }

    fn deployed(file: &str) -> String {
        let path = format!("{}/../../deploy/{file}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    #[test]
    fn alerts_ask_for_nothing_that_is_not_exported() {
        let alerts = deployed("prometheus-alerts.yaml");
        let queries: Vec<&str> = alerts.lines().filter_map(|line| line.trim_start().strip_prefix("expr: ")).collect();
        let names: Vec<&str> = queries.iter().flat_map(|query| names_in(query)).collect();
        assert!(names.len() >= queries.len() && queries.len() > 5, "{queries:?}");
        let exported = exported();
        for name in names {
            assert!(exported.contains(name), "{name} is not exported");
        }
        assert!(!exported.contains("merge_train_ack_seconds") && !exported.contains("merge_train_store_down"));
    }

    #[test]
    fn the_dashboard_shows_every_metric_and_no_other() {
        let dashboard: serde_json::Value = serde_json::from_str(&deployed("grafana-dashboard.json")).unwrap();
        let panels = dashboard["panels"].as_array().unwrap().iter();
        let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
        let queries: Vec<&str> = targets.filter_map(|target| target["expr"].as_str()).collect();
        let names: Vec<&str> = queries.iter().flat_map(|query| names_in(query)).collect();
        let exported = exported();
        for name in &names {
            assert!(exported.contains(*name), "{name} is not exported");
        }
        for metric in METRICS {
            assert!(names.iter().any(|name| name.starts_with(metric.name)), "{} is not on it", metric.name);
        }
    }
}
