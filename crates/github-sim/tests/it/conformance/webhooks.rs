//! Webhooks, against `@octokit/webhooks-schemas`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::{Problem, published, schema};

fn definitions() -> &'static Value {
    static DEFINITIONS: OnceLock<Value> = OnceLock::new();
    DEFINITIONS.get_or_init(|| published::webhooks()["definitions"].take())
}

pub fn check(event: &str, payload: &Value) -> Vec<Problem> {
    let (definition, place) = match payload["action"].as_str() {
        Some(action) => (format!("{event}${action}"), format!("webhook {event}.{action}")),
        None => (format!("{event}$event"), format!("webhook {event}")),
    };
    if definitions().get(&definition).is_none() {
        return vec![Problem { place, pointer: "/".into(), reason: "no such event".into() }];
    }
    let errors = schema::errors(&validator(&definition), &without_stack(payload));
    errors.into_iter().map(|(pointer, reason)| Problem { place: place.clone(), pointer, reason }).collect()
}

/// Pull requests have carried `stack` since 2026; the schemas were published before that and allow no other fields.
fn without_stack(payload: &Value) -> Value {
    let mut payload = payload.clone();
    if let Some(Value::Object(pull_request)) = payload.get_mut("pull_request") {
        pull_request.remove("stack");
    }
    payload
}

fn validator(definition: &str) -> Rc<Validator> {
    thread_local!(static COMPILED: RefCell<HashMap<String, Rc<Validator>>> = RefCell::default());
    COMPILED.with_borrow_mut(|compiled| {
        let reference = json!({ "$ref": format!("#/definitions/{definition}") });
        let new = || Rc::new(schema::compile(&reference, definitions(), json_schema));
        Rc::clone(compiled.entry(definition.to_owned()).or_insert_with(new))
    })
}

/// The schemas are JSON Schema already. Their `uri-template` refuses addresses that GitHub itself sends.
fn json_schema(source: &Value) -> Value {
    match source {
        Value::Object(object) => object
            .iter()
            .filter(|(key, value)| !(*key == "format" && *value == "uri-template"))
            .map(|(key, value)| (key.clone(), json_schema(value)))
            .collect(),
        Value::Array(items) => items.iter().map(json_schema).collect(),
        other => other.clone(),
    }
}
