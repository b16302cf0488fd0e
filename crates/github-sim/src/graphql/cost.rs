//! What a query may cost, worked out before it runs, as GitHub does it: each connection counts its members once for
//! each of its parents.

use std::collections::{BTreeMap, HashMap};

use async_graphql::parser::types::{
    ExecutableDocument, Field, FragmentDefinition, OperationDefinition, Selection, SelectionSet,
};
use async_graphql::{Name, Positioned, Value, Variables};

use super::{Failure, Result};

/// More nodes than that no query may ask for.
const MOST_NODES: u64 = 500_000;
/// Fields after fragments are put in place. Nested fragments can multiply a short text into any number.
const MOST_FIELDS: u64 = 100_000;
/// Brackets within brackets: the parser is recursive.
const DEEPEST_NESTING: usize = 100;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub nodes: u64,
    fields: u64,
    /// The requests it would take to fetch each list by itself.
    requests: u64,
}

impl Cost {
    /// What it takes of the rate limit.
    pub fn points(self) -> u64 {
        (self.requests / 100).max(1)
    }

    fn plus(self, other: Self) -> Self {
        Self {
            nodes: self.nodes.saturating_add(other.nodes),
            fields: self.fields.saturating_add(other.fields),
            requests: self.requests.saturating_add(other.requests),
        }
    }
}

/// The cost of the operation, or GitHub's refusal.
pub fn of(document: &ExecutableDocument, operation: Option<&str>, variables: &Variables) -> Result<Cost> {
    let chosen = document.operations.iter().find(|(name, _)| match operation {
        Some(wanted) => name.is_some_and(|name| name.as_str() == wanted),
        None => true,
    });
    // Which operation is meant is for the execution to complain about.
    let Some((_, chosen)) = chosen else { return Ok(Cost::default()) };
    let mut count =
        Count { fragments: &document.fragments, values: values(&chosen.node, variables), known: HashMap::new() };
    let cost = count.selection(&chosen.node.selection_set.node);
    if cost.nodes > MOST_NODES {
        return Err(Failure::new(
            "MAX_NODE_LIMIT_EXCEEDED",
            format!(
                "This query requests up to {} possible nodes which exceeds the maximum limit of 500,000.",
                with_commas(cost.nodes)
            ),
        ));
    }
    if cost.fields > MOST_FIELDS {
        return Err(Failure::new("EXCESSIVE_COMPLEXITY", "Query has too many fields."));
    }
    Ok(cost)
}

fn values(operation: &OperationDefinition, given: &Variables) -> BTreeMap<Name, Value> {
    let mut values: BTreeMap<Name, Value> = operation
        .variable_definitions
        .iter()
        .filter_map(|one| Some((one.node.name.node.clone(), one.node.default_value.as_ref()?.node.clone())))
        .collect();
    values.extend(given.iter().map(|(name, value)| (name.clone(), value.clone())));
    values
}

struct Count<'a> {
    fragments: &'a HashMap<Name, Positioned<FragmentDefinition>>,
    values: BTreeMap<Name, Value>,
    /// Of each fragment, for one parent. A fragment that is being counted costs nothing within itself.
    known: HashMap<&'a str, Cost>,
}

impl<'a> Count<'a> {
    fn selection(&mut self, set: &'a SelectionSet) -> Cost {
        set.items.iter().fold(Cost::default(), |sum, item| {
            sum.plus(match &item.node {
                Selection::Field(field) => self.field(&field.node),
                Selection::InlineFragment(fragment) => self.selection(&fragment.node.selection_set.node),
                Selection::FragmentSpread(spread) => self.fragment(spread.node.fragment_name.node.as_str()),
            })
        })
    }

    fn fragment(&mut self, name: &str) -> Cost {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let Some((name, fragment)) = self.fragments.get_key_value(name) else { return Cost::default() };
        self.known.insert(name, Cost::default());
        let cost = self.selection(&fragment.node.selection_set.node);
        self.known.insert(name, cost);
        cost
    }

    fn field(&mut self, field: &'a Field) -> Cost {
        let within = self.selection(&field.selection_set.node);
        let own = Cost { nodes: 0, fields: 1, requests: 0 };
        let Some(size) = self.page_size(field) else { return own.plus(within) };
        let times = |count: u64| count.saturating_mul(size);
        Cost {
            nodes: size.saturating_add(times(within.nodes)),
            fields: within.fields.saturating_add(1),
            requests: times(within.requests).saturating_add(1),
        }
    }

    fn page_size(&self, field: &Field) -> Option<u64> {
        let (_, value) = field.arguments.iter().find(|(name, _)| matches!(name.node.as_str(), "first" | "last"))?;
        let value = value.node.clone().into_const_with(|name| self.values.get(&name).cloned().ok_or(())).ok()?;
        match value {
            Value::Number(number) => number.as_u64(),
            _ => None,
        }
    }
}

/// Refuses a text that would take the parser too deep.
pub fn check_nesting(query: &str) -> Result<()> {
    let mut depth = 0_usize;
    let mut rest = query;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth = depth.saturating_sub(1),
            '"' => rest = after_string(rest),
            '#' => rest = rest.split_once('\n').map_or("", |(_, after)| after),
            _ => {}
        }
        if depth > DEEPEST_NESTING {
            return Err(Failure::new("EXCESSIVE_COMPLEXITY", "Query is nested too deeply."));
        }
    }
    Ok(())
}

/// What follows a string whose opening quote was just passed.
fn after_string(rest: &str) -> &str {
    if let Some(block) = rest.strip_prefix("\"\"") {
        let block = block.replace("\\\"\"\"", "\\....").find("\"\"\"").map_or("", |end| &block[end + 3..]);
        return block;
    }
    let mut escaped = false;
    let end = rest.char_indices().find(|(_, c)| {
        let closes = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        closes
    });
    end.map_or("", |(at, _)| &rest[at + 1..])
}

fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(query: &str) -> Result<Cost> {
        of(&async_graphql::parser::parse_query(query).unwrap(), None, &Variables::default())
    }

    #[test]
    fn connections_multiply_as_in_github_s_documentation() {
        let query = "query($n: Int = 50) { viewer { repositories(first: $n) { edges { node {
            pullRequests(first: 20) { nodes { comments(first: 10) { nodes { body } } } }
            issues(first: 20) { nodes { comments(first: 10) { nodes { body } } } } } } } followers(first: 10) { nodes { login } } } }";
        let cost = cost(query).unwrap();
        assert_eq!(cost.nodes, 22_060);
    }

    #[test]
    fn too_many_nodes_are_refused_with_their_number() {
        let query = "{ a(first: 100) { b(first: 100) { c(first: 100) { d } } } }";
        let refusal = cost(query).unwrap_err();
        assert_eq!(refusal.kind, "MAX_NODE_LIMIT_EXCEEDED");
        assert!(refusal.message.contains("1,010,100"), "{refusal}");
    }

    #[test]
    fn fragments_cannot_multiply_without_end() {
        let mut query = String::from("{ ...f0 } ");
        for n in 0..40 {
            query += &format!("fragment f{n} on Query {{ a: x {{ ...f{m} }} b: x {{ ...f{m} }} }} ", m = n + 1);
        }
        query += "fragment f40 on Query { x }";
        assert_eq!(cost(&query).unwrap_err().kind, "EXCESSIVE_COMPLEXITY");
        assert!(cost("{ ...f } fragment f on Query { x { ...f } }").is_ok());
    }

    #[test]
    fn only_brackets_outside_of_strings_nest() {
        assert!(check_nesting(&"{".repeat(1000)).is_err());
        assert!(check_nesting(&format!("{{ f(a: \"{}\\\"{{\") }}", "{".repeat(1000))).is_ok());
        assert!(check_nesting(&format!("{{ f(a: \"\"\"{} \" \"\"\") }}", "{".repeat(1000))).is_ok());
        assert!(check_nesting(&format!("# {}\n{{ a }}", "{".repeat(1000))).is_ok());
    }
}
