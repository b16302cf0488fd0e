use std::sync::OnceLock;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use github::{Auth, Client, ConfigError, Error, Secret};
use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use merge_train_core::ids::InstallationId;
use serde::Deserialize;
use serde_json::json;

use super::{at, config, settings, widgets};
use crate::server::{Reply, Sent, Server};

const MINT: &str = "POST /api/v3/app/installations/7/access_tokens";
const LOOK_UP: &str = "GET /api/v3/repos/acme/widgets/installation";

struct Key {
    pem: String,
    public: Vec<u8>,
}

fn key() -> &'static Key {
    static KEY: OnceLock<Key> = OnceLock::new();
    KEY.get_or_init(|| {
        let pair = KeyPair::generate(KeySize::Rsa2048).expect("a key can be made");
        let der: Pkcs8V1Der = pair.as_der().expect("a key can be written down");
        let lines: Vec<u8> = STANDARD.encode(der.as_ref()).into_bytes();
        let body: Vec<String> = lines.chunks(64).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", body.join("\n"));
        Key { pem, public: pair.public_key().as_ref().to_vec() }
    })
}

#[derive(Debug, Deserialize)]
struct Claims {
    iat: i64,
    exp: i64,
    iss: String,
}

/// The claims of a JWT that the app's key signed.
fn claims(token: &str) -> Claims {
    let mut validation = Validation::new(Algorithm::RS256);
    validation.validate_exp = false;
    let decoded = jsonwebtoken::decode(token, &DecodingKey::from_rsa_der(&key().public), &validation);
    decoded.expect("the app's key signed it").claims
}

fn app(server: &Server, installation_id: Option<u64>) -> Client {
    let auth = Auth::App {
        app_id: 42,
        private_key_pem: Secret::new(key().pem.clone()),
        installation_id: installation_id.map(InstallationId::new),
    };
    Client::new(&config(server, auth)).expect("the key and the addresses are good")
}

/// The n-th token is `ghs_n`, and good for `minutes`.
fn minted(sent: &Sent, minutes: i64) -> Reply {
    let expires_at = Timestamp::now() + SignedDuration::from_mins(minutes);
    Reply::json(201, &json!({"token": format!("ghs_{}", sent.nth), "expires_at": expires_at.to_string()}))
}

fn usual(sent: &Sent) -> Reply {
    match sent.name().as_str() {
        LOOK_UP => Reply::ok(&json!({"id": 7})),
        MINT => minted(sent, 60),
        _ => Reply::ok(&settings()),
    }
}

#[tokio::test]
async fn a_token_is_gotten_once_and_used_for_all_calls() {
    let server = Server::start(usual).await;
    let client = app(&server, None);
    let repo = client.repo(&widgets());
    for _ in 0..3 {
        repo.settings().await.unwrap();
    }
    assert_eq!((server.count(LOOK_UP), server.count(MINT)), (1, 1));
    let sent = server.sent();
    let jwt = claims(sent[0].bearer());
    assert_eq!(jwt.iss, "42");
    assert!(jwt.iat <= Timestamp::now().as_second() - 60, "dated back, for GitHub's clock may be behind");
    assert!(jwt.exp - jwt.iat <= 600, "GitHub allows ten minutes");
    assert!(jwt.exp > Timestamp::now().as_second() + 60);
    assert!(sent[2..].iter().all(|call| call.bearer() == "ghs_0"));
    assert_eq!(client.token_for(&widgets()).await.unwrap().expose(), "ghs_0");
}

#[tokio::test]
async fn callers_at_the_same_time_share_one_request_for_a_token() {
    let server = Server::start(usual).await;
    let client = app(&server, None);
    let calls = (0..20).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { client.repo(&widgets()).settings().await.map(|_| ()) })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap().unwrap();
    }
    assert_eq!((server.count(LOOK_UP), server.count(MINT)), (1, 1));
}

#[tokio::test]
async fn a_token_is_renewed_five_minutes_before_it_expires() {
    let server = Server::start(|sent| match sent.name().as_str() {
        MINT => minted(sent, if sent.nth == 0 { 4 } else { 60 }),
        _ => usual(sent),
    })
    .await;
    let repo = app(&server, None).repo(&widgets());
    for _ in 0..3 {
        repo.settings().await.unwrap();
    }
    let used: Vec<_> =
        server.sent().iter().filter(|sent| sent.path == at("")).map(|sent| sent.bearer().to_owned()).collect();
    assert_eq!(used, ["ghs_0", "ghs_1", "ghs_1"]);
}

#[tokio::test]
async fn an_old_token_is_used_on_while_no_new_one_can_be_gotten() {
    let server = Server::start(|sent| match (sent.name().as_str(), sent.nth) {
        (MINT, 0) => minted(sent, 4),
        (MINT, _) => Reply::error(502, "down"),
        _ => usual(sent),
    })
    .await;
    let repo = app(&server, None).repo(&widgets());
    repo.settings().await.unwrap();
    repo.settings().await.unwrap();
    assert!(server.count(MINT) > 1, "it was tried");
    assert_eq!(server.sent().last().unwrap().bearer(), "ghs_0");
}

#[tokio::test]
async fn a_refused_token_is_replaced_once() {
    let server = Server::start(|sent| match sent.bearer() {
        "ghs_0" => Reply::error(401, "Bad credentials"),
        _ => usual(sent),
    })
    .await;
    let repo = app(&server, Some(7)).repo(&widgets());
    repo.settings().await.unwrap();
    assert_eq!((server.count(MINT), server.count(LOOK_UP)), (2, 0), "the installation was given");
    repo.settings().await.unwrap();
    assert_eq!(server.count(MINT), 2);
}

#[tokio::test]
async fn credentials_that_are_never_accepted_are_not_tried_for_ever_and_not_shown() {
    let server = Server::start(|sent| match sent.bearer() {
        token if token.starts_with("ghs_") => Reply::error(401, "Bad credentials"),
        _ => usual(sent),
    })
    .await;
    let client = app(&server, None);
    let error = client.repo(&widgets()).settings().await.unwrap_err();
    assert!(matches!(error, Error::Unauthorized { .. }), "{error}");
    assert_eq!(server.sent().iter().filter(|sent| sent.path == at("")).count(), 2);
    for shown in [error.to_string(), format!("{error:?}"), format!("{:?}", client.token_for(&widgets()).await)] {
        assert!(!shown.contains("ghs_"), "{shown}");
    }
}

#[tokio::test]
async fn a_clock_that_is_wrong_by_an_hour_does_not_matter() {
    let theirs = || Timestamp::now() - SignedDuration::from_hours(1);
    let date = move || {
        let date = jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&theirs());
        date.expect("a date of this century")
    };
    let server = Server::start(move |sent| {
        let in_time = |jwt: &Claims| (jwt.iat..=jwt.exp).contains(&theirs().as_second());
        let as_app = matches!(sent.name().as_str(), LOOK_UP | MINT);
        if as_app && !in_time(&claims(sent.bearer())) {
            let message =
                "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued";
            return Reply::error(401, message).with("date", date());
        }
        match sent.name().as_str() {
            // An hour from their present, which is now for us.
            MINT => minted(sent, 0).with("date", date()),
            _ => usual(sent).with("date", date()),
        }
    })
    .await;
    let repo = app(&server, None).repo(&widgets());
    repo.settings().await.unwrap();
    repo.settings().await.unwrap();
    assert_eq!((server.count(LOOK_UP), server.count(MINT)), (2, 1), "only the first was signed for the wrong time");
}

#[tokio::test]
async fn an_installation_that_was_replaced_is_looked_up_again() {
    let server = Server::start(|sent| match (sent.name().as_str(), sent.nth) {
        (LOOK_UP, 0) => Reply::ok(&json!({"id": 6})),
        (LOOK_UP, _) => Reply::ok(&json!({"id": 7})),
        ("POST /api/v3/app/installations/6/access_tokens", _) => Reply::error(404, "Not Found"),
        _ => usual(sent),
    })
    .await;
    let client = app(&server, None);
    client.repo(&widgets()).settings().await.unwrap();
    client.forget_installations_of("ACME");
    client.repo(&widgets()).settings().await.unwrap();
    assert_eq!(server.count(LOOK_UP), 3);
}

#[tokio::test]
async fn an_app_that_is_not_installed_is_not_found_and_asks_again_later() {
    let server = Server::start(|sent| match (sent.name().as_str(), sent.nth) {
        (LOOK_UP, 0) => Reply::error(404, "Not Found"),
        _ => usual(sent),
    })
    .await;
    let repo = app(&server, None).repo(&widgets());
    assert!(matches!(repo.settings().await, Err(Error::NotFound { .. })));
    repo.settings().await.unwrap();
}

#[tokio::test]
async fn the_app_and_its_bot_are_known() {
    let server = Server::start(|sent| match sent.path.as_str() {
        "/api/v3/app" => Reply::ok(&json!({"id": 42, "slug": "trains", "name": "Trains"})),
        "/api/v3/users/trains[bot]" | "/api/v3/users/trains%5Bbot%5D" => {
            Reply::ok(&json!({"id": 99, "login": "trains[bot]", "type": "Bot"}))
        }
        _ => usual(sent),
    })
    .await;
    let client = app(&server, None);
    assert_eq!(client.app().await.unwrap().unwrap().slug, "trains");
    assert_eq!(client.whoami(&widgets()).await.unwrap().id.get(), 99);
    let names: Vec<_> = client.stats().into_iter().map(|governor| governor.name).collect();
    assert_eq!(names, ["app", "installation 7"]);
}

#[test]
fn a_key_that_is_none_is_refused_at_start_and_not_shown() {
    for pem in ["", "hunter2", "-----BEGIN PRIVATE KEY-----\naHVudGVyMg==\n-----END PRIVATE KEY-----\n"] {
        let auth = Auth::App { app_id: 1, private_key_pem: Secret::new(pem), installation_id: None };
        let config = github::Config::new(auth);
        assert!(!format!("{config:?}").contains("hunter2") && !format!("{config:?}").contains("aHVudGVyMg"));
        assert!(matches!(Client::new(&config), Err(ConfigError::PrivateKey)), "{pem}");
    }
}
