//! The quick look at a payload before it is stored: whose it is, and whether it could be a stop.

use std::borrow::Cow;

use merge_train_core::ids::{PrNumber, RepoId, TenantId};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::ParseError;

/// What must be known of a delivery to store it in the right place and order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glance<'a> {
    pub repo: Option<RepoId>,
    /// The repository's owner, or else the account that the app is installed on.
    pub tenant: Option<TenantId>,
    /// What somebody wrote under a pull request just now: it may be a stop.
    pub comment: Option<GlancedComment<'a>>,
}

/// A comment on a pull request that was created or edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlancedComment<'a> {
    pub pr: PrNumber,
    pub body: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "Issue: Deserialize<'de>, Comment: Deserialize<'de>"))]
struct Outline<'a, Issue, Comment> {
    #[serde(borrow)]
    action: Option<Text<'a>>,
    #[serde(borrow)]
    repository: Option<Repository<'a>>,
    #[serde(borrow)]
    installation: Option<Installation<'a>>,
    #[serde(borrow)]
    organization: Option<Account<'a>>,
    issue: Option<Issue>,
    comment: Option<Comment>,
}

/// Serde borrows a `Cow` only where it is a field itself, not inside an `Option`.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
struct Repository<'a> {
    #[serde(borrow)]
    full_name: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Installation<'a> {
    #[serde(borrow)]
    account: Option<Account<'a>>,
}

#[derive(Deserialize)]
struct Account<'a> {
    #[serde(borrow)]
    login: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Issue {
    number: PrNumber,
    pull_request: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Comment<'a> {
    #[serde(borrow)]
    body: Option<Text<'a>>,
}

/// Looks at a payload without reading more of it than it must.
pub fn glance<'a>(event: &str, body: &'a [u8]) -> Result<Glance<'a>, ParseError> {
    if event != "issue_comment" {
        let (glance, _) = outline::<IgnoredAny, IgnoredAny>(event, body)?;
        return Ok(glance);
    }
    let (mut glance, outline) = outline::<Issue, Comment>(event, body)?;
    let written = matches!(outline.action, Some(Text(action)) if action == "created" || action == "edited");
    if let (true, Some(Issue { number, pull_request: Some(_) }), Some(Comment { body: Some(Text(body)) })) =
        (written, outline.issue, outline.comment)
    {
        glance.comment = Some(GlancedComment { pr: number, body });
    }
    Ok(glance)
}

fn outline<'a, I, C>(event: &str, body: &'a [u8]) -> Result<(Glance<'a>, Outline<'a, I, C>), ParseError>
where
    I: Deserialize<'a>,
    C: Deserialize<'a>,
{
    // Serde would take a list for an object, field by field.
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(ParseError::new(event, ".", "not a JSON object"));
    }
    let outline: Outline<'a, I, C> =
        serde_json::from_slice(body).map_err(|error| ParseError::new(event, ".", &error.to_string()))?;
    let repo = match &outline.repository {
        Some(repository) => Some(
            repository
                .full_name
                .parse::<RepoId>()
                .map_err(|invalid| ParseError::new(event, "repository.full_name", &invalid.to_string()))?,
        ),
        None => None,
    };
    let account = || {
        let installation = outline.installation.as_ref().and_then(|installation| installation.account.as_ref());
        let Text(login) = installation.or(outline.organization.as_ref())?.login.as_ref()?;
        TenantId::parse(login.to_ascii_lowercase()).ok()
    };
    let tenant = repo.as_ref().map(RepoId::tenant).or_else(account);
    Ok((Glance { repo, tenant, comment: None }, outline))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMENT: &[u8] = br#"{"action":"created","issue":{"number":7,"pull_request":{}},
        "comment":{"body":"@merge-train stop"},"repository":{"full_name":"Acme/Widgets","owner":{}},"new":[1]}"#;

    #[test]
    fn a_comment_on_a_pull_request_is_seen_with_its_text() {
        let glance = glance("issue_comment", COMMENT).unwrap();
        assert_eq!(glance.repo.unwrap().to_string(), "Acme/Widgets");
        assert_eq!(glance.tenant.unwrap().as_str(), "acme");
        let comment = glance.comment.unwrap();
        assert_eq!((comment.pr, comment.body.as_ref()), (PrNumber::new(7), "@merge-train stop"));
        assert!(matches!(comment.body, Cow::Borrowed(_)), "the text is not copied when nothing in it is escaped");
    }

    #[test]
    fn other_comments_and_other_events_show_no_text() {
        let text = std::str::from_utf8(COMMENT).unwrap();
        let deleted = text.replace("created", "deleted");
        let plain_issue = text.replace(r#","pull_request":{}"#, "");
        for (event, body) in [("issue_comment", &deleted), ("issue_comment", &plain_issue), ("issues", &text.into())] {
            assert_eq!(glance(event, body.as_bytes()).unwrap().comment, None, "{event} {body}");
        }
    }

    #[test]
    fn the_account_of_the_installation_stands_in_for_the_owner() {
        let installed = glance("installation", br#"{"installation":{"id":1,"account":{"login":"Acme"}}}"#).unwrap();
        assert_eq!((installed.repo, installed.tenant.unwrap().as_str()), (None, "acme"));
        let ping = glance("ping", br#"{"zen":"x","organization":{"login":"Acme"}}"#).unwrap();
        assert_eq!(ping.tenant.unwrap().as_str(), "acme");
        assert_eq!(glance("ping", b"{}").unwrap().tenant, None);
    }

    #[test]
    fn what_is_not_an_object_is_refused() {
        for body in ["", "[]", "null", "\"x\"", "{", "{} {}", r#"{"repository":{"full_name":"a/../b"}}"#] {
            assert!(glance("push", body.as_bytes()).is_err(), "{body}");
        }
    }
}
