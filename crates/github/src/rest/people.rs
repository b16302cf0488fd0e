use serde::Deserialize;

use crate::client::Repo;
use crate::error::Error;

/// What somebody may do in a repository, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    None,
    Read,
    Triage,
    Write,
    Maintain,
    Admin,
}

#[derive(Deserialize)]
struct Answer {
    /// The old names: `maintain` is `write` here and `triage` is `read`.
    permission: Permission,
    /// The role as it is; an organization may have made up its own.
    role_name: Option<String>,
}

impl Repo {
    pub async fn permission(&self, login: &str) -> Result<Permission, Error> {
        let found: Option<Answer> = self.find(&self.get(&["collaborators", login, "permission"])).await?;
        Ok(found.map_or(Permission::None, |answer| match answer.role_name.as_deref() {
            Some("maintain") => Permission::Maintain,
            Some("triage") => Permission::Triage,
            _ => answer.permission,
        }))
    }
}
