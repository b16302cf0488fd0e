//! `GET /api/openapi.json`: what can be asked here, in the words of OpenAPI, made of the handlers themselves.

#[cfg(test)]
mod documentation;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::Operation;
use utoipa::openapi::response::{Response as Described, ResponseBuilder};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{
    ComponentsBuilder, ContentBuilder, InfoBuilder, ObjectBuilder, OpenApi, OpenApiBuilder, PathItem, Ref, RefOr, Type,
};
use utoipa::{IntoResponses, ToSchema};

use super::problem::ProblemDocument;

/// All below needs an API key, and nothing else does.
const WITH_KEY: &str = "/api/v1/";

/// Why a request may be refused: the status, the name of its description, and when it is given.
const REFUSALS: [(&str, &str, &str); 10] = [
    ("400", "BadRequest", "The request is not valid."),
    ("401", "Unauthorized", "The API key or the signature is missing or unknown."),
    ("403", "Forbidden", "The API key's role does not allow this."),
    ("404", "NotFound", "Not found, or not visible to the API key."),
    ("408", "TimedOut", "The body did not arrive in time."),
    ("409", "Conflict", "Conflicts with the current state, or the idempotency key was reused with a different body."),
    ("413", "TooLarge", "The body is longer than `server.max_body_mb`."),
    (
        "422",
        "Unprocessable",
        "The request is valid but cannot be done: inputs do not fit, or the same request failed before.",
    ),
    ("500", "Internal", "The store failed. The daemon's log says why."),
    ("503", "Unavailable", "Nothing was accepted; retry later."),
];

/// Sets of refusals, for operations that are refused for the same reasons.
macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident: $($status:literal)+;)+) => {$(
        $(#[$doc])*
        pub struct $name;

        impl IntoResponses for $name {
            fn responses() -> BTreeMap<String, RefOr<Described>> {
                refused(&[$($status),+])
            }
        }
    )+};
}

refusals! {
    /// Of whoever reads a list.
    Reading: "400" "401" "500" "503";
    /// Of whoever reads one thing, which may not be there.
    ReadingOne: "400" "401" "404" "500" "503";
    /// Of whoever wants something done.
    Ordering: "400" "401" "403" "404" "408" "409" "413" "422" "500" "503";
    /// Of a delivery.
    Delivering: "400" "401" "408" "409" "413" "422" "500" "503";
    /// Of what Slack sends.
    Chatting: "400" "401" "404" "408" "413" "503";
    /// Of whoever asks whether the daemon can do its work.
    Working: "503";
}

fn refused(statuses: &[&str]) -> BTreeMap<String, RefOr<Described>> {
    let is_wanted = |(status, _, _): &&(&str, &str, &str)| statuses.contains(status);
    let named =
        |(status, name, _): &(&str, &str, &str)| (status.to_string(), RefOr::Ref(Ref::from_response_name(*name)));
    REFUSALS.iter().filter(is_wanted).map(named).collect()
}

/// What stands in the document beside the routes.
pub fn beginning() -> OpenApi {
    let info = InfoBuilder::new()
        .title("merge-train")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(env!("CARGO_PKG_DESCRIPTION")));
    let mut components = ComponentsBuilder::new()
        .schema(ProblemDocument::name(), <ProblemDocument as utoipa::PartialSchema>::schema())
        .security_scheme("bearer", SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build()))
        .security_scheme("api_key", SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("X-API-Key"))));
    for (status, name, when) in REFUSALS {
        components = components.response(name, problem(status, when));
    }
    OpenApiBuilder::new().info(info).components(Some(components.build())).build()
}

fn problem(status: &str, when: &str) -> Described {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(ProblemDocument::name()))).build();
    let response = ResponseBuilder::new().description(when).content("application/problem+json", content);
    let header = |kind: Type, what: &str| {
        let schema = ObjectBuilder::new().schema_type(kind).build();
        HeaderBuilder::new().schema(Some(schema)).description(Some(what)).build()
    };
    match status {
        "401" => response.header("WWW-Authenticate", header(Type::String, "How to authenticate.")),
        "503" => response.header("Retry-After", header(Type::Integer, "Retry after this many seconds.")),
        _ => response,
    }
    .build()
}

/// All of it.
pub fn document() -> OpenApi {
    let mut document = super::routes().into_openapi();
    for (path, item) in &mut document.paths.paths {
        if path.starts_with(WITH_KEY) {
            for operation in operations(item) {
                let keys = ["bearer", "api_key"].map(|name| SecurityRequirement::new(name, [""; 0]));
                operation.security = Some(keys.into());
            }
        }
    }
    document
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.put, &mut item.post, &mut item.delete].into_iter().flatten()
}

/// This document
#[utoipa::path(
    get,
    path = "/api/openapi.json",
    operation_id = "openapi",
    tag = "daemon",
    responses((status = 200, description = "The daemon's whole API, as OpenAPI 3.1.", body = Object))
)]
pub async fn show() -> Response {
    static TEXT: LazyLock<String> = LazyLock::new(|| document().to_pretty_json().expect("a description is JSON"));
    ([(header::CONTENT_TYPE, "application/json")], TEXT.as_str()).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// All that stands in the document, with the version of the day left out.
    #[test]
    fn a_change_of_the_interface_is_seen() {
        let mut document = document();
        assert_eq!(document.info.version, env!("CARGO_PKG_VERSION"));
        document.info.version = "0.0.0".to_owned();
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!("openapi", document.to_pretty_json().expect("JSON"));
        });
    }

    #[test]
    fn each_operation_has_a_name_of_its_own_and_says_what_it_does() {
        let mut document = document();
        let mut names = BTreeSet::new();
        for (path, item) in &mut document.paths.paths {
            for operation in operations(item) {
                let name = operation.operation_id.clone().expect("a name");
                assert!(names.insert(name), "{path}: {:?} is the name of another one", operation.operation_id);
                assert!(operation.summary.as_ref().is_some_and(|summary| !summary.is_empty()), "{path} has no summary");
                assert_eq!(operation.security.is_some(), path.starts_with(WITH_KEY), "{path}");
            }
        }
        assert!(names.len() > 20, "{names:?}");
    }
}
