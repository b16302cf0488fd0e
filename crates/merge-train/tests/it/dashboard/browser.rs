//! Chromium, driven as a person would use it, that keeps what it complains of.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use axum::http::Method;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fantoccini::elements::Element;
use fantoccini::wd::{Locator, WebDriverCompatibleCommand};
use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use url::{ParseError, Url};

use crate::support::{KEY, PATIENCE, client, eventually};

/// How a page is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    pub theme: &'static str,
    pub width: u32,
    pub name: &'static str,
}

pub const DESKTOP: Look = Look { theme: "light", width: 1280, name: "light" };
pub const LOOKS: [Look; 4] = [
    DESKTOP,
    Look { theme: "dark", width: 1280, name: "dark" },
    Look { theme: "light", width: 390, name: "phone" },
    Look { theme: "dark", width: 390, name: "phone-dark" },
];

pub struct Browser {
    client: Client,
    /// Where the dashboard is.
    url: String,
    _driver: Driver,
    _profile: tempfile::TempDir,
}

/// Asked to end with this, and not killed: it ends its browser then.
struct Driver(Child);

impl Drop for Driver {
    fn drop(&mut self) {
        let id = self.0.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        // It may have ended already.
        let _ = id.map(|id| kill_process(id, Signal::TERM));
    }
}

/// Chromium's own commands, for which WebDriver has no words.
#[derive(Debug)]
struct Own {
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for Own {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/{}", session.expect("a session"), self.path))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.to_string()))
    }
}

impl Browser {
    pub async fn at(url: &str) -> Self {
        Self::with(url, &json!({})).await
    }

    /// One that runs no script.
    pub async fn without_scripts(url: &str) -> Self {
        Self::with(url, &json!({ "profile.managed_default_content_settings.javascript": 2 })).await
    }

    async fn with(url: &str, preferences: &Value) -> Self {
        let profile = tempfile::tempdir().expect("a folder");
        let mut driver = Command::new("chromedriver");
        driver.arg("--port=0").env("TMPDIR", profile.path()).env("HOME", profile.path());
        driver.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let driver = driver.spawn().expect("chromedriver runs; `make test` and `scripts/setup` install it");
        let mut driver = Driver(driver);
        let mut lines = BufReader::new(driver.0.stdout.take().expect("piped")).lines();
        let port = async {
            while let Some(line) = lines.next_line().await.expect("text") {
                if let Some((_, port)) = line.trim_end_matches('.').split_once("started successfully on port ") {
                    return port.to_owned();
                }
            }
            panic!("chromedriver ended at once");
        };
        let port = tokio::time::timeout(PATIENCE, port).await.expect("it starts in time");
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let mut arguments = vec!["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"];
        if rustix::process::geteuid().is_root() {
            arguments.push("--no-sandbox");
        }
        let wanted = json!({
            "goog:loggingPrefs": { "browser": "ALL" },
            "goog:chromeOptions": { "args": arguments, "prefs": preferences },
        });
        let wanted = wanted.as_object().expect("an object").clone();
        let driver_url = format!("http://127.0.0.1:{port}");
        let session = ClientBuilder::new(HttpConnector::new()).capabilities(wanted).connect(&driver_url).await;
        let client = session.expect("the browser starts");
        let browser = Self { client, url: url.to_owned(), _driver: driver, _profile: profile };
        browser.look(DESKTOP).await;
        browser
    }

    async fn own(&self, path: &'static str, body: Value) -> Value {
        self.client.issue_cmd(Own { path, body }).await.expect("the browser does it")
    }

    async fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.own("goog/cdp/execute", json!({ "cmd": command, "params": parameters })).await
    }

    /// The theme and the width from now on.
    pub async fn look(&self, look: Look) {
        let features = json!([{ "name": "prefers-color-scheme", "value": look.theme }]);
        self.devtools("Emulation.setEmulatedMedia", json!({ "features": features })).await;
        let screen = json!({ "width": look.width, "height": 900, "deviceScaleFactor": 1, "mobile": look.width < 500 });
        self.devtools("Emulation.setDeviceMetricsOverride", screen).await;
    }

    pub async fn go(&self, path: &str) {
        self.client.goto(&format!("{}{path}", self.url)).await.expect("a page");
    }

    /// The path and the query of where it is.
    pub async fn place(&self) -> String {
        let url = self.client.current_url().await.expect("an address");
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}{query}", url.path())
    }

    /// What a function of the page's own language returns.
    pub async fn ask(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    pub async fn text(&self) -> String {
        self.ask("return document.body.innerText").await.as_str().expect("text").to_owned()
    }

    /// Waits until the page shows this.
    pub async fn shows(&self, text: &str) {
        let script = "return document.body.innerText.includes(arguments[0])";
        let mut last = String::new();
        let look = async {
            while self.client.execute(script, vec![json!(text)]).await.ok() != Some(json!(true)) {
                last = self.text().await;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, look).await;
        assert!(waited.is_ok(), "{} does not show {text:?}:\n{last}", self.place().await);
    }

    /// Waits until there is one of these.
    pub async fn find(&self, css: &str) -> Element {
        eventually(&format!("there is {css}"), || async { self.client.find(Locator::Css(css)).await.ok() }).await
    }

    pub async fn count(&self, css: &str) -> usize {
        self.client.find_all(Locator::Css(css)).await.expect("a list").len()
    }

    /// Presses the button that says this.
    pub async fn press(&self, label: &str) {
        let path = format!("//button[normalize-space()='{label}']");
        eventually(&format!("{label} can be pressed"), || async {
            self.client.find(Locator::XPath(&path)).await.ok()?.click().await.ok()
        })
        .await;
    }

    pub async fn type_into(&self, css: &str, text: &str) {
        self.find(css).await.send_keys(text).await.expect("it is typed");
    }

    pub async fn sign_in(&self, key: &str) {
        self.go("/sign-in").await;
        self.type_into("#key", key).await;
        self.press("Sign in").await;
        self.find("#live").await;
    }

    /// What the browser complained of since it was asked last.
    pub async fn complaints(&self) -> Vec<String> {
        let said = self.own("se/log", json!({ "type": "browser" })).await;
        let said = said.as_array().expect("a list").iter();
        said.filter(|it| it["level"] != "DEBUG").map(|it| format!("{}: {}", it["level"], it["message"])).collect()
    }

    pub async fn expect_no_complaint(&self) {
        let complaints = self.complaints().await;
        assert!(complaints.is_empty(), "{}:\n{}", self.place().await, complaints.join("\n"));
    }

    /// What axe-core finds that is serious or critical, and what is ambiguous to it and a person should look at.
    pub async fn barriers(&self) -> Vec<String> {
        let axe = std::fs::read_to_string(client("axe/node_modules/axe-core/axe.min.js")).expect("axe-core");
        self.ask(&axe).await;
        let script = "const done = arguments[arguments.length - 1]; axe.run(document, { resultTypes: ['violations'] }).then(done)";
        let found = self.client.execute_async(script, Vec::new()).await.expect("axe runs");
        let passed = found["passes"].as_array().map_or(0, Vec::len);
        assert!(passed > 10, "axe looked at nothing: {found}");
        let violations = found["violations"].as_array().expect("a list").iter();
        let grave = violations.filter(|it| it["impact"] == "serious" || it["impact"] == "critical");
        grave.map(|it| format!("{} ({}): {}", it["id"], it["impact"], it["nodes"])).collect()
    }

    /// What is written in a drawing of a stack and does not fit into its box.
    pub async fn overflowing(&self) -> Vec<String> {
        let script = "return [...document.querySelectorAll('.graph g')].flatMap((node) => {
            const box = node.querySelector('rect').getBBox();
            const fits = (it) => it.getBBox().x >= box.x && it.getBBox().x + it.getBBox().width <= box.x + box.width;
            return [...node.querySelectorAll('text')].filter((it) => !fits(it)).map((it) => it.textContent);
        })";
        let found = self.ask(script).await;
        found.as_array().expect("a list").iter().map(|text| format!("{text} does not fit into its box")).collect()
    }

    /// The whole page as a picture.
    pub async fn picture(&self, file: &Path) {
        let size = self.ask("return document.documentElement.scrollHeight").await.as_f64().expect("a height");
        let width = self.ask("return window.innerWidth").await;
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": size.min(2400.0), "scale": 1 });
        let wanted = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let taken = self.devtools("Page.captureScreenshot", wanted).await;
        let bytes = STANDARD.decode(taken["data"].as_str().expect("a picture")).expect("base64");
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, bytes).expect("written");
    }

    pub async fn press_key(&self, key: fantoccini::key::Key) {
        let active = self.client.active_element().await.expect("something has the focus");
        active.send_keys(&char::from(key).to_string()).await.expect("it is pressed");
    }

    /// Whoever looks at it as the operator of everything.
    pub async fn signed_in(url: &str) -> Self {
        let browser = Self::at(url).await;
        browser.sign_in(KEY).await;
        browser
    }

    /// Another page in a tab of its own, which is looked at from now on.
    pub async fn new_tab(&self, path: &str) {
        let tab = self.client.new_window(true).await.expect("a tab");
        self.client.switch_to_window(tab.handle).await.expect("it is looked at");
        self.go(path).await;
    }

    pub async fn close(self) {
        self.client.close().await.expect("it closes");
    }
}
