//! GitHub's own stacks of pull requests.

use crate::world::{Pull, Stack, World};

/// The stack a pull request belongs to.
pub fn stack_of<'w>(world: &'w World, pull: &Pull) -> Option<&'w Stack> {
    world.stacks.within(pull.repo).find(|stack| stack.pulls.contains(&pull.number))
}
