//! Branch names have slashes, and clients do not agree whether to encode them: `/branches/feature/x/protection` and
//! `/branches/feature%2Fx/protection` are the same to GitHub. Routes are written for the second.

use axum::http::Uri;

/// After these, a name that may hold slashes, up to one of the endings.
const NAMES: [(&str, &[&str]); 5] = [
    ("/branches/", &["/protection", "/rename"]),
    ("/rules/branches/", &[]),
    (
        "/commits/",
        &["/status", "/statuses", "/check-runs", "/check-suites", "/pulls", "/branches-where-head", "/comments"],
    ),
    ("/compare/", &[]),
    ("/git/trees/", &[]),
];

/// The address with the slashes of such a name encoded; none when there is nothing to do.
pub fn with_encoded_names(uri: &Uri) -> Option<Uri> {
    let path = uri.path();
    let start = path.find("/repos/")?;
    let inside = start + "/repos/".len();
    let family = path[inside..].match_indices('/').nth(1).map(|(at, _)| inside + at)?;
    let (prefix, endings) = NAMES.iter().find(|(prefix, _)| path[family..].starts_with(prefix))?;
    let from = family + prefix.len();
    let rest = &path[from..];
    let end = endings
        .iter()
        .filter_map(|ending| {
            let at = rest.rfind(ending)?;
            let after = &rest[at + ending.len()..];
            let whole = after.is_empty() || *ending == "/protection" && after.starts_with('/');
            (at > 0 && whole).then_some(at)
        })
        .min()
        .unwrap_or(rest.len());
    let (name, ending) = rest.split_at(end);
    if !name.contains('/') {
        return None;
    }
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("{}{}{ending}{query}", &path[..from], name.replace('/', "%2F")).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_in_names_are_encoded_and_nothing_else_is() {
        for (given, wanted) in [
            ("/api/v3/repos/o/r/branches/feature/x", Some("/api/v3/repos/o/r/branches/feature%2Fx")),
            ("/repos/o/r/branches/a/b/protection?x=1", Some("/repos/o/r/branches/a%2Fb/protection?x=1")),
            (
                "/repos/o/r/branches/a/b/protection/required_status_checks/contexts",
                Some("/repos/o/r/branches/a%2Fb/protection/required_status_checks/contexts"),
            ),
            ("/repos/o/r/commits/a/b/check-runs", Some("/repos/o/r/commits/a%2Fb/check-runs")),
            ("/repos/o/r/compare/main...a/b", Some("/repos/o/r/compare/main...a%2Fb")),
            ("/repos/o/r/rules/branches/a/b", Some("/repos/o/r/rules/branches/a%2Fb")),
            ("/repos/o/r/branches/main/protection", None),
            ("/repos/o/r/branches/protection", None),
            ("/repos/o/r/branches", None),
            ("/repos/o/r/commits/abc/status", None),
            ("/repos/o/r/contents/a/b", None),
            ("/repos/o", None),
        ] {
            let uri: Uri = given.parse().expect("an address");
            assert_eq!(with_encoded_names(&uri).map(|uri| uri.to_string()).as_deref(), wanted, "{given}");
        }
    }
}
