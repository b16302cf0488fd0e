//! What a command prints: one JSON value.

use merge_train_core::workflow::{CommandOutput, is_too_deep};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::sync::CancellationToken;

use super::step_failure::StepFailure;

/// A command printed more than it may.
pub struct OutputTooLarge;

/// Reads to the end, or until it is too much. Then `too_much` is told, and nobody reads on: who prints endlessly fails of it.
pub async fn read(
    mut pipe: impl AsyncRead + Unpin,
    limit: usize,
    too_much: CancellationToken,
) -> Result<Vec<u8>, OutputTooLarge> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
        if count > limit - bytes.len() {
            too_much.cancel();
            return Err(OutputTooLarge);
        }
        bytes.extend_from_slice(&chunk[..count]);
    }
    Ok(bytes)
}

pub fn parse(bytes: &[u8]) -> Result<CommandOutput, StepFailure> {
    let text = std::str::from_utf8(bytes).map_err(StepFailure::NotUtf8)?;
    if text.trim().is_empty() {
        return Err(StepFailure::Silent);
    }
    let value: Value = serde_json::from_str(text).map_err(StepFailure::NotJson)?;
    if is_too_deep(&value) {
        return Err(StepFailure::TooDeep);
    }
    let tokens_used = value.get("tokensUsed").and_then(|used| serde_json::from_value(used.clone()).ok());
    Ok(CommandOutput { value, tokens_used })
}
