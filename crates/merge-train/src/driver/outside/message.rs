//! How a squash is worded, where the operator says so.

use merge_train_core::ids::PrNumber;
use merge_train_core::repo::Failure;
use merge_train_core::train::message::{Needs, Template};

use super::Errand;
use super::failure::of_github;

/// The operator's templates. What has none is worded by GitHub, by the repository's settings.
#[derive(Debug, Clone, Default)]
pub struct Messages {
    pub title: Option<Template>,
    pub body: Option<Template>,
}

/// What the commit of a squash is to say; what is none is left to GitHub.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Worded {
    pub title: Option<String>,
    pub body: Option<String>,
}

impl Errand<'_> {
    /// Costs no call where there is no template.
    pub(super) async fn squash_message(&self, pull: PrNumber) -> Result<Worded, Failure> {
        let Messages { title, body } = &self.github.messages;
        if title.is_none() && body.is_none() {
            return Ok(Worded::default());
        }
        let needs = [title, body].into_iter().flatten().map(Template::needs).fold(Needs::default(), Needs::or);
        let subject = self.urgent().squash_subject(pull, needs).await.map_err(of_github)?;
        let title = title.as_ref().map(|title| title.render_line(&subject)).filter(|title| !title.is_empty());
        Ok(Worded { title, body: body.as_ref().map(|body| body.render(&subject)) })
    }
}
