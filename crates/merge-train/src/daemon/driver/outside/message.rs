//! How a squash is worded, where the operator or the repository says so.

use merge_train_core::ids::PrNumber;
use merge_train_core::repo::EffectFailure;
use merge_train_core::repo::trains::message::{MessageTemplate, SquashMessageTemplates, TemplateNeeds};

use super::EffectRun;
use super::failure::of_github;

/// What the commit of a squash is to say; what is none is left to GitHub.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SquashMessage {
    pub title: Option<String>,
    pub body: Option<String>,
}

impl EffectRun<'_> {
    /// Costs no call where there is no template.
    pub(super) async fn squash_message(
        &self,
        pull: PrNumber,
        wording: &SquashMessageTemplates,
    ) -> Result<SquashMessage, EffectFailure> {
        let (title, body) = (self.template(wording.title.as_deref()), self.template(wording.body.as_deref()));
        if title.is_none() && body.is_none() {
            return Ok(SquashMessage::default());
        }
        let needs = [&title, &body]
            .into_iter()
            .flatten()
            .map(MessageTemplate::needs)
            .fold(TemplateNeeds::default(), TemplateNeeds::or);
        let subject = self.urgent().squash_subject(pull, needs).await.map_err(of_github)?;
        let title = title.as_ref().map(|title| title.render_line(&subject)).filter(|title| !title.is_empty());
        Ok(SquashMessage { title, body: body.as_ref().map(|body| body.render(&subject)) })
    }

    /// Templates are looked at when they are read. One that cannot be read now was read by another version.
    fn template(&self, text: Option<&str>) -> Option<MessageTemplate> {
        let unknown = |why| tracing::warn!(repo = %self.name, %why, "the squash is worded by GitHub");
        MessageTemplate::parse(text?).map_err(unknown).ok()
    }
}
