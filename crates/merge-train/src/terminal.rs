//! What a person reads on a terminal: colours, columns, times, and what others wrote.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use rustix::termios::tcgetwinsize;
use unicode_width::UnicodeWidthStr;

/// Whether there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    Plain,
    Coloured,
}

pub const PLAIN: &str = "";
pub const BOLD: &str = "1";
pub const DIM: &str = "2";
pub const RED: &str = "31";
pub const GREEN: &str = "32";
pub const YELLOW: &str = "33";
pub const CYAN: &str = "36";

impl Ink {
    /// Colours on a terminal, unless somebody does not want them (<https://no-color.org>).
    pub fn of(stream: &impl IsTerminal) -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if stream.is_terminal() && !unwanted { Self::Coloured } else { Self::Plain }
    }

    pub fn paint(self, colour: &str, text: &str) -> String {
        match self {
            Self::Coloured if colour != PLAIN => format!("\u{1b}[{colour}m{text}\u{1b}[0m"),
            Self::Coloured | Self::Plain => text.to_owned(),
        }
    }
}

/// What stands in a row below a heading.
#[derive(Debug, Clone)]
pub struct Cell {
    text: String,
    colour: &'static str,
}

impl Cell {
    pub fn coloured(colour: &'static str, text: impl Into<String>) -> Self {
        Self { text: text.into(), colour }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::coloured(PLAIN, text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::coloured(PLAIN, text)
    }
}

/// How wide what is printed may be; 0 for as wide as it is.
static WIDTH: AtomicUsize = AtomicUsize::new(0);
/// How many rows the terminal has; 0 for as many as there are.
static HEIGHT: AtomicUsize = AtomicUsize::new(0);
/// What is narrower says nothing any more, however narrow the terminal.
const NARROWEST: usize = 8;
/// What tables stand away from the edge at most.
const MARGIN: usize = 2;

/// From now on tables and sentences fit the terminal, if standard output is one.
pub fn fit() {
    let (columns, rows) = tcgetwinsize(io::stdout()).map_or((0, 0), |size| (size.ws_col, size.ws_row));
    WIDTH.store(usize::from(columns), Ordering::Relaxed);
    HEIGHT.store(usize::from(rows), Ordering::Relaxed);
}

/// None for no limit.
fn limit() -> Option<usize> {
    Some(WIDTH.load(Ordering::Relaxed)).filter(|width| *width > 0)
}

/// The widths of columns that fit together, two spaces between them. The first tells what a row is about, and stays whole.
fn within<const N: usize>(mut widths: [usize; N], limit: usize) -> [usize; N] {
    let taken = |widths: &[usize; N]| widths.iter().sum::<usize>() + 2 * N.saturating_sub(1);
    while taken(&widths) + MARGIN > limit {
        let widest = (1..N).max_by_key(|column| widths[*column]).filter(|column| widths[*column] > NARROWEST);
        let Some(widest) = widest else { break };
        widths[widest] -= 1;
    }
    widths
}

fn clipped(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    // One column is for the `…`.
    let fits = |end: &usize| text[..*end].width() < width;
    let end = text.char_indices().map(|(end, _)| end).take_while(fits).last().unwrap_or_default();
    format!("{}…", &text[..end])
}

/// A sentence over as many lines as it takes, each of them so far from the edge.
pub fn paragraph(text: &str, indent: usize) -> String {
    folded(text, indent, limit())
}

fn folded(text: &str, indent: usize, limit: Option<usize>) -> String {
    let room = limit.map_or(usize::MAX, |limit| limit.saturating_sub(indent).max(3 * NARROWEST));
    let (mut lines, mut length) = (vec![String::new()], 0);
    for word in text.split(' ') {
        let added = word.width() + 1;
        if length > 0 && length + added > room {
            lines.push(String::new());
            length = 0;
        }
        let line = lines.last_mut().expect("there is one");
        if length > 0 {
            line.push(' ');
        }
        line.push_str(word);
        length += added;
    }
    let margin = " ".repeat(indent);
    lines.iter().map(|line| format!("{margin}{line}")).collect::<Vec<_>>().join("\n")
}

/// The last lines on a terminal, which are drawn again and again.
#[derive(Debug, Default)]
pub struct Live {
    /// How many there are.
    rows: usize,
}

impl Live {
    /// None where standard output is no terminal that can do that.
    pub fn on_stdout() -> Option<Self> {
        let is_able = std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        (io::stdout().is_terminal() && is_able).then(Self::default)
    }

    /// What takes away what was drawn.
    pub fn erase(&mut self) -> String {
        match std::mem::take(&mut self.rows) {
            0 => String::new(),
            rows => format!("\u{1b}[{rows}A\r\u{1b}[J"),
        }
    }

    /// What draws these lines in place of those that are there: as many as the window has room for.
    pub fn draw(&mut self, text: &str) -> String {
        let height = Some(HEIGHT.load(Ordering::Relaxed)).filter(|height| *height > 0);
        self.draw_within(text, limit(), height)
    }

    fn draw_within(&mut self, text: &str, width: Option<usize>, height: Option<usize>) -> String {
        let mut drawn = self.erase();
        // A line that is too long takes more than one row.
        let rows = |line: &str| width.map_or(1, |width| harmless(line).width().div_ceil(width).max(1));
        // What has left the window at its top cannot be drawn again; and below the last line the cursor has a row.
        let room = height.map_or(usize::MAX, |height| height.saturating_sub(1).max(1));
        let all: Vec<&str> = text.lines().collect();
        let has_room = all.iter().map(|line| rows(line)).sum::<usize>() <= room;
        let mut count = 0;
        for line in &all {
            if !has_room && self.rows + rows(line) >= room {
                break;
            }
            self.rows += rows(line);
            count += 1;
            drawn.push_str(line);
            drawn.push('\n');
        }
        if count < all.len() {
            let more = format!("… {} more lines; a taller window shows them", all.len() - count);
            drawn.push_str(&clipped(&more, width.unwrap_or(usize::MAX)));
            drawn.push('\n');
            self.rows += 1;
        }
        drawn
    }
}

/// How long nobody wonders whether anything happens, and how often is told that it does.
const PATIENCE: Duration = Duration::from_secs(1);

/// Waits for some work. What takes longer than a moment says so on a terminal, with what there is to say of it, until it is done.
pub async fn patiently<T>(what: impl Fn() -> String, work: impl Future<Output = T>) -> T {
    let is_able = std::env::var_os("TERM").is_some_and(|term| term != "dumb");
    if !io::stderr().is_terminal() || !is_able {
        return work.await;
    }
    let began = tokio::time::Instant::now();
    let mut tick = tokio::time::interval_at(began + PATIENCE, PATIENCE);
    let mut work = std::pin::pin!(work);
    let mut was_told = false;
    let done = loop {
        tokio::select! {
            done = &mut work => break done,
            _ = tick.tick() => {
                let so_far = took(u64::try_from(began.elapsed().as_millis()).unwrap_or_default());
                eprint!("\r\u{1b}[K{} … {so_far}", what());
                was_told = true;
            }
        }
    };
    if was_told {
        eprint!("\r\u{1b}[K");
    }
    done
}

/// The headings and then each row, a line for each, in columns that are as wide as need be, and as the terminal allows.
pub fn columns<const N: usize>(headings: [&str; N], rows: Vec<[Cell; N]>, ink: Ink) -> Vec<String> {
    columns_within(headings, rows, ink, limit())
}

fn columns_within<const N: usize>(
    headings: [&str; N],
    rows: Vec<[Cell; N]>,
    ink: Ink,
    limit: Option<usize>,
) -> Vec<String> {
    let all: Vec<[Cell; N]> = [headings.map(|heading| Cell::coloured(DIM, heading))].into_iter().chain(rows).collect();
    let width = |column: usize| all.iter().map(|row| row[column].text.width()).max().unwrap_or_default();
    let widths: [usize; N] = std::array::from_fn(width);
    let widths = limit.map_or(widths, |limit| within(widths, limit));
    let line = |row: &[Cell; N]| {
        // Nothing is padded that nothing follows.
        let filled = row.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |last| last + 1);
        let padded = row[..filled].iter().zip(widths).enumerate().map(|(column, (Cell { text, colour }, width))| {
            let text = clipped(text, width);
            let missing = if column + 1 == filled { 0 } else { width.saturating_sub(text.width()) };
            ink.paint(colour, &format!("{text}{}", " ".repeat(missing)))
        });
        padded.collect::<Vec<_>>().join("  ")
    };
    all.iter().map(line).collect()
}

/// How long ago that was, to the unit that matters.
pub fn ago(since: Timestamp, now: Timestamp) -> String {
    span(now.duration_since(since).as_secs()).map_or_else(|| "just now".to_owned(), |span| format!("{span} ago"))
}

/// How far ahead that is, to the unit that matters.
pub fn ahead(until: Timestamp, now: Timestamp) -> String {
    let seconds = until.duration_since(now).as_secs();
    span(seconds).map_or_else(|| "in less than a minute".to_owned(), |span| format!("in {span}"))
}

/// None below a minute.
fn span(seconds: i64) -> Option<String> {
    let (number, unit) = match seconds {
        ..60 => return None,
        60..3_600 => (seconds / 60, "minute"),
        3_600..172_800 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    Some(format!("{number} {unit}{}", if number == 1 { "" } else { "s" }))
}

/// How long something took, to the two units that matter.
pub fn took(millis: u64) -> String {
    let seconds = millis / 1_000;
    match seconds {
        0 => format!("{millis} ms"),
        1..10 => format!("{}.{} s", seconds, millis % 1_000 / 100),
        10..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..172_800 => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} days {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// A time to the second, for whom it may concern in other time zones too.
pub fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// What others wrote, on one line and without anything that a terminal would obey.
pub fn line(text: &str) -> String {
    let visible: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What others wrote over many lines, without anything that a terminal would obey or that would show it in another order.
pub fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' | '\t' => shown.push(c),
            '\r' if rest.peek() == Some(&'\n') => {}
            '\r' => shown.push('\n'),
            '\u{1b}' => skip_sequence(&mut rest),
            c if c.is_control() || is_reordering(c) => shown.push('\u{fffd}'),
            c => shown.push(c),
        }
    }
    shown
}

/// What others wrote, for somebody who has to judge it: what a terminal would obey, reorder or hide is shown by its number.
pub fn spelled_out(text: &str) -> String {
    let is_shown = |c: char| matches!(c, '\n' | '\t') || !(c.is_control() || is_reordering(c) || is_hidden(c));
    let shown = |c: char| if is_shown(c) { c.to_string() } else { c.escape_unicode().to_string() };
    text.chars().map(shown).collect()
}

/// Passes over what a terminal would take for an order after an escape character.
fn skip_sequence(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    let ends: fn(char) -> bool = match rest.peek() {
        Some('[') => |c| ('\u{40}'..='\u{7e}').contains(&c),
        Some(']' | 'P' | '_' | '^' | 'X') => |c| c == '\u{7}' || c == '\\',
        _ => return,
    };
    rest.next();
    while let Some(c) = rest.next_if(|c| *c != '\n') {
        if ends(c) {
            return;
        }
    }
}

/// Whether it makes what follows look as if it stood elsewhere.
fn is_reordering(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether nothing is seen of it.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_to_judge_it_sees_what_would_be_hidden() {
        for (text, expected) in [
            ("one\ttwo\n", "one\ttwo\n"),
            ("\u{1b}[8mgone", "\\u{1b}[8mgone"),
            ("a\rb", "a\\u{d}b"),
            ("if (x) /*\u{202e} */", "if (x) /*\\u{202e} */"),
            ("na\u{200b}me", "na\\u{200b}me"),
            ("grün 漢字", "grün 漢字"),
        ] {
            assert_eq!(spelled_out(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_a_terminal_would_obey_is_taken_out() {
        for (text, expected) in [
            ("one\ttwo\nthree", "one\ttwo\nthree"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}after", "after"),
            ("\u{1b}]8;;http://x\u{1b}\\link", "link"),
            ("10%\r20%\r\n", "10%\n20%\n"),
            ("a\u{9b}2Jb\u{0}", "a\u{fffd}2Jb\u{fffd}"),
            ("\u{202e}abc", "\u{fffd}abc"),
            ("\u{1b}[31", ""),
            ("\u{1b}]unended\nnext", "\nnext"),
        ] {
            assert_eq!(harmless(text), expected, "{text:?}");
        }
    }

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn columns_are_as_wide_as_what_stands_in_them() {
        let rows = vec![["a".into(), Cell::coloured(RED, "é"), "c".into()], ["long".into(), "".into(), "".into()]];
        assert_eq!(columns(["X", "TWO", "Z"], rows.clone(), Ink::Plain), ["X     TWO  Z", "a     é    c", "long"]);
        let coloured = columns(["X", "TWO", "Z"], rows, Ink::Coloured);
        assert_eq!(coloured[1], "a     \u{1b}[31mé  \u{1b}[0m  c");
    }

    #[test]
    fn what_is_too_wide_is_cut_and_what_a_row_is_about_is_not() {
        let row = || ["a-name-of-its-own".into(), "short".into(), Cell::from("a long tale of many words".to_owned())];
        let lines = |limit| columns_within(["RUN", "STATE", "WHY"], vec![row()], Ink::Plain, limit);
        assert_eq!(lines(None)[1], "a-name-of-its-own  short  a long tale of many words");
        assert_eq!(lines(Some(50))[1], "a-name-of-its-own  short  a long tale of many w…");
        assert_eq!(lines(Some(10))[1], "a-name-of-its-own  short  a long …");
        assert_eq!(folded("one two three four five six", 2, Some(20)), "  one two three four five\n  six");
        assert_eq!(folded("one two three", 2, None), "  one two three");
    }

    #[test]
    fn a_letter_takes_as_many_columns_as_a_terminal_gives_it() {
        let rows = vec![["漢字".into(), "🚂".into(), "a".into()], ["👩‍🔧".into(), "e\u{301}".into(), "b".into()]];
        let expected = ["X     TWO  Z", "漢字  🚂   a", "👩‍🔧    e\u{301}    b"];
        assert_eq!(columns(["X", "TWO", "Z"], rows, Ink::Plain), expected);
        assert_eq!(clipped("漢字漢字", 8), "漢字漢字");
        assert_eq!(clipped("漢字漢字", 7), "漢字漢…", "six columns and one");
        assert_eq!(clipped("漢字漢字", 6), "漢字…", "half a letter is none");
        assert_eq!(folded("漢字漢字漢字 漢字漢字漢字 漢字", 2, Some(26)), "  漢字漢字漢字\n  漢字漢字漢字 漢字");
        let mut live = Live::default();
        live.draw_within("漢字漢字漢字", Some(10), None);
        assert_eq!(live.erase(), "\u{1b}[2A\r\u{1b}[J", "twelve columns take two rows of ten");
    }

    #[test]
    fn what_is_drawn_again_takes_the_place_of_what_was_there() {
        let mut live = Live::default();
        assert_eq!(live.draw("one\ntwo"), "one\ntwo\n");
        assert_eq!(live.draw("three\n"), "\u{1b}[2A\r\u{1b}[Jthree\n");
        assert_eq!((live.erase().as_str(), live.erase().as_str()), ("\u{1b}[1A\r\u{1b}[J", ""));
    }

    #[test]
    fn what_is_taller_than_the_window_is_drawn_as_far_as_it_has_room() {
        let mut live = Live::default();
        let five = "1\n2\n3\n4\n5\n";
        assert_eq!(live.draw_within(five, Some(80), Some(6)), five, "and the cursor below it");
        let drawn = live.draw_within(five, Some(80), Some(5));
        assert_eq!(drawn, "\u{1b}[5A\r\u{1b}[J1\n2\n3\n… 2 more lines; a taller window shows them\n");
        assert_eq!(live.erase(), "\u{1b}[4A\r\u{1b}[J", "all of it is still in the window");
        let long = format!("{}\nshort\n", "x".repeat(25));
        assert_eq!(live.draw_within(&long, Some(10), Some(4)), "… 2 more …\n");
        assert_eq!(live.erase(), "\u{1b}[1A\r\u{1b}[J");
    }

    #[test]
    fn how_long_ago_is_told_in_the_unit_that_matters() {
        let now = at("2026-11-15T12:00:00Z");
        for (since, expected) in [
            ("2026-11-15T11:59:30Z", "just now"),
            ("2026-11-15T12:00:30Z", "just now"),
            ("2026-11-15T11:59:00Z", "1 minute ago"),
            ("2026-11-15T10:00:00Z", "2 hours ago"),
            ("2026-11-14T02:00:00Z", "34 hours ago"),
            ("2026-11-05T12:00:00Z", "10 days ago"),
        ] {
            assert_eq!(ago(at(since), now), expected, "{since}");
        }
        assert_eq!(ahead(at("2026-11-15T12:02:30Z"), now), "in 2 minutes");
        assert_eq!(ahead(at("2026-11-15T11:00:00Z"), now), "in less than a minute", "it is over any moment");
    }

    #[test]
    fn how_long_something_took_is_told_in_the_units_that_matter() {
        for (millis, expected) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_250, "1.2 s"),
            (59_999, "59 s"),
            (200_000, "3 min 20 s"),
            (7_500_000, "2 h 5 min"),
            (180_000_000, "2 days 2 h"),
        ] {
            assert_eq!(took(millis), expected);
        }
    }
}
