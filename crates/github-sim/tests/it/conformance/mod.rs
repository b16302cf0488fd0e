//! Every answer and every webhook of the other tests, held against what GitHub publishes.

mod graphql;
mod openapi;
mod published;
mod schema;
mod webhooks;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

/// What is wrong with one exchange.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Problem {
    /// `GET /repos/{owner}/{repo} 200`, `webhook push`.
    place: String,
    /// Where in the body, as a JSON pointer.
    pointer: String,
    reason: String,
}

/// Checks a record of exchanges (`Options::record`): every REST answer against GitHub's OpenAPI description, every
/// webhook against GitHub's schemas. Panics with all problems found.
#[track_caller]
pub fn check(record: &Path) {
    let text = std::fs::read_to_string(record).expect("the record of the exchanges");
    let problems = problems(text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")));
    assert!(problems.is_empty(), "not what GitHub would answer:\n{}", report(&problems));
}

/// The problems, each with an example of where it was met and how often.
fn problems(exchanges: impl Iterator<Item = Value>) -> BTreeMap<Problem, (String, usize)> {
    let mut found: BTreeMap<Problem, (String, usize)> = BTreeMap::new();
    for exchange in exchanges {
        let (example, problems) = match exchange["kind"].as_str() {
            Some("rest") => {
                let text = |name: &str| exchange[name].as_str().unwrap_or_default();
                (format!("{} {}", text("method"), text("path")), openapi::check(&exchange))
            }
            Some("webhook") => {
                let event = exchange["event"].as_str().unwrap_or_default();
                (event.to_owned(), webhooks::check(event, &exchange["payload"]))
            }
            _ => panic!("a record of an unknown kind: {exchange}"),
        };
        for problem in problems {
            found.entry(problem).or_insert_with(|| (example.clone(), 0)).1 += 1;
        }
    }
    found
}

fn report(problems: &BTreeMap<Problem, (String, usize)>) -> String {
    let mut lines = Vec::new();
    let mut place = "";
    for (problem, (example, count)) in problems {
        if problem.place != place {
            place = &problem.place;
            lines.push(format!("{place}   (as in {example})"));
        }
        lines.push(format!("  {count} × {}: {}", problem.pointer, problem.reason));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(exchange: Value) -> Vec<(String, String)> {
        problems(std::iter::once(exchange)).into_keys().map(|problem| (problem.pointer, problem.reason)).collect()
    }

    fn rest(method: &str, template: &str, status: u16, body: Value) -> Value {
        json!({ "kind": "rest", "method": method, "path": template, "template": template, "status": status, "body": body })
    }

    const LABELS: &str = "/repos/{owner}/{repo}/labels";

    fn label() -> Value {
        json!({
            "id": 1, "node_id": "x", "url": "http://localhost/l", "name": "bug", "description": null, "color": "ff0000",
            "default": false
        })
    }

    #[test]
    fn an_answer_as_github_describes_it_passes() {
        assert_eq!(found(rest("GET", LABELS, 200, json!([label()]))), []);
    }

    #[test]
    fn a_body_with_a_missing_field_is_reported() {
        let mut broken = label();
        broken.as_object_mut().unwrap().remove("color");
        let found = found(rest("GET", LABELS, 200, json!([label(), broken])));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, "/1");
        assert!(found[0].1.contains("\"color\" is a required property"), "{found:?}");
    }

    #[test]
    fn wrong_types_nulls_and_formats_are_reported_each() {
        let mut broken = label();
        broken["id"] = "one".into();
        broken["name"] = Value::Null;
        broken["url"] = "not an address".into();
        let pointers: Vec<String> = found(rest("POST", LABELS, 201, broken)).into_iter().map(|(at, _)| at).collect();
        assert_eq!(pointers, ["/id", "/name", "/url"]);
    }

    #[test]
    fn a_field_that_github_does_not_have_is_reported() {
        let mut broken = label();
        broken["colour"] = "ff0000".into();
        let found = found(rest("POST", LABELS, 201, broken));
        assert!(found[0].1.contains("'colour' was unexpected"), "{found:?}");
    }

    #[test]
    fn a_status_that_github_does_not_answer_is_reported() {
        let found = found(rest("POST", LABELS, 200, label()));
        assert!(found[0].1.contains("no status 200"), "{found:?}");
    }

    #[test]
    fn an_operation_that_github_does_not_have_is_reported() {
        let found = found(rest("POST", "/repos/{owner}/{repo}/inventions", 201, json!({})));
        assert!(found[0].1.contains("no such operation"), "{found:?}");
    }

    #[test]
    fn a_body_where_github_sends_none_and_none_where_it_sends_one_are_reported() {
        let deletion = "/repos/{owner}/{repo}/labels/{name}";
        assert_eq!(found(rest("DELETE", deletion, 204, json!(""))), []);
        assert!(found(rest("DELETE", deletion, 204, json!({})))[0].1.contains("no body"));
        assert!(found(rest("GET", LABELS, 200, json!("")))[0].1.contains("not JSON"));
    }

    #[test]
    fn an_error_that_is_not_githubs_is_reported() {
        let error =
            json!({ "message": "Not Found", "documentation_url": "https://docs.github.com/rest", "status": "404" });
        assert_eq!(found(rest("GET", LABELS, 404, error.clone())), []);
        assert_eq!(found(rest("GET", LABELS, 413, error)), []);
        assert_ne!(found(rest("GET", LABELS, 404, json!({ "error": "Not Found" }))), []);
        assert_ne!(found(rest("GET", LABELS, 500, json!("it broke"))), []);
        assert_ne!(found(rest("GET", LABELS, 422, json!({ "message": "Validation Failed" }))), []);
    }

    #[test]
    fn a_webhook_with_a_missing_field_is_reported() {
        let push = json!({ "kind": "webhook", "event": "push", "payload": { "ref": "refs/heads/main" } });
        assert!(found(push).iter().any(|(_, reason)| reason.contains("\"head_commit\" is a required property")));
        let unknown = json!({ "kind": "webhook", "event": "pull_request", "payload": { "action": "invented" } });
        assert!(found(unknown)[0].1.contains("no such event"));
    }

    /// Some of the examples are older than fields that the schemas require by now; all else about them holds.
    #[test]
    fn githubs_own_webhooks_pass() {
        let examples: Vec<Value> = published::webhook_examples();
        let events = ["ping", "push", "create", "delete", "pull_request", "issue_comment", "status"];
        let mut seen = 0;
        for family in examples.iter().filter(|family| events.contains(&family["name"].as_str().unwrap_or_default())) {
            let event = family["name"].as_str().unwrap();
            for payload in family["examples"].as_array().unwrap() {
                let mut problems = webhooks::check(event, payload);
                problems.retain(|problem| !problem.reason.ends_with("is a required property"));
                assert_eq!(problems, [], "{event} {}", payload["action"]);
                seen += 1;
            }
        }
        assert!(seen > 20, "{seen}");
    }
}
