//! Types of GitHub's that clients name in their queries and of which the simulator never has any: milestones, teams,
//! projects, automatic merges. Nothing of these types can exist, so their fields have nothing to answer.

#![allow(unreachable_code, reason = "the fields of what cannot exist are never asked for")]

use async_graphql::{ID, Object};

use super::actor::{Actor, Organization};
use super::connection::connection;
use super::enums::PullRequestMergeMethod;
use super::scalars::{DateTime, Uri};

macro_rules! never {
    ($($name:ident { $($field:ident $(($($arg:ident: $type:ty),*))? -> $answer:ty),* $(,)? })*) => {$(
        #[derive(Clone)]
        pub enum $name {}

        #[Object]
        impl $name {
            $(pub async fn $field(&self $($(, $arg: $type)*)?) -> $answer {
                $($(let _ = $arg;)*)?
                match *self {}
            })*
        }
    )*};
}

never! {
    Mannequin {
        avatar_url(size: Option<i32>) -> Uri, id -> ID, login -> String, resource_path -> Uri, url -> Uri,
    }
    Team {
        combined_slug -> String, id -> ID, name -> String, organization -> Organization, slug -> String, url -> Uri,
    }
    Milestone {
        description -> Option<String>, due_on -> Option<DateTime>, id -> ID, number -> i32, title -> String, url -> Uri,
    }
    AutoMergeRequest {
        author_email -> Option<String>, commit_body -> Option<String>, commit_headline -> Option<String>,
        enabled_at -> Option<DateTime>, enabled_by -> Option<Actor>, merge_method -> PullRequestMergeMethod,
    }
    MergeQueueEntry { id -> ID, position -> i32, enqueued_at -> DateTime }
    ProjectCard { column -> Option<ProjectColumn>, id -> ID, project -> Project }
    ProjectColumn { id -> ID, name -> String }
    Project { id -> ID, name -> String, number -> i32, resource_path -> Uri }
    ProjectV2Item { id -> ID, project -> ProjectV2 }
    ProjectV2 { closed -> bool, id -> ID, number -> i32, resource_path -> Uri, title -> String }
}

connection!(MilestoneConnection, MilestoneEdge, Milestone);
connection!(ProjectCardConnection, ProjectCardEdge, ProjectCard);
connection!(ProjectConnection, ProjectEdge, Project);
connection!(ProjectV2Connection, ProjectV2Edge, ProjectV2);
connection!(ProjectV2ItemConnection, ProjectV2ItemEdge, ProjectV2Item);
