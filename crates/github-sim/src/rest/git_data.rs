use axum::Router;

use crate::Sim;

pub fn routes() -> Router<Sim> {
    Router::new()
}
