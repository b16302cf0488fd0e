//! Text of strangers in a prompt: shown as it is, inside a block that it cannot end.
//!
//! **Invariant:** nothing that a stranger wrote reaches a prompt but through [`block`] or [`span`].

use aws_lc_rs::digest::{SHA256, digest};

use crate::markdown::code_span;

/// What a name, a path or a title is cut to: longer ones are there to push something else out of sight.
const LONGEST_NAME_CHARS: usize = 300;
/// A fence of three is what a careless text has most often.
const SHORTEST_FENCE: usize = 4;

/// Lines of text as a block of their own. A parser is held by the fence, which is longer than any in the text; a reader
/// by the marker, which is made of the text's digest and so cannot be written inside it.
pub(super) fn block(what: &str, text: &str) -> String {
    let text = shown(text);
    let text = text.trim_end();
    if text.trim().is_empty() {
        return format!("The {what} is empty.\n");
    }
    let fence = "`".repeat(SHORTEST_FENCE.max(longest_fence(text) + 1));
    let marker = marker(text);
    format!("{fence}untrusted {what} {marker}\n{text}\n{fence}\n\nEnd of untrusted {what} {marker}.\n")
}

/// A name in a line of ours.
pub(super) fn span(name: &str) -> String {
    code_span(&one_line(name))
}

/// A name as it stands in one line of a block.
pub(super) fn one_line(name: &str) -> String {
    let mut line = String::new();
    for (count, c) in name.chars().enumerate() {
        if count == LONGEST_NAME_CHARS {
            line.push('…');
            break;
        }
        show(c, &mut line);
    }
    line
}

/// A text as its reader sees it: no colours, no line that overwrites another, nothing that cannot be seen.
pub(super) fn shown(text: &str) -> String {
    let text = without_escapes(text).replace("\r\n", "\n").replace('\r', "\n");
    let mut visible = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\n' | '\t') { visible.push(c) } else { show(c, &mut visible) }
    }
    visible
}

/// Without the escape sequences that terminals take for colours, links and titles. One that does not end in its line is
/// not taken for one, or it could swallow what follows.
pub(super) fn without_escapes(text: &str) -> String {
    let mut left = text;
    let mut plain = String::with_capacity(text.len());
    while let Some(at) = left.find('\u{1b}') {
        plain.push_str(&left[..at]);
        let after = &left[at + 1..];
        match sequence_len(after) {
            Some(len) => left = &after[len..],
            None => {
                plain.push('\u{1b}');
                left = after;
            }
        }
    }
    plain.push_str(left);
    plain
}

/// How long the sequence is that an escape character begins; None if there is none.
fn sequence_len(after: &str) -> Option<usize> {
    let line = after.split(['\n', '\r']).next()?;
    if let Some(parameters) = line.strip_prefix('[') {
        let end = parameters.find(|c: char| !matches!(c, ' '..='?'))?;
        return matches!(parameters[end..].chars().next()?, '@'..='~').then_some(1 + end + 1);
    }
    let command = line.strip_prefix(']')?;
    let end = command.find(['\u{7}', '\u{1b}'])?;
    if command[end..].starts_with('\u{7}') {
        return Some(1 + end + 1);
    }
    command[end..].starts_with("\u{1b}\\").then_some(1 + end + 2)
}

/// A character, or what stands for one that cannot be seen, that ends a line or that turns its direction.
fn show(c: char, visible: &mut String) {
    match c {
        '\0'..='\u{1f}' => visible.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}')),
        '\u{7f}' => visible.push('\u{2421}'),
        _ if is_unseen(c) => visible.push_str(&format!("<U+{:04X}>", u32::from(c))),
        _ => visible.push(c),
    }
}

/// Line ends of other alphabets, marks of direction, and all that takes no room: with these a text can look like another,
/// or hold a second one that people do not see and programs read.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

fn longest_fence(text: &str) -> usize {
    let longest = |fence: char| text.split(|c| c != fence).map(str::len).max().unwrap_or(0);
    longest('`').max(longest('~'))
}

fn marker(text: &str) -> String {
    hex::encode(&digest(&SHA256, text.as_bytes()).as_ref()[..8])
}

/// Keeps the beginning of a text, and says that it was cut.
pub(super) fn shorten(text: &mut String, most_bytes: usize) {
    const CUT: &str = "\n[cut: it is too long]";
    let end = text.floor_char_boundary(most_bytes.saturating_sub(CUT.len()));
    text.truncate(end);
    text.push_str(CUT);
}
