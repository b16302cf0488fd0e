//! Types of GitHub's that clients name in their queries and of which the simulator never has any: milestones, teams,
//! projects, automatic merges. Nothing of these types can exist, so their fields have nothing to answer.

#![allow(unreachable_code, reason = "the fields of what cannot exist are never asked for")]

use async_graphql::{ID, Object};

use super::scalars::Uri;

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
}
