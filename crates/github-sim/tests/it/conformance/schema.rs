//! Compiling one schema out of a large document, and saying what a value does wrong.

use std::collections::BTreeSet;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, ValidationError, Validator};
use serde_json::{Map, Value, json};

/// A schema with only those of `definitions` that it reaches: compiling all of GitHub's takes seconds.
pub fn compile(schema: &Value, definitions: &Value, convert: impl Fn(&Value) -> Value) -> Validator {
    let mut reached = BTreeSet::new();
    let mut open = names(schema);
    while let Some(name) = open.pop() {
        if reached.insert(name.clone()) {
            open.extend(names(&definitions[&name]));
        }
    }
    let kept: Map<String, Value> = reached
        .iter()
        .map(|name| {
            let found = definitions.get(name).unwrap_or_else(|| panic!("the schema {name} is named but not there"));
            (name.clone(), relocated(&convert(found)))
        })
        .collect();
    let whole = json!({ "allOf": [relocated(&convert(schema))], "definitions": kept });
    jsonschema::options()
        .with_draft(Draft::Draft201909)
        .should_validate_formats(true)
        .build(&whole)
        .unwrap_or_else(|error| panic!("a schema of GitHub's does not compile: {error}"))
}

/// The last parts of all references.
fn names(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(object) => object
            .iter()
            .flat_map(|(key, value)| match (key.as_str(), value) {
                ("$ref", Value::String(target)) => vec![name(target).to_owned()],
                _ => names(value),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(names).collect(),
        _ => Vec::new(),
    }
}

pub fn name(target: &str) -> &str {
    target.rsplit('/').next().unwrap_or(target)
}

/// With every reference pointing into `definitions`.
fn relocated(schema: &Value) -> Value {
    match schema {
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| match (key.as_str(), value) {
                ("$ref", Value::String(target)) => (key.clone(), json!(format!("#/definitions/{}", name(target)))),
                _ => (key.clone(), relocated(value)),
            })
            .collect(),
        Value::Array(items) => items.iter().map(relocated).collect(),
        other => other.clone(),
    }
}

/// Every error as (JSON pointer, reason).
pub fn errors(validator: &Validator, value: &Value) -> Vec<(String, String)> {
    let all: Vec<(String, String)> = validator.iter_errors(value).flat_map(|error| explained(&error)).collect();
    // What is wrong in an object makes all of its fields count as unexpected: only the cause is of use.
    let is_cause = |(pointer, reason): &(String, String)| {
        let within = if pointer == "/" { String::new() } else { pointer.clone() } + "/";
        !reason.starts_with(UNEXPECTED)
            || !all.iter().any(|(other, why)| {
                other != pointer && other.starts_with(&within) || other == pointer && !why.starts_with(UNEXPECTED)
            })
    };
    all.iter().filter(|error| is_cause(error)).cloned().collect()
}

const UNEXPECTED: &str = "Unevaluated properties are not allowed";

/// Of alternatives, only the errors of the one that comes nearest are of use to a reader.
fn explained(error: &ValidationError) -> Vec<(String, String)> {
    match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => context
            .iter()
            .map(|branch| branch.iter().flat_map(explained).collect::<Vec<_>>())
            .max_by_key(|errors| nearness(errors, error.instance_path().as_str()))
            .unwrap_or_default(),
        _ => vec![(pointer(error), reason(error))],
    }
}

/// An alternative that fails on the value's type was not the one that was meant.
fn nearness(errors: &[(String, String)], at: &str) -> (bool, std::cmp::Reverse<usize>) {
    let is_other_type =
        errors.iter().any(|(pointer, reason)| pointer == display(at) && reason.contains("is not of type"));
    (!is_other_type, std::cmp::Reverse(errors.len()))
}

fn pointer(error: &ValidationError) -> String {
    display(error.instance_path().as_str()).to_owned()
}

fn display(pointer: &str) -> &str {
    if pointer.is_empty() { "/" } else { pointer }
}

fn reason(error: &ValidationError) -> String {
    const LONGEST: usize = 300;
    let shown = error.masked_with(short(error.instance())).to_string();
    shown.chars().take(LONGEST).collect()
}

/// A large value says nothing that its keys do not.
fn short(value: &Value) -> String {
    const LONGEST: usize = 120;
    let shown = match value {
        Value::Object(object) => format!("{{{}}}", object.keys().map(String::as_str).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    };
    if shown.chars().count() > LONGEST { shown.chars().take(LONGEST).chain("…".chars()).collect() } else { shown }
}
