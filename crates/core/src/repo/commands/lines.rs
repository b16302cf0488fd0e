//! Which lines of a comment are addressed to the bot: those that begin with a mention, where GitHub shows them as the
//! author's own words.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::MENTION;
use super::html::{Html, Opened};

/// What follows the mention in each line that begins with one; at most `most` lines.
///
/// Tables are not told apart from text: a line that GitHub takes for the last row of a table is still a line of its
/// own, and a row that is written as one begins with `|`.
pub(super) fn addressed(body: &str, most: usize) -> Vec<String> {
    let mut reader = Reader::of(body);
    for (event, place) in Parser::new_ext(body, Options::ENABLE_STRIKETHROUGH).into_offset_iter() {
        reader.read(event, place);
        if reader.heard.len() == most {
            break;
        }
    }
    reader.heard
}

struct Reader<'a> {
    body: &'a str,
    heard: Vec<String>,
    line: Line,
    /// How many quotations, code blocks, images and struck-out texts surround what is read now.
    asides: usize,
    links: usize,
    html: Html,
    /// The text of the HTML block that is being read.
    html_block: String,
    /// For each quotation and list item around: what was open in HTML when it began. With it everything in it ends.
    containers: Vec<Opened>,
}

/// The line that is being read.
enum Line {
    Fresh,
    NotForUs,
    /// `said` is what is shown after the mention, which ends at `from` in the body.
    Addressed {
        from: usize,
        said: String,
    },
}

impl<'a> Reader<'a> {
    fn of(body: &'a str) -> Self {
        Self {
            body,
            heard: Vec::new(),
            line: Line::Fresh,
            asides: 0,
            links: 0,
            html: Html::default(),
            html_block: String::new(),
            containers: Vec::new(),
        }
    }

    fn read(&mut self, event: Event<'_>, place: Range<usize>) {
        match event {
            Event::Start(tag) => self.begin(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => {
                if matches!(self.line, Line::Fresh) {
                    self.line = self.line_at(place.start);
                }
                self.hear(&text, place.start);
            }
            // Kept with its backticks: the name of a command in code is not the command.
            Event::Code(code) => self.hear(&format!("`{code}`"), place.start),
            Event::InlineHtml(raw) => {
                self.html.read(&raw);
                self.hear(" ", place.start);
            }
            Event::Html(raw) => self.html_block.push_str(&raw),
            Event::SoftBreak | Event::HardBreak | Event::Rule => self.end_line(),
            // Of extensions that are off.
            Event::InlineMath(_) | Event::DisplayMath(_) | Event::FootnoteReference(_) | Event::TaskListMarker(_) => {}
        }
    }

    fn begin(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Emphasis | Tag::Strong => {}
            Tag::Link { .. } => self.links += 1,
            Tag::Image { .. } | Tag::Strikethrough => self.asides += 1,
            Tag::BlockQuote(_) => {
                self.end_line();
                self.asides += 1;
                self.containers.push(self.html.opened());
            }
            Tag::Item => {
                self.end_line();
                self.containers.push(self.html.opened());
            }
            Tag::CodeBlock(_) => {
                self.end_line();
                self.asides += 1;
            }
            _ => self.end_line(),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Emphasis | TagEnd::Strong => {}
            TagEnd::Link => self.links -= 1,
            TagEnd::Image | TagEnd::Strikethrough => self.asides -= 1,
            TagEnd::BlockQuote(_) => {
                self.end_line();
                self.asides -= 1;
                self.end_container();
            }
            TagEnd::Item => {
                self.end_line();
                self.end_container();
            }
            TagEnd::CodeBlock => {
                self.end_line();
                self.asides -= 1;
            }
            TagEnd::HtmlBlock => {
                self.html.read(&std::mem::take(&mut self.html_block));
                self.end_line();
            }
            _ => self.end_line(),
        }
    }

    fn end_container(&mut self) {
        if let Some(opened) = self.containers.pop() {
            self.html.close_down_to(&opened);
        }
    }

    fn end_line(&mut self) {
        if let Line::Addressed { said, .. } = std::mem::replace(&mut self.line, Line::Fresh) {
            self.heard.push(said);
        }
    }

    /// The line whose first text is at `start`. Its first word must be the mention as it was typed: a bullet before it
    /// makes it an item of a list, and a backslash or an entity in it means that it was not to be a mention.
    fn line_at(&self, start: usize) -> Line {
        let (before, after) = self.body.split_at(start);
        let line_start = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let is_first = before[line_start..].trim().is_empty();
        if !is_first || self.links > 0 || self.is_aside() {
            return Line::NotForUs;
        }
        let line = after.lines().next().unwrap_or_default();
        let indent = line.len() - line.trim_start().len();
        match mention(&line[indent..]) {
            Some(length) => Line::Addressed { from: start + indent + length, said: String::new() },
            None => Line::NotForUs,
        }
    }

    /// A piece of the line, at `start` in the body.
    fn hear(&mut self, piece: &str, start: usize) {
        let is_aside = self.is_aside();
        if let Line::Addressed { from, said } = &mut self.line
            && !is_aside
        {
            // The mention itself is shown as it was typed, so that it is as long in the piece as in the body.
            said.push_str(piece.get(from.saturating_sub(start)..).unwrap_or_default());
        }
    }

    fn is_aside(&self) -> bool {
        self.asides > 0 || self.html.is_aside()
    }
}

/// The length of the mention that a line begins with: `@merge-train`, `@merge-train[bot]`, `@merge-train:`.
fn mention(line: &str) -> Option<usize> {
    const BOT: &str = "[bot]";
    let word = line.split(char::is_whitespace).next()?;
    let name = word.strip_suffix([':', ',']).unwrap_or(word);
    let (name, rest) = name.split_at_checked(MENTION.len())?;
    let is_ours = name.eq_ignore_ascii_case(MENTION) && (rest.is_empty() || rest.eq_ignore_ascii_case(BOT));
    is_ours.then_some(word.len())
}
