//! Markdown as people write it on GitHub, made safe: of raw HTML only a few plain tags stay, comments vanish.

use maud::{Markup, PreEscaped};
use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};

/// Renders `text`; `#7` and `@name` become links within `full_name`'s site.
pub fn render(text: &str, full_name: &str) -> Markup {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS | Options::ENABLE_GFM;
    let mut events = Vec::new();
    let mut raw_block: Option<String> = None;
    // Inside code and links, text stays as it is.
    let mut verbatim = 0_u32;
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Start(Tag::HtmlBlock) => raw_block = Some(String::new()),
            Event::End(TagEnd::HtmlBlock) => {
                let raw = raw_block.take().unwrap_or_default();
                events.push(Event::Html(CowStr::from(keep_plain_tags(&raw))));
            }
            Event::Html(raw) => match &mut raw_block {
                Some(block) => block.push_str(&raw),
                None => events.push(Event::Html(CowStr::from(keep_plain_tags(&raw)))),
            },
            Event::InlineHtml(raw) => events.push(Event::InlineHtml(CowStr::from(keep_plain_tags(&raw)))),
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                verbatim += 1;
                events.push(Event::Start(Tag::Link { link_type, dest_url: harmless(dest_url), title, id }));
            }
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                events.push(Event::Start(Tag::Image { link_type, dest_url: harmless(dest_url), title, id }));
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                verbatim += 1;
                events.push(Event::Start(Tag::CodeBlock(kind)));
            }
            Event::End(end @ (TagEnd::Link | TagEnd::CodeBlock)) => {
                verbatim -= 1;
                events.push(Event::End(end));
            }
            Event::Text(text) if verbatim == 0 => linked(&text, full_name, &mut events),
            Event::SoftBreak => events.push(Event::HardBreak),
            other => events.push(other),
        }
    }
    let mut out = String::new();
    html::push_html(&mut out, events.into_iter());
    PreEscaped(out)
}

/// Tags without attributes that cannot do harm.
const PLAIN_TAGS: &[&str] = &[
    "b",
    "br",
    "code",
    "del",
    "details",
    "details open",
    "div",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "hr",
    "i",
    "ins",
    "kbd",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
];

fn keep_plain_tags(raw: &str) -> String {
    let mut out = String::new();
    let mut rest = raw;
    while let Some(at) = rest.find('<') {
        escape_into(&mut out, &rest[..at]);
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let Some(end) = rest.find('>') else { break };
        let tag = &rest[..=end];
        let name =
            tag.trim_start_matches('<').trim_start_matches('/').trim_end_matches('>').trim_end_matches('/').trim();
        if PLAIN_TAGS.contains(&name.to_ascii_lowercase().as_str()) {
            out.push_str(tag);
        } else {
            escape_into(&mut out, tag);
        }
        rest = &rest[end + 1..];
    }
    escape_into(&mut out, rest);
    out
}

fn escape_into(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
}

/// Links lead to the web or stay on this page; nothing else (`javascript:`, `data:`).
fn harmless(url: CowStr<'_>) -> CowStr<'_> {
    let lower = url.trim().to_ascii_lowercase();
    let relative = !lower.split(['/', '?', '#']).next().unwrap_or_default().contains(':');
    if relative || lower.starts_with("https://") || lower.starts_with("http://") || lower.starts_with("mailto:") {
        url
    } else {
        CowStr::from("#")
    }
}

/// Splits a text into plain parts and links for `#7`, `@name` and web addresses.
fn linked<'a>(text: &str, full_name: &str, events: &mut Vec<Event<'a>>) {
    let mut plain = String::new();
    let mut rest = text;
    let mut previous = ' ';
    while let Some(c) = rest.chars().next() {
        let found = if previous.is_alphanumeric() || previous == '/' || previous == '_' {
            None
        } else {
            reference(rest, full_name)
        };
        if let Some((length, url)) = found {
            events.push(Event::Text(CowStr::from(std::mem::take(&mut plain))));
            let title = CowStr::from("");
            events.push(Event::Start(Tag::Link {
                link_type: LinkType::Autolink,
                dest_url: CowStr::from(url),
                title: title.clone(),
                id: title,
            }));
            events.push(Event::Text(CowStr::from(rest[..length].to_owned())));
            events.push(Event::End(TagEnd::Link));
            previous = 'x';
            rest = &rest[length..];
        } else {
            plain.push(c);
            previous = c;
            rest = &rest[c.len_utf8()..];
        }
    }
    events.push(Event::Text(CowStr::from(plain)));
}

/// The length of the reference at the head of `text`, and where it leads.
fn reference(text: &str, full_name: &str) -> Option<(usize, String)> {
    let run = |text: &str, fits: fn(char) -> bool| text.find(|c| !fits(c)).unwrap_or(text.len());
    if let Some(rest) = text.strip_prefix('#') {
        let digits = run(rest, |c| c.is_ascii_digit());
        return (1..=9).contains(&digits).then(|| (1 + digits, format!("/{full_name}/pull/{}", &rest[..digits])));
    }
    if let Some(rest) = text.strip_prefix('@') {
        let name = run(rest, |c| c.is_ascii_alphanumeric() || c == '-');
        return (name > 0).then(|| (1 + name, format!("/{}", &rest[..name])));
    }
    if text.starts_with("https://") || text.starts_with("http://") {
        let length = run(text, |c| !c.is_whitespace() && !"<>\"'".contains(c));
        let url = text[..length].trim_end_matches(['.', ',', ')', ';', ':', '!', '?']);
        return Some((url.len(), url.to_owned()));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        render(text, "o/r").0
    }

    #[test]
    fn comments_vanish_even_over_several_lines() {
        let text = "before\n\n<!-- state:\n{\"a\": \"<b>\"}\n-->\n\nafter";
        assert_eq!(shown(text).replace('\n', ""), "<p>before</p><p>after</p>");
        assert!(!shown("x <!-- hidden --> y").contains("hidden"));
    }

    #[test]
    fn nothing_that_runs_gets_through() {
        for text in [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "<details ontoggle=alert(1)>",
            "[x](javascript:alert(1))",
            "[x](  JavaScript:alert(1))",
            "![x](data:text/html,x)",
            "<a href=\"javascript:alert(1)\">x</a>",
            "a <svg onload=alert(1)> b",
            "<!-- --><script>1</script>",
        ] {
            let html = shown(text).to_ascii_lowercase();
            for bad in [
                "<script",
                "<img src=x",
                "ontoggle=alert(1)>x",
                "href=\"javascript",
                "src=\"data:",
                "<svg",
                "<a href=&",
            ] {
                assert!(!html.contains(bad), "{text} gave {html}");
            }
            assert!(!html.contains("<details ontoggle"), "{text} gave {html}");
        }
    }

    #[test]
    fn plain_tags_and_tables_stay() {
        assert!(
            shown("<details><summary>More</summary>\n\n* a\n\n</details>").contains("<details><summary>More</summary>")
        );
        assert!(shown("| a | b |\n|---|---|\n| 1 | 2 |").contains("<table>"));
        assert!(shown("- [x] done").contains("checkbox"));
    }

    #[test]
    fn numbers_names_and_addresses_become_links_outside_code() {
        let html = shown("See #12 by @ana: https://example.com/x. `#13` a#14");
        assert!(html.contains("<a href=\"/o/r/pull/12\">#12</a>"), "{html}");
        assert!(html.contains("<a href=\"/ana\">@ana</a>"), "{html}");
        assert!(html.contains("<a href=\"https://example.com/x\">https://example.com/x</a>."), "{html}");
        assert!(html.contains("<code>#13</code> a#14"), "{html}");
    }
}
