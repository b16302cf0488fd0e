//! What a new data directory begins with: a site administrator, an app, and the app's key.

use std::collections::BTreeMap;
use std::path::Path;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::Sim;
use crate::http::ApiError;
use crate::start::{Options, StartError};
use crate::world::{
    Account, AccountKind, App, AppWebhook, Id, Installation, Meta, Selection, Settings, Token, TokenHolder, World,
};

/// GitHub's own id for the app behind Actions.
pub const ACTIONS_APP_ID: Id = 15368;
const FIRST_USER: &str = "octocat";
const APP_SLUG: &str = "merge-train";
/// Ids below are for the simulator's own accounts and apps.
const FIRST_FREE_ID: Id = 100_000;

/// Everything a bot that lands pull requests could ask for.
pub fn default_permissions() -> BTreeMap<String, String> {
    [
        ("actions", "write"),
        ("administration", "read"),
        ("checks", "write"),
        ("contents", "write"),
        ("issues", "write"),
        ("members", "read"),
        ("metadata", "read"),
        ("pull_requests", "write"),
        ("repository_hooks", "write"),
        ("statuses", "write"),
        ("workflows", "write"),
    ]
    .into_iter()
    .map(|(name, level)| (name.to_owned(), level.to_owned()))
    .collect()
}

/// Every event the simulator can send to an app.
pub const APP_EVENTS: &[&str] = &[
    "check_run",
    "check_suite",
    "create",
    "delete",
    "issue_comment",
    "issues",
    "label",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_thread",
    "push",
    "status",
    "workflow_run",
];

pub(crate) fn prepare(sim: &Sim, options: &Options) -> Result<(), StartError> {
    let setup = |error: ApiError| StartError::Setup { reason: error.message };
    if sim.read(|world| world.meta.get(0, 0).is_none()) {
        let key = new_key(options.app_key.as_deref())?;
        let path = sim.data().join("app.private-key.pem");
        std::fs::write(&path, &key.private_pem).map_err(|source| StartError::Data { path: path.clone(), source })?;
        let seed = options.seed.unwrap_or_else(|| fastrand::u64(..));
        sim.write(|world| {
            begin(world, seed, &key);
            Ok(())
        })
        .map_err(setup)?;
    }
    if let Some(url) = &options.webhook_url {
        sim.write(|world| {
            let app = main_app(world).id;
            world.apps.edit(0, app).expect("the main app is never deleted").webhook.url = Some(url.clone());
            Ok(())
        })
        .map_err(setup)?;
    }
    Ok(())
}

fn begin(world: &mut World, seed: u64, key: &AppKey) {
    world.meta.insert(Meta {
        seed,
        draws: 0,
        last_id: FIRST_FREE_ID,
        last_fault_id: 0,
        clock_offset_ms: 0,
        settings: Settings::default(),
    });
    let first = add_account(world, FIRST_USER, AccountKind::User);
    world.accounts.edit(0, first).expect("just added").site_admin = true;
    add_user_token(world, first);
    let bot = add_account(world, "github-actions[bot]", AccountKind::Bot);
    let mut actions = new_app(world, "github-actions", "GitHub Actions", first, bot, key);
    actions.id = ACTIONS_APP_ID;
    // Nobody can sign as GitHub's own app.
    actions.public_key = String::new();
    world.apps.insert(actions);
    let bot = add_account(world, &format!("{APP_SLUG}[bot]"), AccountKind::Bot);
    let mut app = new_app(world, APP_SLUG, "Merge Train", first, bot, key);
    app.webhook.secret = Some(world.random_alphanumeric(40));
    app.events = APP_EVENTS.iter().map(ToString::to_string).collect();
    app.permissions = default_permissions();
    world.apps.insert(app);
}

/// The app that `sim.json` describes: the first that is not GitHub's own.
pub fn main_app(world: &World) -> &App {
    world.apps.within(0).find(|app| app.slug == APP_SLUG).expect("made when the data directory was")
}

/// A new account; the login must be free.
pub fn add_account(world: &mut World, login: &str, kind: AccountKind) -> Id {
    let (id, created_at) = (world.next_id(), world.now);
    world.accounts.insert(Account {
        id,
        login: login.to_owned(),
        kind,
        name: None,
        email: None,
        site_admin: false,
        members: BTreeMap::new(),
        created_at,
    });
    id
}

/// A personal token that never expires.
pub fn add_user_token(world: &mut World, user: Id) -> String {
    let secret = format!("ghp_{}", world.random_alphanumeric(36));
    let id = world.next_id();
    world.tokens.insert(Token { id, secret: secret.clone(), holder: TokenHolder::User { user }, expires_at: None });
    secret
}

/// An app that is not stored yet.
pub fn new_app(world: &mut World, slug: &str, name: &str, owner: Id, bot: Id, key: &AppKey) -> App {
    let client = world.random_alphanumeric(16);
    App {
        id: world.next_id(),
        slug: slug.to_owned(),
        name: name.to_owned(),
        description: None,
        external_url: world.urls.web(format!("/apps/{slug}")),
        client_id: format!("Iv23{client}"),
        client_secret: world.random_alphanumeric(40).to_lowercase(),
        owner,
        bot,
        public_key: key.public_der.clone(),
        key_fingerprint: key.fingerprint.clone(),
        webhook: AppWebhook { url: None, secret: None, content_type: "json".into(), insecure_ssl: "0".into() },
        events: Vec::new(),
        permissions: BTreeMap::new(),
        created_at: world.now,
    }
}

/// Installs an app on an account; on all of its repositories unless told otherwise.
pub fn install(world: &mut World, app: Id, account: Id, selection: Selection) -> Id {
    let (permissions, events) = {
        let app = world.apps.get(0, app).expect("the caller looked the app up");
        (app.permissions.clone(), app.events.clone())
    };
    let (id, now) = (world.next_id(), world.now);
    world.installations.insert(Installation {
        id,
        app,
        account,
        selection,
        permissions,
        events,
        suspended_at: None,
        created_at: now,
        updated_at: now,
    });
    id
}

/// An app's key: the private half for its owner, the public half for the simulator.
pub struct AppKey {
    pub private_pem: String,
    pub public_der: String,
    pub fingerprint: String,
}

/// Reads the key in `file`, or makes one.
pub fn new_key(file: Option<&Path>) -> Result<AppKey, StartError> {
    let failed = |reason: String| StartError::Key { reason };
    let (pair, private_pem) = match file {
        Some(path) => {
            let pem = std::fs::read_to_string(path).map_err(|error| failed(format!("{}: {error}", path.display())))?;
            let body: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
            let der = STANDARD.decode(body).map_err(|error| failed(format!("{}: {error}", path.display())))?;
            let pair = KeyPair::from_pkcs8(&der)
                .or_else(|_| KeyPair::from_der(&der))
                .map_err(|error| failed(format!("{} is not an RSA key: {error}", path.display())))?;
            (pair, pem)
        }
        None => {
            let pair = KeyPair::generate(KeySize::Rsa2048).map_err(|error| failed(error.to_string()))?;
            let der: Pkcs8V1Der<'_> = pair.as_der().map_err(|error| failed(error.to_string()))?;
            let pem = pem("PRIVATE KEY", der.as_ref());
            (pair, pem)
        }
    };
    let public = pair.public_key().as_ref();
    Ok(AppKey {
        private_pem,
        public_der: STANDARD.encode(public),
        fingerprint: format!("SHA256:{}", STANDARD.encode(digest(&SHA256, public))),
    })
}

fn pem(label: &str, der: &[u8]) -> String {
    let encoded = STANDARD.encode(der);
    let lines: Vec<&str> =
        encoded.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).expect("base64 is ASCII")).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// What `sim.json` says.
pub(crate) fn description(sim: &Sim) -> Value {
    let urls = sim.urls();
    sim.read(|world| {
        let users: Vec<Value> = world
            .accounts
            .within(0)
            .filter(|account| account.kind == AccountKind::User)
            .map(|account| {
                let token = world.tokens.within(0).find(|token| {
                    matches!(token.holder, TokenHolder::User { user } if user == account.id)
                });
                json!({ "login": account.login, "token": token.map(|token| &token.secret), "site_admin": account.site_admin })
            })
            .collect();
        let app = main_app(world);
        json!({
            "api_url": urls.api(""),
            "graphql_url": urls.graphql(),
            "git_url": urls.web(""),
            "web_url": urls.web(""),
            "control_url": urls.control(),
            "users": users,
            "app": {
                "id": app.id,
                "slug": app.slug,
                "private_key_path": sim.data().join("app.private-key.pem"),
                "webhook_secret": app.webhook.secret,
            },
        })
    })
}

/// The main app is installed wherever a repository is, unless the simulator was told otherwise.
pub fn ensure_installed(world: &mut World, account: Id, sender: Id) {
    let app = main_app(world).id;
    let installed = world.installations.within(0).any(|found| found.app == app && found.account == account);
    if installed || !world.settings().auto_install {
        return;
    }
    let installation = install(world, app, account, Selection::All);
    crate::webhooks::emit::installation(
        world,
        installation,
        sender,
        crate::webhooks::emit::InstallationAction::Created,
    );
}
