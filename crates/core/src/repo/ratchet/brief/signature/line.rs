//! A line of a log without what is another at each run: times, places on the disk, numbers that are dealt out.

use super::super::untrusted::without_escapes;

/// A line has one of these where it tells why something failed.
const TELLING: [&str; 15] = [
    "error",
    "fail",
    "panic",
    "assert",
    "exception",
    "expected",
    "fatal",
    "traceback",
    "undefined",
    "unresolved",
    "mismatch",
    "not found",
    "cannot",
    "denied",
    "timed out",
];

/// How lines begin that are printed after any failure, and so tell of none.
const SAYS_NOTHING: [&str; 8] = [
    "process completed with exit code",
    "process exited with code",
    "the operation was cancel",
    "the job was cancel",
    "command failed with exit",
    "code elifecycle",
    "errno ",
    "exit status ",
];
/// What such lines have before that.
const PREFIXES: [&str; 5] = ["error: ", "error ", "err! ", "npm ", "fatal: "];

/// More of a line is not looked at: what tells is at its beginning.
const LONGEST_LINE_CHARS: usize = 1000;

/// The line if it tells why something failed, as it is told at every run.
pub(super) fn telling(line: &str) -> Option<String> {
    let told = said(line)?;
    let (lower, raw) = (told.to_lowercase(), line.trim_end().to_lowercase());
    let passed = [" ok", "passed", " 0 failed", " 0 errors", " 0 failures"].iter().any(|end| raw.ends_with(end))
        || ["ok ", "pass ", "✓ ", "✔ ", "test result: ok"].iter().any(|start| lower.starts_with(start));
    (!passed && TELLING.iter().any(|word| lower.contains(word))).then_some(told)
}

/// The line as it is said at every run; None where it says nothing.
pub(super) fn said(line: &str) -> Option<String> {
    let line: String = line.chars().take(LONGEST_LINE_CHARS).collect();
    let line = normal(&without_escapes(&line));
    let lower = line.to_lowercase();
    let mut bare = lower.as_str();
    while let Some(rest) = PREFIXES.iter().find_map(|prefix| bare.strip_prefix(prefix)) {
        bare = rest;
    }
    let make = lower.starts_with("make") && lower.contains("***") && lower.contains("error");
    let nothing = bare.is_empty() || make || SAYS_NOTHING.iter().any(|words| bare.starts_with(words));
    (!nothing).then_some(line)
}

fn normal(line: &str) -> String {
    let line = line.replace("##[error]", "").replace("::error::", "");
    let panicked = line.contains("panicked at");
    let mut normal = String::with_capacity(line.len());
    let mut left = line.as_str();
    while let Some(c) = left.chars().next() {
        let starts_word = !normal.chars().next_back().is_some_and(char::is_alphanumeric);
        let skipped = if starts_word { passing(left, &normal) } else { None };
        let skipped = skipped.or_else(|| place(left, &normal)).or_else(|| thread(left).filter(|_| panicked));
        match skipped {
            Some(len) => left = &left[len..],
            None => {
                normal.push(c);
                left = &left[c.len_utf8()..];
            }
        }
    }
    normal.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How much at the beginning of `text`, where a word begins, is of this run alone.
fn passing(text: &str, before: &str) -> Option<usize> {
    timestamp(text)
        .or_else(|| id(text))
        .or_else(|| folder(text))
        .or_else(|| duration(text))
        .or_else(|| counted(text))
        .or_else(|| numbered(text, before))
}

/// `(4711)`: the number of the thread that panicked.
fn thread(text: &str) -> Option<usize> {
    let number = text.strip_prefix('(')?;
    let len = Some(digits(number)).filter(|len| *len > 0)?;
    number[len..].starts_with(')').then_some(len + 2)
}

/// `:12` or `:12:5` after a name: where in a file, and that moves with every edit above it.
fn place(text: &str, before: &str) -> Option<usize> {
    if before.is_empty() || before.ends_with(char::is_whitespace) {
        return None;
    }
    let len = digits(text.strip_prefix(':')?);
    (len > 0).then_some(len + 1)
}

/// `2026-01-02`, `2026-01-02T03:04:05.678Z`, `03:04:05`.
fn timestamp(text: &str) -> Option<usize> {
    let date = pattern(text, "dddd-dd-dd").or_else(|| pattern(text, "dddd/dd/dd"));
    let Some(date) = date else { return clock(text) };
    let rest = &text[date..];
    match rest.strip_prefix(['T', ' ']).and_then(clock) {
        Some(clock) => Some(date + 1 + clock),
        None => Some(date),
    }
}

fn clock(text: &str) -> Option<usize> {
    let mut len = pattern(text, "dd:dd:dd")?;
    if let Some(fraction) = text[len..].strip_prefix(['.', ',']).map(digits).filter(|digits| *digits > 0) {
        len += 1 + fraction;
    }
    let zone = &text[len..];
    len += if zone.starts_with('Z') {
        1
    } else {
        pattern(zone, "+dd:dd").or_else(|| pattern(zone, "-dd:dd")).unwrap_or(0)
    };
    Some(len)
}

/// The length of `shape`, if the text begins with it; `d` stands for a digit.
fn pattern(text: &str, shape: &str) -> Option<usize> {
    let bytes = text.as_bytes().get(..shape.len())?;
    let fits = |(byte, shape): (&u8, u8)| if shape == b'd' { byte.is_ascii_digit() } else { *byte == shape };
    bytes.iter().zip(shape.bytes()).all(fits).then_some(shape.len())
}

/// Something that was dealt out: seven hexadecimal digits or more, an address in memory, a UUID.
fn id(text: &str) -> Option<usize> {
    let hex = |text: &str| text.bytes().take_while(u8::is_ascii_hexdigit).count();
    let ends = |len: usize| !text[len..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
    if let Some(address) = text.strip_prefix("0x").map(hex).filter(|len| *len > 0) {
        return ends(2 + address).then_some(2 + address);
    }
    let uuid = [8, 4, 4, 4, 12].iter().try_fold(0, |at, group| {
        let at = if at == 0 { 0 } else { at + text.get(at..)?.starts_with('-').then_some(1)? };
        (hex(text.get(at..)?) == *group).then_some(at + group)
    });
    if let Some(len) = uuid.filter(|len| ends(*len)) {
        return Some(len);
    }
    let len = hex(text);
    // Words such as `defaced` have the letters, but no digit.
    (len >= 7 && ends(len) && text[..len].bytes().any(|byte| byte.is_ascii_digit())).then_some(len)
}

/// A place for temporary files, up to the end of its path.
fn folder(text: &str) -> Option<usize> {
    const PLACES: [&str; 6] =
        ["/tmp/", "/var/tmp/", "/var/folders/", "/private/var/", "/home/runner/work/_temp/", "/private/tmp/"];
    let path = &text[..text.find([' ', '"', '\'', ')', ',', ';', '\t']).unwrap_or(text.len())];
    let on_windows = || text.as_bytes().get(1..3) == Some(b":\\") && path.to_lowercase().contains("\\temp\\");
    (PLACES.iter().any(|place| text.starts_with(place)) || on_windows()).then_some(path.len())
}

/// `1.23s`, `45 ms`, `2 minutes`: the number and its unit.
fn duration(text: &str) -> Option<usize> {
    const UNITS: [&str; 20] = [
        "milliseconds",
        "millisecond",
        "seconds",
        "second",
        "minutes",
        "minute",
        "hours",
        "hour",
        "secs",
        "sec",
        "mins",
        "min",
        "ms",
        "µs",
        "μs",
        "us",
        "ns",
        "s",
        "m",
        "h",
    ];
    let number = decimal(text)?;
    let rest = &text[number..];
    let space = usize::from(rest.starts_with(' '));
    let unit = UNITS.iter().find(|unit| {
        let after = rest[space..].strip_prefix(**unit);
        after.is_some_and(|after| !after.starts_with(|c: char| c.is_alphabetic() || c == '_'))
    })?;
    Some(number + space + unit.len())
}

/// `12 passed`: how many of them there are changes with each test that is added. `12 |`: where a compiler points.
fn counted(text: &str) -> Option<usize> {
    const COUNTED: [&str; 13] = [
        "|", "passed", "failed", "ignored", "measured", "filtered", "skipped", "passing", "failing", "pending",
        "tests", "total", "warnings",
    ];
    let len = digits(text);
    let rest = text[len..].strip_prefix(' ')?;
    (len > 0 && COUNTED.iter().any(|word| rest.starts_with(word))).then_some(len)
}

/// The number after `line`, `column`, `pid`.
fn numbered(text: &str, before: &str) -> Option<usize> {
    const NUMBERED: [&str; 6] = ["line", "lines", "col", "column", "pid", "port"];
    let len = Some(digits(text)).filter(|len| *len > 0)?;
    let word = before.trim_end_matches([' ', '=', ':', '#']);
    let word = word.rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or_default().to_lowercase();
    NUMBERED.contains(&word.as_str()).then_some(len)
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn decimal(text: &str) -> Option<usize> {
    let whole = Some(digits(text)).filter(|len| *len > 0)?;
    let fraction = text[whole..].strip_prefix('.').map_or(0, digits);
    Some(if fraction > 0 { whole + 1 + fraction } else { whole })
}
