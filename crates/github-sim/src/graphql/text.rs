//! Markdown as HTML and as plain text.

use pulldown_cmark::{Event, Options, Parser, TagEnd};

use super::scalars::Html;

/// `full_name` is the repository that `#1` refers to.
pub fn html(markdown: &str, full_name: &str) -> Html {
    Html(crate::pages::markdown::render(markdown, full_name).into_string().trim_end().to_owned())
}

pub fn plain(markdown: &str) -> String {
    let mut text = String::new();
    for event in Parser::new_ext(markdown, Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES) {
        match event {
            Event::Text(part) | Event::Code(part) => text.push_str(&part),
            Event::SoftBreak | Event::HardBreak | Event::End(TagEnd::Item) => text.push('\n'),
            Event::End(TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::CodeBlock) => text.push_str("\n\n"),
            _ => {}
        }
    }
    text.trim_end().to_owned()
}

/// A title, which is no Markdown.
pub fn escaped(title: &str) -> Html {
    Html(title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}
