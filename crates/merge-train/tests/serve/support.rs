//! A daemon to test, and somebody who sends it webhooks.

mod daemon;
mod database;
mod log;
mod sender;

use std::future::Future;
use std::time::Duration;

pub use daemon::{Daemon, KEY, SECRET, Setup};
pub use database::Database;
pub use log::Log;
pub use sender::{Sender, comment, pull_request, sign};

/// Long enough for a machine under load; nothing waits this long unless something is wrong.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `look` finds something.
pub async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, mut look: impl FnMut() -> F) -> T {
    let waiting = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("in vain: {what}"))
}

pub fn http() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().expect("a client")
}
