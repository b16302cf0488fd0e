//! GitHub's JSON of an account: a user, a bot or an organization.

use merge_train_core::ids::UserId;
use serde::Deserialize;

/// The account `ghost`, in whose name GitHub shows what the deleted accounts wrote.
const GHOST: UserId = UserId::new(10137);

/// A person, a bot or an organization.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Actor {
    pub id: UserId,
    #[serde(default)]
    pub login: String,
}

/// By what name GitHub is asked about them; empty for a deleted account.
pub(crate) fn login_of(actor: Option<&Actor>) -> String {
    actor.map(|actor| actor.login.clone()).unwrap_or_default()
}

/// Whose it is; null stands for a deleted account.
pub(crate) fn id_of(actor: Option<&Actor>) -> UserId {
    actor.map_or(GHOST, |actor| actor.id)
}
