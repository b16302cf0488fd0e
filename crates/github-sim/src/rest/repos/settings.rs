//! What can be set on a repository, when it is made and later.

use serde::{Deserialize, Deserializer};

use crate::http::ApiError;
use crate::world::{MergeMessage, MergeTitle, Repo, SquashMessage, SquashTitle};

/// Every field is optional; what is not given stays as it is.
#[derive(Deserialize)]
pub struct RepoSettings {
    #[serde(default, deserialize_with = "given")]
    description: Option<Option<String>>,
    #[serde(default, deserialize_with = "given")]
    homepage: Option<Option<String>>,
    private: Option<bool>,
    visibility: Option<String>,
    has_issues: Option<bool>,
    allow_merge_commit: Option<bool>,
    allow_squash_merge: Option<bool>,
    allow_rebase_merge: Option<bool>,
    allow_auto_merge: Option<bool>,
    allow_update_branch: Option<bool>,
    delete_branch_on_merge: Option<bool>,
    use_squash_pr_title_as_default: Option<bool>,
    squash_merge_commit_title: Option<SquashTitle>,
    squash_merge_commit_message: Option<SquashMessage>,
    merge_commit_title: Option<MergeTitle>,
    merge_commit_message: Option<MergeMessage>,
    web_commit_signoff_required: Option<bool>,
}

/// Tells a field that is null from one that is not there.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl RepoSettings {
    pub fn apply(self, repo: &mut Repo) -> Result<(), ApiError> {
        fn set<T>(field: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *field = value;
            }
        }
        set(&mut repo.description, self.description);
        set(&mut repo.homepage, self.homepage);
        set(&mut repo.private, self.private);
        match self.visibility.as_deref() {
            None => {}
            Some("public") => repo.private = false,
            Some("private" | "internal") => repo.private = true,
            Some(_) => return Err(ApiError::validation("Repository", "visibility", "invalid")),
        }
        set(&mut repo.has_issues, self.has_issues);
        set(&mut repo.allow_merge_commit, self.allow_merge_commit);
        set(&mut repo.allow_squash_merge, self.allow_squash_merge);
        set(&mut repo.allow_rebase_merge, self.allow_rebase_merge);
        set(&mut repo.allow_auto_merge, self.allow_auto_merge);
        set(&mut repo.allow_update_branch, self.allow_update_branch);
        set(&mut repo.delete_branch_on_merge, self.delete_branch_on_merge);
        set(&mut repo.web_commit_signoff_required, self.web_commit_signoff_required);
        let old_title = self.use_squash_pr_title_as_default.map(|pull| match pull {
            true => SquashTitle::PrTitle,
            false => SquashTitle::CommitOrPrTitle,
        });
        set(&mut repo.squash_merge_commit_title, self.squash_merge_commit_title.or(old_title));
        set(&mut repo.squash_merge_commit_message, self.squash_merge_commit_message);
        set(&mut repo.merge_commit_title, self.merge_commit_title);
        set(&mut repo.merge_commit_message, self.merge_commit_message);
        check(repo)
    }
}

fn check(repo: &Repo) -> Result<(), ApiError> {
    if !(repo.allow_merge_commit || repo.allow_squash_merge || repo.allow_rebase_merge) {
        return Err(ApiError::validation_message(
            "Repository",
            "Sorry, you need to allow at least one merge strategy. (no_merge_method)",
        ));
    }
    let squash_fits = repo.squash_merge_commit_title == SquashTitle::PrTitle
        || repo.squash_merge_commit_message == SquashMessage::CommitMessages;
    if !squash_fits {
        return Err(ApiError::validation_message(
            "Repository",
            "Sorry, that combination of squash_merge_commit_title and squash_merge_commit_message is not allowed.",
        ));
    }
    let merge_fits = match repo.merge_commit_title {
        MergeTitle::PrTitle => repo.merge_commit_message != MergeMessage::PrTitle,
        MergeTitle::MergeMessage => repo.merge_commit_message == MergeMessage::PrTitle,
    };
    if !merge_fits {
        return Err(ApiError::validation_message(
            "Repository",
            "Sorry, that combination of merge_commit_title and merge_commit_message is not allowed.",
        ));
    }
    Ok(())
}
