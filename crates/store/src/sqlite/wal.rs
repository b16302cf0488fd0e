//! The write-ahead log that a process left behind which did not end in good order.
//!
//! SQLite reads it up to the first frame that does not add up and forgets the rest: right for a write that a crash cut
//! short, wrong for a log that was damaged in its middle, since what follows was acknowledged.
//! The format: <https://www.sqlite.org/fileformat2.html#the_write_ahead_log>.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::{Error, Result};

const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
/// The last bit says whether the sums are over big-endian words.
const MAGIC: u32 = 0x377f_0682;
const BUFFER_BYTES: usize = 1 << 20;

/// A commit is synchronised before the next begins: only the last one can be cut short.
const CUT_SHORT_AT_MOST: usize = 1;

/// Pages of a transaction that are looked up in the database: more would only say the same.
const EVIDENCE_PAGES: usize = 16;

/// Refuses a log whose end SQLite would forget although it was synchronised. One that is not there is in order.
pub fn examine(database: &Path) -> Result<()> {
    let mut file = database.as_os_str().to_owned();
    file.push("-wal");
    let file = Path::new(&file);
    let log = match File::open(file) {
        Ok(log) => log,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(Error::File { path: file.to_owned(), source }),
    };
    let found = read(BufReader::with_capacity(BUFFER_BYTES, log));
    let is_lost = |broken: &Broken| broken.commits > CUT_SHORT_AT_MOST || broken.is_in(database);
    match found {
        Ok(Found::Whole) => Ok(()),
        Ok(Found::Broken(broken)) if !is_lost(&broken) => Ok(()),
        Ok(Found::Header) => Err(damaged(file, "its header does not match its checksum".to_owned())),
        Ok(Found::Broken(Broken { frame, commits, .. })) => {
            let reason =
                format!("frame {frame} does not match its checksum, and from there on {commits} would be lost");
            Err(damaged(file, reason + if commits == 1 { " commit" } else { " commits" }))
        }
        Err(source) => Err(Error::File { path: file.to_owned(), source }),
    }
}

fn damaged(file: &Path, reason: String) -> Error {
    Error::Damaged { file: file.to_owned(), reason }
}

enum Found {
    Whole,
    Header,
    Broken(Broken),
}

/// What SQLite would forget.
struct Broken {
    /// The first frame of it, counted from 1.
    frame: usize,
    commits: usize,
    /// What else the transaction wrote that this frame is part of.
    pages: Pages,
}

/// Some of the pages that a transaction wrote, with their numbers.
#[derive(Default)]
struct Pages(Vec<(u32, Vec<u8>)>);

impl Pages {
    fn add(&mut self, frame: &[u8]) {
        if self.0.len() < EVIDENCE_PAGES {
            self.0.push((word(frame, 0), frame[FRAME_HEADER_BYTES..].to_vec()));
        }
    }
}

impl Broken {
    /// Whether these pages are in the database already. They came there after the log was synchronised; and without the log
    /// some of its pages would be older than others.
    fn is_in(&self, database: &Path) -> bool {
        let is_there = |file: &File, (number, page): &(u32, Vec<u8>)| {
            let mut found = vec![0; page.len()];
            let place = u64::from(number.saturating_sub(1)) * page.len() as u64;
            file.read_exact_at(&mut found, place).is_ok() && found == *page
        };
        let Ok(file) = File::open(database) else { return false };
        !self.pages.0.is_empty() && self.pages.0.iter().all(|page| is_there(&file, page))
    }
}

fn read(mut log: impl Read) -> std::io::Result<Found> {
    let mut header = [0; HEADER_BYTES];
    if !fill(&mut log, &mut header)? || header == [0; HEADER_BYTES] {
        return Ok(Found::Whole);
    }
    let magic = word(&header, 0);
    let mut sum = Sum { order: if magic & 1 == 1 { u32::from_be_bytes } else { u32::from_le_bytes }, words: [0, 0] };
    sum.add(&header[..24]);
    let page_bytes = word(&header, 8) as usize;
    if magic & !1 != MAGIC || sum.words != [word(&header, 24), word(&header, 28)] || page_bytes > 65_536 {
        return Ok(Found::Header);
    }
    let mut frame = vec![0; FRAME_HEADER_BYTES + page_bytes];
    let (mut number, mut broken, mut under_way) = (0, None, Pages::default());
    while fill(&mut log, &mut frame)? {
        number += 1;
        let is_of_this_log = frame[8..16] == header[16..24];
        // The size of the database is in the frames that end a transaction.
        let is_commit = is_of_this_log && word(&frame, 4) != 0;
        let broken = match &mut broken {
            Some(broken) => broken,
            none => {
                sum.add(&frame[..8]);
                sum.add(&frame[FRAME_HEADER_BYTES..]);
                if !is_of_this_log || sum.words != [word(&frame, 16), word(&frame, 20)] {
                    let (commits, pages) = (usize::from(is_commit), std::mem::take(&mut under_way));
                    *none = Some(Broken { frame: number, commits, pages });
                } else if is_commit {
                    under_way = Pages::default();
                } else {
                    under_way.add(&frame);
                }
                continue;
            }
        };
        if is_of_this_log && broken.commits == 0 {
            broken.pages.add(&frame);
        }
        broken.commits += usize::from(is_commit);
    }
    Ok(broken.map_or(Found::Whole, Found::Broken))
}

/// Whether there was enough to fill it.
fn fill(log: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<bool> {
    match log.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// SQLite's sum over pairs of words, each frame going on where the one before ended.
struct Sum {
    order: fn([u8; 4]) -> u32,
    words: [u32; 2],
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        let [mut first, mut second] = self.words;
        for pair in bytes.chunks_exact(8) {
            let (left, right) = ([pair[0], pair[1], pair[2], pair[3]], [pair[4], pair[5], pair[6], pair[7]]);
            first = first.wrapping_add((self.order)(left)).wrapping_add(second);
            second = second.wrapping_add((self.order)(right)).wrapping_add(first);
        }
        self.words = [first, second];
    }
}
