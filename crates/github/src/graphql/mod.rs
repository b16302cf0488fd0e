//! What only GraphQL can tell, or tells of many things in one call.

mod ci;
mod conversations;
mod glance;
mod merge_states;
mod query;
mod subject;
mod talk;
mod threads;
mod wishes;

pub use glance::Glances;
pub(crate) use merge_states::Manners;
pub use merge_states::MergeStates;
pub use talk::Depth;
pub use threads::{ReviewThread, ThreadAuthor, ThreadComment};
pub use wishes::{Wish, Wishes};
