//! Who acts: users, organizations, apps, their installations and their tokens.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::table::{Doc, Key};
use super::{Id, Sha};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Account {
    pub id: Id,
    pub login: String,
    pub kind: AccountKind,
    pub name: Option<String>,
    pub email: Option<String>,
    pub site_admin: bool,
    /// Of an organization: who belongs to it.
    pub members: BTreeMap<Id, OrgRole>,
    pub created_at: Timestamp,
}

impl Account {
    /// The address GitHub puts into commits it writes for this account.
    pub fn noreply_email(&self) -> String {
        format!("{}+{}@users.noreply.github.com", self.id, self.login)
    }

    pub fn commit_email(&self) -> String {
        self.email.clone().unwrap_or_else(|| self.noreply_email())
    }

    pub fn display_name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.login)
    }
}

impl Doc for Account {
    const KIND: &'static str = "account";
    fn key(&self) -> Key {
        Key { scope: 0, id: self.id }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccountKind {
    User,
    Organization,
    Bot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrgRole {
    Admin,
    Member,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Token {
    pub id: Id,
    pub secret: String,
    pub holder: TokenHolder,
    pub expires_at: Option<Timestamp>,
}

impl Doc for Token {
    const KIND: &'static str = "token";
    fn key(&self) -> Key {
        Key { scope: 0, id: self.id }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum TokenHolder {
    User {
        user: Id,
    },
    Installation {
        installation: Id,
        permissions: BTreeMap<String, String>,
        /// The repositories it is narrowed to; none means all of the installation's.
        repositories: Option<BTreeSet<Id>>,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct App {
    pub id: Id,
    pub slug: String,
    pub name: String,
    pub description: Option<String>,
    pub external_url: String,
    pub client_id: String,
    pub client_secret: String,
    pub owner: Id,
    /// The account `slug[bot]` that the app's installations act as.
    pub bot: Id,
    /// DER of the public half, base64; the private half is the app's and stays in its file.
    pub public_key: String,
    /// Sha-256 of the public key, for people to compare.
    pub key_fingerprint: Sha,
    pub webhook: AppWebhook,
    pub events: Vec<String>,
    pub permissions: BTreeMap<String, String>,
    pub created_at: Timestamp,
}

impl Doc for App {
    const KIND: &'static str = "app";
    fn key(&self) -> Key {
        Key { scope: 0, id: self.id }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AppWebhook {
    pub url: Option<String>,
    pub secret: Option<String>,
    pub content_type: String,
    pub insecure_ssl: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Installation {
    pub id: Id,
    pub app: Id,
    pub account: Id,
    pub selection: Selection,
    pub permissions: BTreeMap<String, String>,
    pub events: Vec<String>,
    pub suspended_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Installation {
    pub fn covers(&self, repo: Id) -> bool {
        match &self.selection {
            Selection::All => true,
            Selection::Selected(repos) => repos.contains(&repo),
        }
    }
}

impl Doc for Installation {
    const KIND: &'static str = "installation";
    fn key(&self) -> Key {
        Key { scope: 0, id: self.id }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Selection {
    All,
    Selected(BTreeSet<Id>),
}

/// An app that someone has agreed to, until it is made. The code is good for one use.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AppManifest {
    pub id: Id,
    pub code: String,
    pub owner: Id,
    pub manifest: serde_json::Value,
    pub created_at: Timestamp,
}

impl Doc for AppManifest {
    const KIND: &'static str = "app_manifest";
    fn key(&self) -> Key {
        Key { scope: 0, id: self.id }
    }
}
