//! What a repository says about itself: reading it, and showing on GitHub what is thought of it.

use github::{CheckReport, Class, Conclusion, Content, Priority, Remark};
use merge_train_core::ids::{BranchName, PrNumber, Sha};
use merge_train_core::repo::settings::{
    CHECK, FILE, RepositorySettings, SettingsFile, SettingsFileProblem, SettingsFileVerdict, SettingsProposal,
};
use merge_train_core::repo::{CheckPublication, EffectFailure};

use super::EffectRun;
use super::failure::of_github;
use crate::config::own_settings;

/// By which the check is known again.
const CHECK_ID: &str = "merge-train:configuration";

/// What git says in the place of a commit where there is none.
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

impl EffectRun<'_> {
    pub(super) async fn read_settings(&self, default: &BranchName) -> Result<SettingsFile, EffectFailure> {
        let repo = self.repo.with_priority(Priority::Poll);
        let head = repo.branch_head(default).await.map_err(of_github)?;
        // A repository without a commit says nothing.
        let Some(at) = head else {
            let at = Sha::parse(NO_COMMIT).expect("it is as long as one");
            return Ok(SettingsFile { at, blob: None, said: Ok(RepositorySettings::default()) });
        };
        let found = repo.file(FILE, &at).await.map_err(of_github)?;
        let said = found.as_ref().map_or_else(|| Ok(RepositorySettings::default()), |file| said(&file.content));
        Ok(SettingsFile { at, blob: found.map(|file| file.blob), said })
    }

    pub(super) async fn read_proposal(&self, pr: PrNumber, head: &Sha) -> Result<SettingsProposal, EffectFailure> {
        let repo = self.repo.with_priority(Priority::Poll);
        if !repo.changes(pr, FILE).await.map_err(of_github)? {
            return Ok(SettingsProposal::Untouched);
        }
        let found = repo.file(FILE, head).await.map_err(of_github)?;
        Ok(found.map_or(SettingsProposal::Removed, |file| SettingsProposal::Written(said(&file.content))))
    }

    pub(super) async fn show_check(
        &self,
        head: &Sha,
        verdict: &SettingsFileVerdict,
    ) -> Result<CheckPublication, EffectFailure> {
        let (title, summary) = (verdict.title(), verdict.summary());
        let remark = |problem: &'_ SettingsFileProblem| (problem.line, problem.text.clone());
        let problems: Vec<(u32, String)> = verdict.problems().iter().map(remark).collect();
        let report = CheckReport {
            name: CHECK,
            external_id: CHECK_ID,
            conclusion: if verdict.is_failure() { Conclusion::Failure } else { Conclusion::Success },
            title: &title,
            summary: &summary,
            remarks: problems.iter().map(|(line, message)| Remark { path: FILE, line: *line, message }).collect(),
        };
        match self.repo.report_check(head, &report).await {
            Ok(()) => Ok(CheckPublication::Shown),
            Err(error) if error.class() == Class::Forbidden => {
                Ok(CheckPublication::NotAllowed { reason: error.to_string() })
            }
            Err(error) => Err(of_github(error)),
        }
    }
}

fn said(content: &Content) -> Result<RepositorySettings, Vec<SettingsFileProblem>> {
    match content {
        Content::Bytes(bytes) => own_settings(bytes),
        Content::Other => {
            let text = format!("{FILE} is not a text file: it is a folder, a link, or far too large");
            Err(vec![SettingsFileProblem { line: 1, column: 1, text }])
        }
    }
}
