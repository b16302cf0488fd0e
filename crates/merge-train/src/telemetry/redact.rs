//! The last line of defence: what looks like a credential does not leave the process in a log line, nor what a command prints.
//!
//! Secrets are kept out of messages where they are made; this is for the one that slips through, in somebody else's
//! error text or in the output of a program. Whoever prints a secret in disguise is not stopped by it.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::{Arc, LazyLock};

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
        // What coding agents are paid with.
        r"(?<agent>sk-(?:ant|proj|svcacct)-|AIza)[A-Za-z0-9_\-]{16,}",
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

const KEPT: &[&str] = &["github", "slack", "agent", "userinfo", "access", "scheme", "jwt", "pem"];

/// The bytes with everything that looks like a credential replaced by `***`.
pub fn redact(bytes: &[u8]) -> Cow<'_, [u8]> {
    CREDENTIALS.replace_all(bytes, |found: &regex::bytes::Captures<'_>| {
        let kept = KEPT.iter().find_map(|name| found.name(name)).map_or(&b""[..], |kept| kept.as_bytes());
        let at = found.name("at").map_or(&b""[..], |at| at.as_bytes());
        [kept, b"***", at].concat()
    })
}

/// A shorter value is no secret, and hiding it would make a riddle of what is printed.
const SHORTEST_VALUE: usize = 8;

/// What to hide: what looks like a credential, and these values.
#[derive(Clone, Debug, Default)]
pub struct Mask(Option<Arc<Regex>>);

impl Mask {
    /// Values of several lines are hidden line by line: that is how they are printed.
    pub fn of(values: &[String]) -> Self {
        let lines = values.iter().flat_map(|value| value.lines()).map(str::trim);
        let mut lines: Vec<&str> = lines.filter(|line| line.len() >= SHORTEST_VALUE).collect();
        // Of two that begin alike the longer one has to be tried first.
        lines.sort_unstable_by_key(|line| std::cmp::Reverse(line.len()));
        let any: Vec<String> = lines.into_iter().map(regex::escape).collect();
        Self((!any.is_empty()).then(|| Regex::new(&any.join("|")).ok()).flatten().map(Arc::new))
    }

    pub fn hide<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let Some(values) = &self.0 else { return redact(bytes) };
        match values.replace_all(bytes, &b"***"[..]) {
            Cow::Borrowed(bytes) => redact(bytes),
            Cow::Owned(bytes) => Cow::Owned(redact(&bytes).into_owned()),
        }
    }
}

/// No line is waited for that is longer.
const LONGEST_LINE: usize = 16 << 10;

/// Where a private key begins.
static KEY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("(?-u:-----BEGIN [A-Z ]*PRIVATE KEY-----)").expect("it is right: every test of this module runs it")
});

/// Hides credentials in what comes in pieces: a line is let go when it is whole, and a private key when all of it is there.
#[derive(Debug, Default)]
pub struct MaskedStream {
    mask: Mask,
    held: Vec<u8>,
}

impl MaskedStream {
    pub fn new(mask: Mask) -> Self {
        Self { mask, held: Vec::new() }
    }

    /// What can be let go now.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let rest = self.held.split_off(self.whole());
        let whole = std::mem::replace(&mut self.held, rest);
        self.mask.hide(&whole).into_owned()
    }

    /// What is left, however it ends.
    pub fn rest(&mut self) -> Vec<u8> {
        let rest = std::mem::take(&mut self.held);
        self.mask.hide(&rest).into_owned()
    }

    fn whole(&self) -> usize {
        if self.held.len() > LONGEST_LINE {
            return self.held.len();
        }
        let lines = self.held.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map_or(0, |end| end + 1);
        let key = KEY.find_iter(&self.held[..lines]).last();
        let has_end =
            |key: &regex::bytes::Match<'_>| self.held[key.end()..lines].windows(8).any(|word| word == b"-----END");
        key.filter(|key| !has_end(key)).map_or(lines, |key| key.start())
    }
}

/// Writers whose lines are free of credentials.
pub struct RedactingWriter<M>(M);

impl<M> RedactingWriter<M> {
    pub fn new(inner: M) -> Self {
        Self(inner)
    }
}

impl<'a, M: MakeWriter<'a>> MakeWriter<'a> for RedactingWriter<M> {
    type Writer = RedactedLine<M::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        RedactedLine { inner: self.0.make_writer(), line: Vec::new() }
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Self::Writer {
        RedactedLine { inner: self.0.make_writer_for(metadata), line: Vec::new() }
    }
}

/// One line in the making. It is written whole, when it is dropped: half a token cannot be recognised.
pub struct RedactedLine<W: Write> {
    inner: W,
    line: Vec<u8>,
}

impl<W: Write> Write for RedactedLine<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Drop for RedactedLine<W> {
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
            ("key sk-ant-api03-abc_DEF-0123456789 end", "key sk-ant-*** end"),
            ("AIzaSyA0123456789abcdefghijklmnopqrstuv", "AIza***"),
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
            "the task-force-that-nobody-asked-for met sk-ant-",
        ] {
            let expected = text.replace("bearer was", "bearer ***");
            assert_eq!(redacted(text), expected);
        }
    }

    #[test]
    fn bytes_that_are_no_text_pass() {
        assert_eq!(redact(b"\xff ghp_abc \xfe").as_ref(), b"\xff ghp_*** \xfe");
    }

    #[test]
    fn values_are_hidden_wherever_they_stand_and_short_ones_are_not() {
        let values = ["hunter2-hunter2", "hunter2-hunter2-and-more", "short", "first line\nsecond line"];
        let mask = Mask::of(&values.map(str::to_owned));
        let hidden = |text: &str| String::from_utf8(mask.hide(text.as_bytes()).into_owned()).unwrap();
        assert_eq!(hidden("a=hunter2-hunter2, short ghp_abc"), "a=***, short ghp_***");
        assert_eq!(hidden("hunter2-hunter2-and-more!"), "***!");
        assert_eq!(hidden("first line\nand\nsecond line"), "***\nand\n***");
        assert_eq!(Mask::of(&[]).hide(b"hunter2").as_ref(), b"hunter2");
    }

    #[test]
    fn in_whatever_pieces_it_comes_it_is_hidden_and_nothing_is_lost() {
        let text = "begin hunter2-hunter2\nnext ghp_abcdef01\r\n\
                    -----BEGIN PRIVATE KEY-----\nMIIE\nabcd\n-----END PRIVATE KEY-----\nthe end hunter2-hunter2";
        let expected = "begin ***\nnext ghp_***\r\n-----BEGIN PRIVATE KEY-----***\nthe end ***";
        for size in 1..=text.len() {
            let mut masked = MaskedStream::new(Mask::of(&["hunter2-hunter2".to_owned()]));
            let mut told: Vec<u8> = text.as_bytes().chunks(size).flat_map(|piece| masked.push(piece)).collect();
            told.extend(masked.rest());
            assert_eq!(String::from_utf8(told).unwrap(), expected, "in pieces of {size}");
        }
    }

    #[test]
    fn a_whole_line_waits_for_nothing_and_a_line_without_end_not_for_ever() {
        let mut masked = MaskedStream::default();
        assert_eq!(masked.push(b"whole\nhalf"), b"whole\n");
        assert_eq!(masked.push(b" 50%\r"), b"half 50%\r");
        let long = vec![b'x'; LONGEST_LINE + 1];
        assert_eq!(masked.push(&long), long);
        assert_eq!(masked.rest(), b"");
    }
}
