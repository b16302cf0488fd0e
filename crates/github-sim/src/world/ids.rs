//! Node ids: what GraphQL calls a thing. They look like GitHub's and carry the key they stand for.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::{Id, Key};

macro_rules! node_kinds {
    ($($kind:ident = $prefix:literal),* $(,)?) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum NodeKind { $($kind),* }

        impl NodeKind {
            pub fn prefix(self) -> &'static str {
                match self { $(Self::$kind => $prefix),* }
            }

            fn from_prefix(prefix: &str) -> Option<Self> {
                match prefix { $($prefix => Some(Self::$kind),)* _ => None }
            }
        }
    };
}

node_kinds! {
    User = "U", Organization = "O", Bot = "BOT", App = "A", Repository = "R", Issue = "I", PullRequest = "PR",
    IssueComment = "IC", Review = "PRR", ReviewComment = "PRRC", ReviewThread = "PRRT", Label = "LA",
    Reaction = "REA", CheckSuite = "CS", CheckRun = "CR", Status = "SC", WorkflowRun = "WFR", Ruleset = "RRS",
    Stack = "S", IssueEvent = "IE", Commit = "C", Ref = "REF", BranchProtection = "BPR", StatusCheckRollup = "SCR",
    Installation = "INS", StatusContext = "SCX", Tree = "T", Blob = "B", Workflow = "W",
    PullRequestCommit = "PURC", ReviewRequest = "RRQ",
}

/// The node id of the thing at `scope`/`id`.
pub fn node_id(kind: NodeKind, scope: Id, id: Id) -> String {
    let mut bytes = scope.to_be_bytes().to_vec();
    bytes.extend(id.to_be_bytes());
    format!("{}_kwDO{}", kind.prefix(), URL_SAFE_NO_PAD.encode(bytes))
}

pub fn decode_node_id(text: &str) -> Option<(NodeKind, Key)> {
    let (prefix, rest) = text.split_once("_kwDO")?;
    let bytes = URL_SAFE_NO_PAD.decode(rest).ok()?;
    let scope = u64::from_be_bytes(bytes.get(..8)?.try_into().ok()?);
    let id = u64::from_be_bytes(bytes.get(8..16)?.try_into().ok()?);
    Some((NodeKind::from_prefix(prefix)?, Key { scope, id }))
}

/// The node id of what a text names within a repository: an object by its SHA, a ref by its full name, a rule by its
/// pattern.
pub fn named_node_id(kind: NodeKind, repo: Id, name: &str) -> String {
    let mut bytes = repo.to_be_bytes().to_vec();
    bytes.extend(name.as_bytes());
    format!("{}_kwDO{}", kind.prefix(), URL_SAFE_NO_PAD.encode(bytes))
}

/// The kind, the repository and the name.
pub fn decode_named_node_id(text: &str) -> Option<(NodeKind, Id, String)> {
    let (prefix, rest) = text.split_once("_kwDO")?;
    let bytes = URL_SAFE_NO_PAD.decode(rest).ok()?;
    let repo = u64::from_be_bytes(bytes.get(..8)?.try_into().ok()?);
    let name = String::from_utf8(bytes.get(8..)?.to_vec()).ok()?;
    Some((NodeKind::from_prefix(prefix)?, repo, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_id_leads_back_to_what_it_names() {
        let id = node_id(NodeKind::PullRequest, 7, 42);
        assert_eq!(decode_node_id(&id), Some((NodeKind::PullRequest, Key { scope: 7, id: 42 })));
        let id = named_node_id(NodeKind::Ref, 7, "refs/heads/main");
        assert_eq!(decode_named_node_id(&id), Some((NodeKind::Ref, 7, "refs/heads/main".into())));
        for bad in ["", "PR_", "PR_kwDO", "XX_kwDOAAAAAAAAAAcAAAAAAAAAKg", "PR_kwDO!!"] {
            assert_eq!(decode_node_id(bad), None, "{bad}");
        }
    }
}
