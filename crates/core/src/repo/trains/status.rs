//! The status comment: the record of a train for the machine, and what it means for people.
//!
//! It stays on the pull request where the train began. What it says in JSON is the copy from which a train goes on when
//! everything else is lost, so it is complete or it is not posted.

mod human;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{CascadePhase, TrainRecord, TrainState};
use crate::ids::{PrNumber, Sha, UserId};

pub use human::{StackRow, StackRowState, TrainStatusView, WaitParty, WaitReason, human};

const OPENING: &str = "<!-- merge-train-state";
const ENDING: &str = "-->";
/// Says whose comment it is, and that it holds no state.
const CLOSED: &str = "<!-- merge-train-closed";
const HEADING: &str = "**Merge Train Status**";

/// GitHub takes comments of 65,536 characters. Counted in bytes here, which are never fewer.
const LARGEST_BODY_BYTES: usize = 65_536;
/// What of it the JSON may take; the rest is for people.
const LARGEST_STATE_BYTES: usize = 60 * 1024;
/// An error's message is somebody's output, and has no length of its own.
const LONGEST_MESSAGE_BYTES: usize = 4 * 1024;
/// What is left of the message where the JSON would be too large otherwise.
const SHORTENED_MESSAGE_CHARS: usize = 500;
const CUT_OFF: &str = "... [truncated]";

/// The newest version of the record that this program understands.
const NEWEST_VERSION: u32 = 1;

/// A record that fits no comment. To post the comment without it would silently end the recovery from GitHub: the train
/// is aborted instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the state of the train takes {bytes} bytes, and a status comment has room for less than {LARGEST_STATE_BYTES}"
)]
pub struct TooLarge {
    pub bytes: usize,
}

/// Why a comment gives no record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Anybody can write a comment that looks like a status comment.
    #[error("the comment was not written by the bot")]
    NotOurs,
    /// One of the bot's other comments, or the last word on a train that is done.
    #[error("the comment holds no state of a train")]
    NoState,
    #[error("the state in the status comment cannot be read: {0}")]
    Broken(String),
}

/// The comment of a train that is under way or can be resumed. `human` is what people read; it is cut where it does not fit.
pub fn body(record: &TrainRecord, human: &str) -> Result<String, TooLarge> {
    let head = format!("{OPENING}\n{}\n{ENDING}\n{HEADING}\n\n", state(record)?);
    let room = LARGEST_BODY_BYTES - head.len();
    Ok(head + &fitted(human, room))
}

/// The last word on a train that is done. Without a record: nobody may resume it. Where it parted, the trains that go on in
/// its place have comments of their own.
pub fn closing(human: &str, new_roots: &[PrNumber]) -> String {
    let parted = if new_roots.is_empty() { String::new() } else { format!(" {}", Closed::json(new_roots)) };
    let head = format!("{CLOSED}{parted} {ENDING}\n{HEADING}\n\n");
    let room = LARGEST_BODY_BYTES - head.len();
    head + &fitted(human, room)
}

#[derive(Serialize, Deserialize)]
struct Closed {
    new_roots: Vec<PrNumber>,
}

impl Closed {
    fn json(new_roots: &[PrNumber]) -> String {
        serde_json::to_string(&Self { new_roots: new_roots.to_vec() }).expect("a list of numbers is JSON")
    }
}

/// Whether it looks like a status comment, whoever wrote it.
pub fn looks_like_one(body: &str) -> bool {
    after(body, OPENING).is_some() || after(body, CLOSED).is_some()
}

/// Where a comment is the last word on a train: the trains that go on in its place.
pub fn closed_for(body: &str) -> Option<Vec<PrNumber>> {
    let (parted, _) = after(body, CLOSED)?.split_once(ENDING)?;
    let parted = parted.trim();
    if parted.is_empty() {
        return Some(Vec::new());
    }
    serde_json::from_str::<Closed>(parted).ok().map(|closed| closed.new_roots)
}

/// What follows a mark. Only at the very beginning: further down, the text may quote what others wrote.
fn after<'a>(body: &'a str, mark: &str) -> Option<&'a str> {
    let rest = body.trim_start_matches('\u{feff}').trim_start().strip_prefix(mark)?;
    rest.starts_with(char::is_whitespace).then_some(rest)
}

/// The record in a comment of the bot. The id of the comment is left to whoever found it.
pub fn parse(body: &str, author: UserId, bot: UserId) -> Result<TrainRecord, Unreadable> {
    if author != bot {
        return Err(Unreadable::NotOurs);
    }
    let rest = after(body, OPENING).ok_or(Unreadable::NoState)?;
    let (state, _) = rest.split_once(ENDING).ok_or_else(|| Unreadable::Broken("it has no end".to_owned()))?;
    read(state).map_err(Unreadable::Broken)
}

fn read(state: &str) -> Result<TrainRecord, String> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let Versioned { version } = serde_json::from_str(state).map_err(|error| error.to_string())?;
    if version > NEWEST_VERSION {
        return Err(format!("its version is {version}, and this program understands those up to {NEWEST_VERSION}"));
    }
    let record: TrainRecord = serde_json::from_str(state).map_err(|error| error.to_string())?;
    Ok(TrainRecord { status_comment_id: None, ..record })
}

/// The record as the comment's JSON has it: all of it but the id of the comment.
#[derive(Serialize)]
struct State<'a> {
    version: u32,
    recovery_seq: u64,
    state: TrainState,
    original_root_pr: PrNumber,
    current_pr: PrNumber,
    cascade_phase: &'a CascadePhase,
    predecessor_pr: Option<PrNumber>,
    predecessor_head_sha: Option<&'a Sha>,
    last_squash_sha: Option<&'a Sha>,
    started_at: Timestamp,
    stopped_at: Option<Timestamp>,
    error: Option<StateError<'a>>,
    #[serde(skip_serializing_if = "<[PrNumber]>::is_empty")]
    left_out: &'a [PrNumber],
}

#[derive(Serialize)]
struct StateError<'a> {
    #[serde(rename = "type")]
    error_type: &'a str,
    message: Cow<'a, str>,
}

fn state(record: &TrainRecord) -> Result<String, TooLarge> {
    let full = json(record, |message| cut_to_bytes(message, LONGEST_MESSAGE_BYTES));
    if full.len() < LARGEST_STATE_BYTES {
        return Ok(full);
    }
    let shortened = json(record, |message| cut_to_chars(message, SHORTENED_MESSAGE_CHARS));
    match shortened.len() {
        bytes if bytes < LARGEST_STATE_BYTES => Ok(shortened),
        bytes => Err(TooLarge { bytes }),
    }
}

fn json(record: &TrainRecord, cut: fn(&str) -> Cow<'_, str>) -> String {
    // Named one by one, so that a new field is not forgotten here.
    let TrainRecord {
        version,
        recovery_seq,
        state,
        original_root_pr,
        current_pr,
        cascade_phase,
        predecessor_pr,
        predecessor_head_sha,
        last_squash_sha,
        started_at,
        stopped_at,
        error,
        left_out,
        status_comment_id: _,
    } = record;
    let state = State {
        version: *version,
        recovery_seq: *recovery_seq,
        state: *state,
        original_root_pr: *original_root_pr,
        current_pr: *current_pr,
        cascade_phase,
        predecessor_pr: *predecessor_pr,
        predecessor_head_sha: predecessor_head_sha.as_ref(),
        last_squash_sha: last_squash_sha.as_ref(),
        started_at: *started_at,
        stopped_at: *stopped_at,
        error: error.as_ref().map(|error| StateError { error_type: &error.error_type, message: cut(&error.message) }),
        left_out,
    };
    let text = serde_json::to_string_pretty(&state).expect("a record has only keys that are strings");
    // In JSON these stand inside strings only. Without them no message can end the HTML comment around it.
    text.replace('<', "\\u003c").replace('>', "\\u003e")
}

fn cut_to_bytes(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(most - CUT_OFF.len());
    Cow::Owned(format!("{}{CUT_OFF}", &text[..end]))
}

fn cut_to_chars(text: &str, most: usize) -> Cow<'_, str> {
    if text.chars().nth(most).is_none() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().take(most - CUT_OFF.len()).chain(CUT_OFF.chars()).collect())
}

/// As many whole lines as there is room for.
fn fitted(text: &str, room: usize) -> Cow<'_, str> {
    if text.len() <= room {
        return Cow::Borrowed(text);
    }
    let fits = &text[..text.floor_char_boundary(room - CUT_OFF.len() - "\n\n".len())];
    let lines = fits.rfind('\n').map_or(fits, |end| &fits[..end]);
    Cow::Owned(format!("{lines}\n\n{CUT_OFF}"))
}
