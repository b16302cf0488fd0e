//! Connections: a page of a list, forwards or backwards, with cursors.

use async_graphql::{Context, SimpleObject};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Failure, Result};

/// The most that `first` or `last` may ask for.
const LARGEST_PAGE: i32 = 100;

/// What a connection field was asked for.
pub struct Paging {
    after: Option<String>,
    before: Option<String>,
    first: Option<usize>,
    last: Option<usize>,
    skip: usize,
}

impl Paging {
    /// Refuses what GitHub refuses: no boundary though the members are asked for, or too large a one.
    pub fn new(
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<Self> {
        let name = ctx.item.node.name.node.as_str();
        let asked = |field| ctx.look_ahead().field(field).exists();
        if first.is_none() && last.is_none() && (asked("nodes") || asked("edges") || asked("pageInfo")) {
            return Err(Failure::new(
                "MISSING_PAGINATION_BOUNDARIES",
                format!("You must provide a `first` or `last` value to properly paginate the `{name}` connection."),
            ));
        }
        let bound = |which: &str, value: Option<i32>| match value {
            None => Ok(None),
            Some(value) if value > LARGEST_PAGE => Err(Failure::new(
                "EXCESSIVE_PAGINATION",
                format!(
                    "Requesting {value} records on the `{name}` connection exceeds the `{which}` limit of {LARGEST_PAGE} records."
                ),
            )),
            Some(value) => usize::try_from(value).map(Some).map_err(|_| {
                Failure::new(
                    "INVALID_PAGINATION",
                    format!("`{which}` on the `{name}` connection cannot be less than zero."),
                )
            }),
        };
        Ok(Self { after, before, first: bound("first", first)?, last: bound("last", last)?, skip: 0 })
    }

    /// The page of `items`. A cursor names a member by its key, so that it still stands where the member does when
    /// others were added before it; a member that is gone is taken to have stood where it did.
    pub fn of<T>(&self, items: Vec<T>, key: impl Fn(&T) -> u64) -> Result<Slice<T>> {
        let total = items.len();
        let position = |cursor: &str| -> Result<usize> {
            let (index, named) = decode(cursor).ok_or_else(|| {
                Failure::new("INVALID_CURSOR_ARGUMENTS", format!("`{cursor}` does not appear to be a valid cursor."))
            })?;
            Ok(items.iter().position(|item| key(item) == named).unwrap_or(index.min(total)))
        };
        let mut start = match &self.after {
            Some(cursor) => (position(cursor)? + 1).min(total),
            None => 0,
        };
        start = (start + self.skip).min(total);
        let mut end = match &self.before {
            Some(cursor) => position(cursor)?.max(start),
            None => total,
        };
        if let Some(first) = self.first {
            end = end.min(start + first);
        }
        if let Some(last) = self.last {
            start = start.max(end.saturating_sub(last));
        }
        if self.first.is_none() && self.last.is_none() {
            end = start;
        }
        let members = items
            .into_iter()
            .enumerate()
            .skip(start)
            .take(end - start)
            .map(|(index, item)| Member { cursor: encode(index, key(&item)), item })
            .collect();
        Ok(Slice { members, total, has_previous: start > 0, has_next: end < total })
    }

    /// Leaves the first so many out.
    pub fn skipping(self, skip: Option<i32>) -> Self {
        Self { skip: skip.and_then(|skip| usize::try_from(skip).ok()).unwrap_or_default(), ..self }
    }

    /// Whether it asks for nothing but the last so many.
    pub fn only_last(&self) -> Option<usize> {
        match self {
            Self { after: None, before: None, first: None, last, skip: 0 } => *last,
            _ => None,
        }
    }
}

fn encode(index: usize, key: u64) -> String {
    STANDARD.encode(format!("cursor:v2:{index}:{key}"))
}

fn decode(cursor: &str) -> Option<(usize, u64)> {
    let text = String::from_utf8(STANDARD.decode(cursor).ok()?).ok()?;
    let (index, key) = text.strip_prefix("cursor:v2:")?.split_once(':')?;
    Some((index.parse().ok()?, key.parse().ok()?))
}

/// A page of a list.
#[derive(Clone)]
pub struct Slice<T> {
    pub members: Vec<Member<T>>,
    pub total: usize,
    has_previous: bool,
    has_next: bool,
}

#[derive(Clone)]
pub struct Member<T> {
    pub cursor: String,
    pub item: T,
}

impl<T> Member<T> {
    /// One that was not read from a list.
    pub fn alone(item: T, key: u64) -> Self {
        Self { cursor: encode(0, key), item }
    }
}

impl<T> Slice<T> {
    /// A page that holds the end of a list of which the beginning was not looked at.
    pub fn end(items: Vec<T>, total: usize, key: impl Fn(&T) -> u64) -> Self {
        let start = total.saturating_sub(items.len());
        let members = items
            .into_iter()
            .enumerate()
            .map(|(index, item)| Member { cursor: encode(start + index, key(&item)), item })
            .collect();
        Self { members, total, has_previous: start > 0, has_next: false }
    }

    /// A page of nothing.
    pub fn none() -> Self {
        Self { members: Vec::new(), total: 0, has_previous: false, has_next: false }
    }

    pub fn filter_map<U>(self, mut change: impl FnMut(T) -> Option<U>) -> Slice<U> {
        let members = self
            .members
            .into_iter()
            .filter_map(|Member { cursor, item }| change(item).map(|item| Member { cursor, item }))
            .collect();
        Slice { members, total: self.total, has_previous: self.has_previous, has_next: self.has_next }
    }

    pub fn items(&self) -> impl Iterator<Item = &T> {
        self.members.iter().map(|member| &member.item)
    }

    pub fn page_info(&self) -> PageInfo {
        PageInfo {
            end_cursor: self.members.last().map(|member| member.cursor.clone()),
            has_next_page: self.has_next,
            has_previous_page: self.has_previous,
            start_cursor: self.members.first().map(|member| member.cursor.clone()),
        }
    }
}

#[derive(SimpleObject)]
pub struct PageInfo {
    end_cursor: Option<String>,
    has_next_page: bool,
    has_previous_page: bool,
    start_cursor: Option<String>,
}

/// A connection type and its edge type (`of` one that exists already); further fields of the connection may follow.
macro_rules! connection {
    ($connection:ident, $edge:ident, $node:ty $(, { $($more:tt)* })?) => {
        connection!($connection of $edge, $node $(, { $($more)* })?);

        pub struct $edge(pub $crate::graphql::connection::Member<$node>);

        #[async_graphql::Object]
        impl $edge {
            async fn cursor(&self) -> &str {
                &self.0.cursor
            }

            async fn node(&self) -> Option<&$node> {
                Some(&self.0.item)
            }
        }
    };
    ($connection:ident of $edge:ident, $node:ty $(, { $($more:tt)* })?) => {
        pub struct $connection(pub $crate::graphql::connection::Slice<$node>);

        #[async_graphql::Object]
        impl $connection {
            async fn edges(&self) -> Option<Vec<Option<$edge>>> {
                Some(self.0.members.iter().cloned().map(|member| Some($edge(member))).collect())
            }

            async fn nodes(&self) -> Option<Vec<Option<&$node>>> {
                Some(self.0.items().map(Some).collect())
            }

            async fn page_info(&self) -> $crate::graphql::connection::PageInfo {
                self.0.page_info()
            }

            async fn total_count(&self) -> i32 {
                $crate::graphql::scalars::int(self.0.total)
            }

            $($($more)*)?
        }
    };
}
pub(super) use connection;
