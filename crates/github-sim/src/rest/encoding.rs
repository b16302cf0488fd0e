//! Base64 as GitHub writes and reads it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::http::ApiError;

const LINE: usize = 60;

/// Lines of sixty characters, each ended.
pub fn wrapped_base64(encoded: &str) -> String {
    let mut wrapped = String::with_capacity(encoded.len() + encoded.len() / LINE + 1);
    for line in encoded.as_bytes().chunks(LINE) {
        wrapped.push_str(std::str::from_utf8(line).expect("base64 is ASCII"));
        wrapped.push('\n');
    }
    wrapped
}

/// Line ends anywhere are fine.
pub fn decode_base64(text: &str) -> Result<Vec<u8>, ApiError> {
    let compact: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    STANDARD.decode(compact).map_err(|_| ApiError::unprocessable("content is not valid Base64"))
}
