//! What people asked for, and what came of it. These are events of the repository's stream; their JSON is an interface.

use serde::{Deserialize, Serialize};

use super::StoredCommand;
use crate::ids::{DeliveryId, UserId};
use crate::inbox::Key;
use crate::repo::{CommandOutcome, CommentRef, Request, RequestOutcome};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    CommandGiven {
        comment: CommentRef,
        user: UserId,
        login: String,
        command: StoredCommand,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delivery: Option<DeliveryId>,
    },
    CommandHandled {
        comment: CommentRef,
        user: UserId,
        command: StoredCommand,
        /// By which right: `author`, or what GitHub says.
        permission: String,
        #[serde(flatten)]
        outcome: CommandOutcome,
    },

    /// The end of a request that came through the API.
    RequestProcessed {
        key: Key,
        request: Request,
        outcome: RequestOutcome,
        /// Why there is nothing to do it to, for whoever asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refusal: Option<String>,
    },
}
