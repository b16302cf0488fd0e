//! A running daemon, as the commands beside it see it: through its API.

mod error;
mod events;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use crate::config::{Config, Environment, Secret};

pub use error::Error;
pub use events::{EventStream, ServerSentEvent};

/// A daemon that has not answered by then does not. Of what it tells as it happens, something comes every fifteen seconds.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The daemon gives out no more at once.
const LONGEST_PAGE: usize = 200;

/// Where the daemon is, and who asks.
#[derive(clap::Args)]
pub struct DaemonAccess {
    /// The daemon's URL (default: the address in the configuration).
    #[arg(long, value_name = "URL", env = "MERGE_TRAIN_SERVER", global = true)]
    server: Option<String>,
    /// The API key, one of [[api_keys]] in the configuration. Set it in the environment to hide it from other users of
    /// this machine.
    #[arg(long, value_name = "KEY", env = "MERGE_TRAIN_API_KEY", hide_env_values = true, global = true)]
    key: Option<String>,
    /// The configuration (default: merge-train.toml in the working directory, if it exists).
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

/// A daemon to talk to.
pub struct DaemonClient {
    http: reqwest::Client,
    url: String,
    key: Secret,
}

/// What the daemon answers to somebody who wants something.
pub struct ApiResponse<T> {
    pub body: T,
    pub progress: ResponseProgress,
    pub novelty: RequestNovelty,
}

/// How far it is with that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseProgress {
    Done,
    /// It will be done; who wants to know looks again.
    UnderWay,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestNovelty {
    First,
    /// It came before under the same id and was done then.
    Again,
}

/// The beginning of a list.
pub struct PartialList<T> {
    pub items: Vec<T>,
    pub rest: ListRemainder,
}

/// Whether something of a list is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListRemainder {
    Nothing,
    More,
}

impl DaemonAccess {
    /// The daemon that is meant. Nothing is sent yet.
    pub fn daemon(&self) -> anyhow::Result<DaemonClient> {
        let url = match &self.server {
            Some(url) => url.clone(),
            None => {
                let config = Config::load(self.config.as_deref(), &Environment::of_process()).context(
                    "the configuration does not give the daemon's address; use --server or MERGE_TRAIN_SERVER",
                )?;
                address(config.server.public_url.as_deref(), config.server.bind_address)?
            }
        };
        let key = self.key.clone().filter(|key| !key.trim().is_empty()).ok_or(Error::NoKey)?;
        DaemonClient::new(&url, Secret::new(key.trim()))
    }
}

/// Where a daemon of this configuration is reached from this machine.
fn address(public_url: Option<&str>, bind_address: SocketAddr) -> anyhow::Result<String> {
    if let Some(url) = public_url {
        return Ok(url.to_owned());
    }
    anyhow::ensure!(
        bind_address.port() != 0,
        "server.bind_address is {bind_address}, so only the daemon knows its port: use --server with the URL that the \
         daemon prints at start"
    );
    // To listen on every address is no place to connect to.
    let ip = match bind_address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    Ok(format!("http://{}", SocketAddr::new(ip, bind_address.port())))
}

impl DaemonClient {
    fn new(url: &str, key: Secret) -> anyhow::Result<Self> {
        let wrong = || Error::BadAddress { url: url.to_owned() };
        let parsed = Url::parse(url).ok().filter(|url| ["http", "https"].contains(&url.scheme())).ok_or_else(wrong)?;
        let mut http = reqwest::Client::builder()
            .connect_timeout(TIMEOUT)
            .read_timeout(TIMEOUT)
            .user_agent(concat!("merge-train/", env!("CARGO_PKG_VERSION")));
        if github::is_this_machine(parsed.host().ok_or_else(wrong)?) {
            // No proxy can reach it.
            http = http.no_proxy();
        }
        Ok(Self { http: http.build()?, url: url.trim_end_matches('/').to_owned(), key })
    }

    /// What is at a path of the API.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.read(self.send(self.request(Method::GET, path)).await?).await
    }

    /// Everything in a list of the API, whose pages have it under `name`.
    pub async fn list<T: DeserializeOwned>(&self, path: &str, name: &str) -> Result<Vec<T>, Error> {
        Ok(self.list_and_rest(path, name).await?.0)
    }

    /// All items of a list, and what its last page says besides.
    pub async fn list_and_rest<T: DeserializeOwned>(&self, path: &str, name: &str) -> Result<(Vec<T>, Value), Error> {
        let mut all = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let query = cursor.iter().map(|cursor| ("cursor", cursor.as_str()));
            let request = self.request(Method::GET, path).query(&query.collect::<Vec<_>>());
            let mut page: Value = self.read(self.send(request).await?).await?;
            let items = page.get_mut(name).map(Value::take).unwrap_or_default();
            all.extend(serde_json::from_value::<Vec<T>>(items).map_err(|_| self.no_daemon())?);
            cursor = page.get("next_cursor").and_then(Value::as_str).map(str::to_owned);
            if cursor.is_none() {
                return Ok((all, page));
            }
        }
    }

    /// The first of a list that `query` narrows down: `most` of them, or all.
    pub async fn partial_list<T: DeserializeOwned>(
        &self,
        (path, name): (&str, &str),
        query: &[(&str, String)],
        most: Option<usize>,
    ) -> Result<PartialList<T>, Error> {
        let mut items = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let left = most.map_or(LONGEST_PAGE, |most| most.saturating_sub(items.len()));
            let limit = left.clamp(1, LONGEST_PAGE).to_string();
            let besides = [("limit", limit)].into_iter().chain(cursor.map(|cursor| ("cursor", cursor)));
            let request = self.request(Method::GET, path).query(query).query(&besides.collect::<Vec<_>>());
            let mut page: Value = self.read(self.send(request).await?).await?;
            let found = page.get_mut(name).map(Value::take).unwrap_or_default();
            items.extend(serde_json::from_value::<Vec<T>>(found).map_err(|_| self.no_daemon())?);
            cursor = page.get("next_cursor").and_then(Value::as_str).map(str::to_owned);
            match &cursor {
                None => return Ok(PartialList { items, rest: ListRemainder::Nothing }),
                Some(_) if most.is_some_and(|most| items.len() >= most) => {
                    return Ok(PartialList { items, rest: ListRemainder::More });
                }
                Some(_) => {}
            }
        }
    }

    /// Asks for something, once however often it is called with the same `id`.
    pub async fn post_without_body<T: DeserializeOwned>(&self, path: &str, id: &str) -> Result<T, Error> {
        let request = self.request(Method::POST, path).header("x-idempotency-key", id);
        self.read(self.send(request).await?).await
    }

    /// Asks for something that takes more words, once however often it is called with the same `id`.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        id: &str,
        body: &impl Serialize,
    ) -> Result<ApiResponse<T>, Error> {
        self.send_json(Method::POST, path, id, body).await
    }

    /// Has something be so, once however often it is called with the same `id`.
    pub async fn put<T: DeserializeOwned>(
        &self,
        path: &str,
        id: &str,
        body: &impl Serialize,
    ) -> Result<ApiResponse<T>, Error> {
        self.send_json(Method::PUT, path, id, body).await
    }

    async fn send_json<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        id: &str,
        body: &impl Serialize,
    ) -> Result<ApiResponse<T>, Error> {
        let request = self.request(method, path).header("x-idempotency-key", id).json(body);
        let response = self.send(request).await?;
        let is_under_way = response.status() == StatusCode::ACCEPTED;
        let is_repeated = response.headers().contains_key("idempotent-replayed");
        let progress = if is_under_way { ResponseProgress::UnderWay } else { ResponseProgress::Done };
        let novelty = if is_repeated { RequestNovelty::Again } else { RequestNovelty::First };
        Ok(ApiResponse { body: self.read(response).await?, progress, novelty })
    }

    /// What is at a path of the API that is no JSON, however long it takes to read all of it.
    pub async fn bytes(&self, path: &str) -> Result<Vec<u8>, Error> {
        let response = self.send(self.ask(Method::GET, path)).await?;
        if !response.status().is_success() {
            return self.read::<Value>(response).await.and(Err(self.no_daemon()));
        }
        let body = response.bytes().await.map_err(|source| Error::Unreachable { url: self.url.clone(), source })?;
        Ok(body.into())
    }

    /// What happens, as it happens, from after the event `heard` on.
    pub async fn watch(&self, path: &str, heard: Option<&str>) -> Result<EventStream, Error> {
        let mut request = self.ask(Method::GET, path).header("accept", events::MEDIA_TYPE);
        if let Some(id) = heard {
            request = request.header("last-event-id", id);
        }
        let response = self.send(request).await?;
        if !response.status().is_success() {
            return self.read::<Value>(response).await.and(Err(self.no_daemon()));
        }
        EventStream::of(response, &self.url)
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.ask(method, path).timeout(TIMEOUT)
    }

    /// Without an end to the time that the answer may take.
    fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.url));
        // A run remembers what set it off.
        request.bearer_auth(self.key.expose()).header("x-merge-train-client", "cli")
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, Error> {
        request.send().await.map_err(|source| Error::Unreachable { url: self.url.clone(), source })
    }

    async fn read<T: DeserializeOwned>(&self, response: Response) -> Result<T, Error> {
        let status = response.status().as_u16();
        let body = response.bytes().await.map_err(|source| Error::Unreachable { url: self.url.clone(), source })?;
        if (200..300).contains(&status) {
            return serde_json::from_slice(&body).map_err(|_| self.no_daemon());
        }
        Err(Error::refused(&self.url, status, &body))
    }

    fn no_daemon(&self) -> Error {
        Error::NoDaemon { url: self.url.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_says_where_the_daemon_is() {
        let at = |public: Option<&str>, bind: &str| address(public, bind.parse().unwrap()).map_err(|e| e.to_string());
        assert_eq!(at(None, "0.0.0.0:8080"), Ok("http://127.0.0.1:8080".into()));
        assert_eq!(at(None, "[::]:8080"), Ok("http://[::1]:8080".into()));
        assert_eq!(at(None, "10.0.0.7:80"), Ok("http://10.0.0.7:80".into()));
        assert_eq!(at(Some("https://train.example"), "0.0.0.0:0"), Ok("https://train.example".into()));
        let told = at(None, "127.0.0.1:0").expect_err("nobody knows the port");
        assert!(told.contains("use --server with the URL"), "{told}");
    }

    #[test]
    fn an_address_that_is_none_is_told() {
        for url in ["", "localhost:8080", "ftp://x", "nonsense"] {
            let told = DaemonClient::new(url, Secret::new("k")).err().expect("no address").to_string();
            assert!(told.contains("http://"), "{told}");
        }
    }
}
