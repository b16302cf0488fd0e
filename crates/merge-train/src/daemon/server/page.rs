//! Lists, a page at a time.

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use serde::Deserialize;
use utoipa::IntoParams;

use super::problem::Problem;

/// How long a page is unless asked for otherwise, and at most.
const LENGTH: usize = 50;
const MOST: usize = 200;
/// So many digits always fit into a number.
const MOST_DIGITS: usize = 19;

/// Which page is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageRequest {
    /// The `next_cursor` of the page before; the first page has none.
    cursor: Option<String>,
    limit: Option<usize>,
}

/// Which page of a list whose cursors are numbers.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it is described here and read as a `PageRequest`")]
pub struct NumberedPageParameters {
    /// The `next_cursor` of the previous page.
    #[param(nullable = false, pattern = "^[0-9]{1,19}$")]
    cursor: Option<String>,
    /// How many at most; the default is 50.
    #[param(nullable = false, minimum = 1, maximum = 200)]
    limit: Option<usize>,
}

/// One page of a list, and where the next one begins.
pub struct Page<T> {
    pub items: Vec<T>,
    /// None on the last page.
    pub next_cursor: Option<String>,
}

/// Reads what was asked for.
pub fn page_request(query: Result<Query<PageRequest>, QueryRejection>) -> Result<PageRequest, Problem> {
    let Query(request) = query.map_err(|error| {
        let detail = format!("{}; a list takes `cursor`, and `limit` up to {MOST}", error.body_text());
        Problem::bad_request(detail)
    })?;
    checked_page_request(request.cursor, request.limit)
}

/// The page that is asked for, where a list takes more than that.
pub fn checked_page_request(cursor: Option<String>, limit: Option<usize>) -> Result<PageRequest, Problem> {
    match limit {
        Some(limit) if limit == 0 || limit > MOST => {
            Err(Problem::bad_request(format!("limit is {limit}; it must be a whole number, 1–{MOST}")))
        }
        _ => Ok(PageRequest { cursor, limit }),
    }
}

/// A cursor that is a number: nothing but digits.
pub fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| text.len() <= MOST_DIGITS && text.bytes().all(|byte| byte.is_ascii_digit()))
}

impl PageRequest {
    /// The page of a list that is in the order of its cursors. `read` understands a cursor, `of` gives the one of an item:
    /// a page begins after it, so that it holds whatever became of that item.
    pub fn page<T, C: Ord + ToString>(
        &self,
        items: impl IntoIterator<Item = T>,
        read: impl FnOnce(&str) -> Option<C>,
        of: impl Fn(&T) -> C,
    ) -> Result<Page<T>, Problem> {
        let after = match &self.cursor {
            None => None,
            Some(text) => Some(
                read(text)
                    .ok_or_else(|| Problem::bad_request("cursor is not valid; use next_cursor of the previous page"))?,
            ),
        };
        let limit = self.limit.unwrap_or(LENGTH);
        let mut rest = items.into_iter().filter(|item| after.as_ref().is_none_or(|after| of(item) > *after));
        let items: Vec<T> = rest.by_ref().take(limit).collect();
        let next_cursor = rest.next().and_then(|_| items.last()).map(|last| of(last).to_string());
        Ok(Page { items, next_cursor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(cursor: Option<&str>, limit: usize) -> Result<(Vec<u64>, Option<String>), Problem> {
        let request = PageRequest { cursor: cursor.map(str::to_owned), limit: Some(limit) };
        let page = request.page([1_u64, 4, 9, 16, 25], |text| text.parse().ok(), |number| *number)?;
        Ok((page.items, page.next_cursor))
    }

    #[test]
    fn pages_follow_one_another_and_the_last_says_so() {
        let mut cursor = None;
        let mut pages = Vec::new();
        loop {
            let (items, next) = page(cursor.as_deref(), 2).expect("a page");
            pages.push(items);
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(pages, [vec![1, 4], vec![9, 16], vec![25]]);
        assert_eq!(page(Some("16"), 1).expect("a page"), (vec![25], None), "a full page may be the last");
    }

    #[test]
    fn a_page_begins_after_its_cursor_though_that_item_is_gone() {
        assert_eq!(page(Some("5"), 2).expect("a page").0, [9, 16]);
        assert_eq!(page(Some("99"), 2).expect("a page"), (vec![], None));
    }

    #[test]
    fn a_cursor_that_nobody_gave_out_is_refused() {
        assert!(page(Some("soon"), 2).is_err());
    }
}
