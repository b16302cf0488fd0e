//! GraphQL, with GitHub's names, types and nullability: a true subset of its schema.

// A field takes the arguments GitHub's field takes, however many those are.
#![allow(clippy::too_many_arguments, reason = "the arguments are GitHub's")]
// Two fields or arguments of one type are not one attribute written twice.
#![allow(clippy::duplicated_attributes, reason = "it looks at the macro's attributes one by one")]

mod actor;
mod check;
mod comment;
mod commit;
mod connection;
mod cost;
mod enums;
mod failure;
mod issue;
mod mutation;
mod never;
mod node;
mod nulls;
mod order;
mod protection;
mod pull;
mod query;
mod reaction;
mod repository;
mod request;
mod review;
mod scalars;
mod search;
mod status;
mod suite;
mod text;
mod tree;

pub use request::routes;

use std::collections::HashMap;
use std::sync::Arc;

use async_graphql::{Context, EmptySubscription, Schema};
use parking_lot::Mutex;

use crate::Sim;
use crate::git::CommitObject;
use crate::http::Caller;
use crate::world::{Id, Sha, World};
use cost::Cost;
use failure::{Failure, Result};

type GitHub = Schema<query::Query, mutation::Mutation, EmptySubscription>;

fn schema() -> GitHub {
    Schema::build(query::Query, mutation::Mutation::default(), EmptySubscription)
        .extension(nulls::Nulls)
        .disable_suggestions()
        .finish()
}

/// What every resolver can reach.
struct Asked {
    sim: Sim,
    caller: Caller,
    cost: Cost,
    /// What git was asked for in the course of this request.
    commits: Mutex<HashMap<(Id, Sha), Arc<CommitObject>>>,
}

impl Asked {
    fn new(sim: &Sim, caller: Caller, cost: Cost) -> Self {
        Self { sim: sim.clone(), caller, cost, commits: Mutex::default() }
    }

    fn remember(&self, repo: Id, commits: Vec<CommitObject>) {
        self.commits.lock().extend(commits.into_iter().map(|commit| ((repo, commit.sha.clone()), Arc::new(commit))));
    }
}

trait Ask {
    fn asked(&self) -> &Asked;

    fn sim(&self) -> &Sim {
        &self.asked().sim
    }

    fn caller(&self) -> &Caller {
        &self.asked().caller
    }

    fn look<R>(&self, look: impl FnOnce(&World) -> R) -> R {
        self.sim().read(look)
    }
}

impl Ask for Context<'_> {
    fn asked(&self) -> &Asked {
        self.data_unchecked::<Asked>()
    }
}
