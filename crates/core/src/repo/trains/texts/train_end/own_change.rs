//! What would land is not what the pull request changes.

use super::{ManualBranchMove, TrainEndText};
use crate::ids::{BranchName, PrNumber};
use crate::repo::trains::difference::{CommitList, Difference};
use crate::repo::trains::texts::trunk;
use crate::repo::trains::work::WithdrawnCommits;

/// The two ways to compute what lands do not agree. Nothing has landed.
pub fn differs(
    pr: PrNumber,
    default_branch: &BranchName,
    difference: &Difference,
    moved: &ManualBranchMove,
) -> TrainEndText {
    let on = trunk(default_branch);
    let message =
        format!("PR #{pr} was not merged: its branch would put changes on {on} that are not part of PR #{pr}.");
    TrainEndText::new("ForeignChange", message)
        .details(format!(
            "{difference}\n\nThe change is based on {}.{}",
            difference.standing.stands_on,
            drivers(difference)
        ))
        .next(format!(
            "Move only the commits of PR #{pr} onto {on}, then check the changes that the pull request \
             shows:\n\n{}\n\nIf the base branch of PR #{pr} is not {on}, change it. Then comment `@merge-train start` \
             again.",
            moved.commands()
        ))
}

fn drivers(difference: &Difference) -> &'static str {
    match difference.standing.by_driver {
        true => {
            " `.gitattributes` has git keep the lines of both sides here (`merge=union`), so what the pull request deletes would \
             come back without a conflict."
        }
        false => "",
    }
}

/// A descendant has commits that its predecessor no longer has.
pub fn withdrawn(
    pr: PrNumber,
    predecessor: PrNumber,
    withdrawn: &WithdrawnCommits,
    moved: &ManualBranchMove,
) -> TrainEndText {
    let message = format!(
        "#{predecessor} was force-pushed. PR #{pr} was prepared with {}, which #{predecessor} no longer contains: the \
         commits removed from #{predecessor} would land with PR #{pr}. Nothing was merged.",
        withdrawn.head
    );
    TrainEndText::new("WithdrawnCommits", message)
        .details(format!(
            "Removed from #{predecessor}, but still in the branch of PR #{pr}:\n{}",
            CommitList(&withdrawn.commits)
        ))
        .next(format!(
            "Move the commits of PR #{pr} to the new head of #{predecessor}:\n\n{}\n\nThen comment `@merge-train \
             start` again.",
            moved.commands()
        ))
}
