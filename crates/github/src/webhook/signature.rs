//! `X-Hub-Signature-256`: proof that whoever sent the body knows the secret.

use std::fmt;

use aws_lc_rs::hmac;

const SCHEME: &str = "sha256=";
/// SHA-256 has 32 bytes.
const DIGEST_LEN: usize = 32;

/// The secrets that a signature may be made with: more than one while they are being rotated.
#[derive(Clone)]
pub struct Secrets(Vec<hmac::Key>);

/// Why the secrets of the configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretsError {
    #[error("no webhook secret is set, so anybody could send webhooks: set the one that GitHub was given")]
    None,
    #[error("webhook secret {position} of {count} is empty: remove it or fill it in")]
    Empty { position: usize, count: usize },
}

/// Why a body is not believed to come from GitHub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("the delivery is not signed: set a secret in the webhook's settings at GitHub")]
    Missing,
    #[error("the signature is not of the form sha256=<64 hexadecimal digits>")]
    Malformed,
    #[error("the signature does not match: another secret, or another body")]
    Mismatch,
}

impl Secrets {
    /// All of them are accepted; an empty one would make every forgery valid and is refused.
    pub fn new(secrets: Vec<String>) -> Result<Self, SecretsError> {
        let count = secrets.len();
        if count == 0 {
            return Err(SecretsError::None);
        }
        if let Some(index) = secrets.iter().position(|secret| secret.trim().is_empty()) {
            return Err(SecretsError::Empty { position: index + 1, count });
        }
        Ok(Self(secrets.iter().map(|secret| key(secret)).collect()))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({} × ***)", self.0.len())
    }
}

/// Checks the `X-Hub-Signature-256` of a body. The comparison takes the same time wherever the difference is.
pub fn verify(secrets: &Secrets, body: &[u8], signature_header: Option<&str>) -> Result<(), SignatureError> {
    let header = signature_header.ok_or(SignatureError::Missing)?;
    let hex = header.trim().strip_prefix(SCHEME).ok_or(SignatureError::Malformed)?;
    let mut digest = [0; DIGEST_LEN];
    hex::decode_to_slice(hex, &mut digest).map_err(|_| SignatureError::Malformed)?;
    if secrets.0.iter().any(|key| hmac::verify(key, body, &digest).is_ok()) {
        Ok(())
    } else {
        Err(SignatureError::Mismatch)
    }
}

fn key(secret: &str) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header that GitHub would send with this body.
    fn sign(secret: &str, body: &[u8]) -> String {
        format!("{SCHEME}{}", hex::encode(hmac::sign(&key(secret), body)))
    }

    fn secrets(secrets: &[&str]) -> Result<Secrets, SecretsError> {
        Secrets::new(secrets.iter().map(|secret| (*secret).to_owned()).collect())
    }

    #[test]
    fn the_example_of_the_documentation_verifies() {
        let secrets = secrets(&["It's a Secret to Everybody"]).unwrap();
        let header = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        assert_eq!(verify(&secrets, b"Hello, World!", Some(header)), Ok(()));
        assert_eq!(verify(&secrets, b"Hello, World?", Some(header)), Err(SignatureError::Mismatch));
        assert_eq!(sign("It's a Secret to Everybody", b"Hello, World!"), header);
    }

    #[test]
    fn any_of_the_rotating_secrets_is_accepted_and_no_other() {
        let both = secrets(&["old", "new"]).unwrap();
        for secret in ["old", "new"] {
            assert_eq!(verify(&both, b"{}", Some(&sign(secret, b"{}"))), Ok(()));
        }
        assert_eq!(verify(&both, b"{}", Some(&sign("stolen", b"{}"))), Err(SignatureError::Mismatch));
    }

    #[test]
    fn an_unsigned_or_garbled_signature_is_told_from_a_wrong_one() {
        let secrets = secrets(&["s"]).unwrap();
        assert_eq!(verify(&secrets, b"", None), Err(SignatureError::Missing));
        let sha1 = sign("s", b"").replace("sha256", "sha1");
        for header in ["", "sha256=", "sha256=abc", &sha1, &format!("sha256={}", "zz".repeat(32)), "sha256=ä"] {
            assert_eq!(verify(&secrets, b"", Some(header)), Err(SignatureError::Malformed), "{header:?}");
        }
    }

    #[test]
    fn no_secret_and_an_empty_secret_are_refused() {
        assert_eq!(secrets(&[]).unwrap_err(), SecretsError::None);
        for empty in ["", "  ", "\n"] {
            assert_eq!(secrets(&["good", empty]).unwrap_err(), SecretsError::Empty { position: 2, count: 2 });
        }
    }

    #[test]
    fn a_secret_is_not_printed() {
        assert!(!format!("{:?}", secrets(&["hunter2"]).unwrap()).contains("hunter2"));
    }
}
