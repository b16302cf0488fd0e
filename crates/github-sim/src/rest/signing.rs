//! Who a commit or a tag that is written through the API is by.

use jiff::Timestamp;
use serde::Deserialize;

use crate::git::Signature;
use crate::http::ApiError;
use crate::people;
use crate::world::{AccountKind, Id, World};

/// `author`, `committer` or `tagger` in a request.
#[derive(Clone, Deserialize)]
pub struct SignatureGiven {
    name: String,
    email: String,
    date: Option<String>,
}

impl SignatureGiven {
    pub fn signature(&self, world: &World) -> Result<Signature, ApiError> {
        let odd = |text: &str| text.trim().is_empty() || text.contains(['<', '>', '\n', '\0']);
        if odd(&self.name) || odd(&self.email) {
            return Err(ApiError::unprocessable("Invalid request.\n\nname and email must not be blank."));
        }
        let mut signature = Signature::utc(self.name.trim(), self.email.trim(), world.now.as_second());
        if let Some(date) = &self.date {
            let time: Timestamp = date
                .parse()
                .map_err(|_| ApiError::unprocessable(format!("Invalid request.\n\n{date} is not a valid date.")))?;
            signature.seconds = time.as_second();
            signature.offset = offset_in(date);
        }
        Ok(signature)
    }
}

/// `+0200` in `2024-01-01T12:00:00+02:00`.
fn offset_in(date: &str) -> String {
    let after_time = date.split_once('T').map_or("", |(_, time)| time);
    match after_time.rfind(['+', '-']) {
        Some(at) => after_time[at..].replace(':', ""),
        None => "+0000".into(),
    }
}

/// (author, committer) of a commit made through the API. Whoever is not named is the caller; for a person, GitHub
/// commits.
pub fn authorship(
    world: &World,
    actor: Id,
    author: Option<&SignatureGiven>,
    committer: Option<&SignatureGiven>,
) -> Result<(Signature, Signature), ApiError> {
    let given_committer = committer.map(|given| given.signature(world)).transpose()?;
    let author = match (author, &given_committer) {
        (Some(given), _) => given.signature(world)?,
        (None, Some(committer)) => committer.clone(),
        (None, None) => people::signature_of(world, actor),
    };
    let committer = match given_committer {
        Some(committer) => committer,
        None if world.account(actor).kind == AccountKind::User => people::github_signature(world),
        None => people::signature_of(world, actor),
    };
    Ok((author, committer))
}

#[cfg(test)]
mod tests {
    use super::offset_in;

    #[test]
    fn the_offset_of_a_date_is_kept() {
        assert_eq!(offset_in("2024-01-01T12:00:00+02:00"), "+0200");
        assert_eq!(offset_in("2024-01-01T12:00:00-0730"), "-0730");
        assert_eq!(offset_in("2024-01-01T12:00:00Z"), "+0000");
    }
}
