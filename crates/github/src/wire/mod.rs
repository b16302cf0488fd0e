//! GitHub's JSON where webhooks and REST answers say the same thing in the same shape. Only what merge-train reads is
//! named: fields that GitHub adds are ignored, and those it may leave out have a meaning here when they are absent.

mod actor;
mod comment;
mod pull;

pub(crate) use actor::{Actor, id_of, login_of};
pub(crate) use comment::Comment;
pub(crate) use pull::{Head, Pull};
