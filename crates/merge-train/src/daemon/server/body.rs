//! Bodies in flight, within a budget: however many come at once, memory stays bounded.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use futures_util::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::Problem;

/// The budget counts in pieces of this size.
const PIECE: usize = 1024;
/// Whoever sends slower than this would hold its share of the budget for ever.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// How much of a refused body is read to its end, and for how long.
const MOST_DISCARDED: usize = 64 << 20;
const DISCARD_TIMEOUT: Duration = Duration::from_secs(5);
/// So much is set aside for a body on the word of its header; the rest as it comes.
const TRUSTED: usize = 64 << 10;

pub struct BodyMemoryBudget {
    pieces: Arc<Semaphore>,
    total: usize,
    longest: usize,
}

/// A body, and its share of the budget until it is dropped.
pub struct BufferedBody {
    pub bytes: Bytes,
    _share: Vec<OwnedSemaphorePermit>,
}

impl BodyMemoryBudget {
    pub fn new(total: usize, longest: usize) -> Self {
        // A budget that no body fits into would refuse everything.
        let total = total.max(longest) / PIECE + 1;
        Self { pieces: Arc::new(Semaphore::new(total)), total, longest }
    }

    /// Bytes that are in flight now.
    pub fn in_flight(&self) -> usize {
        (self.total - self.pieces.available_permits()) * PIECE
    }

    /// Reads a body to its end.
    pub async fn read(&self, headers: &HeaderMap, body: Body) -> Result<BufferedBody, Problem> {
        let announced =
            headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
        let mut chunks = body.into_data_stream();
        if announced.is_some_and(|length| length > self.longest) {
            discard(chunks).await;
            return Err(self.too_long());
        }
        match tokio::time::timeout(READ_TIMEOUT, self.collect(announced.unwrap_or(0), &mut chunks)).await {
            Ok(Ok(held)) => Ok(held),
            Ok(Err(problem)) => {
                discard(chunks).await;
                Err(problem)
            }
            Err(_) => {
                let detail = format!("the body did not arrive within {} seconds", READ_TIMEOUT.as_secs());
                Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "TIMEOUT", detail))
            }
        }
    }

    async fn collect(&self, announced: usize, chunks: &mut BodyDataStream) -> Result<BufferedBody, Problem> {
        let mut share = Vec::new();
        let mut room = announced.min(TRUSTED);
        share.push(self.take(room)?);
        let mut first: Option<Bytes> = None;
        let mut all: Vec<u8> = Vec::new();
        let mut length = 0;
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_| Problem::bad_request("the body ended early"))?;
            length += chunk.len();
            if length > self.longest {
                return Err(self.too_long());
            }
            if length > room {
                share.push(self.take(length - room)?);
                room = length;
            }
            // Most bodies come in one piece, and need not be copied.
            match first.take() {
                None if all.is_empty() => first = Some(chunk),
                None => all.extend_from_slice(&chunk),
                Some(before) => {
                    all.reserve(announced.min(self.longest).max(length));
                    all.extend_from_slice(&before);
                    all.extend_from_slice(&chunk);
                }
            }
        }
        Ok(BufferedBody { bytes: first.unwrap_or_else(|| all.into()), _share: share })
    }

    fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Problem> {
        let pieces = u32::try_from(bytes.div_ceil(PIECE)).unwrap_or(u32::MAX);
        self.pieces
            .clone()
            .try_acquire_many_owned(pieces)
            .map_err(|_| Problem::unavailable("too many requests at once; nothing was accepted, please retry"))
    }

    fn too_long(&self) -> Problem {
        let detail = format!("the body is longer than {} bytes", self.longest);
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE", detail)
    }
}

/// Reads on for a while, keeping nothing: whoever is cut off in the middle of sending does not hear the answer.
async fn discard(mut chunks: BodyDataStream) {
    let rest = async {
        let mut length = 0;
        while let Some(Ok(chunk)) = chunks.next().await {
            length += chunk.len();
            if length > MOST_DISCARDED {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(DISCARD_TIMEOUT, rest).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(length: usize) -> HeaderMap {
        HeaderMap::from_iter([(header::CONTENT_LENGTH, length.into())])
    }

    #[tokio::test]
    async fn a_body_is_read_whole_and_gives_its_share_back() {
        let budget = BodyMemoryBudget::new(1 << 20, 1 << 20);
        let chunks = [vec![1_u8; 70_000], vec![2; 70_000], vec![3; 10]].map(Ok::<_, std::io::Error>);
        let body = Body::from_stream(futures_util::stream::iter(chunks));
        let held = budget.read(&HeaderMap::new(), body).await.unwrap();
        assert_eq!(held.bytes.len(), 140_010);
        assert_eq!((held.bytes[69_999], held.bytes[70_000], held.bytes[140_009]), (1, 2, 3));
        assert!(budget.in_flight() >= 140_010);
        drop(held);
        assert_eq!(budget.in_flight(), 0);
    }

    #[tokio::test]
    async fn what_is_too_long_is_refused_announced_or_not() {
        let budget = BodyMemoryBudget::new(1 << 20, 1000);
        let announced = budget.read(&headers(1001), Body::empty()).await;
        assert_eq!(announced.err().unwrap().status(), StatusCode::PAYLOAD_TOO_LARGE);
        let unannounced = budget.read(&HeaderMap::new(), Body::from(vec![0; 1001])).await;
        assert_eq!(unannounced.err().unwrap().status(), StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(budget.in_flight(), 0);
    }

    #[tokio::test]
    async fn beyond_the_budget_callers_are_told_to_come_back() {
        let budget = BodyMemoryBudget::new(100_000, 60_000);
        let first = budget.read(&headers(60_000), Body::from(vec![0; 60_000])).await.unwrap();
        let second = budget.read(&headers(60_000), Body::from(vec![0; 60_000])).await;
        assert_eq!(second.err().unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
        drop(first);
        assert!(budget.read(&headers(60_000), Body::from(vec![0; 60_000])).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_ends_is_given_up() {
        let budget = BodyMemoryBudget::new(1 << 20, 1 << 20);
        let body = Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
        assert_eq!(budget.read(&headers(10), body).await.err().unwrap().status(), StatusCode::REQUEST_TIMEOUT);
        assert_eq!(budget.in_flight(), 0);
    }
}
