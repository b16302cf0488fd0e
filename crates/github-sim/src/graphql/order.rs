//! Puts an answer's members into the order they were asked for: the library has them in the order they were ready.

use std::collections::HashMap;

use async_graphql::parser::types::{
    DocumentOperations, ExecutableDocument, FragmentDefinition, Selection, SelectionSet,
};
use async_graphql::{Name, Positioned};
use serde_json::{Map, Value};

type Fragments = HashMap<Name, Positioned<FragmentDefinition>>;

pub fn arrange(data: &mut Value, document: &ExecutableDocument, operation: Option<&str>) {
    let chosen = match &document.operations {
        DocumentOperations::Single(one) => Some(one),
        DocumentOperations::Multiple(many) => operation.and_then(|name| many.get(name)),
    };
    if let Some(chosen) = chosen {
        arrange_value(data, &[&chosen.node.selection_set.node], &document.fragments);
    }
}

fn arrange_value(value: &mut Value, sets: &[&SelectionSet], fragments: &Fragments) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| arrange_value(item, sets, fragments)),
        Value::Object(members) => {
            let mut asked = Vec::new();
            for set in sets {
                collect(set, fragments, &mut asked);
            }
            let mut unordered = std::mem::take(members);
            let mut ordered = Map::with_capacity(unordered.len());
            for (key, inner) in asked {
                let Some(mut member) = unordered.remove(key) else { continue };
                if inner.iter().any(|set| !set.items.is_empty()) {
                    arrange_value(&mut member, &inner, fragments);
                }
                ordered.insert(key.to_owned(), member);
            }
            ordered.extend(unordered);
            *members = ordered;
        }
        _ => {}
    }
}

/// Each response key and all that is selected under it, fragments in place.
fn collect<'a>(set: &'a SelectionSet, fragments: &'a Fragments, asked: &mut Vec<(&'a str, Vec<&'a SelectionSet>)>) {
    for item in &set.items {
        match &item.node {
            Selection::Field(field) => {
                let key = field.node.response_key().node.as_str();
                let inner = &field.node.selection_set.node;
                match asked.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, sets)) => sets.push(inner),
                    None => asked.push((key, vec![inner])),
                }
            }
            Selection::InlineFragment(fragment) => collect(&fragment.node.selection_set.node, fragments, asked),
            Selection::FragmentSpread(spread) => {
                if let Some(fragment) = fragments.get(&spread.node.fragment_name.node) {
                    collect(&fragment.node.selection_set.node, fragments, asked);
                }
            }
        }
    }
}
