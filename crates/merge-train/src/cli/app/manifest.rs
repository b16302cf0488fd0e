//! What GitHub is asked to make.

use github::{EVENTS, PERMISSIONS};
use serde_json::{Map, Value, json};
use url::Url;

use crate::cli::doctor::WEBHOOK_PATH;

/// The longest name that GitHub takes.
const LONGEST_NAME: usize = 34;

/// The app, as it is proposed.
pub fn manifest(name: &str, public_url: &str, redirect_url: &str) -> Value {
    let permissions: Map<String, Value> =
        PERMISSIONS.iter().map(|grant| (grant.name.to_owned(), grant.level.as_str().into())).collect();
    json!({
        "name": name,
        "url": public_url,
        "description": "Lands stacks of pull requests.",
        "hook_attributes": { "url": format!("{public_url}{WEBHOOK_PATH}"), "active": true },
        "redirect_url": redirect_url,
        "public": false,
        "default_permissions": permissions,
        "default_events": EVENTS,
    })
}

/// A name that is likely to be free: every app on GitHub has its own. It can be changed before somebody agrees.
pub fn default_name(organization: Option<&str>) -> String {
    let whose = organization.map_or_else(|| format!("{:04x}", fastrand::u16(..)), str::to_owned);
    format!("merge-train-{whose}").chars().take(LONGEST_NAME).collect()
}

/// A GitHub by the address that people know it by.
pub struct GithubAddress {
    /// `https://github.com`
    web_url: String,
}

/// What the public GitHub is called by people, and by programs.
const PUBLIC: (&str, &str) = ("https://github.com", "https://api.github.com");
/// Where a server of one's own has its API.
const OWN_API: &str = "/api/v3";

impl GithubAddress {
    pub fn at(web_url: &str) -> Self {
        Self { web_url: web_url.trim_end_matches('/').to_owned() }
    }

    /// The one whose API is there; none where that does not tell.
    pub fn of_api(api_url: &str) -> Option<Self> {
        if api_url == PUBLIC.1 {
            return Some(Self::at(PUBLIC.0));
        }
        api_url.strip_suffix(OWN_API).map(Self::at)
    }

    pub fn api_url(&self) -> String {
        if self.web_url == PUBLIC.0 { PUBLIC.1.to_owned() } else { format!("{}{OWN_API}", self.web_url) }
    }

    /// Where a proposal is posted to.
    pub fn new_app_url(&self, organization: Option<&str>, state: &str) -> anyhow::Result<Url> {
        let mut url = Url::parse(&self.web_url)?;
        let path: Vec<&str> = match organization {
            Some(organization) => vec!["organizations", organization, "settings", "apps", "new"],
            None => vec!["settings", "apps", "new"],
        };
        let mut segments = url.path_segments_mut().map_err(|()| anyhow::anyhow!("{} is no address", self.web_url))?;
        segments.pop_if_empty().extend(path);
        drop(segments);
        url.query_pairs_mut().append_pair("state", state);
        Ok(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_github_is_known_by_either_address() {
        for (web, api) in [
            ("https://github.com", "https://api.github.com"),
            ("https://ghes.example", "https://ghes.example/api/v3"),
            ("http://127.0.0.1:8930", "http://127.0.0.1:8930/api/v3"),
        ] {
            assert_eq!(GithubAddress::at(&format!("{web}/")).api_url(), api);
            assert_eq!(GithubAddress::of_api(api).map(|hub| hub.web_url).as_deref(), Some(web));
        }
        assert!(GithubAddress::of_api("https://elsewhere.example/api").is_none());
    }

    #[test]
    fn an_organization_s_app_is_made_in_its_settings() {
        let hub = GithubAddress::at("https://ghes.example");
        let own = hub.new_app_url(None, "a b").unwrap();
        assert_eq!(own.as_str(), "https://ghes.example/settings/apps/new?state=a+b");
        let theirs = hub.new_app_url(Some("acme"), "s").unwrap();
        assert_eq!(theirs.as_str(), "https://ghes.example/organizations/acme/settings/apps/new?state=s");
        assert_eq!(default_name(Some("acme")), "merge-train-acme");
        assert_eq!(default_name(Some(&"x".repeat(40))).len(), LONGEST_NAME);
    }
}
