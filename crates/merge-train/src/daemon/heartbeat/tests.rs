//! Who is looked at closely after a look at all.

use merge_train_core::facts::{CheckConclusion, CiFacts, MergeFacts, MergeState, ReviewActivity, SettingsFileContent};
use merge_train_core::ids::{BranchName, Sha};
use merge_train_core::repo::ratchet::HeartbeatFingerprint;
use serde_json::json;

use super::*;

fn widgets() -> RepoId {
    "acme/widgets".parse().expect("a repository")
}

fn glance(pr: u64) -> HeartbeatFacts {
    let merge = MergeFacts {
        number: PrNumber::new(pr),
        is_open: true,
        head_sha: Sha::parse("aaaa").expect("a commit"),
        base_ref: BranchName::parse("main").expect("a branch"),
        state: MergeState::Clean,
        draft: false,
        review: None,
        ci: CiFacts::default(),
        own_file: SettingsFileContent::Unseen,
    };
    HeartbeatFacts { repo: widgets(), merge, talk: ReviewActivity { overview: "nothing".to_owned(), detail: None } }
}

/// One that was looked at as `glance` shows it.
fn workspace(pr: u64) -> Workspace {
    let HeartbeatFacts { merge, talk, .. } = glance(pr);
    let row = json!({
        "id": format!("acme/widgets#{pr}"), "tenantId": "acme", "repoId": "acme/widgets", "prNumber": pr,
        "ratchetEnabled": true, "ratchetState": "PAUSED_DONE", "kanbanColumn": "WAITING",
        "glimpse": HeartbeatFingerprint::of(&merge, &talk),
        "createdAt": "2026-03-01T12:00:00Z", "updatedAt": "2026-03-01T12:00:00Z",
    });
    serde_json::from_value(row).expect("a workspace")
}

#[test]
fn who_changed_and_who_is_gone_is_news_and_who_could_not_be_read_is_not() {
    let workspaces: Vec<Workspace> = (1..=4).map(workspace).collect();
    let mut changed = glance(2);
    changed.merge.ci.overall = Some(CheckConclusion::Failed);
    let glances = Glances { seen: vec![glance(1), changed], unread: vec![(widgets(), PrNumber::new(4))] };
    let expected = BTreeMap::from([(widgets(), vec![PrNumber::new(2), PrNumber::new(3)])]);
    assert_eq!(news(&workspaces, &glances), expected);
}
