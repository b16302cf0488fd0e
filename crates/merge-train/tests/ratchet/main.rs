//! Pull requests that keep moving: the daemon against a simulated GitHub whose CI really runs, and fixers that really mend.

mod approvals;
mod flows;
mod hostile;
mod people;
mod scale;
mod shop;
mod stacks;
#[path = "../serve"]
mod serve {
    #[allow(dead_code, unused_imports, reason = "the other suite needs more of it")]
    pub mod support;
}
