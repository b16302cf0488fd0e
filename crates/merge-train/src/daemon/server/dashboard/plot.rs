//! Plots, drawn as SVG: bars over time, and how parts make a whole.

use jiff::Timestamp;
use maud::{Markup, html};

use crate::terminal::took;

/// A part of a time.
pub struct TimeSpan {
    pub from: Timestamp,
    pub to: Timestamp,
    pub class: &'static str,
}

const WIDTH: f64 = 1_000.0;
/// Of what is drawn over days: two of these stand beside each other, with letters as large as others on the page.
const DAYS_WIDTH: f64 = 600.0;

/// A bar that shows where in the time from `begin` to `end` a span lies. Never too narrow to be seen.
pub fn bar(span: &TimeSpan, begin: Timestamp, end: Timestamp) -> Markup {
    let whole = seconds(begin, end).max(0.001);
    let (from, to) = (seconds(begin, span.from) / whole, seconds(begin, span.to) / whole);
    let x = from.clamp(0.0, 0.995) * WIDTH;
    let width = ((to - from) * WIDTH).clamp(5.0, WIDTH - x);
    html! {
        svg.bar viewBox="0 0 1000 16" preserveAspectRatio="none" role="presentation" {
            rect.ground x="0" y="0" width="1000" height="16" {}
            rect class=(span.class) x=(rounded(x)) y="2" width=(rounded(width)) height="12" {}
        }
    }
}

fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64()
}

fn rounded(number: f64) -> String {
    format!("{number:.1}")
}

/// A column for each, with its number above and its name below.
pub fn columns(label: &str, all: &[(String, u64)]) -> Markup {
    let most = all.iter().map(|(_, count)| *count).max().unwrap_or_default().max(1);
    let step = DAYS_WIDTH / all.len().max(1) as f64;
    let height = |count: u64| 150.0 * count as f64 / most as f64;
    // So that names do not run into each other.
    let every = all.len().div_ceil(10).max(1);
    html! {
        figure.days tabindex="0" {
            svg.plot viewBox="0 0 600 200" role="img" aria-label=(label) {
                line.ground x1="0" y1="170" x2="600" y2="170" {}
                @for (at, (name, count)) in all.iter().enumerate() {
                    @let x = at as f64 * step;
                    rect.busy x=(rounded(x + step * 0.15)) y=(rounded(170.0 - height(*count))) width=(rounded(step * 0.7)) height=(rounded(height(*count))) {
                        title { (name) ": " (count) }
                    }
                    @if *count > 0 {
                        text x=(rounded(x + step * 0.5)) y=(rounded(164.0 - height(*count))) text-anchor="middle" { (count) }
                    }
                    @if at % every == 0 { text.name x=(rounded(x + step * 0.5)) y="192" text-anchor="middle" { (name) } }
                }
            }
            figcaption.muted { (label) }
        }
    }
}

/// A number of milliseconds for each name, where there is one.
pub struct PlotSeries {
    pub name: &'static str,
    pub class: &'static str,
    pub values: Vec<Option<u64>>,
}

/// Lines over the same names, with a dot for each number and how much the highest is.
pub fn lines(label: &str, names: &[String], all: &[PlotSeries]) -> Markup {
    let most = all.iter().flat_map(|line| line.values.iter().flatten()).copied().max().unwrap_or_default().max(1);
    let step = DAYS_WIDTH / names.len().max(1) as f64;
    let x = |at: usize| rounded((at as f64 + 0.5) * step);
    let y = |value: u64| rounded(170.0 - 140.0 * value as f64 / most as f64);
    let every = names.len().div_ceil(10).max(1);
    html! {
        figure.days tabindex="0" {
            svg.plot viewBox="0 0 600 200" role="img" aria-label=(label) {
                @for part in [most, most / 2] {
                    line.ground x1="0" y1=(y(part)) x2="600" y2=(y(part)) {}
                    text.name x="0" y={ (y(part)) } dy="-5" { (took(part)) }
                }
                line.ground x1="0" y1="170" x2="600" y2="170" {}
                @for line in all {
                    @let dots: Vec<(usize, u64)> = line.values.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?))).collect();
                    g class={ "line " (line.class) } {
                        polyline points=(dots.iter().map(|(at, value)| format!("{},{}", x(*at), y(*value))).collect::<Vec<_>>().join(" ")) {}
                        @for (at, value) in &dots {
                            circle cx=(x(*at)) cy=(y(*value)) r="4" { title { (names[*at]) ": " (line.name) " " (took(*value)) } }
                        }
                    }
                }
                @for (at, name) in names.iter().enumerate().step_by(every) {
                    text.name x=(x(at)) y="192" text-anchor="middle" { (name) }
                }
            }
            figcaption.muted { (label) }
            ul.legend { @for line in all { li { span class={ "swatch " (line.class) } {} (line.name) } } }
        }
    }
}

/// The parts of a whole, side by side, and what each is.
pub fn parts(label: &str, all: &[(&str, &'static str, f64, String)]) -> Markup {
    let whole: f64 = all.iter().map(|(_, _, amount, _)| amount).sum();
    let mut at = 0.0;
    let placed: Vec<(f64, f64)> = all
        .iter()
        .map(|(_, _, amount, _)| {
            let begin = at;
            at += if whole > 0.0 { amount / whole * WIDTH } else { 0.0 };
            (begin, at - begin)
        })
        .collect();
    html! {
        figure {
            svg.parts viewBox="0 0 1000 28" preserveAspectRatio="none" role="img" aria-label=(label) {
                rect.ground x="0" y="0" width="1000" height="28" {}
                @for ((name, class, ..), (x, width)) in all.iter().zip(&placed) {
                    rect class=(class) x=(rounded(*x)) y="0" width=(rounded(*width)) height="28" { title { (name) } }
                }
            }
            ul.legend {
                @for (name, class, amount, told) in all {
                    li { span class={ "swatch " (class) } {} (name) " " strong { (told) }
                        @if whole > 0.0 { " " small.muted { (format!("{:.0} %", amount / whole * 100.0)) } }
                    }
                }
            }
        }
    }
}
