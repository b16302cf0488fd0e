//! Where in a diff a review comment stands.

use crate::git::FileChange;
use crate::world::Side;

/// Where a comment is to stand, as it was asked for.
#[derive(Clone, Debug, Default)]
pub struct Place {
    pub path: String,
    pub line: Option<u64>,
    pub side: Option<Side>,
    pub start_line: Option<u64>,
    pub start_side: Option<Side>,
    /// Lines below the first `@@` of the file's diff: the old way to name a line.
    pub position: Option<u64>,
    pub subject: Subject,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Subject {
    #[default]
    Line,
    File,
}

impl Subject {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::File => "file",
        }
    }
}

/// A place that exists in the diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    pub path: String,
    pub line: Option<u64>,
    pub side: Side,
    pub start_line: Option<u64>,
    pub start_side: Option<Side>,
    pub position: Option<u64>,
    /// From the `@@` to the line.
    pub diff_hunk: String,
    pub subject: Subject,
}

/// Why there is no such place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misplaced {
    Path,
    Line,
    Position,
    StartLine,
    /// The range ends before it starts.
    Order,
}

pub fn find(files: &[FileChange], place: &Place) -> Result<Spot, Misplaced> {
    let file = files.iter().find(|file| file.path == place.path).ok_or(Misplaced::Path)?;
    let patch = file.patch.as_deref().unwrap_or_default();
    if place.subject == Subject::File {
        return Ok(Spot {
            path: place.path.clone(),
            line: None,
            side: Side::Right,
            start_line: None,
            start_side: None,
            position: None,
            diff_hunk: String::new(),
            subject: Subject::File,
        });
    }
    let lines = lines(patch);
    let (end, side) = match (place.line, place.position) {
        (Some(line), _) => {
            let side = place.side.unwrap_or(Side::Right);
            (at(&lines, side, line).ok_or(Misplaced::Line)?, side)
        }
        (None, Some(position)) => {
            let found = lines.iter().find(|line| line.position == position).ok_or(Misplaced::Position)?;
            (found, if found.new.is_some() { Side::Right } else { Side::Left })
        }
        (None, None) => return Err(Misplaced::Line),
    };
    let start_side = place.start_line.map(|_| place.start_side.unwrap_or(side));
    if let (Some(line), Some(side)) = (place.start_line, start_side) {
        let start = at(&lines, side, line).filter(|start| start.hunk == end.hunk).ok_or(Misplaced::StartLine)?;
        if start.position >= end.position {
            return Err(Misplaced::Order);
        }
    }
    let text: Vec<&str> = patch.lines().collect();
    Ok(Spot {
        path: place.path.clone(),
        line: if side == Side::Right { end.new } else { end.old },
        side,
        start_line: place.start_line,
        start_side,
        position: Some(end.position),
        diff_hunk: text[end.hunk..=end.index].join("\n"),
        subject: Subject::Line,
    })
}

struct DiffLine {
    /// Which line of the patch it is.
    index: usize,
    /// Which line of the patch its `@@` is.
    hunk: usize,
    position: u64,
    old: Option<u64>,
    new: Option<u64>,
}

fn at(lines: &[DiffLine], side: Side, number: u64) -> Option<&DiffLine> {
    lines.iter().find(|line| if side == Side::Right { line.new == Some(number) } else { line.old == Some(number) })
}

fn lines(patch: &str) -> Vec<DiffLine> {
    let (mut old, mut new, mut hunk) = (0, 0, 0);
    let mut lines = Vec::new();
    for (index, text) in patch.lines().enumerate() {
        if let Some((old_start, new_start)) = hunk_start(text) {
            (old, new, hunk) = (old_start, new_start, index);
            continue;
        }
        let mut line = DiffLine { index, hunk, position: index as u64, old: None, new: None };
        match text.as_bytes().first() {
            Some(b'+') => line.new = take(&mut new),
            Some(b'-') => line.old = take(&mut old),
            // `\ No newline at end of file`
            Some(b'\\') => continue,
            _ => (line.old, line.new) = (take(&mut old), take(&mut new)),
        }
        lines.push(line);
    }
    lines
}

fn take(next: &mut u64) -> Option<u64> {
    *next += 1;
    Some(*next - 1)
}

/// The first old and new line of `@@ -1,2 +3,4 @@ …`.
fn hunk_start(line: &str) -> Option<(u64, u64)> {
    let mut parts = line.strip_prefix("@@ -")?.split(' ');
    let number = |part: &str| part.split(',').next()?.parse().ok();
    let old = number(parts.next()?)?;
    let new = number(parts.next()?.strip_prefix('+')?)?;
    Some((old, new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::FileStatus;

    const PATCH: &str =
        "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n@@ -10,2 +10,3 @@ fn x()\n ten\n+ten and a half\n eleven";

    fn files() -> Vec<FileChange> {
        vec![FileChange {
            path: "a.txt".into(),
            previous_path: None,
            status: FileStatus::Modified,
            additions: 2,
            deletions: 1,
            blob: String::new(),
            patch: Some(PATCH.into()),
        }]
    }

    fn place() -> Place {
        Place { path: "a.txt".into(), ..Place::default() }
    }

    #[test]
    fn a_line_is_found_on_either_side() {
        let right = find(&files(), &Place { line: Some(2), ..place() }).unwrap();
        assert_eq!((right.position, right.diff_hunk.as_str()), (Some(3), "@@ -1,3 +1,3 @@\n one\n-two\n+TWO"));
        let left = find(&files(), &Place { line: Some(2), side: Some(Side::Left), ..place() }).unwrap();
        assert_eq!((left.position, left.diff_hunk.as_str()), (Some(2), "@@ -1,3 +1,3 @@\n one\n-two"));
    }

    #[test]
    fn positions_count_on_through_the_hunks() {
        let spot = find(&files(), &Place { line: Some(11), ..place() }).unwrap();
        assert_eq!(
            (spot.position, spot.diff_hunk.as_str()),
            (Some(7), "@@ -10,2 +10,3 @@ fn x()\n ten\n+ten and a half")
        );
        let same = find(&files(), &Place { position: Some(7), ..place() }).unwrap();
        assert_eq!((same.line, same.side), (Some(11), Side::Right));
        let removed = find(&files(), &Place { position: Some(2), ..place() }).unwrap();
        assert_eq!((removed.line, removed.side), (Some(2), Side::Left));
    }

    #[test]
    fn what_is_not_in_the_diff_is_refused() {
        let refused = |place: Place| find(&files(), &place).unwrap_err();
        assert_eq!(refused(Place { path: "b.txt".into(), line: Some(1), ..Place::default() }), Misplaced::Path);
        assert_eq!(refused(Place { line: Some(5), ..place() }), Misplaced::Line);
        assert_eq!(refused(place()), Misplaced::Line);
        assert_eq!(refused(Place { position: Some(5), ..place() }), Misplaced::Position);
        assert_eq!(refused(Place { line: Some(11), start_line: Some(1), ..place() }), Misplaced::StartLine);
        assert_eq!(refused(Place { line: Some(2), start_line: Some(3), ..place() }), Misplaced::Order);
    }

    #[test]
    fn a_range_and_a_whole_file_can_be_commented_on() {
        let range = find(&files(), &Place { line: Some(3), start_line: Some(1), ..place() }).unwrap();
        assert_eq!((range.start_line, range.start_side, range.line), (Some(1), Some(Side::Right), Some(3)));
        let file = find(&files(), &Place { subject: Subject::File, ..place() }).unwrap();
        assert_eq!((file.line, file.position), (None, None));
    }
}
