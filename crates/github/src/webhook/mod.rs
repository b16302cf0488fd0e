//! What GitHub sends by itself: is it from GitHub, whom does it concern, what does it say. Pure: bytes in, facts out.

mod body;
mod envelope;
mod error;
mod glance;
mod parse;
mod signature;

pub use body::{BodyError, body_of};
pub use error::ParseError;
pub use glance::{Glance, GlancedComment, glance};
pub use parse::parse;
pub use signature::{Secrets, SecretsError, SignatureError, verify};
