//! Every command of the documentation, typed.

use std::collections::BTreeSet;
use std::process::Stdio;

use reqwest::{Method, Url};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::docs::commands::{Lot, Session, Typed, sessions};
use crate::docs::deeds::{PATIENCE, Place, Scene, all_well, finish, programs};
use crate::support::{World, http};

/// The blocks with those of their commands that are treated so, each command once.
fn of(lot: &Lot) -> Vec<Vec<Typed>> {
    let mut seen = BTreeSet::new();
    let mut is_new = |command: &Typed| seen.insert((command.set.clone(), command.text.clone()));
    let chosen = |session: Session| -> Vec<Typed> {
        let all = session.commands.into_iter();
        all.filter(|command| command.lot().is_ok_and(|its| its == *lot) && is_new(command)).collect()
    };
    sessions().into_iter().filter(|session| !session.is_script).map(chosen).filter(|block| !block.is_empty()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_about_a_daemon_does_what_it_should() {
    let scene = Scene::new().await;
    let mut results = Vec::new();
    for (number, block) in of(&Lot::InTheWorld).iter().enumerate() {
        let place = Place::new(scene.world.dir.path(), &number.to_string());
        for command in block {
            results.push(scene.type_in(command, &place).await);
        }
    }
    assert!(results.len() > 100, "only {} commands were found", results.len());
    scene.end().await;
    all_well(results);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_that_needs_nothing_else_does_what_it_should() {
    let world = World::without_daemon().await;
    let bin = programs(world.dir.path());
    world.control(Method::POST, "/orgs", json!({ "login": "acme", "admins": ["octocat"], "members": [] })).await;
    let mut results = Vec::new();
    for (number, block) in of(&Lot::Alone).iter().enumerate() {
        let place = Place::new(world.dir.path(), &format!("alone-{number}"));
        for (at, command) in block.iter().enumerate() {
            let words = command.words();
            if words.first() == Some(&"app") {
                let place = Place::new(world.dir.path(), &format!("app-{number}-{at}"));
                results.push(make_app(&world, &bin, command, &place).await);
                continue;
            }
            let mut text = place.spell(command, &[]);
            // On this machine others may listen at the usual address.
            let listens = ["demo", "sim"].contains(&words[0]) && !words.contains(&"--listen");
            if listens {
                text += " --listen 127.0.0.1:0";
            }
            if words[0] == "demo" {
                text += " --github-listen 127.0.0.1:0";
            }
            let is_help = words.contains(&"--help");
            let goes_on = !is_help && (words[0] == "sim" || words[0] == "demo" && !words.contains(&"--once"));
            results.push(finish(command, place.shell(&bin, &text, &world), goes_on).await);
        }
    }
    world.sim.stop().await;
    all_well(results);
}

/// `merge-train app create`, and somebody who agrees at GitHub.
async fn make_app(world: &World, bin: &std::path::Path, command: &Typed, place: &Place) -> Result<(), String> {
    let text = |value: &serde_json::Value| value.as_str().expect("text").to_owned();
    let web = text(&world.described["web_url"]);
    let number = place.dir.file_name().expect("a name").to_string_lossy().into_owned();
    // GitHub has each name once, and is the simulator.
    let mut line = place.spell(command, &[("https://ghes.example.com", web.clone())]);
    line += &format!(" --name bot-{number}");
    if !line.contains("--github") {
        line += &format!(" --github {web}");
    }
    let mut shell = place.shell(bin, &line, world);
    for (name, folder) in [("STATE_STATE_DIR", "state"), ("GIT_CLONE_BASE_DIR", "repos"), ("RUNS_WORK_DIR", "runs")] {
        shell.env(format!("MERGE_TRAIN_{name}"), place.dir.join(folder));
    }
    let mut child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let first = lines.next_line().await.expect("text").unwrap_or_default();
    let page = first.split_whitespace().last().unwrap_or_default().to_owned();
    assert!(page.starts_with("http://127.0.0.1:"), "{}: {first}", command.place());
    let shown = http().get(&page).send().await.expect("an answer").text().await.expect("a page");
    let attribute = |before: &str| {
        let value =
            shown.split_once(before).and_then(|(_, rest)| rest.split_once('"')).unwrap_or_else(|| panic!("{shown}")).0;
        value.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    };
    let (manifest, action) = (attribute("name=\"manifest\" value=\""), attribute("action=\""));
    let owner = if command.text.contains("--org acme") { "acme" } else { "octocat" };
    let name = format!("bot-{number}");
    let fields = [("manifest", manifest.as_str()), ("agreed", "yes"), ("name", &name), ("owner", "octocat")];
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let browser =
        reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().expect("a client");
    let agreed = browser.post(action).header("content-type", "application/x-www-form-urlencoded").body(body);
    let agreed = agreed.send().await.expect("an answer");
    let back: Url = agreed.headers()["location"].to_str().expect("text").parse().expect("an address");
    assert_eq!(browser.get(back).send().await.expect("an answer").status(), 200, "{}", command.place());
    world.control(Method::POST, "/installations", json!({ "app": name, "account": owner })).await;
    let output = tokio::time::timeout(PATIENCE, async {
        let mut said = String::new();
        while let Some(line) = lines.next_line().await.expect("text") {
            said += &format!("{line}\n");
        }
        (child.wait().await.expect("a status"), said)
    });
    let (status, said) = output.await.unwrap_or_else(|_| panic!("{} does not end", command.place()));
    if status.success() { Ok(()) } else { Err(format!("{} ends with {status}\n{said}", command.place())) }
}

/// Blocks in which something goes on while the rest is done: each as one script.
#[tokio::test(flavor = "multi_thread")]
async fn every_script_does_what_it_should() {
    let world = World::without_daemon().await;
    let bin = programs(world.dir.path());
    let scripts: Vec<Session> = sessions().into_iter().filter(|session| session.is_script).collect();
    assert!(!scripts.is_empty());
    let mut results = Vec::new();
    for (number, session) in scripts.iter().enumerate() {
        let first = session.commands.first().expect("a command");
        let place = Place::new(world.dir.path(), &format!("script-{number}"));
        std::fs::remove_file(place.dir.join("home/.curlrc")).expect("what a script does about errors is its own");
        let ports = [free_port().await, free_port().await];
        let lines: Vec<String> = session.commands.iter().map(|command| command.text.clone()).collect();
        // However it ends, nothing goes on.
        let script = format!("trap 'kill $(jobs -p) 2>/dev/null' EXIT\n{}\n", lines.join("\n"));
        let script = script
            .replace("127.0.0.1:9000", &format!("127.0.0.1:{}", ports[0]))
            .replace("\"127.0.0.1\", 9000", &format!("\"127.0.0.1\", {}", ports[0]))
            .replace("merge-train sim ", &format!("merge-train sim --listen 127.0.0.1:{} ", ports[1]));
        results.push(finish(first, place.shell(&bin, &script, &world), false).await);
    }
    world.sim.stop().await;
    all_well(results);
}

async fn free_port() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    listener.local_addr().expect("an address").port()
}
