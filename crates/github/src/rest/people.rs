//! What a user may do in a repository.

use merge_train_core::facts::Permission;
use serde::Deserialize;

use crate::client::Repo;
use crate::error::Error;

#[derive(Deserialize)]
struct Answer {
    /// The old names: `maintain` is `write` here and `triage` is `read`.
    permission: Permission,
    /// The role as it is; an organization may have made up its own.
    role_name: Option<String>,
}

impl Repo {
    /// What somebody may do here; nothing, for somebody GitHub does not know.
    pub async fn permission(&self, login: &str) -> Result<Permission, Error> {
        let found: Option<Answer> = self.find(&self.get(&["collaborators", login, "permission"])).await?;
        Ok(found.map_or(Permission::None, |answer| match answer.role_name.as_deref() {
            Some("maintain") => Permission::Maintain,
            Some("triage") => Permission::Triage,
            _ => answer.permission,
        }))
    }
}
