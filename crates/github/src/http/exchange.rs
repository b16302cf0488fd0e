//! The way to GitHub and back. Nothing else in merge-train sends a request.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use jiff::Timestamp;
use parking_lot::Mutex;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, IF_NONE_MATCH, LOCATION};
use reqwest::{Response, StatusCode};
use tokio::time::Instant;
use url::Url;

use super::classify::{classify, server_time};
use super::{Answer, Caching, Call, EtagCache, Redirects};
use crate::config::{Config, ConfigError, Urls, is_this_machine};
use crate::error::{CallName, Error, Executed};
use crate::governor::{Ask, Attempt, Governor, Report, Verdict};
use merge_train_core::secret::Secret;

/// No answer of GitHub's that merge-train asks for comes near it.
const LARGEST_ANSWER: usize = 64 << 20;
/// A repository that was renamed, then transferred, then renamed.
const MOST_REDIRECTS: usize = 3;
const API_VERSION: &str = "2022-11-28";
const MEDIA_TYPE: &str = "application/vnd.github+json";

/// The HTTP client with what all tokens share.
pub(crate) struct Wire {
    http: reqwest::Client,
    pub urls: Urls,
    etags: Mutex<EtagCache>,
    request_timeout: Duration,
    /// How far GitHub's clock is ahead of ours, in seconds.
    clock_ahead: AtomicI64,
}

/// In whose name a call is made.
#[derive(Clone)]
pub(crate) struct Bearer {
    pub token: Secret,
    pub governor: Arc<Governor>,
    /// Tells apart whose cached answers these are.
    pub name: String,
}

impl Wire {
    pub(crate) fn new(config: &Config) -> Result<Self, ConfigError> {
        let user_agent =
            HeaderValue::from_str(&config.user_agent).map_err(|_| ConfigError::UserAgent(config.user_agent.clone()))?;
        let urls = Urls::new(config)?;
        let mut http = reqwest::Client::builder()
            .user_agent(user_agent)
            .connect_timeout(config.timeouts.connect)
            // Followed by hand: a token must not leave with a redirect.
            .redirect(reqwest::redirect::Policy::none());
        if urls.api.host().is_some_and(is_this_machine) {
            // No proxy can reach it.
            http = http.no_proxy();
        }
        let http = http.build().map_err(ConfigError::Http)?;
        Ok(Self {
            http,
            urls,
            etags: Mutex::new(EtagCache::new(config.etag_cache_bytes)),
            request_timeout: config.timeouts.request,
            clock_ahead: AtomicI64::new(0),
        })
    }

    /// GitHub's present, as far as its last answer tells.
    pub(crate) fn clock_ahead(&self) -> i64 {
        self.clock_ahead.load(Ordering::Relaxed)
    }

    /// Makes a call when the governor allows it, and repeats it where that is safe.
    pub(crate) async fn send(&self, bearer: &Bearer, call: &Call) -> Result<Answer, Error> {
        let name = call.name();
        let key = (bearer.name.clone(), call.url.to_string());
        let ask = Ask {
            priority: call.priority,
            effect: call.effect,
            resource: call.resource,
            deadline: Instant::now() + bearer.governor.limits().patience,
        };
        let etag = || match call.caching {
            Caching::ByEtag => self.etags.lock().etag(&key),
            Caching::No => None,
        };
        let attempt = |left: Duration| self.attempt(call, &name, &bearer.token, etag(), left);
        let answer = bearer.governor.run(ask, &name, attempt).await?;
        if answer.status == 304 {
            let confirmed = self.etags.lock().confirmed(&key);
            return match confirmed {
                Some(answer) => Ok(answer),
                // Another call pushed it out in the meantime.
                None => {
                    let attempt = |left: Duration| self.attempt(call, &name, &bearer.token, None, left);
                    bearer.governor.run(ask, &name, attempt).await
                }
            };
        }
        if call.caching == Caching::ByEtag && answer.status == 200 {
            self.etags.lock().keep(key, &answer);
        }
        Ok(answer)
    }

    async fn attempt(
        &self,
        call: &Call,
        name: &CallName,
        token: &Secret,
        etag: Option<String>,
        left: Duration,
    ) -> Attempt<Answer> {
        let exchange = self.exchange(call, name, Some(token), etag);
        // Never nothing at all: a call whose turn came at the last moment still gets a chance.
        let timeout = self.request_timeout.min(left.max(Duration::from_secs(1)));
        match tokio::time::timeout(timeout, exchange).await {
            Ok(Ok(answer)) => classify(answer, call),
            Ok(Err(error)) => {
                let failing = matches!(error, Error::Transient { .. });
                let verdict = if failing { Verdict::Failing } else { Verdict::Answered };
                Attempt { result: Err(error), report: Report { verdict, quota: None, retry_after: None } }
            }
            Err(_) => {
                let reason = format!("no complete answer within {} ms", timeout.as_millis());
                Attempt {
                    result: Err(Error::transient(name, reason, Executed::Perhaps)),
                    report: Report { verdict: Verdict::Failing, quota: None, retry_after: None },
                }
            }
        }
    }

    /// Makes a call in nobody's name, one time only. What is told of it is told by another name than its own.
    pub(crate) async fn send_once_as_nobody(&self, call: &Call, name: &CallName) -> Result<Answer, Error> {
        let exchange = self.exchange(call, name, None, None);
        let late = || Error::transient(name, "no complete answer in time", Executed::Perhaps);
        let answer = tokio::time::timeout(self.request_timeout, exchange).await.map_err(|_| late())??;
        classify(answer, call).result
    }

    async fn exchange(
        &self,
        call: &Call,
        name: &CallName,
        token: Option<&Secret>,
        etag: Option<String>,
    ) -> Result<Answer, Error> {
        let authorization = token.map(|token| authorization(name, token)).transpose()?;
        let mut url = call.url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let mut request = self
                .http
                .request(call.method.clone(), url.clone())
                .header(ACCEPT, MEDIA_TYPE)
                .header("x-github-api-version", API_VERSION);
            if let Some(authorization) = &authorization {
                request = request.header(AUTHORIZATION, authorization.clone());
            }
            if let Some(etag) = &etag {
                request = request.header(IF_NONE_MATCH, etag);
            }
            if let Some(body) = &call.body {
                request = request.header(CONTENT_TYPE, "application/json").body(body.clone());
            }
            let response = request.send().await.map_err(|error| failed(name, &error))?;
            fail::fail_point!("github: answered");
            self.note_clock(&response);
            match self.elsewhere(call, name, &response)? {
                Some(next) => url = next,
                None => return read(name, response).await,
            }
        }
        Err(Error::permanent(name, "GitHub sends it from one address to the next"))
    }

    /// Where a renamed repository is now. Only within GitHub's API, for the token goes along.
    fn elsewhere(&self, call: &Call, name: &CallName, response: &Response) -> Result<Option<Url>, Error> {
        let kept = matches!(response.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
        let moved = matches!(response.status(), StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND);
        if !(kept || moved && call.method == reqwest::Method::GET) || call.redirects == Redirects::Answer {
            return Ok(None);
        }
        let next = location(&call.url, response)
            .ok_or_else(|| Error::permanent(name, "GitHub sends it elsewhere and does not say where"))?;
        self.same_origin(name, &next).map(|()| Some(next))
    }

    /// Refuses an address that is not the API's: whoever is there would get the token.
    pub(crate) fn same_origin(&self, name: &CallName, url: &Url) -> Result<(), Error> {
        if url.origin() == self.urls.api.origin() || url.origin() == self.urls.graphql.origin() {
            return Ok(());
        }
        let host = url.host_str().unwrap_or("nowhere");
        Err(Error::permanent(name, format!("the answer leads to {host}, which is not GitHub's API")))
    }

    fn note_clock(&self, response: &Response) {
        if let Some(theirs) = server_time(response.headers()) {
            self.clock_ahead.store(theirs.as_second() - Timestamp::now().as_second(), Ordering::Relaxed);
        }
    }

    /// Reads the end of a document from an address that carries its own permission; no token goes there.
    pub(crate) async fn tail(&self, name: &CallName, url: Url, most_bytes: usize) -> Result<(Bytes, Whole), Error> {
        let reading = async {
            let response = self.http.get(url).send().await.map_err(|error| failed(name, &error))?;
            if !response.status().is_success() {
                let status = response.status().as_u16();
                return Err(if status == 404 || status == 410 {
                    Error::Gone { call: name.clone() }
                } else {
                    Error::transient(name, format!("the log's address answered {status}"), Executed::Perhaps)
                });
            }
            read_tail(name, response, most_bytes).await
        };
        let late = || Error::transient(name, "the log did not arrive in time", Executed::Perhaps);
        tokio::time::timeout(self.request_timeout, reading).await.map_err(|_| late())?
    }
}

/// Whether the beginning was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whole {
    Yes,
    No,
}

fn authorization(name: &CallName, token: &Secret) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose()))
        .map_err(|_| Error::permanent(name, "the token has characters that cannot be sent"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn location(from: &Url, response: &Response) -> Option<Url> {
    from.join(response.headers().get(LOCATION)?.to_str().ok()?).ok()
}

async fn read(name: &CallName, mut response: Response) -> Result<Answer, Error> {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| cut_off(name, &error))? {
        if body.len() + chunk.len() > LARGEST_ANSWER {
            return Err(Error::permanent(name, format!("the answer is larger than {} MB", LARGEST_ANSWER >> 20)));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer { call: name.clone(), status, headers, body: body.freeze() })
}

async fn read_tail(name: &CallName, mut response: Response, most_bytes: usize) -> Result<(Bytes, Whole), Error> {
    let (mut kept, mut whole) = (BytesMut::new(), Whole::Yes);
    while let Some(chunk) = response.chunk().await.map_err(|error| cut_off(name, &error))? {
        kept.extend_from_slice(&chunk);
        // Cut now and then rather than at each chunk: moving bytes is the cost.
        if kept.len() > 2 * most_bytes {
            whole = Whole::No;
            kept = kept.split_off(kept.len() - most_bytes);
        }
    }
    if kept.len() > most_bytes {
        whole = Whole::No;
        kept = kept.split_off(kept.len() - most_bytes);
    }
    Ok((kept.freeze(), whole))
}

fn failed(name: &CallName, error: &reqwest::Error) -> Error {
    if error.is_builder() {
        return Error::permanent(name, "the request could not be made");
    }
    if error.is_connect() {
        return Error::transient(name, format!("GitHub cannot be reached: {}", cause(error)), Executed::No);
    }
    Error::transient(name, format!("no answer: {}", cause(error)), Executed::Perhaps)
}

fn cut_off(name: &CallName, error: &reqwest::Error) -> Error {
    Error::transient(name, format!("the answer was cut off: {}", cause(error)), Executed::Perhaps)
}

/// The innermost cause; what is around it repeats the address.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    // An error without a cause prints its address, and an address may carry a secret.
    if cause.is::<reqwest::Error>() { "the connection failed".to_owned() } else { cause.to_string() }
}
