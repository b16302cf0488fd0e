//! The write-ahead log that a process left behind which did not end in good order.
//!
//! SQLite reads it up to the first frame that does not add up and forgets the rest: right for a write that a crash cut
//! short, wrong for a log that was damaged in its middle, since what follows was acknowledged.
//! The format: <https://www.sqlite.org/fileformat2.html#the_write_ahead_log>.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;

use crate::error::{Error, Result};

const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
/// The last bit says whether the sums are over big-endian words.
const MAGIC: u32 = 0x377f_0682;
const BUFFER_BYTES: usize = 1 << 20;

/// A commit is synchronised before the next begins: only the last one can be cut short.
const CUT_SHORT_AT_MOST: usize = 1;

/// Refuses a log whose end SQLite would forget although it was synchronised. One that is not there is in order.
pub fn examine(file: &Path) -> Result<()> {
    let log = match File::open(file) {
        Ok(log) => log,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(Error::File { path: file.to_owned(), source }),
    };
    match read(BufReader::with_capacity(BUFFER_BYTES, log)) {
        Ok(Found::Whole) => Ok(()),
        Ok(Found::Header) => Err(damaged(file, "its header does not match its checksum".to_owned())),
        Ok(Found::Broken { frame, commits }) => {
            let reason =
                format!("frame {frame} does not match its checksum, and {commits} commits from there on would be lost");
            Err(damaged(file, reason))
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
    /// From this frame on, counted from 1, SQLite would forget.
    Broken {
        frame: usize,
        commits: usize,
    },
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
    let (mut number, mut broken, mut commits) = (0, None, 0);
    while fill(&mut log, &mut frame)? {
        number += 1;
        let is_of_this_log = frame[8..16] == header[16..24];
        if broken.is_none() {
            sum.add(&frame[..8]);
            sum.add(&frame[FRAME_HEADER_BYTES..]);
            let adds_up = sum.words == [word(&frame, 16), word(&frame, 20)];
            if !is_of_this_log || !adds_up {
                broken = Some(number);
            }
        }
        // The size of the database is in the frames that end a transaction.
        commits += usize::from(broken.is_some() && is_of_this_log && word(&frame, 4) != 0);
    }
    Ok(match broken {
        Some(frame) if commits > CUT_SHORT_AT_MOST => Found::Broken { frame, commits },
        _ => Found::Whole,
    })
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
