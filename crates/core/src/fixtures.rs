//! Checks on fixtures of stored formats: that every variant occurs in them, and that each line is written back as it was read.

use std::collections::BTreeSet;
use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// How JSON tells the variants of an enum apart.
#[derive(Clone, Copy)]
pub enum Tag {
    /// By a text, or by the name of the only member.
    Value,
    /// By the member of this name.
    Member(&'static str),
}

/// The names of an enum's variants, as serde lists them when it reads a name that it does not know. The list comes from the reading
/// side alone, so it can check what the writing side has written.
pub fn variants<T: DeserializeOwned>(tag: Tag) -> BTreeSet<String> {
    let unknown = "no variant is called this";
    let value = match tag {
        Tag::Value => json!(unknown),
        Tag::Member(name) => json!({ name: unknown }),
    };
    let error = serde_json::from_value::<T>(value).err().expect("no variant is called this").to_string();
    let expected = error.split_once("expected ").map_or("", |(_, expected)| expected);
    let names: BTreeSet<String> = expected.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    assert!(!names.is_empty(), "{} names no variants: {error}", std::any::type_name::<T>());
    names
}

/// The variants of an enum that occur at none of these places, each with the name of the enum. A place is a path of member names;
/// `*` stands for every member, and lists are looked through.
pub fn missing<T: DeserializeOwned>(json: &Value, tag: Tag, places: &[&str]) -> Vec<String> {
    let found: BTreeSet<String> = places.iter().flat_map(|place| names_at(json, place)).collect();
    let name = std::any::type_name::<T>();
    variants::<T>(tag).difference(&found).map(|variant| format!("{name}: `{variant}` at none of {places:?}")).collect()
}

/// The variants at a place: the text there, or the names of the members.
fn names_at(json: &Value, place: &str) -> BTreeSet<String> {
    let mut there = vec![json];
    for member in place.split('.') {
        there = there.into_iter().flat_map(|value| within(value, member)).collect();
    }
    there.into_iter().flat_map(names).collect()
}

fn names(value: &Value) -> Vec<String> {
    match value {
        Value::Array(elements) => elements.iter().flat_map(names).collect(),
        Value::Object(members) => members.keys().cloned().collect(),
        Value::String(text) => vec![text.clone()],
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

fn within<'v>(value: &'v Value, member: &str) -> Vec<&'v Value> {
    match value {
        Value::Array(elements) => elements.iter().flat_map(|element| within(element, member)).collect(),
        Value::Object(members) if member == "*" => members.values().collect(),
        Value::Object(members) => members.get(member).into_iter().collect(),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// The events of a log in a list for each type.
pub fn by_type(log: &str) -> Value {
    let mut types: Map<String, Value> = Map::new();
    for line in log.lines() {
        let event: Value = serde_json::from_str(line).expect("a line is JSON");
        let name = event["type"].as_str().expect("an event has a type").to_owned();
        let events = types.entry(name).or_insert_with(|| json!([])).as_array_mut().expect("a list");
        events.push(event);
    }
    Value::Object(types)
}

/// An event as the store keeps it: its line without `seq` and `ts`.
pub fn data(line: &str) -> String {
    let (_, after_seq) = line.split_once(',').expect("a line begins with `seq`");
    let (_, event) = after_seq.split_once(',').expect("`ts` comes next");
    format!("{{{event}")
}

/// Reads a line, and asserts that it is written back byte for byte.
pub fn read_back<T: Serialize + DeserializeOwned + Debug>(line: &str) -> T {
    let read: T = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert_eq!(serde_json::to_string(&read).expect("it is JSON"), line, "{read:?}");
    read
}

/// Asserts that two long texts are equal, and shows the first line that differs.
pub fn assert_same(now: &str, stored: &str) {
    for (index, (now, stored)) in now.lines().zip(stored.lines()).enumerate() {
        assert_eq!(now, stored, "line {}", index + 1);
    }
    assert_eq!(now.lines().count(), stored.lines().count(), "lines");
    assert!(now == stored, "the ends of lines differ");
}
