//! Lists whose end comes first: what is new is there.

use merge_train_core::ids::PrNumber;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::client::Repo;
use crate::error::Error;
use crate::graphql::query::about_pulls;

/// A hundred entries each; nobody reads a review with more.
const MOST_PAGES: usize = 50;

/// A part of a list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::graphql) struct Page<T> {
    #[serde(default)]
    page_info: Option<PageInfo>,
    #[serde(default)]
    pub total_count: Option<u64>,
    nodes: Vec<Option<T>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_previous_page: bool,
    start_cursor: Option<String>,
}

impl<T> Default for Page<T> {
    fn default() -> Self {
        Self { page_info: None, total_count: None, nodes: Vec::new() }
    }
}

impl<T> Page<T> {
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.nodes.iter().flatten()
    }

    /// What the page before it is asked for with, if there is one.
    fn previous(&self) -> Option<String> {
        let PageInfo { has_previous_page: true, start_cursor } = self.page_info.as_ref()? else { return None };
        start_cursor.clone()
    }
}

impl Repo {
    /// All entries of a list of a pull request, in order, given the last of them. None if the pull request is gone.
    pub(in crate::graphql) async fn earlier<T: DeserializeOwned>(
        &self,
        pr: PrNumber,
        list: &str,
        fields: &str,
        last: Page<T>,
    ) -> Result<Option<Vec<T>>, Error> {
        let mut before = last.previous();
        let mut pages = vec![last];
        while let Some(cursor) = before.filter(|_| pages.len() < MOST_PAGES) {
            let (query, mut variables) =
                about_pulls(&[pr], &format!("page: {list}(last: 100, before: $before) {{ {fields} }}"));
            let query = query.replacen("$n0: Int!", "$n0: Int!, $before: String!", 1);
            variables.insert("before".to_owned(), cursor.into());
            let mut answer = self.query(&query, variables).await?;
            let Some(Answer { page }) = answer.take::<Answer<T>>("p0")? else { return Ok(None) };
            before = page.previous();
            pages.push(page);
        }
        Ok(Some(pages.into_iter().rev().flat_map(|page| page.nodes).flatten().collect()))
    }
}

#[derive(Deserialize)]
struct Answer<T> {
    page: Page<T>,
}
