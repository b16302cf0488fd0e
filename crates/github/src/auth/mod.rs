//! In whose name a call is made: the app's own, that of its installation on a repository, or a person's token.

mod jwt;
mod shared;
mod tokens;

pub(crate) use tokens::Keyring;
