//! HTML within a comment: which of its elements are open, and whether what they hold is talk of the author's own.

/// The elements whose content is code, a quotation, struck out or folded away.
const ASIDES: [&str; 9] = ["blockquote", "code", "del", "details", "pre", "s", "samp", "strike", "tt"];

/// How many of each of [`ASIDES`] are open.
pub(super) type Opened = [usize; ASIDES.len()];

/// The HTML read so far.
#[derive(Default)]
pub(super) struct Html {
    opened: Opened,
    in_comment: bool,
}

impl Html {
    /// Whether what comes next is not shown as the author's own words.
    pub(super) fn is_aside(&self) -> bool {
        self.in_comment || self.opened.iter().any(|&count| count > 0)
    }

    pub(super) fn opened(&self) -> Opened {
        self.opened
    }

    /// Closes all elements that were opened since.
    pub(super) fn close_down_to(&mut self, before: &Opened) {
        for (count, &before) in self.opened.iter_mut().zip(before) {
            *count = before.min(*count);
        }
    }

    /// The next piece of raw HTML: a tag, a comment, a whole block of both.
    pub(super) fn read(&mut self, raw: &str) {
        let mut rest = raw;
        loop {
            if self.in_comment {
                let Some((_, after)) = rest.split_once("-->") else { return };
                self.in_comment = false;
                rest = after;
            }
            let Some((_, after)) = rest.split_once('<') else { return };
            match after.strip_prefix('!') {
                // The dashes stay: they also belong to the end of `<!-->`, which is a comment.
                Some(dashes) if dashes.starts_with("--") => {
                    self.in_comment = true;
                    rest = dashes;
                }
                _ => rest = self.tag(after),
            }
        }
    }

    /// Reads a tag, whose `<` is gone, and gives what comes after it. What never ends or has no name is no tag.
    fn tag<'a>(&mut self, text: &'a str) -> &'a str {
        let start = text.strip_prefix('/').unwrap_or(text);
        let end_of_name = start.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(start.len());
        let (name, attributes) = start.split_at(end_of_name);
        if name.is_empty() {
            return start;
        }
        let Some(after) = after_attributes(attributes) else { return attributes };
        if let Some(index) = ASIDES.iter().position(|aside| aside.eq_ignore_ascii_case(name)) {
            let count = &mut self.opened[index];
            *count = if text.starts_with('/') { count.saturating_sub(1) } else { *count + 1 };
        }
        after
    }
}

/// What comes after the `>` that ends a tag, if one does. A `>` within quotes belongs to an attribute.
fn after_attributes(text: &str) -> Option<&str> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '>') => return Some(&text[at + 1..]),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
    }
    None
}
