//! One call over the wire: what is sent, how the answer is read, what its status means.

mod answer;
mod call;
mod classify;
mod etag;
mod exchange;
mod page;

pub(crate) use answer::Answer;
pub(crate) use call::{Caching, Call, Redirects};
pub(crate) use etag::EtagCache;
pub(crate) use exchange::{Bearer, Whole, Wire};
