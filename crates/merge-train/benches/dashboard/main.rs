//! The dashboard at scale: each of its pages with 1,000 trains under way, 10,000 runs and 1,000 workspaces; and how soon a daemon
//! with such a state, and one with 1,000 repositories of 100 pull requests each, is ready.
//!
//! `make bench-dashboard`, or `cargo bench -p merge-train --bench dashboard`: on SQLite, and on PostgreSQL as well where
//! `scripts/with-postgres` has started one. The daemon runs as a process of its own; whoever asks it runs on the same processors.
//! It fails if the 99th percentile of any page, asked for by one client, is over the limit, or a restart takes too long.

mod daemon;
mod population;
mod story;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use daemon::{Browser, Daemon, EVERYBODY, ONE_TENANT, Place};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use merge_train_core::repo::{FIXER, TRAIN};
use merge_train_core::workflow::{Run, RunStatus};
use population::{Population, RUNS, TRAINS, WORKSPACES};
use story::Story;

/// How long a page may take.
const LIMIT: Duration = Duration::from_millis(200);
/// How long a restart may take.
const RESTART_LIMIT: Duration = Duration::from_secs(2);
/// Each page is asked for so often, but not for longer than that, and not less often than a percentile needs.
const REQUESTS: usize = 200;
const LONGEST: Duration = Duration::from_secs(2);
const FEWEST: usize = 40;
const CLIENTS: usize = 8;
/// The page that all others are shown beside: machines differ, and have slow moments.
const PLAINEST: &str = "/sign-in";
const MANY_REPOS: usize = 1_000;
const PULLS_EACH: usize = 100;
const STARTS: usize = 3;
const LONGEST_TO_LOAD_S: usize = 15;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let is_fast = runtime.block_on(async {
        let mut is_fast = measure(Place::sqlite()).await;
        is_fast &= restart(Place::sqlite()).await;
        if let Ok(server) = std::env::var("MERGE_TRAIN_TEST_POSTGRES") {
            is_fast &= measure(Place::postgres(&server).await).await;
            is_fast &= restart(Place::postgres(&server).await).await;
        }
        is_fast
    });
    if is_fast { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Every page, from one client and from several at once.
async fn measure(place: Place) -> bool {
    let began = Instant::now();
    let store = place.open().await.expect("a store");
    let population = population::fill(&store, &place.run_folders()).await.expect("it is filled");
    let runs = population::all_runs(store.as_ref()).await.expect("runs");
    store.close().await;
    let under_way = population.counts.iter().filter(|((kind, status), _)| kind == TRAIN && !status.is_terminal());
    let under_way: usize = under_way.map(|(_, count)| count).sum();
    assert_eq!((under_way, runs.len()), (TRAINS, RUNS));
    println!(
        "The dashboard on {}: {TRAINS} trains under way, {RUNS} runs, {WORKSPACES} workspaces (made in {:.0?})",
        place.name(),
        began.elapsed()
    );
    let daemon = started(&place).await;
    let everybody = Browser::sign_in(&daemon, EVERYBODY).await;
    let tenant = Browser::sign_in(&daemon, ONE_TENANT).await;
    let mut is_fast = true;
    let mut plainest = None;
    println!(
        "  {:50} {:>8}  {:>9} {:>9} {:>9} {:>7}  {:>9} {:>9}",
        "page", "KiB", "p50", "p99", "worst", "ratio", "8: p50", "8: p99"
    );
    // The workers take up every train first, which is over soon, and whoever looks meanwhile shares the machine with them.
    let (_, early) = ask(&everybody, "/").await;
    let loaded = memory(&daemon).await;
    for page in pages(&population, &runs) {
        let browser = if page.is_tenants { &tenant } else { &everybody };
        let (bytes, alone) = ask(browser, &page.address).await;
        let crowd = ask_at_once(browser, &page.address).await;
        let (p50, p99) = (percentile(&alone, 50), percentile(&alone, 99));
        let plain: Duration = *plainest.get_or_insert(p50);
        let is_slow = p99 > LIMIT;
        is_fast &= !is_slow;
        println!(
            "  {:50} {:>8.1}  {} {} {} {:>7.1}  {} {}{}",
            page.name,
            bytes as f64 / 1024.0,
            shown(p50),
            shown(p99),
            shown(percentile(&alone, 100)),
            p50.as_secs_f64() / plain.as_secs_f64(),
            shown(percentile(&crowd, 50)),
            shown(percentile(&crowd, 99)),
            if is_slow { "  TOO SLOW" } else { "" }
        );
    }
    println!(
        "  the board just after the start: {} {} {}",
        shown(percentile(&early, 50)),
        shown(percentile(&early, 99)),
        shown(percentile(&early, 100))
    );
    println!("  memory: {loaded}");
    daemon.stop().await;
    is_fast
}

/// Starts the daemon several times with the state that is there, and leaves the last one running.
async fn started(place: &Place) -> Daemon {
    let mut times = Vec::new();
    for _ in 1..STARTS {
        let daemon = Daemon::start(place).await;
        times.push(daemon.ready_after);
        daemon.stop().await;
    }
    let daemon = Daemon::start(place).await;
    times.push(daemon.ready_after);
    times.sort_unstable();
    println!("  ready after {:.0?} (median of {STARTS} starts)", times[STARTS / 2]);
    daemon
}

/// A restart with many repositories, in which nothing happens at the moment.
async fn restart(place: Place) -> bool {
    let store = place.open().await.expect("a store");
    let now = jiff::Timestamp::now();
    stream::iter(0..MANY_REPOS)
        .map(|number| {
            let events = Story::quiet(number as u64, now, PULLS_EACH).into_events();
            let (store, repo) = (store.clone(), population::repo(number));
            async move { population::write(store.as_ref(), &repo, events).await }
        })
        .buffer_unordered(16)
        .try_collect::<Vec<()>>()
        .await
        .expect("they are written");
    store.close().await;
    println!("A restart on {}: {MANY_REPOS} repositories with {PULLS_EACH} pull requests each", place.name());
    let daemon = started(&place).await;
    let is_fast = daemon.ready_after <= RESTART_LIMIT;
    let browser = Browser::sign_in(&daemon, EVERYBODY).await;
    let (took, _) = browser.look(&format!("/repos/{}/trains/{PULLS_EACH}", population::repo(MANY_REPOS - 1))).await;
    println!("  the first page of a pull request after it: {took:.1?}{}", if is_fast { "" } else { "  TOO SLOW" });
    println!("  memory: {}", memory(&daemon).await);
    daemon.stop().await;
    is_fast
}

/// What the daemon has in memory once it takes no more: every repository is loaded after a start.
async fn memory(daemon: &Daemon) -> String {
    let mut most = 0;
    for _ in 0..LONGEST_TO_LOAD_S {
        let Some(mib) = daemon.resident_mib() else { return "not told by this system".to_owned() };
        if mib <= most {
            break;
        }
        most = mib;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    format!("{most} MiB")
}

struct Page {
    name: String,
    address: String,
    is_tenants: bool,
}

fn pages(population: &Population, runs: &[Run]) -> Vec<Page> {
    let Population { repo, train, workspace, .. } = population;
    let one = |kind: &str, status: RunStatus| {
        let found = runs.iter().find(|run| run.kind == kind && run.status == status);
        format!("/runs/{}", found.unwrap_or_else(|| panic!("no {kind} is {status}")).id)
    };
    let oldest = runs.iter().rfind(|run| run.kind == TRAIN).map(|run| format!("/runs/{}", run.id)).expect("a train");
    let before_last = &runs[runs.len() - 51];
    let last = format!("/runs?cursor={}_{}", before_last.created_at.as_microsecond(), before_last.id);
    let (train, workspace) = (format!("/repos/{repo}/trains/{train}"), format!("/repos/{repo}/workspaces/{workspace}"));
    let board = format!("/?repo={}", repo.to_string().replace('/', "%2F"));
    let of_repo = format!("/runs?repo={}", repo.to_string().replace('/', "%2F"));
    let held = one(FIXER, RunStatus::AwaitingApproval);
    let workflow =
        runs.iter().find(|run| ![TRAIN, FIXER].contains(&run.kind.as_str())).expect("a workflow").kind.clone();
    let mut all: Vec<(String, String)> = [
        ("sign-in, the plainest page", PLAINEST),
        ("board", "/"),
        ("board of a repository", &board),
        ("train, the largest stack", &train),
        ("workspace", &workspace),
        ("insights", "/insights"),
        ("system", "/system"),
        ("runs", "/runs"),
        ("runs, the last page", &last),
        ("runs of a repository", &of_repo),
        ("run: train under way", &one(TRAIN, RunStatus::WaitingExternal)),
        ("run: train that landed", &one(TRAIN, RunStatus::Completed)),
        ("run: the oldest train", &oldest),
        ("run: fixer, push held", &held),
        ("run: fixer that pushed", &one(FIXER, RunStatus::Completed)),
        ("run: workflow at a gate", &one(&workflow, RunStatus::AwaitingApproval)),
        ("run: workflow that ended", &one(&workflow, RunStatus::Completed)),
    ]
    .map(|(name, address)| (name.to_owned(), address.to_owned()))
    .into();
    for status in RunStatus::ALL {
        all.push((format!("runs, {status}"), format!("/runs?status={status}")));
    }
    for kind in [TRAIN, FIXER, &workflow] {
        all.push((format!("runs, {kind}"), format!("/runs?type={kind}")));
        all.push((format!("runs, failed {kind}"), format!("/runs?type={kind}&status=failed")));
    }
    all.push(("runs, no such type".to_owned(), "/runs?type=nothing".to_owned()));
    for (name, page) in [
        ("board", "/"),
        ("train", &*train),
        ("workspace", &workspace),
        ("run", &held),
        ("runs", "/runs"),
        ("insights", "/insights"),
        ("system", "/system"),
    ] {
        all.push((format!("live: {name}"), format!("/live?to={}", page.replace('/', "%2F"))));
    }
    let pages = all.into_iter().map(|(name, address)| Page { name, address, is_tenants: false });
    let own = ["/", "/runs", "/runs?status=failed", "/runs?type=fixer&status=failed", "/insights", "/system"];
    let own = own.map(|page| Page { name: format!("one tenant: {page}"), address: page.to_owned(), is_tenants: true });
    pages.chain(own).collect()
}

/// From one client: what the page weighs, and how long it took each time, the shortest first.
async fn ask(browser: &Browser, page: &str) -> (usize, Vec<Duration>) {
    let began = Instant::now();
    let (mut times, mut bytes) = (Vec::new(), 0);
    // The first makes the connection.
    browser.look(page).await;
    while times.len() < FEWEST || (times.len() < REQUESTS && began.elapsed() < LONGEST) {
        let (took, length) = browser.look(page).await;
        times.push(took);
        bytes = length;
    }
    times.sort_unstable();
    (bytes, times)
}

/// From several clients at once: how long it took each time, the shortest first.
async fn ask_at_once(browser: &Browser, page: &str) -> Vec<Duration> {
    let began = Instant::now();
    let mut times: Vec<Duration> = stream::iter(0..REQUESTS)
        .map(|_| async {
            let is_late = began.elapsed() >= LONGEST;
            if is_late { None } else { Some(browser.look(page).await.0) }
        })
        .buffer_unordered(CLIENTS)
        .filter_map(std::future::ready)
        .collect()
        .await;
    times.sort_unstable();
    times
}

fn percentile(times: &[Duration], percent: usize) -> Duration {
    times[(times.len() * percent).div_ceil(100).clamp(1, times.len()) - 1]
}

fn shown(time: Duration) -> String {
    format!("{:>6.1} ms", time.as_secs_f64() * 1000.0)
}
