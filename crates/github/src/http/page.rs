//! Lists that come in pages: the answer says where the next one is.

use url::Url;

use super::Answer;

impl Answer {
    /// The address of the next page, by the header `Link`.
    pub(crate) fn next_page(&self) -> Option<Url> {
        let link = self.header("link")?;
        link.split(',').find_map(|entry| {
            let (address, parameters) = entry.split_once(';')?;
            let next = parameters.split(';').any(|parameter| matches!(parameter.trim(), "rel=\"next\"" | "rel=next"));
            let address = address.trim().strip_prefix('<')?.strip_suffix('>')?;
            if next { Url::parse(address).ok() } else { None }
        })
    }
}
