//! A query and its answer. GraphQL answers with status 200 also when it failed, wholly or in part.

use merge_train_core::ids::PrNumber;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::client::Repo;
use crate::error::{Error, Executed};
use crate::http::Answer;

#[derive(Serialize)]
pub(super) struct Query<'a> {
    pub query: &'a str,
    pub variables: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
struct Envelope {
    #[serde(default)]
    data: Value,
    #[serde(default)]
    errors: Vec<Failure>,
}

/// Why a part of an answer, or all of it, is missing.
#[derive(Debug, Deserialize)]
pub(super) struct Failure {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    /// Empty where it is about the question.
    #[serde(default)]
    pub path: Vec<Value>,
    #[serde(default)]
    message: String,
}

/// The repository's part of an answer, by alias; what was not found is null there.
pub(super) struct Found {
    pub answer: Answer,
    pub repository: Map<String, Value>,
}

impl Found {
    /// A part of the answer; None for null.
    pub(super) fn take<T: DeserializeOwned>(&mut self, alias: &str) -> Result<Option<T>, Error> {
        let value = self.repository.remove(alias).unwrap_or(Value::Null);
        parse(&self.answer, alias, value)
    }
}

fn parse<T: DeserializeOwned>(answer: &Answer, alias: &str, value: Value) -> Result<Option<T>, Error> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let reason = format!("the answer is not what GitHub documents, at {alias}.{}: {}", error.path(), error.inner());
        Error::permanent(&answer.call, reason)
    })
}

/// An answer about several repositories: `r0`, `r1`, … with `p0`, `p1`, … in them.
pub(super) struct Parts {
    answer: Answer,
    data: Map<String, Value>,
    pub failures: Vec<Failure>,
}

impl Parts {
    pub(super) fn of(answer: Answer) -> Result<Self, Error> {
        let Envelope { data, errors } = answer.json()?;
        match data {
            Value::Object(data) => Ok(Self { answer, data, failures: errors }),
            _ if errors.is_empty() => Err(Error::permanent(&answer.call, "the answer has neither data nor errors")),
            _ => Ok(Self { answer, data: Map::new(), failures: errors }),
        }
    }

    /// What a failure means; None for a part that does not exist.
    pub(super) fn refusal(&self, failure: &Failure) -> Option<Error> {
        match failure.kind.as_deref() {
            Some("NOT_FOUND") if !failure.path.is_empty() => None,
            _ => classify(&self.answer, failure),
        }
    }

    /// A part of the answer; None for null.
    pub(super) fn take<T: DeserializeOwned>(&mut self, repo: &str, alias: &str) -> Result<Option<T>, Error> {
        let part = self.data.get_mut(repo).and_then(Value::as_object_mut).and_then(|repo| repo.remove(alias));
        parse(&self.answer, alias, part.unwrap_or(Value::Null))
    }
}

impl Repo {
    /// Asks about the repository. That parts of it do not exist is an answer; all else that failed is an error.
    pub(super) async fn query(&self, query: &str, mut variables: Map<String, Value>) -> Result<Found, Error> {
        variables.insert("owner".to_owned(), self.id().owner().into());
        variables.insert("name".to_owned(), self.id().name().into());
        let answer = self.send(&self.graphql(&Query { query, variables })).await?;
        let Envelope { data, errors } = answer.json()?;
        for failure in &errors {
            if let Some(error) = classify(&answer, failure) {
                return Err(error);
            }
        }
        match data {
            Value::Object(mut data) => match data.remove("repository") {
                Some(Value::Object(repository)) => Ok(Found { answer, repository }),
                _ => Err(Error::NotFound { call: answer.call }),
            },
            _ => Err(Error::permanent(&answer.call, "the answer has neither data nor errors")),
        }
    }
}

/// None for a part that does not exist.
fn classify(answer: &Answer, failure: &Failure) -> Option<Error> {
    let call = answer.call.clone();
    let message: String = failure.message.chars().take(300).collect();
    match failure.kind.as_deref() {
        Some("NOT_FOUND") if failure.path.len() > 1 => None,
        Some("NOT_FOUND") => Some(Error::NotFound { call }),
        Some("FORBIDDEN" | "INSUFFICIENT_SCOPES") => Some(Error::Forbidden { call, message }),
        Some("SERVICE_UNAVAILABLE" | "INTERNAL") => Some(Error::transient(&call, message, Executed::Perhaps)),
        // GitHub's timeouts and inner failures have no type: "Something went wrong while executing your query".
        None if failure.path.is_empty() && message.starts_with("Something went wrong") => {
            Some(Error::transient(&call, message, Executed::Perhaps))
        }
        _ => Some(Error::Unprocessable { call, message: "the query failed".to_owned(), errors: vec![message] }),
    }
}

/// `query($owner: …, $n0: Int!, …) { repository(…) { p0: pullRequest(number: $n0) { FIELDS } … } }`: numbers travel as
/// variables, never inside the text.
///
/// `$number` in the fields stands for the pull request's own.
pub(super) fn about_pulls(numbers: &[PrNumber], fields: &str) -> (String, Map<String, Value>) {
    let (mut parameters, mut parts, mut variables) = (String::new(), String::new(), Map::new());
    for (index, number) in numbers.iter().enumerate() {
        let fields = fields.replace("$number", &format!("$n{index}"));
        parameters.push_str(&format!(", $n{index}: Int!"));
        parts.push_str(&format!(" p{index}: pullRequest(number: $n{index}) {{ {fields} }}"));
        variables.insert(format!("n{index}"), number.get().into());
    }
    let query = format!(
        "query($owner: String!, $name: String!{parameters}) {{ repository(owner: $owner, name: $name) {{{parts} }} }}"
    );
    (query, variables)
}
