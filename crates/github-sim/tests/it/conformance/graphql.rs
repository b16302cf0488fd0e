//! The GraphQL schema, against the one GitHub publishes.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::published;
use crate::support::World;

const INTROSPECTION: &str = "
    fragment type on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }
    fragment input on __InputValue { name type { ...type } }
    query {
      __schema {
        queryType { name } mutationType { name }
        types {
          kind name
          fields(includeDeprecated: true) { name type { ...type } args { ...input } }
          inputFields { ...input }
          interfaces { name }
          enumValues(includeDeprecated: true) { name }
          possibleTypes { name }
        }
      }
    }";

#[tokio::test]
async fn every_type_field_and_argument_is_githubs() {
    let world = World::new().await;
    let ours = world.octocat.graphql(INTROSPECTION, json!({})).await;
    let differences = differences(&ours["__schema"], &published::graphql()["__schema"]);
    assert!(differences.is_empty(), "not as in GitHub's schema:\n{}", differences.join("\n"));
    world.finish().await;
}

#[test]
fn a_field_that_github_does_not_have_is_found() {
    let theirs = published::graphql();
    assert_eq!(differences(&theirs["__schema"], &theirs["__schema"]), [""; 0]);
    let mut ours = theirs.clone();
    let types = ours["__schema"]["types"].as_array_mut().unwrap();
    let label = types.iter_mut().find(|of| of["name"] == "Label").unwrap();
    let fields = label["fields"].as_array_mut().unwrap();
    fields.iter_mut().find(|field| field["name"] == "color").unwrap()["type"] =
        json!({ "kind": "SCALAR", "name": "String" });
    fields.push(json!({ "name": "colour", "type": { "kind": "SCALAR", "name": "String" }, "args": [] }));
    let found = differences(&ours["__schema"], &theirs["__schema"]);
    assert_eq!(found, ["Label.color is String, GitHub's is String!", "Label.colour is not GitHub's"]);
}

/// What of `ours` is not in `theirs`, or not the same there. `theirs` may have more.
fn differences(ours: &Value, theirs: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for root in ["queryType", "mutationType"] {
        if ours[root]["name"] != theirs[root]["name"] {
            found.push(format!("{root} is {}", ours[root]["name"]));
        }
    }
    let their_types = by_name(&theirs["types"]);
    for (name, our) in in_order(&ours["types"]) {
        if name.starts_with("__") {
            continue;
        }
        let Some(their) = their_types.get(name) else {
            found.push(format!("{name} is not GitHub's"));
            continue;
        };
        if our["kind"] != their["kind"] {
            found.push(format!("{name} is {}, GitHub's is {}", our["kind"], their["kind"]));
        }
        for (list, what) in [("interfaces", "interface"), ("enumValues", "value"), ("possibleTypes", "member")] {
            let their_names = by_name(&their[list]);
            for (member, _) in in_order(&our[list]).filter(|(member, _)| !their_names.contains_key(member)) {
                found.push(format!("{name} has the {what} {member}, GitHub's has not"));
            }
        }
        for list in ["fields", "inputFields"] {
            compare_fields(name, &our[list], &their[list], &mut found);
        }
    }
    found
}

fn compare_fields(owner: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    let their_fields = by_name(theirs);
    for (name, our) in in_order(ours) {
        let place = format!("{owner}.{name}");
        let Some(their) = their_fields.get(name) else {
            found.push(format!("{place} is not GitHub's"));
            continue;
        };
        let (our_type, their_type) = (type_name(&our["type"]), type_name(&their["type"]));
        if our_type != their_type {
            found.push(format!("{place} is {our_type}, GitHub's is {their_type}"));
        }
        compare_fields(&place, &our["args"], &their["args"], found);
    }
}

/// `[Label!]!`
fn type_name(of: &Value) -> String {
    match of["kind"].as_str() {
        Some("NON_NULL") => format!("{}!", type_name(&of["ofType"])),
        Some("LIST") => format!("[{}]", type_name(&of["ofType"])),
        _ => of["name"].as_str().unwrap_or("?").to_owned(),
    }
}

fn in_order(list: &Value) -> impl Iterator<Item = (&str, &Value)> {
    list.as_array().into_iter().flatten().map(|item| (item["name"].as_str().unwrap_or_default(), item))
}

fn by_name(list: &Value) -> HashMap<&str, &Value> {
    in_order(list).collect()
}
