//! The simulator's own API, under `/_sim`: what GitHub has no endpoint for.

mod calls;
mod ci;
mod users;

pub use calls::Calls;

use axum::Router;

use crate::Sim;

pub fn routes() -> Router<Sim> {
    Router::new().merge(ci::routes()).merge(users::routes())
}
