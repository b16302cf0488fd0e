//! Durable acknowledgements: how many a second, and how soon, against a flush of the disk for each request.
//!
//! `cargo bench -p merge-train --bench intake [-- --seconds N --bytes N --connections N]`. The daemon runs as a process of
//! its own; the load comes from this one, on the same processors, and is signed and different for each delivery. Grouped
//! and ungrouped commits take turns, so that a slow moment of the machine hits both.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use aws_lc_rs::hmac;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

const SECRET: &str = "a secret for measuring";
const REPOS: u64 = 20;
const ROUNDS: usize = 3;

struct Plan {
    seconds: u64,
    bytes: usize,
    connections: u64,
}

impl Plan {
    fn from_arguments() -> Self {
        let mut plan = Self { seconds: 4, bytes: 8 << 10, connections: 96 };
        let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
        for pair in words.chunks(2) {
            let [name, value] = pair else { panic!("{:?} needs a value", pair[0]) };
            let value: u64 = value.parse().expect("a number");
            match name.as_str() {
                "--seconds" => plan.seconds = value,
                "--bytes" => plan.bytes = usize::try_from(value).expect("a size"),
                "--connections" => plan.connections = value,
                other => panic!("{other} is none of --seconds, --bytes, --connections"),
            }
        }
        plan
    }
}

struct Daemon {
    child: Child,
    address: String,
    _dir: tempfile::TempDir,
}

impl Daemon {
    async fn start(commit_group: usize) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let config = dir.path().join("merge-train.toml");
        let text = format!(
            "[github]\napi_url = \"http://127.0.0.1:9/api/v3\"\ngraphql_url = \"http://127.0.0.1:9/graphql\"\n\
             git_url = \"http://127.0.0.1:9\"\ntoken = \"x\"\n\
             [git]\nsigning = \"off\"\n[state]\nstate_dir = \"state\"\ncommit_group = {commit_group}\n[log]\nfilter = \"error\"\n\
             [server]\nbind_address = \"127.0.0.1:0\"\nwebhook_secret = \"{SECRET}\"\n"
        );
        std::fs::write(&config, text).expect("the configuration is written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_merge-train"));
        command.arg("serve").arg("--config").arg(config).stdin(Stdio::null()).kill_on_drop(true);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the daemon starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let first = lines.next_line().await.expect("text").expect("it listens");
        let address = first.rsplit('/').next().expect("an address").to_owned();
        Self { child, address, _dir: dir }
    }

    async fn stop(mut self) {
        self.child.kill().await.expect("killed");
    }
}

/// What one connection sends: a template with the fields that differ from delivery to delivery.
struct Template {
    body: Vec<u8>,
    repo: usize,
    head: usize,
    second: usize,
    key: hmac::Key,
}

impl Template {
    fn new(bytes: usize) -> Self {
        let repository = r#"{"id":1,"name":"repo-000","full_name":"bench/repo-000","default_branch":"main","owner":{"login":"bench","id":1}}"#;
        let head = format!("{:040x}", 0);
        let padding = "lorem ipsum dolor sit amet ".repeat(bytes / 27);
        let short = format!(
            r#"{{"action":"synchronize","number":1,"pull_request":{{"id":1,"number":1,"state":"open","draft":false,"merged":false,"merged_at":null,"closed_at":null,"title":"One","user":{{"login":"dev","id":7}},"head":{{"ref":"one","sha":"{head}","repo":{{"id":1,"full_name":"bench/x"}}}},"base":{{"ref":"main","sha":"{head}","repo":{{"id":1,"full_name":"bench/x"}}}},"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","body":""#
        );
        let rest = format!(r#""}},"repository":{repository}}}"#);
        let padding = &padding[..bytes.saturating_sub(short.len() + rest.len()).min(padding.len())];
        let body = format!("{short}{padding}{rest}");
        let find = |what: &str| body.find(what).expect("it is there");
        let (repo, head) = (find("bench/repo-000") + 11, find(&head));
        let second = find("updated_at") + "updated_at\":\"2026-01-01T".len();
        Self { repo, head, second, body: body.into_bytes(), key: hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes()) }
    }

    /// The whole request for delivery `number`.
    fn request(&mut self, number: u64, into: &mut Vec<u8>) {
        use std::io::Write;
        let put = |body: &mut [u8], at: usize, text: String| body[at..at + text.len()].copy_from_slice(text.as_bytes());
        put(&mut self.body, self.repo, format!("{:03}", number % REPOS));
        put(&mut self.body, self.head, format!("{number:040x}"));
        let time = format!("{:02}:{:02}:{:02}", number / 3600 % 24, number / 60 % 60, number % 60);
        put(&mut self.body, self.second, time);
        into.clear();
        let signature = hmac::sign(&self.key, &self.body);
        let _ = write!(
            into,
            "POST /webhook HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nx-github-event: pull_request\r\n"
        );
        let _ = write!(
            into,
            "x-github-delivery: bench-{number}\r\ncontent-length: {}\r\nx-hub-signature-256: sha256={}\r\n\r\n",
            self.body.len(),
            hex::encode(signature)
        );
        into.extend_from_slice(&self.body);
    }
}

/// Reads one answer; its status.
async fn answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> u16 {
    buffer.clear();
    loop {
        let read = stream.read_buf(buffer).await.expect("an answer");
        assert!(read > 0, "the connection was closed");
        let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = std::str::from_utf8(&buffer[..end]).expect("text").to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
        let length: usize = length.expect("a length").parse().expect("a number");
        if buffer.len() >= end + 4 + length {
            return head[9..12].parse().expect("a status");
        }
    }
}

struct Measured {
    per_second: f64,
    latencies: Vec<Duration>,
}

impl Measured {
    fn percentile(&self, percent: usize) -> Duration {
        self.latencies[(self.latencies.len() - 1) * percent / 100]
    }

    fn show(&self, name: &str) {
        let (p50, p99) = (self.percentile(50), self.percentile(99));
        println!("  {name:28} {:8.0} acks/s   p50 {p50:>9.2?}   p99 {p99:>9.2?}", self.per_second);
    }
}

/// Sends from all connections for the given time; with a pace, each delivery at its appointed moment.
async fn load(daemon: &Daemon, plan: &Plan, pace: Option<u64>) -> Measured {
    let next = Arc::new(AtomicU64::new(fresh()));
    let began = Instant::now();
    let end = began + Duration::from_secs(plan.seconds);
    let connections = (0..plan.connections).map(|index| {
        let (address, bytes, next, all) = (daemon.address.clone(), plan.bytes, next.clone(), plan.connections);
        tokio::spawn(async move {
            let mut stream = TcpStream::connect(address).await.expect("connected");
            stream.set_nodelay(true).expect("a socket");
            let (mut template, mut request, mut buffer) = (Template::new(bytes), Vec::new(), Vec::new());
            let mut latencies = Vec::new();
            for turn in 0.. {
                let mut due = Instant::now();
                if let Some(pace) = pace {
                    // Measured from the appointed moment: a queue that builds up counts.
                    due = began + Duration::from_secs_f64((turn * all + index) as f64 / pace as f64);
                    tokio::time::sleep_until(due.into()).await;
                }
                if Instant::now() >= end {
                    break;
                }
                template.request(next.fetch_add(1, Ordering::Relaxed), &mut request);
                stream.write_all(&request).await.expect("sent");
                assert_eq!(answer(&mut stream, &mut buffer).await, 202);
                latencies.push(due.elapsed());
            }
            latencies
        })
    });
    let mut latencies = Vec::new();
    for connection in connections.collect::<Vec<_>>() {
        latencies.extend(connection.await.expect("the connection ends"));
    }
    let per_second = latencies.len() as f64 / began.elapsed().as_secs_f64();
    latencies.sort_unstable();
    Measured { per_second, latencies }
}

/// Numbers that no delivery of this run had.
fn fresh() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1 << 32, Ordering::Relaxed)
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let plan = Plan::from_arguments();
        println!(
            "durable acknowledgements on SQLite: {} bytes each, {} connections, {REPOS} repositories",
            plan.bytes, plan.connections
        );
        let (mut grouped, mut single) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            for (name, group, results) in
                [("grouped commits", 512, &mut grouped), ("a flush for each request", 1, &mut single)]
            {
                let daemon = Daemon::start(group).await;
                let measured = load(&daemon, &plan, None).await;
                measured.show(name);
                results.push(measured.per_second);
                daemon.stop().await;
            }
        }
        let median = |results: &mut Vec<f64>| {
            results.sort_by(f64::total_cmp);
            results[results.len() / 2]
        };
        let (grouped, single) = (median(&mut grouped), median(&mut single));
        println!("  median of {ROUNDS}: {grouped:.0} against {single:.0}: {:.1} times as many", grouped / single);
        let daemon = Daemon::start(512).await;
        load(&daemon, &plan, Some(5000)).await.show("paced at 5,000/s");
        daemon.stop().await;
    });
}
