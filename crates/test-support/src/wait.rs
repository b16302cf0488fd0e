//! Waiting for a condition, with a deadline.

use std::time::Duration;

/// How long to wait before looking again.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Waits until `look` finds something, for `limit` at most. Where it finds nothing in time, the error says what was waited for.
pub async fn within<T, F: Future<Output = Option<T>>>(
    limit: Duration,
    what: &str,
    mut look: impl FnMut() -> F,
) -> Result<T, String> {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    };
    tokio::time::timeout(limit, looking).await.map_err(|_| format!("in vain: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_found_after_a_while_is_returned() {
        let mut looks = 0;
        let found = within(Duration::from_secs(60), "a third look", || {
            looks += 1;
            std::future::ready((looks == 3).then_some(looks))
        });
        assert_eq!(found.await, Ok(3));
    }

    #[tokio::test]
    async fn waiting_for_what_never_comes_ends_and_says_so() {
        let found = within(Duration::from_millis(50), "a fourth wheel", || std::future::ready(None::<()>)).await;
        assert_eq!(found, Err("in vain: a fourth wheel".to_owned()));
    }
}
