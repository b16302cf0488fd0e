//! What trains ask for, done for real: on a simulated GitHub, with real git.

mod cascade;
mod landing;
mod messages;
mod policies;
mod reading;
mod saying;
mod status;
mod world;

use world::World;
