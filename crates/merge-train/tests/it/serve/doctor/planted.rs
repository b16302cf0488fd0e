//! Mistakes that setup can make, each planted alone into a setup that is well otherwise: `doctor` finds it, and names its remedy.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::Connection;
use tokio::process::Command;

use super::{check, examine, text};
use crate::serve::disk::without_privileges;
use crate::support::{Daemon, Database, REPO, Setup, World, eventually, fake_git, path_with_current_git};

/// Where nobody listens.
const NOBODY: &str = "http://127.0.0.1:9";

/// A setup in which all is well, until something is planted.
pub struct Yard {
    pub world: World,
    pub setup: Setup,
    daemon: Option<Daemon>,
    path: Option<OsString>,
    /// Whether the repository is looked at, too.
    with_repo: bool,
    config_mode: u32,
}

impl Yard {
    pub async fn new() -> Self {
        let world = World::without_daemon().await;
        let key = world.dir.path().join("signing-key");
        let made = ["-q", "-t", "ed25519", "-N", "", "-f", key.to_str().expect("a name")];
        super::run("ssh-keygen", &made, world.dir.path()).await;
        world.squash_only().await;
        chmod(Path::new(text(&world.described["app"]["private_key_path"])), 0o600);
        let yard = Self {
            setup: without_address(&world),
            world,
            daemon: None,
            path: None,
            with_repo: false,
            config_mode: 0o600,
        };
        yard.change_app(json!({ "webhook_url": format!("{NOBODY}/webhook") })).await;
        yard.delivered().await;
        Self { setup: without_address(&yard.world).more(&address(NOBODY)), ..yard }
    }

    fn change(&mut self, change: impl FnOnce(Setup) -> Setup) {
        self.setup = change(self.setup.clone());
    }

    async fn change_app(&self, change: Value) {
        self.world.control(Method::PATCH, "/app", change).await;
    }

    /// Waits until nothing is under way to the app.
    async fn delivered(&self) {
        eventually("the webhook is sent", || async {
            let all = self.world.deliveries().await;
            (!all.is_empty() && all.iter().all(|delivery| !delivery["status"].is_null())).then_some(())
        })
        .await;
    }

    /// The app's section of the configuration with this line in the place of another.
    fn github(&mut self, key: &str, value: &str) {
        let described = &self.world.described;
        let app = &described["app"];
        let mut section = "[github]\n".to_owned();
        for (name, written) in [
            ("api_url", described["api_url"].to_string()),
            ("graphql_url", described["graphql_url"].to_string()),
            ("git_url", described["git_url"].to_string()),
            ("app_id", app["id"].to_string()),
            ("private_key_path", app["private_key_path"].to_string()),
        ] {
            let written = if name == key { value } else { &written };
            section += &format!("{name} = {written}\n");
        }
        self.change(|setup| setup.github(section));
    }

    fn command(&self) -> Command {
        let words: &[&str] = if self.with_repo { &["doctor", REPO, "--json"] } else { &["doctor", "--json"] };
        let mut command = self.setup.command(words);
        chmod(&self.setup.config(), self.config_mode);
        command.env("PATH", self.path.clone().unwrap_or_else(|| path_with_current_git(self.setup.dir())));
        command
    }

    pub async fn examine(&self) -> (i32, Value) {
        examine(&mut self.command()).await
    }
}

/// Well, but for the address at which the daemon is reached.
fn without_address(world: &World) -> Setup {
    world.setup.clone().signing("ssh_key_path = \"signing-key\"")
}

/// A line of the section `[server]`.
fn address(url: &str) -> String {
    format!("public_url = \"{url}\"\n")
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a mode");
}

/// What is planted, and what is to be found.
struct Mistake {
    what: &'static str,
    plant: for<'a> fn(&'a mut Yard) -> BoxFuture<'a, ()>,
    check: &'static str,
    result: &'static str,
    found: &'static str,
    fix: &'static str,
    /// Other checks that cannot be well then.
    besides: &'static [&'static str],
}

macro_rules! mistakes {
    ($($what:literal, |$yard:ident| $plant:expr => $check:literal $result:literal $found:literal, $fix:literal $(, besides $besides:expr)?;)*) => {
        [$(Mistake {
            what: $what,
            plant: |$yard| async move { $plant; }.boxed(),
            check: $check,
            result: $result,
            found: $found,
            fix: $fix,
            besides: &[$($besides)?],
        }),*]
    };
}

async fn find(mistakes: &[Mistake]) {
    for Mistake { what, plant, check: name, result, found, fix, besides } in mistakes {
        let mut yard = Yard::new().await;
        plant(&mut yard).await;
        let (code, report) = yard.examine().await;
        let finding = check(&report, name);
        assert_eq!(finding["result"], *result, "{what}: {report:#}");
        assert!(text(&finding["found"]).contains(found), "{what}: {finding:#}");
        assert!(text(&finding["fix"]).contains(fix), "{what}: {finding:#}");
        assert_eq!(code, i32::from(*result == "failed"), "{what}");
        for other in report["checks"].as_array().expect("a list") {
            let other_name = text(&other["check"]);
            let is_free = other_name == *name || besides.contains(&other_name);
            assert!(is_free || other["result"] == "ok", "{what}: {other:#}");
        }
        if let Some(daemon) = yard.daemon.take() {
            daemon.kill().await;
        }
        yard.world.sim.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_in_the_configuration_are_found() {
    find(&mistakes! {
        "a key that there is not", |yard| yard.change(|setup| setup.more("[ratchet]\nenabeld = true\n"))
            => "configuration" "failed" "did you mean \"enabled\"?", "docs/configuration.md";
        "a file that is no TOML", |yard| yard.change(|setup| setup.more("[ratchet\n"))
            => "configuration" "failed" "merge-train.toml:", "fix these";
        "an address that is none", |yard| yard.setup = without_address(&yard.world).more(&address("ftp://x"))
            => "configuration" "failed" "http:// or https://", "fix these";
        "a key in place of its digest", |yard| yard.change(|setup| {
                setup.more("[[api_keys]]\nname = \"me\"\ntenant = \"*\"\nrole = \"admin\"\nsha256 = \"hunter2\"\n")
            })
            => "configuration" "failed" "the SHA-256 of the key and not the key", "fix these";
        "no address", |yard| yard.setup = without_address(&yard.world)
            => "public_url" "warning" "not set", "server.public_url";
        "an address that all can listen at", |yard| {
                yard.setup = without_address(&yard.world).more(&address("http://train.example"));
                yard.change_app(json!({ "webhook_url": "http://train.example/webhook" })).await;
            }
            => "public_url" "warning" "http://train.example", "https://";
        "no keys for the API", |yard| yard.change(Setup::without_keys)
            => "api_keys" "warning" "none", "sha256sum";
        "a configuration with secrets that everybody can read", |yard| yard.config_mode = 0o644
            => "secrets" "warning" "server.webhook_secret", "chmod o= ";
        "a key that everybody can read", |yard| {
                chmod(Path::new(text(&yard.world.described["app"]["private_key_path"])), 0o644);
            }
            => "secrets" "warning" "the app's key is world-readable", "chmod o= ";
        "a configuration that is another's", |yard| {
                yard.change(without_privileges);
                yard.config_mode = 0;
            }
            => "configuration" "failed" "Permission denied", "chgrp merge-train ";
        "a key that is another's", |yard| {
                yard.change(without_privileges);
                chmod(Path::new(text(&yard.world.described["app"]["private_key_path"])), 0);
            }
            => "github" "failed" "Permission denied", "chmod 640 ";
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_on_this_machine_are_found() {
    find(&mistakes! {
        "no git", |yard| yard.path = Some(yard.world.dir.path().into())
            => "git" "failed" "is it installed", "install git 2.41", besides "signing";
        "an old git", |yard| yard.path = Some(fake_git(yard.world.dir.path(), "2.37.7").into())
            => "git" "failed" "too old", "install git 2.41", besides "signing";
        "no key that signs", |yard| yard.change(|setup| setup.signing("ssh_key_path = \"no-key\""))
            => "signing" "failed" "there is no signing key at", "Signing commits";
        "a state directory that is a file", |yard| {
                std::fs::write(yard.setup.state_dir(), "").expect("written");
            }
            => "database" "failed" "cannot be written", "state.state_dir";
        "clones where nothing can be written", |yard| {
                std::fs::write(yard.setup.clones(), "").expect("written");
            }
            => "clones" "failed" "cannot be written", "git.clone_base_dir";
        "a database server that is not there", |yard| yard.change(|setup| {
                setup.database(Database::Postgres("postgres://nobody:hush@127.0.0.1:9/none".to_owned()))
            })
            => "database" "failed" "the database cannot be used", "state.database_url";
        "a database of a newer merge-train", |yard| make_newer(&yard.setup).await
            => "database" "failed" "newer", "install the merge-train version that last used it";
        "a fixer that is not installed", |yard| yard.change(|setup| {
                setup.more("[ratchet.fixer]\ncommand = [\"mend-it-all\"]\n")
            })
            => "fixer" "failed" "mend-it-all is not on the PATH", "install it";
        "a fixer that is not executable", |yard| {
                let fixer = yard.world.dir.path().join("fixer");
                std::fs::write(&fixer, "#!/bin/sh\n").expect("written");
                yard.change(|setup| setup.more(&format!("[ratchet.fixer]\ncommand = [{fixer:?}]\n")));
            }
            => "fixer" "failed" "is not executable", "chmod +x ";
        "a ratchet without a fixer", |yard| yard.change(|setup| setup.more("[ratchet]\nenabled = true\n"))
            => "fixer" "warning" "the ratchet is on", "ratchet.fixer.agent";
        "a step whose program is not there", |yard| yard.change(|setup| setup.more(
                "[[workflows]]\nname = \"deploy\"\n[[workflows.steps]]\nid = \"go\"\ncommand = [\"/no/such/program\"]\n",
            ))
            => "workflows" "failed" "deploy, step go: there is no file /no/such/program", "the step's command";
        "a clock that is wrong", |yard| {
                yard.world.control(Method::POST, "/clock", json!({ "advance_seconds": 3600 })).await;
            }
            => "clock" "warning" "s behind GitHub's", "NTP";
    })
    .await;
}

/// Lets a daemon make the database, and says that a later one worked on it since.
async fn make_newer(setup: &Setup) {
    assert!(setup.start().await.stop().await.success());
    let url = format!("sqlite://{}", setup.state_dir().join("merge-train.sqlite").display());
    let mut database = sqlx::SqliteConnection::connect(&url).await.expect("it opens");
    let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                 VALUES (99999999, 'of another year', 1, x'00', 1)";
    sqlx::query(newer).execute(&mut database).await.expect("written");
    database.close().await.expect("closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_about_the_app_are_found() {
    find(&mistakes! {
        "a key that is not there", |yard| yard.github("private_key_path", "\"no-key.pem\"")
            => "github" "failed" "cannot be read", "merge-train app create";
        "a key that is none", |yard| {
                std::fs::write(yard.world.dir.path().join("no-key.pem"), "-----BEGIN").expect("written");
                chmod(&yard.world.dir.path().join("no-key.pem"), 0o600);
                yard.github("private_key_path", "\"no-key.pem\"");
            }
            => "github" "failed" "is not an RSA private key", "generate another";
        "the id of another app", |yard| yard.github("app_id", "4711")
            => "github" "failed" "GitHub knows nothing under GET /api/v3/app", "github.app_id is the App ID";
        "the key of another app", |yard| {
                let other = World::without_daemon().await;
                let key = text(&other.described["app"]["private_key_path"]).to_owned();
                chmod(Path::new(&key), 0o600);
                std::fs::copy(key, yard.world.dir.path().join("other.pem")).expect("copied");
                other.sim.stop().await;
                yard.github("private_key_path", "\"other.pem\"");
            }
            => "github" "failed" "does not accept the credentials", "is a key of that app";
        "a GitHub that is not there", |yard| yard.github("api_url", "\"http://127.0.0.1:9/api/v3\"")
            => "github" "failed" "Connection refused", "the firewall";
        "an app that is installed nowhere", |yard| {
                let all = yard.world.control(Method::GET, "/installations", Value::Null).await;
                let path = format!("/installations/{}", all[0]["id"]);
                yard.world.control(Method::DELETE, &path, Value::Null).await;
            }
            => "installations" "failed" "installed nowhere", "/apps/merge-train/installations/new";
        "contents that can only be read", |yard| {
                yard.change_app(json!({ "permissions": permissions("contents", "read") })).await;
            }
            => "permissions" "failed" "merge-train lacks contents: write, needed to push", "Permissions & events";
        "no look at branch protection", |yard| {
                yard.change_app(json!({ "permissions": permissions("administration", "") })).await;
            }
            => "permissions" "warning" "lacks administration: read", "Permissions & events";
        "nothing heard of pull requests", |yard| {
                yard.change_app(json!({ "events": ["push", "status", "check_run", "check_suite", "issue_comment"] })).await;
            }
            => "events" "failed" "no webhooks for pull_request, pull_request_review,", "subscribe to these";
    })
    .await;
}

/// All that the simulator's app has, but for one.
fn permissions(name: &str, level: &str) -> Value {
    let mut all = json!({
        "actions": "write", "administration": "read", "checks": "write", "contents": "write", "issues": "write",
        "metadata": "read", "pull_requests": "write", "statuses": "write", "workflows": "write",
    });
    match level {
        "" => _ = all.as_object_mut().expect("an object").remove(name),
        level => all[name] = level.into(),
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_about_webhooks_are_found() {
    find(&mistakes! {
        "no secret", |yard| yard.change(|setup| setup.secrets(&[]))
            => "configuration" "failed" "server.webhook_secret", "fix these";
        "no address", |yard| yard.change_app(json!({ "webhook_url": "" })).await
            => "webhooks" "failed" "no webhook URL", "http://127.0.0.1:9/webhook";
        "an address that is another's", |yard| {
                yard.change_app(json!({ "webhook_url": format!("{NOBODY}/payload") })).await;
            }
            => "webhooks" "failed" "/payload", "set the webhook URL";
        "an address on another host", |yard| {
                yard.change_app(json!({ "webhook_url": "http://elsewhere.example/webhook" })).await;
            }
            => "webhooks" "warning" "http://elsewhere.example/webhook", "set the webhook URL";
        "another secret", |yard| {
                let daemon = yard.setup.start().await;
                yard.setup = without_address(&yard.world).more(&address(&daemon.url));
                let hook = json!({ "webhook_url": format!("{}/webhook", daemon.url), "webhook_secret": "another" });
                yard.change_app(hook).await;
                yard.delivered().await;
                yard.daemon = Some(daemon);
            }
            => "webhooks" "failed" "was refused with 401: the secrets differ", "server.webhook_secret";
        "another server", |yard| {
                let other = text(&yard.world.described["control_url"]).to_owned();
                yard.setup = without_address(&yard.world).more(&address(&other));
                yard.change_app(json!({ "webhook_url": format!("{other}/webhook") })).await;
                yard.delivered().await;
            }
            => "webhooks" "failed" "something other than the daemon answered", "point it at the daemon";
        "an address that GitHub cannot reach", |yard| yard.daemon = Some(yard.setup.start().await)
            => "webhooks" "failed" "did not arrive: failed to connect", "firewall";
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_about_a_repository_are_found() {
    find(&mistakes! {
        "merge commits", |yard| {
                yard.with_repo = true;
                yard.world.call(Method::PATCH, &format!("/repos/{REPO}"), json!({ "allow_merge_commit": true })).await;
            }
            => "repository" "failed" "merge commit allowed", "allow only squash merging";
        "approvals that a push takes away", |yard| {
                yard.with_repo = true;
                protect(&yard.world, json!({ "dismiss_stale_reviews": true })).await;
            }
            => "repository" "failed" "a push dismisses approvals", "Dismiss stale pull request approvals";
        "approvals of the last push", |yard| {
                yard.with_repo = true;
                protect(&yard.world, json!({ "require_last_push_approval": true })).await;
            }
            => "repository" "warning" "needs a new approval", "most recent reviewable push";
    })
    .await;
}

async fn protect(world: &World, reviews: Value) {
    let protection = json!({
        "required_status_checks": null, "enforce_admins": null, "restrictions": null,
        "required_pull_request_reviews": reviews,
    });
    world.call(Method::PUT, &format!("/repos/{REPO}/branches/main/protection"), protection).await;
}
