//! A stack of pull requests, drawn: each to the right of what it stands on.

use maud::{Markup, html};
use merge_train_core::ids::PrNumber;

use super::layout::Tone;

const WIDTH: i64 = 250;
const HEIGHT: i64 = 76;
const GAP_X: i64 = 46;
const GAP_Y: i64 = 18;
const TRUNK: i64 = 92;
/// What text stands away from the edges of its box.
const MARGIN: i64 = 12;
/// How large titles and words are, as the style sheet has it.
const TITLE_PX: f64 = 14.0;
const WORD_PX: f64 = 13.0;
/// How many lines a title takes at most, and how far apart lines are.
const LINES: usize = 2;
const LINE: i64 = 19;

/// A pull request of the stack.
pub struct Node {
    pub pr: PrNumber,
    pub title: String,
    /// What it stands on, if that is part of the stack.
    pub on: Option<PrNumber>,
    pub word: String,
    pub tone: Tone,
    pub is_current: bool,
    pub to: String,
}

struct Placed<'a> {
    node: &'a Node,
    depth: i64,
    /// In rows, from the top.
    row: i64,
}

/// The nodes come in an order in which each is after what it stands on.
pub fn draw(trunk: &str, nodes: &[Node]) -> Markup {
    let placed = place(nodes);
    let rows = placed.iter().map(|it| it.row + 1).max().unwrap_or(1);
    let depth = placed.iter().map(|it| it.depth + 1).max().unwrap_or(0);
    let (width, height) = (TRUNK + depth * (WIDTH + GAP_X) + 4, rows * (HEIGHT + GAP_Y) - GAP_Y + 8);
    let x = |depth: i64| TRUNK + GAP_X + depth * (WIDTH + GAP_X);
    let y = |row: i64| 4 + row * (HEIGHT + GAP_Y);
    let middle = |row: i64| y(row) + HEIGHT / 2;
    let from = |it: &Placed<'_>| match it.node.on.and_then(|on| placed.iter().find(|other| other.node.pr == on)) {
        Some(below) => (x(below.depth) + WIDTH, middle(below.row)),
        None => (TRUNK, middle(0)),
    };
    html! {
        div.graph tabindex="0" role="group" aria-label="The stack" {
            svg viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height) {
                g.trunk {
                    rect x="2" y=(middle(0) - 16) width=(TRUNK - 2) height="32" rx="16" {}
                    text x=(TRUNK / 2) y=(middle(0) + 5) text-anchor="middle" { (cut(trunk, TITLE_PX, TRUNK - MARGIN)) title { (trunk) } }
                }
                @for it in &placed {
                    @let (from_x, from_y) = from(it);
                    @let (to_x, to_y) = (x(it.depth), middle(it.row));
                    @let half = (from_x + to_x) / 2;
                    path.edge d={ "M" (from_x) " " (from_y) "C" (half) " " (from_y) " " (half) " " (to_y) " " (to_x) " " (to_y) } {}
                }
                @for it in &placed {
                    a href=(it.node.to) {
                        g class={ "node " (it.node.tone.name()) @if it.node.is_current { " current" } } {
                            rect x=(x(it.depth)) y=(y(it.row)) width=(WIDTH) height=(HEIGHT) rx="8" {}
                            (label(it.node, x(it.depth) + MARGIN, y(it.row)))
                            title { "#" (it.node.pr) " " (it.node.title) ": " (it.node.word) }
                        }
                    }
                }
            }
        }
    }
}

/// What a box says: the title, and below it the word.
fn label(node: &Node, left: i64, top: i64) -> Markup {
    let room = WIDTH - 2 * MARGIN;
    let title = folded(&format!("#{} {}", node.pr, node.title), TITLE_PX, room);
    // A title of one line stands in the middle with its word, too.
    let first = top + if title.len() < LINES { 34 } else { 25 };
    let last = first + if title.len() < LINES { LINE } else { 2 * LINE };
    html! {
        @for (line, y) in title.iter().zip([first, first + LINE]) { text.title x=(left) y=(y) { (line) } }
        text.word x=(left) y=(last + 2) { (cut(&node.word, WORD_PX, room)) }
    }
}

/// The first that stands on another goes into its row, each further one below all that came before.
fn place(nodes: &[Node]) -> Vec<Placed<'_>> {
    let mut placed: Vec<Placed<'_>> = Vec::new();
    for node in nodes {
        let below = node.on.and_then(|on| placed.iter().find(|it| it.node.pr == on));
        let depth = below.map_or(0, |below| below.depth + 1);
        let row = below.map_or(0, |below| below.row);
        let is_taken = placed.iter().any(|it| it.row == row && it.depth >= depth);
        let row = if is_taken { placed.iter().map(|it| it.row + 1).max().unwrap_or(0) } else { row };
        placed.push(Placed { node, depth, row });
    }
    placed
}

/// A text over as many lines as there are, each as much as is sure to have room; what has none is cut off from the last.
fn folded(text: &str, size_px: f64, room: i64) -> Vec<String> {
    let ems_of = |text: &str| text.chars().map(ems).sum::<f64>();
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let is_last = lines.len() == LINES;
        match lines.last_mut() {
            Some(line) if is_last || ems_of(line) + ems(' ') + ems_of(word) <= room as f64 / size_px => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| cut(line, size_px, room)).collect()
}

/// As much of a text as is sure to have room; the whole is in the title, for who points at it.
fn cut(text: &str, size_px: f64, room: i64) -> String {
    let room = room as f64 / size_px;
    if text.chars().map(ems).sum::<f64>() <= room {
        return text.to_owned();
    }
    let mut taken = ems('…');
    let has_room = |letter: &char| {
        taken += ems(*letter);
        taken <= room
    };
    let kept: String = text.chars().take_while(has_room).collect();
    format!("{}…", kept.trim_end())
}

/// How wide a letter is at most, by the size of the font. Which font it is, the browser decides: these are the widths of a wide one
/// in bold.
fn ems(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | 'I' | 'J' | ' ' | '.' | ',' | ':' | ';' | '\'' | '|' => 0.40,
        'f' | 't' | 'r' | '-' | '(' | ')' | '[' | ']' | '/' | '\\' | '!' | '`' | '"' => 0.53,
        'c' | 's' | 'z' => 0.60,
        'm' | 'w' | '@' | '%' | '…' | 'M' => 1.05,
        'W' => 1.11,
        'a'..='z' | '0'..='9' => 0.72,
        ' '..='~' => 0.86,
        // What stands above a letter makes it no wider.
        '\u{a0}'..='\u{24f}' => 1.11,
        '\u{370}'..='\u{52f}' => 1.25,
        _ => 1.4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(pr: u64, on: Option<u64>) -> Node {
        let (title, word, to) = (format!("<b>{pr}</b>"), "open".to_owned(), String::new());
        Node { pr: PrNumber::new(pr), title, on: on.map(PrNumber::new), word, tone: Tone::Quiet, is_current: false, to }
    }

    #[test]
    fn each_has_a_place_of_its_own_to_the_right_of_what_it_stands_on() {
        let nodes =
            [node(1, None), node(2, Some(1)), node(3, Some(2)), node(4, Some(1)), node(5, Some(4)), node(6, Some(2))];
        let placed = place(&nodes);
        let places: Vec<(u64, i64, i64)> = placed.iter().map(|it| (it.node.pr.get(), it.depth, it.row)).collect();
        assert_eq!(places, [(1, 0, 0), (2, 1, 0), (3, 2, 0), (4, 1, 1), (5, 2, 1), (6, 2, 2)]);
    }

    #[test]
    fn a_title_is_cut_where_its_letters_have_no_room_any_more() {
        let narrow = cut(&"illicit little till ".repeat(5), TITLE_PX, WIDTH);
        let wide = cut("WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW", TITLE_PX, WIDTH);
        assert!(narrow.chars().count() > 2 * wide.chars().count(), "{narrow} {wide}");
        assert!(narrow.ends_with('…') && wide.ends_with('…'));
        assert_eq!(cut("short", TITLE_PX, WIDTH), "short");
        let two = folded("#7 Refuse a mailbox that is over its quota and has been so for longer", TITLE_PX, WIDTH);
        assert_eq!(two, ["#7 Refuse a mailbox that is", "over its quota and has been…"]);
        assert_eq!(folded("#7 Short", TITLE_PX, WIDTH), ["#7 Short"]);
        assert_eq!(cut("a word that ends here", 10.0, 80), "a word tha…");
    }

    #[test]
    fn what_others_wrote_is_text() {
        let drawn = draw("main", &[node(1, None)]).into_string();
        assert!(drawn.contains("&lt;b&gt;1&lt;/b&gt;") && !drawn.contains("<b>"), "{drawn}");
    }
}
