//! What the file of a private SSH key says without its secret: whether it is locked, and its public half.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// A private key, as far as its file tells everybody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PrivateKey {
    pub lock: Lock,
    /// As in a `.pub` file: the kind and the key. Only OpenSSH's own format holds it in the clear.
    pub public: Option<String>,
}

/// Whether a passphrase stands before the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lock {
    Open,
    Passphrase,
}

const OPENSSH: (&str, &str) = ("-----BEGIN OPENSSH PRIVATE KEY-----", "-----END OPENSSH PRIVATE KEY-----");
const MAGIC: &[u8] = b"openssh-key-v1\0";

/// Reads a key file. None: it is not a private key.
pub(super) fn parse(text: &str) -> Option<PrivateKey> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix(OPENSSH.0) {
        return parse_openssh(rest.split(OPENSSH.1).next()?);
    }
    if !(text.starts_with("-----BEGIN ") && text.lines().next()?.ends_with(" PRIVATE KEY-----")) {
        return None;
    }
    let locked = text.starts_with("-----BEGIN ENCRYPTED ") || text.lines().any(|line| line.contains("4,ENCRYPTED"));
    Some(PrivateKey { lock: if locked { Lock::Passphrase } else { Lock::Open }, public: None })
}

/// The format is a magic word, the cipher, the key derivation and its options, the number of keys, the public key.
fn parse_openssh(base64: &str) -> Option<PrivateKey> {
    let compact: String = base64.split_whitespace().collect();
    let bytes = STANDARD.decode(compact).ok()?;
    let mut rest = bytes.strip_prefix(MAGIC)?;
    let cipher = string(&mut rest)?;
    let (_derivation, _options) = (string(&mut rest)?, string(&mut rest)?);
    number(&mut rest)?;
    let public = string(&mut rest)?;
    let kind = std::str::from_utf8(string(&mut &public[..])?).ok()?;
    Some(PrivateKey {
        lock: if cipher == b"none" { Lock::Open } else { Lock::Passphrase },
        public: Some(format!("{kind} {}", STANDARD.encode(public))),
    })
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    let (head, tail) = rest.split_first_chunk::<4>()?;
    *rest = tail;
    Some(u32::from_be_bytes(*head))
}

fn string<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(number(rest)?).ok()?;
    let (head, tail) = rest.split_at_checked(length)?;
    *rest = tail;
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn openssh(cipher: &str) -> String {
        let field = |bytes: &[u8]| [&u32::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat();
        let public = [field(b"ssh-ed25519"), field(&[7; 32])].concat();
        let parts =
            [MAGIC.to_vec(), field(cipher.as_bytes()), field(b"none"), field(b""), vec![0, 0, 0, 1], field(&public)];
        format!("{}\n{}\n{}\n", OPENSSH.0, STANDARD.encode(parts.concat()), OPENSSH.1)
    }

    #[test]
    fn the_public_half_and_the_lock_are_read_from_the_private_half() {
        let open = parse(&openssh("none")).unwrap();
        assert_eq!(open.lock, Lock::Open);
        assert!(open.public.unwrap().starts_with("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5"));
        assert_eq!(parse(&openssh("aes256-ctr")).unwrap().lock, Lock::Passphrase);
    }

    #[test]
    fn older_formats_say_whether_they_are_locked_and_no_more() {
        for (text, lock) in [
            ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n", Lock::Open),
            ("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: x\n\nMIIE\n", Lock::Passphrase),
            ("-----BEGIN PRIVATE KEY-----\nMIIE\n", Lock::Open),
            ("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIE\n", Lock::Passphrase),
        ] {
            assert_eq!(parse(text), Some(PrivateKey { lock, public: None }), "{text}");
        }
    }

    #[test]
    fn what_is_no_private_key_is_not_taken_for_one() {
        let cut = openssh("none").replace("AAAA", "");
        let texts =
            ["", "ssh-ed25519 AAAA x", "-----BEGIN CERTIFICATE-----\nMI", "-----BEGIN OPENSSH PRIVATE KEY-----\n!"];
        for text in texts.into_iter().chain([cut.as_str()]) {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
