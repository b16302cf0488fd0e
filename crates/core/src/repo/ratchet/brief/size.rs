//! The size limit of a fixer's brief, and what is cut first where there is too much.

use super::{FixerBrief, LogExcerpt, untrusted};

/// What texts are cut to before anything else of them goes: enough for what somebody wants.
const KEPT_OF_EACH: usize = 2 << 10;
/// What is left of each where there are very many: enough to know what it is about.
const KEPT_AT_LEAST: usize = 200;

impl FixerBrief {
    /// Cuts what is longest until all the texts together have at most `most_bytes`. Logs go first, from their beginnings:
    /// their ends tell why it failed. Whole threads go last, and the later ones before the earlier.
    pub fn fit(&mut self, most_bytes: usize) {
        cut(self, most_bytes, 0, logs);
        cut(self, most_bytes, KEPT_OF_EACH, texts);
        cut(self, most_bytes, KEPT_AT_LEAST, texts);
        while self.bytes() > most_bytes && (self.threads.pop().is_some() || self.reviews.pop().is_some()) {}
        for check in &mut self.checks {
            // Nothing of it is left but that there was one.
            check.log.take_if(|log| log.text.is_empty() && log.truncated);
        }
    }

    /// What its texts take.
    pub fn bytes(&self) -> usize {
        let checks = self.checks.iter().map(|check| {
            let said = [&check.title, &check.summary].into_iter().flatten().map(String::len).sum::<usize>();
            let annotations: usize = check.annotations.iter().map(|one| one.path.len() + one.message.len()).sum();
            check.name.len() + said + annotations + check.log.as_ref().map_or(0, |log| log.text.len())
        });
        let said = self.threads.iter().flat_map(|thread| &thread.said).chain(&self.reviews);
        checks.sum::<usize>() + said.map(|said| said.body.len()).sum::<usize>()
    }
}

/// A text that may be cut.
enum Cut<'a> {
    Log(&'a mut LogExcerpt),
    Text(&'a mut String),
}

fn logs(brief: &mut FixerBrief) -> Vec<Cut<'_>> {
    brief.checks.iter_mut().filter_map(|check| check.log.as_mut()).map(Cut::Log).collect()
}

fn texts(brief: &mut FixerBrief) -> Vec<Cut<'_>> {
    let mut all = Vec::new();
    for check in &mut brief.checks {
        all.extend([&mut check.title, &mut check.summary].into_iter().flatten().map(Cut::Text));
        all.extend(check.annotations.iter_mut().map(|one| Cut::Text(&mut one.message)));
    }
    for thread in &mut brief.threads {
        all.extend(thread.said.iter_mut().map(|said| Cut::Text(&mut said.body)));
    }
    all.extend(brief.reviews.iter_mut().map(|said| Cut::Text(&mut said.body)));
    all
}

/// Cuts the longest of them to one length, the greatest with which all of the brief fits.
fn cut(brief: &mut FixerBrief, most_bytes: usize, kept: usize, choose: fn(&mut FixerBrief) -> Vec<Cut<'_>>) {
    let Some(over) = brief.bytes().checked_sub(most_bytes).filter(|over| *over > 0) else { return };
    let mut texts = choose(brief);
    let lengths: Vec<usize> = texts.iter().map(Cut::len).collect();
    let saved = |length: usize| lengths.iter().map(|len| len.saturating_sub(length)).sum::<usize>();
    let (mut low, mut high) = (kept, lengths.iter().copied().max().unwrap_or(0).max(kept));
    // The greatest length in low..=high that saves enough; `kept` if none does.
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if saved(middle) >= over { low = middle } else { high = middle - 1 }
    }
    texts.iter_mut().for_each(|text| text.shorten(low));
}

impl Cut<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Log(log) => log.text.len(),
            Self::Text(text) => text.len(),
        }
    }

    fn shorten(&mut self, most_bytes: usize) {
        if self.len() <= most_bytes {
            return;
        }
        match self {
            Self::Log(log) => {
                let start = log.text.ceil_char_boundary(log.text.len() - most_bytes);
                // From the first full line on, unless that leaves little: an error can be one long line.
                let line = log.text[start..].find('\n').map_or(log.text.len(), |end| start + end + 1);
                let is_enough = (log.text.len() - line) * 2 >= log.text.len() - start;
                log.text.drain(..if is_enough { line } else { start });
                log.truncated = true;
            }
            Self::Text(text) => untrusted::shorten(text, most_bytes),
        }
    }
}
