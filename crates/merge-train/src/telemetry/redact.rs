//! The last line of defence: what looks like a credential does not leave the process in a log line.
//!
//! Secrets are kept out of messages where they are made; this is for the one that slips through, in somebody else's
//! error text or in the output of a program.

use std::io::{self, Write};
use std::sync::LazyLock;

use regex::bytes::Regex;
use tracing::Metadata;
use tracing_subscriber::fmt::MakeWriter;

/// What credentials look like. The group that a pattern begins with stays, so that a reader sees what it was.
///
/// No pattern asks for a word's boundary at its start: on a terminal a colour code may stand before it, and that ends in
/// a letter.
static CREDENTIALS: LazyLock<Regex> = LazyLock::new(|| {
    let patterns = [
        // GitHub's tokens, with the dots and dashes of those that carry a JWT.
        r"(?<github>gh[pousr]_|github_pat_)[A-Za-z0-9_.\-]+",
        r"(?<slack>xox[a-z]-|xapp-)[A-Za-z0-9\-]+",
        // The password in a URL, `x-access-token:…@` among them. A slash in it would have to be written %2F.
        r#"(?<userinfo>://[^/\s:@"']*:)[^/\s@"']+(?<at>@)"#,
        r#"(?<access>x-access-token:)[^\s@"'\\]+"#,
        r#"(?i)(?<scheme>bearer[ +:=]+|authorization["']?[ ]*[:=][ ]*["']?(?:basic|token)[ ]+)[A-Za-z0-9._~+/=\-]+"#,
        r"(?<jwt>eyJ)[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]+",
        r"(?s)(?<pem>-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
    ];
    let all: Vec<String> = patterns.iter().map(|pattern| format!("(?-u:{pattern})")).collect();
    Regex::new(&all.join("|")).expect("the patterns are right: every test of this module runs them")
});

const KEPT: &[&str] = &["github", "slack", "userinfo", "access", "scheme", "jwt", "pem"];

/// The bytes with everything that looks like a credential replaced by `***`.
pub fn redact(bytes: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    CREDENTIALS.replace_all(bytes, |found: &regex::bytes::Captures<'_>| {
        let kept = KEPT.iter().find_map(|name| found.name(name)).map_or(&b""[..], |kept| kept.as_bytes());
        let at = found.name("at").map_or(&b""[..], |at| at.as_bytes());
        [kept, b"***", at].concat()
    })
}

/// Writers whose lines are free of credentials.
pub struct Redacting<M>(M);

impl<M> Redacting<M> {
    pub fn new(inner: M) -> Self {
        Self(inner)
    }
}

impl<'a, M: MakeWriter<'a>> MakeWriter<'a> for Redacting<M> {
    type Writer = Line<M::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        Line { inner: self.0.make_writer(), line: Vec::new() }
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Self::Writer {
        Line { inner: self.0.make_writer_for(metadata), line: Vec::new() }
    }
}

/// One line in the making. It is written whole, when it is dropped: half a token cannot be recognised.
pub struct Line<W: Write> {
    inner: W,
    line: Vec<u8>,
}

impl<W: Write> Write for Line<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Drop for Line<W> {
    fn drop(&mut self) {
        // Nobody is left to tell that standard error is closed.
        _ = self.inner.write_all(&redact(&self.line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(text: &str) -> String {
        String::from_utf8(redact(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn what_looks_like_a_credential_is_hidden() {
        for (text, expected) in [
            ("token ghp_16C7e42F292c6912E7710c838347Ae178B4a!", "token ghp_***!"),
            ("ghs_12345_eyJh.eyJz.c2ln-_x next", "ghs_*** next"),
            ("gho_abc ghu_abc ghr_abc", "gho_*** ghu_*** ghr_***"),
            ("github_pat_11ABC_def end", "github_pat_*** end"),
            ("\u{1b}[32mghp_abcdef\u{1b}[0m", "\u{1b}[32mghp_***\u{1b}[0m"),
            ("https://x-access-token:abc%2Fdef@github.com/o/r", "https://x-access-token:***@github.com/o/r"),
            ("remote x-access-token:abc@github.com", "remote x-access-token:***@github.com"),
            ("postgres://merge:pa:ss@db:5432/x", "postgres://merge:***@db:5432/x"),
            (r#""authorization":"Bearer abc.def-ghi""#, r#""authorization":"Bearer ***""#),
            ("Authorization: token 0123abcd", "Authorization: token ***"),
            ("authorization: bearer xyz", "authorization: bearer ***"),
            ("jwt eyJhbGci.eyJpc3Mi.c2ln end", "jwt eyJ*** end"),
            ("xoxb-123-abc", "xoxb-***"),
            (
                "a -----BEGIN RSA PRIVATE KEY-----\\nMIIE\\n-----END RSA PRIVATE KEY----- z",
                "a -----BEGIN RSA PRIVATE KEY-----*** z",
            ),
            ("cut -----BEGIN PRIVATE KEY-----\nMIIE", "cut -----BEGIN PRIVATE KEY-----***"),
        ] {
            assert_eq!(redacted(text), expected);
        }
    }

    #[test]
    fn what_does_not_is_left_alone() {
        for text in [
            "https://github.com/octo/repo/pull/5",
            "http://127.0.0.1:8080/webhook at a@b.c",
            "commit 0123456789abcdef0123456789abcdef01234567",
            "github:72d3162e-cc78-11e3-81ab-4c9367dc0958",
            "a token that expired; the bearer was told",
        ] {
            let expected = text.replace("bearer was", "bearer ***");
            assert_eq!(redacted(text), expected);
        }
    }

    #[test]
    fn bytes_that_are_no_text_pass() {
        assert_eq!(redact(b"\xff ghp_abc \xfe").as_ref(), b"\xff ghp_*** \xfe");
    }
}
