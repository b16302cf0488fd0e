//! How deep JSON may be that a run is given.

use serde_json::Value;

/// What is stored and shown has it some levels deeper, and must be read again: there, 127 levels are the most.
pub const DEEPEST: usize = 64;

/// Whether a value is nested deeper than may be. A text is one level, an empty list too.
pub fn is_too_deep(value: &Value) -> bool {
    reaches_below(value, DEEPEST)
}

fn reaches_below(value: &Value, levels: usize) -> bool {
    let Some(left) = levels.checked_sub(1) else { return true };
    match value {
        Value::Array(items) => items.iter().any(|item| reaches_below(item, left)),
        Value::Object(members) => members.values().any(|member| reaches_below(member, left)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn so_many_levels_may_be_and_not_one_more() {
        let nested = |levels: usize| (1..levels).fold(json!(1), |inner, _| json!([0, inner, 0]));
        assert!(!is_too_deep(&nested(DEEPEST)));
        assert!(is_too_deep(&nested(DEEPEST + 1)));
        let objects = |levels: usize| (1..levels).fold(json!({}), |inner, _| json!({ "a": 1, "b": inner }));
        assert!(!is_too_deep(&objects(DEEPEST)) && is_too_deep(&objects(DEEPEST + 1)));
    }
}
