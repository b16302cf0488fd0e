//! GraphQL, with GitHub's names, types and nullability: a true subset of its schema.

// A field takes the arguments GitHub's field takes, however many those are.
#![allow(clippy::too_many_arguments, reason = "the arguments are GitHub's")]

mod actor;
mod connection;
mod cost;
mod enums;
mod failure;
mod issue;
mod mutation;
mod never;
mod nulls;
mod order;
mod pull;
mod query;
mod repository;
mod request;
mod scalars;
mod text;

pub use request::routes;

use async_graphql::{Context, EmptySubscription, Schema};

use crate::Sim;
use crate::http::Caller;
use crate::world::World;
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
}

impl Asked {
    fn new(sim: &Sim, caller: Caller, cost: Cost) -> Self {
        Self { sim: sim.clone(), caller, cost }
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
