//! What only GraphQL can tell, or tells of many things in one call.

mod ci;
mod conversations;
mod merge_states;
mod query;
mod subject;
mod threads;

pub(crate) use merge_states::Manners;
pub use merge_states::MergeStates;
pub use threads::{ReviewThread, ThreadAuthor, ThreadComment};
