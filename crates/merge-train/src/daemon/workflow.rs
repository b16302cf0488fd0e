//! What a run of a workflow is given: the schema of its inputs, and whether they fit.

use merge_train_core::workflow::{DEEPEST, Workflow, is_too_deep};
use serde_json::{Map, Value, json};

/// Marks an input that a run cannot do without. Not a word of JSON Schema where it stands.
const REQUIRED: &str = "required";

/// The JSON Schema that the inputs of a workflow have to fit.
pub fn schema(inputs: &Map<String, Value>) -> Value {
    let is_required = |schema: &Value| schema.get(REQUIRED) == Some(&Value::Bool(true));
    let required: Vec<&String> =
        inputs.iter().filter(|(_, schema)| is_required(schema)).map(|(name, _)| name).collect();
    let properties: Map<String, Value> = inputs.iter().map(|(name, schema)| (name.clone(), plain(schema))).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn plain(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(members) = schema.as_object_mut()
        && members.get(REQUIRED).is_some_and(Value::is_boolean)
    {
        members.remove(REQUIRED);
    }
    schema
}

/// What is wrong with the schemas of inputs, in words for whoever wrote them.
pub fn schema_problems(inputs: &Map<String, Value>) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, schema) in inputs {
        match jsonschema::validator_for(&plain(schema)) {
            _ if !schema.is_object() => problems.push(format!("the input {name:?} must be described by a table")),
            Err(error) => problems.push(format!("the input {name:?} must be described by a JSON Schema: {error}")),
            Ok(validator) => {
                let default = schema.get("default");
                if let Some(error) = default.and_then(|default| validator.validate(default).err()) {
                    problems.push(format!("the default of the input {name:?} does not fit its own schema: {error}"));
                }
            }
        }
    }
    problems
}

/// A value that somebody typed: JSON if it is that, else text.
pub fn value(typed: String) -> Value {
    serde_json::from_str(&typed).unwrap_or(Value::String(typed))
}

/// The inputs of a run, with the defaults for those that are not given; or what does not fit.
pub fn inputs(workflow: &Workflow, given: Map<String, Value>) -> Result<Map<String, Value>, Vec<String>> {
    let mut inputs = given;
    if inputs.values().any(is_too_deep) {
        return Err(vec![format!("they are nested more than {DEEPEST} levels deep")]);
    }
    for (name, schema) in &workflow.inputs {
        if let Some(default) = schema.get("default") {
            inputs.entry(name).or_insert_with(|| default.clone());
        }
    }
    let validator = jsonschema::validator_for(&schema(&workflow.inputs)).map_err(|error| vec![error.to_string()])?;
    let inputs = Value::Object(inputs);
    let told = |error: jsonschema::ValidationError<'_>| {
        let path = error.instance_path().to_string();
        if path.is_empty() { error.to_string() } else { format!("{}: {error}", path.trim_start_matches('/')) }
    };
    let problems: Vec<String> = validator.iter_errors(&inputs).map(told).collect();
    match inputs {
        Value::Object(inputs) if problems.is_empty() => Ok(inputs),
        _ => Err(problems),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workflow(inputs: Value) -> Workflow {
        let inputs = inputs.as_object().expect("a table").clone();
        Workflow { name: "trial".to_owned(), description: String::new(), on: Vec::new(), inputs, steps: Vec::new() }
    }

    fn given(value: &Value) -> Map<String, Value> {
        value.as_object().expect("an object").clone()
    }

    #[test]
    fn inputs_have_to_fit_and_defaults_fill_the_gaps() {
        let workflow = workflow(json!({
            "pr": { "type": "integer", "minimum": 1, "required": true },
            "depth": { "type": "string", "enum": ["quick", "deep"], "default": "quick" },
        }));
        assert_eq!(inputs(&workflow, given(&json!({ "pr": 7 }))), Ok(given(&json!({ "pr": 7, "depth": "quick" }))));
        let refused = |value: Value| inputs(&workflow, given(&value)).expect_err("it does not fit").join("; ");
        assert!(refused(json!({})).contains("\"pr\" is a required property"));
        assert!(refused(json!({ "pr": "7" })).starts_with("pr: "));
        assert!(refused(json!({ "pr": 7, "dept": "deep" })).contains("dept"));
    }

    #[test]
    fn schemas_that_are_none_are_told_of() {
        let problems = |inputs: Value| schema_problems(inputs.as_object().expect("a table")).join("; ");
        assert_eq!(problems(json!({ "pr": { "type": "integer", "required": true } })), "");
        assert!(problems(json!({ "pr": { "type": "whole" } })).contains("\"pr\" must be described by a JSON Schema"));
        assert!(problems(json!({ "pr": 7 })).contains("must be described by a table"));
        assert!(
            problems(json!({ "pr": { "type": "integer", "default": "x" } })).contains("does not fit its own schema")
        );
    }
}
