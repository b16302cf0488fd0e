//! Where links in answers point.

#[derive(Clone, Debug)]
pub struct Urls {
    /// `http://127.0.0.1:8930`, without a slash at the end.
    pub web: String,
}

impl Urls {
    pub fn api(&self, path: impl std::fmt::Display) -> String {
        format!("{}/api/v3{path}", self.web)
    }

    pub fn web(&self, path: impl std::fmt::Display) -> String {
        format!("{}{path}", self.web)
    }

    pub fn graphql(&self) -> String {
        format!("{}/api/graphql", self.web)
    }

    pub fn control(&self) -> String {
        format!("{}/_sim", self.web)
    }
}

/// Percent-encodes everything but the characters that never need it, so that `/` becomes `%2F`.
pub fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}
