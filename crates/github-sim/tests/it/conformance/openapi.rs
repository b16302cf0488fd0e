//! REST answers, against GitHub's OpenAPI description.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::{Problem, published, schema};

/// Routes that are served and not described by GitHub for api.github.com, with the reason.
const UNDESCRIBED: &[(&str, &str)] = &[
    ("POST /graphql", "GraphQL has its own test"),
    ("GET /graphql", "GraphQL has its own test"),
    ("GET /repos/{owner}/{repo}/contents", "the root folder, described as a path that is empty"),
    ("GET /repos/{owner}/{repo}/statuses/{sha}", "where clients have always read statuses, PyGithub among them"),
];

/// Formats that are checked. `uri-template` would refuse GitHub's own values, the others are about numbers.
const FORMATS: &[&str] = &["uri", "date-time"];

/// What GitHub answers with null although its description does not say so: a schema, or a part of one, properties of it,
/// the reason.
const NULL_ANYWAY: &[(&str, &[&str], &str)] = &[
    (
        "pull-request-review-comment",
        &["line", "original_line", "position", "original_position"],
        "null where the line is gone from the diff or the comment is on the file",
    ),
    ("review-comment", &["line", "original_line", "original_position"], "the same comments, listed by review"),
    ("pull-request-simple/properties/labels/items", &["description"], "null as everywhere where a label has none"),
];

struct Description {
    /// `GET /repos/{}/{}` to its answers.
    operations: HashMap<String, Value>,
    schemas: Value,
}

fn description() -> &'static Description {
    static DESCRIPTION: OnceLock<Description> = OnceLock::new();
    DESCRIPTION.get_or_init(|| {
        let mut published = published::rest();
        let Value::Object(operations) = published["operations"].take() else { panic!("no operations") };
        let mut operations: HashMap<String, Value> =
            operations.into_iter().map(|(key, answers)| (shape(&key), answers)).collect();
        // Here, and only here, an account is described as a user and an enterprise at once, which nothing can be.
        let installations = json!({ "type": "array", "items": { "$ref": "#/components/schemas/installation" } });
        operations.entry("GET /app/installations".to_owned()).and_modify(|answers| {
            answers["200"]["application/json"] = installations;
        });
        let mut schemas = published["schemas"].take();
        // GitHub Enterprise Server says it, and clients of one ask for it.
        schemas["api-overview"]["properties"]["installed_version"] = json!({ "type": "string" });
        for (schema, properties, _) in NULL_ANYWAY {
            for property in *properties {
                let described = schemas.pointer_mut(&format!("/{schema}/properties/{property}"));
                described.expect("a property of GitHub's")["nullable"] = true.into();
            }
        }
        Description { operations, schemas }
    })
}

/// A template without the names of its parameters: `{owner}` and `{*path}` become `{}`.
fn shape(template: &str) -> String {
    let mut shape = String::new();
    for (at, part) in template.split('{').enumerate() {
        match part.split_once('}') {
            Some((_, rest)) if at > 0 => shape.extend(["{}", rest]),
            _ => shape.push_str(part),
        }
    }
    shape
}

/// What the router has to know under other names.
fn described_as(key: &str) -> &str {
    match key {
        // The root folder, which GitHub describes as an empty `{path}`.
        "GET /repos/{owner}/{repo}/contents" | "GET /repos/{owner}/{repo}/contents/" => {
            "GET /repos/{owner}/{repo}/contents/{path}"
        }
        other => other,
    }
}

pub fn check(exchange: &Value) -> Vec<Problem> {
    let method = exchange["method"].as_str().unwrap_or_default();
    let status = exchange["status"].as_u64().unwrap_or_default();
    let body = &exchange["body"];
    let template = exchange["template"].as_str();
    let place = format!("{method} {} {status}", template.unwrap_or("(no route)"));
    let all = |errors: Vec<(String, String)>| {
        let problem = |(pointer, reason)| Problem { place: place.clone(), pointer, reason };
        errors.into_iter().map(problem).collect()
    };
    let one = |reason: String| all(vec![("/".to_owned(), reason)]);

    // Headers only, and what they are about was checked with its body.
    if method == "HEAD" || status == 304 && method == "GET" {
        return Vec::new();
    }
    let Some(template) = template else {
        return if status == 404 || status == 401 || status == 413 || status == 403 || status == 429 {
            all(error_problems(None, status, body))
        } else {
            one(format!("a path without a route was answered with {status}"))
        };
    };
    let key = format!("{method} {template}");
    if UNDESCRIBED.iter().any(|(served, _)| *served == key) {
        return Vec::new();
    }
    let Some(answers) = description().operations.get(&shape(described_as(&key))) else {
        // A method that a path does not have is refused like a path that does not exist.
        return if status == 404 { all(error_problems(None, status, body)) } else { one("no such operation".into()) };
    };
    let described = answers.get(status.to_string());
    match (described, status) {
        (described, 400..=599) => all(error_problems(described, status, body)),
        (None, _) => {
            let known: Vec<&String> = answers.as_object().expect("answers by status").keys().collect();
            one(format!("no status {status} but {known:?}"))
        }
        (Some(content), _) => match body_problems(content, body) {
            Ok(errors) => all(errors),
            Err(reason) => one(reason),
        },
    }
}

fn body_problems(content: &Value, body: &Value) -> Result<Vec<(String, String)>, String> {
    let content = content.as_object().expect("schemas by media type");
    let json = content.iter().find(|(media, _)| media.contains("json")).map(|(_, schema)| schema);
    match (json, body) {
        (None, Value::String(text)) if text.is_empty() => Ok(Vec::new()),
        (None, Value::String(_)) if !content.is_empty() => Ok(Vec::new()),
        (None, _) if content.is_empty() => Err(format!("GitHub sends no body here, and this is one: {body}")),
        (None, _) => Err("JSON where GitHub sends something else".into()),
        // Diffs, patches, raw files and logs are text instead of what is described as JSON.
        (Some(_), Value::String(text)) if is_other_media(text) => Ok(Vec::new()),
        (Some(_), Value::String(text)) => Err(format!("not JSON: {text:?}")),
        (Some(schema), body) => {
            let errors = |schema: &Value| schema::errors(&validator(schema, Fields::Known), body);
            let found = errors(schema);
            // A folder as one object (`application/vnd.github.object`) has a description of its own.
            let is_another =
                !found.is_empty() && content.values().any(|other| other != schema && errors(other).is_empty());
            Ok(if is_another { Vec::new() } else { found })
        }
    }
}

/// What a caller gets who asked for `application/vnd.github.diff`, `.patch`, `.raw` or `.sha`.
fn is_other_media(text: &str) -> bool {
    let is_sha = text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    !text.is_empty() && (is_sha || text.starts_with("diff --git") || text.starts_with("From ") || text.ends_with('\n'))
}

/// An error is as the operation describes it; where it does not, it is GitHub's general one.
fn error_problems(described: Option<&Value>, status: u64, body: &Value) -> Vec<(String, String)> {
    let described = described.and_then(|content| content.get("application/json"));
    let reference = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    let general = json!({ "allOf": [reference("basic-error")], "type": "object", "required": ["message"] });
    // A stack's refusals are described in place, and carry values that no other refusal does.
    let in_place = described.filter(|schema| schema.get("properties").is_some()).cloned();
    let alternatives =
        [reference("validation-error"), reference("validation-error-simple")].into_iter().chain(in_place);
    let validation = json!({ "anyOf": alternatives.collect::<Vec<_>>() });
    let schema = match (described, status) {
        (_, 422) => &validation,
        (Some(described), _) => described,
        (None, _) => &general,
    };
    let mut errors = schema::errors(&validator(schema, Fields::Any), body);
    // The answer to an asynchronous merge has the same form whether it is a refusal or not.
    let is_result = described == Some(&reference("pull-request-merge-async-result"));
    if status != 422 && described.is_some() && !is_result {
        errors.extend(schema::errors(&validator(&general, Fields::Any), body));
    }
    errors
}

/// Which fields a body may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Fields {
    /// Those that GitHub describes: a name that it does not is a mistake of ours.
    Known,
    /// More than those. Of errors GitHub describes only a part.
    Any,
}

/// Compiled once for each thread: most tests meet the same few schemas again and again.
fn validator(source: &Value, fields: Fields) -> Rc<Validator> {
    type Compiled = HashMap<(String, Fields), Rc<Validator>>;
    thread_local!(static COMPILED: RefCell<Compiled> = RefCell::default());
    COMPILED.with_borrow_mut(|compiled| {
        let new = || {
            let convert = |schema: &Value| json_schema(schema, fields);
            Rc::new(schema::compile(&used(source, fields), &description().schemas, convert))
        };
        Rc::clone(compiled.entry((source.to_string(), fields)).or_insert_with(new))
    })
}

/// OpenAPI 3.0 as JSON Schema: `nullable` becomes a type, and `oneOf` becomes `anyOf`, because GitHub uses it for
/// alternatives that a value may fit several of.
fn json_schema(source: &Value, fields: Fields) -> Value {
    let object = match source {
        Value::Array(items) => return items.iter().map(|item| json_schema(item, fields)).collect(),
        Value::Object(object) => object,
        other => return other.clone(),
    };
    let mut schema = Map::new();
    for (key, value) in object {
        let converted = match key.as_str() {
            "nullable" => continue,
            "format" if !FORMATS.contains(&value.as_str().unwrap_or_default()) => continue,
            "enum" | "required" | "type" | "pattern" | UNEVALUATED => value.clone(),
            "properties" => {
                let properties = value.as_object().expect("properties by name").iter();
                let convert =
                    |(name, property): (&String, &Value)| (name.clone(), json_schema(&used(property, fields), fields));
                properties.map(convert).collect()
            }
            "items" => json_schema(&used(value, fields), fields),
            _ => json_schema(value, fields),
        };
        schema.insert(if key == "oneOf" { "anyOf".into() } else { key.clone() }, converted);
    }
    // An object of which nothing is said may hold anything.
    if object.get("type") == Some(&json!("object")) && !describes_fields(source, 0) {
        schema.entry("additionalProperties").or_insert(Value::Bool(true));
    }
    if object.get("nullable") == Some(&Value::Bool(true)) { or_null(schema) } else { Value::Object(schema) }
}

const UNEVALUATED: &str = "unevaluatedProperties";

/// A schema where it is used for a value, and not as a part of another: there it is known which fields there can be.
fn used(schema: &Value, fields: Fields) -> Value {
    if fields == Fields::Known && describes_fields(schema, 0) {
        json!({ "allOf": [schema], UNEVALUATED: false })
    } else {
        schema.clone()
    }
}

fn describes_fields(schema: &Value, depth: usize) -> bool {
    const DEEPEST: usize = 8;
    let parts = ["allOf", "anyOf", "oneOf"].iter().filter_map(|key| schema[*key].as_array()).flatten();
    let target = schema["$ref"].as_str().map(|target| &description().schemas[schema::name(target)]);
    depth < DEEPEST
        && (schema["properties"].as_object().is_some_and(|properties| !properties.is_empty())
            || parts.chain(target).any(|part| describes_fields(part, depth + 1)))
}

fn or_null(mut schema: Map<String, Value>) -> Value {
    let by_type = schema.get("type").is_some_and(Value::is_string);
    let alternatives = ["anyOf", "allOf", "$ref"].iter().any(|key| schema.contains_key(*key));
    if !by_type || alternatives {
        return json!({ "anyOf": [{ "type": "null" }, schema] });
    }
    let kind = schema["type"].take();
    schema.insert("type".into(), json!([kind, "null"]));
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.push(Value::Null);
    }
    Value::Object(schema)
}
