//! What all pages have in common, and the small things that they are made of.

use jiff::Timestamp;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use merge_train_core::workflow::{RunStatus, StepStatus};

use super::address::PageAddress;
use super::{DashboardPage, DashboardVisitor};
use crate::daemon::server::App;
use crate::terminal::{ago, took};

pub fn page(app: &App, visitor: &DashboardVisitor<'_>, address: Option<&PageAddress>, page: &DashboardPage) -> Markup {
    let here = |found: bool| found.then_some("page");
    let nav = [
        (
            "/",
            "Board",
            matches!(
                address,
                Some(PageAddress::Board { .. } | PageAddress::Train { .. } | PageAddress::Workspace { .. })
            ),
        ),
        ("/runs", "Runs", matches!(address, Some(PageAddress::Runs(_) | PageAddress::Run { .. }))),
        ("/insights", "Insights", matches!(address, Some(PageAddress::Insights))),
        ("/system", "System", matches!(address, Some(PageAddress::System))),
    ];
    let is_known = app.anonymous.as_ref() != Some(&visitor.session.key.name);
    html! {
        (head(&page.title, Some(&visitor.session.token())))
        body data-live=[address.map(|address| format!("/live?{}", serde_urlencoded::to_string([("to", address.to_string())]).unwrap_or_default()))] {
            a.skip href="#main" { "Skip to content" }
            header {
                a.brand href="/" { (logo()) "merge-train" }
                nav aria-label="Pages" {
                    @for (to, name, found) in nav {
                        a href=(to) aria-current=[here(found)] { (name) }
                    }
                }
                div.visitor {
                    span.live id="live" role="status" title="Live update status" { "not live" }
                    @if is_known {
                        span { (visitor.session.key.name) " " small { (visitor.session.key.role.as_str()) } }
                        form method="post" action="/sign-out" {
                            (token(visitor))
                            button.plain { "Sign out" }
                        }
                    } @else {
                        span { "visitor " small { (visitor.session.key.role.as_str()) } }
                        a href="/sign-in" { "Sign in" }
                    }
                }
            }
            main id="main" tabindex="-1" { (page.body) }
            footer {
                "merge-train " (env!("CARGO_PKG_VERSION")) " · "
                a href="/api/openapi.json" { "API" } " · "
                a href="/metrics" { "Metrics" }
            }
        }
    }
}

/// A page for somebody who has not come in.
pub fn outside(title: &str, body: &Markup) -> Markup {
    html! {
        (head(title, None))
        body.outside { main id="main" { (body) } }
    }
}

fn head(title: &str, token: Option<&str>) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en";
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            @if let Some(token) = token { meta name="csrf-token" content=(token); }
            title { (title) " · merge-train" }
            link rel="icon" href="/assets/icon.svg" type="image/svg+xml";
            link rel="stylesheet" href="/assets/style.css";
            script src="/assets/live.js" defer {}
        }
    }
}

pub fn logo() -> Markup {
    html! {
        svg.logo viewBox="0 0 24 24" width="24" height="24" aria-hidden="true" {
            path d="M4 19V9a5 5 0 0 1 5-5h6a5 5 0 0 1 5 5v10" fill="none" stroke="currentColor" stroke-width="2" {}
            path d="M4 14h16M9 19l-2 3M15 19l2 3" fill="none" stroke="currentColor" stroke-width="2" {}
            circle cx="9" cy="17" r="1.2" fill="currentColor" {}
            circle cx="15" cy="17" r="1.2" fill="currentColor" {}
        }
    }
}

/// Shows that a form was made here.
pub fn token(visitor: &DashboardVisitor<'_>) -> Markup {
    html! { input type="hidden" name="token" value=(visitor.session.token()); }
}

/// How something is to be taken at a glance; what it is, the words say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Quiet,
    Busy,
    Waiting,
    Good,
    Attention,
    Bad,
}

impl Tone {
    pub fn name(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Busy => "busy",
            Self::Waiting => "waiting",
            Self::Good => "good",
            Self::Attention => "attention",
            Self::Bad => "bad",
        }
    }
}

pub fn badge(tone: Tone, text: &str) -> Markup {
    html! { span class={ "badge " (tone.name()) } { (text) } }
}

pub fn run_badge(status: RunStatus) -> Markup {
    let (tone, text) = run_words(status);
    badge(tone, text)
}

pub fn run_words(status: RunStatus) -> (Tone, &'static str) {
    match status {
        RunStatus::Pending => (Tone::Quiet, "pending"),
        RunStatus::Running => (Tone::Busy, "running"),
        RunStatus::AwaitingApproval => (Tone::Attention, "awaiting approval"),
        RunStatus::WaitingExternal => (Tone::Waiting, "waiting"),
        RunStatus::Completed => (Tone::Good, "completed"),
        RunStatus::Failed => (Tone::Bad, "failed"),
        RunStatus::Cancelled => (Tone::Quiet, "cancelled"),
    }
}

pub fn step_badge(status: StepStatus) -> Markup {
    match status {
        StepStatus::Pending => badge(Tone::Quiet, "pending"),
        StepStatus::Running => badge(Tone::Busy, "running"),
        StepStatus::Completed => badge(Tone::Good, "completed"),
        StepStatus::Failed => badge(Tone::Bad, "failed"),
        StepStatus::Skipped => badge(Tone::Quiet, "skipped"),
    }
}

/// How long ago it was; the moment itself for whoever wants to know.
pub fn since(at: Timestamp, now: Timestamp) -> Markup {
    html! { time datetime=(at) title=(at) { (ago(at, now)) } }
}

/// A moment to the second.
pub fn moment(at: Timestamp) -> Markup {
    html! { time datetime=(at) title=(at) { (at.strftime("%b %-d, %H:%M:%S").to_string()) } }
}

/// How long it took from one to the other.
pub fn between(from: Timestamp, to: Timestamp) -> String {
    took(u64::try_from(to.duration_since(from).as_millis()).unwrap_or_default())
}

/// A pull request at GitHub.
pub fn at_github(app: &App, repo: &str, pr: &str) -> Markup {
    html! { a.outside href={ (app.web_url) "/" (repo) "/pull/" (pr) } rel="noreferrer" { "#" (pr) } }
}

/// A sentence of merge-train's, whose only markup is code.
pub fn prose(text: &str) -> Markup {
    let mut shown = html! {};
    let mut rest = text;
    while let Some(at) = rest.find('`') {
        let ticks = rest[at..].bytes().take_while(|byte| *byte == b'`').count();
        let inside = &rest[at + ticks..];
        let Some(end) = closing(inside, ticks) else { break };
        let code = &inside[..end];
        let is_padded = code.starts_with(' ') && code.ends_with(' ') && code.trim() != "";
        let code = if is_padded { &code[1..code.len() - 1] } else { code };
        shown = html! { (shown) (rest[..at]) code { (code) } };
        rest = &inside[end + ticks..];
    }
    html! { (shown) (rest) }
}

/// Where a run of exactly so many ticks begins.
fn closing(text: &str, ticks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let begin = at + found;
        let count = text[begin..].bytes().take_while(|byte| *byte == b'`').count();
        if count == ticks {
            return Some(begin);
        }
        at = begin + count;
    }
    None
}

/// A form with one button, which asks the API for something.
pub struct Button<'a> {
    pub order: &'a str,
    pub fields: Vec<(&'a str, String)>,
    pub label: &'a str,
    pub class: &'a str,
    /// Whoever presses it is asked for a reason, which this is the name of the field for.
    pub asks: Option<&'a str>,
    /// Whether nothing is done without one.
    pub insists: bool,
}

impl<'a> Button<'a> {
    pub fn new(order: &'a str, label: &'a str, fields: Vec<(&'a str, String)>) -> Self {
        Self { order, fields, label, class: "", asks: None, insists: false }
    }

    pub fn class(mut self, class: &'a str) -> Self {
        self.class = class;
        self
    }

    pub fn asks(mut self, what: &'a str, insists: bool) -> Self {
        (self.asks, self.insists) = (Some(what), insists);
        self
    }

    pub fn show(&self, visitor: &DashboardVisitor<'_>, back: &PageAddress) -> Markup {
        html! {
            form.order method="post" action="/orders" {
                (token(visitor))
                input type="hidden" name="order" value=(self.order);
                input type="hidden" name="back" value=(back);
                @for (name, value) in &self.fields { input type="hidden" name=(name) value=(value); }
                @if let Some(what) = self.asks {
                    label { span { (what) } input name="reason" maxlength="500" required[self.insists] autocomplete="off"; }
                }
                button class=(self.class) { (self.label) }
            }
        }
    }
}

/// JSON for people, indented.
pub fn json(value: &serde_json::Value) -> Markup {
    html! { pre.json tabindex="0" { code { (serde_json::to_string_pretty(value).unwrap_or_default()) } } }
}

/// A unified diff with its lines told apart.
pub fn diff(text: &str) -> Markup {
    let class = |line: &str| match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'd', b'i', b'f', b'f', ..] => "file",
        [b'@', ..] => "place",
        [b'+', ..] => "added",
        [b'-', ..] => "removed",
        _ => "same",
    };
    html! {
        pre.diff tabindex="0" { @for line in text.lines() { span class=(class(line)) { (crate::terminal::spelled_out(line)) } (PreEscaped("\n")) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_the_only_markup_of_a_sentence() {
        for (text, expected) in [
            ("plain & simple", "plain &amp; simple"),
            ("the check `build` failed", "the check <code>build</code> failed"),
            ("`` a`b `` and `<b>`", "<code>a`b</code> and <code>&lt;b&gt;</code>"),
            ("no end ` here", "no end ` here"),
            ("<script>", "&lt;script&gt;"),
        ] {
            assert_eq!(prose(text).into_string(), expected, "{text}");
        }
    }
}
