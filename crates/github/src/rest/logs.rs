//! The log of a job. GitHub keeps it on other hosts and sends the caller there.

use url::Url;

use crate::client::Repo;
use crate::error::Error;
use crate::http::{Redirects, Whole};

/// The end of a log, where the failure is. Written by strangers: data, never instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogTail {
    pub text: String,
    /// The beginning was left out.
    pub truncated: bool,
}

impl Repo {
    /// The last `most_bytes` of a job's log. [`Error::NotFound`] before the job has one, [`Error::Gone`] after it expired.
    pub async fn job_log(&self, job: u64, most_bytes: usize) -> Result<LogTail, Error> {
        let call = self.get(&["actions", "jobs", &job.to_string(), "logs"]).redirects(Redirects::Answer);
        let answer = self.send(&call).await?;
        let (bytes, whole) = match answer.header("location") {
            Some(location) => {
                let elsewhere = call.url.join(location).ok().filter(|next| trusted(&call.url, next));
                let elsewhere = elsewhere
                    .ok_or_else(|| Error::permanent(&answer.call, "the log is said to be where no log can be"))?;
                self.client().wire().tail(&answer.call, elsewhere, most_bytes).await?
            }
            None if answer.body.len() > most_bytes => (answer.body.slice(answer.body.len() - most_bytes..), Whole::No),
            None => (answer.body, Whole::Yes),
        };
        Ok(LogTail { text: readable(&bytes, whole), truncated: whole == Whole::No })
    }
}

/// What came over an encrypted connection must not go on over an open one.
fn trusted(from: &Url, to: &Url) -> bool {
    to.scheme() == "https" || (from.scheme() == "http" && to.scheme() == "http")
}

/// From the first full line, unless that leaves little: the end may be one long line. The cut may have gone through the
/// middle of a character.
fn readable(bytes: &[u8], whole: Whole) -> String {
    let line = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |newline| newline + 1);
    let start = match whole {
        Whole::No if (bytes.len() - line) * 2 >= bytes.len() => line,
        Whole::No => bytes.iter().position(|byte| *byte & 0xc0 != 0x80).unwrap_or(0),
        Whole::Yes => 0,
    };
    String::from_utf8_lossy(&bytes[start..]).into_owned()
}
