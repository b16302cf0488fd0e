//! A stack of pull requests, drawn: each to the right of what it stands on.

use maud::{Markup, html};
use merge_train_core::ids::PrNumber;

use super::layout::Tone;

const WIDTH: i64 = 250;
const HEIGHT: i64 = 58;
const GAP_X: i64 = 46;
const GAP_Y: i64 = 18;
const TRUNK: i64 = 92;
/// So many letters have room.
const LETTERS: usize = 27;

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
                    text x=(TRUNK / 2) y=(middle(0) + 5) text-anchor="middle" { (cut(trunk, 11)) title { (trunk) } }
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
                            // Letters differ in width: what has no room is cut off, and the whole is in the title.
                            svg x=(x(it.depth)) y=(y(it.row)) width=(WIDTH - 8) height=(HEIGHT) {
                                text.title x="12" y="24" { (cut(&format!("#{} {}", it.node.pr, it.node.title), LETTERS)) }
                                text.word x="12" y="45" { (cut(&it.node.word, LETTERS + 4)) }
                            }
                            title { "#" (it.node.pr) " " (it.node.title) ": " (it.node.word) }
                        }
                    }
                }
            }
        }
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

fn cut(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    text.chars().take(letters - 1).chain(['…']).collect()
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
    fn what_others_wrote_is_text() {
        let drawn = draw("main", &[node(1, None)]).into_string();
        assert!(drawn.contains("&lt;b&gt;1&lt;/b&gt;") && !drawn.contains("<b>"), "{drawn}");
    }
}
