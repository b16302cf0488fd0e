//! `docs/api.md` is made of the description that the daemon serves.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::{REFUSALS, WITH_KEY, document};

const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api.md");
/// The generated part of the guide begins after the line that ends so.
const MARK: &str = "a test enforces this. -->\n";
/// Set it to write the generated part again.
const UPDATE: &str = "MERGE_TRAIN_TEST_UPDATE_DOCS";
/// The families of requests, in the order in which somebody gets to know them, and what stands above each.
const FAMILIES: [(&str, &str); 6] = [
    ("repositories", "Requests about repositories"),
    ("trains", "Requests about trains"),
    ("runs", "Requests about runs"),
    ("workspaces", "Requests about workspaces"),
    ("daemon", "Requests about the daemon"),
    ("senders", "Requests from GitHub and Slack"),
];
const METHODS: [&str; 4] = ["get", "post", "put", "delete"];

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// In a cell of a table.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}

fn fields(schema: &Value) -> Map<String, Value> {
    schema["properties"].as_object().cloned().unwrap_or_default()
}

/// The guide's reference, as the description has it.
fn reference(document: &Value) -> String {
    let mut told = String::new();
    let paths = document["paths"].as_object().expect("paths");
    for (family, heading) in FAMILIES {
        let _ = write!(told, "\n## {heading}\n");
        for (path, item) in paths {
            for method in METHODS.into_iter().filter(|method| item[method]["tags"][0] == family) {
                told += &operation(method, path, &item[method]);
            }
        }
    }
    told += "\n## Objects\n\nFields marked with `?` may be missing. Later versions may add fields; programs should \
         ignore fields that they do not know.\n";
    for (name, schema) in document["components"]["schemas"].as_object().expect("schemas") {
        told += &object(name, schema);
    }
    told
}

fn operation(method: &str, path: &str, operation: &Value) -> String {
    let mut told = format!("\n### `{} {path}`\n\n{}.", method.to_uppercase(), text(&operation["summary"]));
    if let Some(more) = operation["description"].as_str() {
        let _ = write!(told, " {}", more.replace('\n', " "));
    }
    let answers = operation["responses"].as_object().expect("answers");
    let who = match path.starts_with(WITH_KEY) {
        true if answers.contains_key("403") => " Role: `operator`.",
        true => " Role: `viewer`.",
        false => "",
    };
    let _ = writeln!(told, "{who}");
    // What stands in the address speaks for itself, and headers are explained once.
    let asked = operation["parameters"].as_array().into_iter().flatten();
    for asked in asked.filter(|asked| asked["in"] == "query") {
        let what = asked["description"].as_str().map(|what| format!(": {}", what.replace('\n', " ")));
        let _ =
            write!(told, "\n- `?{}=` ({}){}", text(&asked["name"]), kind(&asked["schema"]), what.unwrap_or_default());
    }
    let contents = operation["requestBody"]["content"].as_object();
    if let Some(schema) = contents.and_then(|all| all.get("application/json")).map(|json| &json["schema"]) {
        let _ = write!(told, "\n- body: {}", kind(schema));
    }
    for (status, answer) in answers.iter().filter(|(_, answer)| answer["description"].is_string()) {
        let content = answer["content"].as_object().and_then(|all| all.iter().next());
        let body = match content {
            Some((media, content)) if media == "application/json" => {
                format!(" {}.", sentence(&kind(&content["schema"])))
            }
            Some((media, _)) => format!(" `{media}`."),
            None => String::new(),
        };
        let _ = write!(told, "\n- **{status}** {}{body}", text(&answer["description"]).replace('\n', " "));
    }
    let refusals: Vec<&str> =
        REFUSALS.iter().map(|(status, ..)| *status).filter(|status| answers.contains_key(*status)).collect();
    if !refusals.is_empty() {
        let _ = write!(told, "\n- refused with {}", refusals.join(", "));
    }
    told + "\n"
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn object(name: &str, schema: &Value) -> String {
    let mut told = format!("\n### {name}\n");
    if let Some(what) = schema["description"].as_str() {
        let _ = write!(told, "\n{}\n", what.replace('\n', " "));
    }
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().map(text).collect();
    let fields = fields(schema);
    if fields.is_empty() {
        let kind = kind(schema);
        return if kind == "an object" { told } else { format!("{told}\n{}.\n", sentence(&kind)) };
    }
    told += "\n| field | type | meaning |\n|---|---|---|\n";
    for (field, schema) in fields {
        let mark = if required.contains(&field.as_str()) { "" } else { "?" };
        let inner = schema["oneOf"].as_array().and_then(|all| all.iter().find_map(|one| one["description"].as_str()));
        let what = schema["description"].as_str().or(inner).unwrap_or_default();
        let _ = writeln!(told, "| `{field}`{mark} | {} | {} |", cell(&kind(&schema)), cell(what));
    }
    told
}

/// What a value is, in words.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    let any = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
    if let Some(ways) = any.or_else(|| schema["allOf"].as_array()) {
        let ways: Vec<String> = ways.iter().map(kind).collect();
        return ways.join(" or ");
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values
            .iter()
            .map(|value| format!("`{}`", value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
            .collect();
        return format!("one of {}", values.join(", "));
    }
    let plain = |name: &str| match (name, text(&schema["format"])) {
        ("string", "date-time") => "a time".to_owned(),
        ("string", _) => "a text".to_owned(),
        ("integer", _) => "a whole number".to_owned(),
        ("number", _) => "a number".to_owned(),
        ("boolean", _) => "`true` or `false`".to_owned(),
        ("array", _) => format!("a list of {}", kind(&schema["items"])),
        ("object", _) if schema["additionalProperties"].is_object() => {
            format!("an object whose values are {}", kind(&schema["additionalProperties"]))
        }
        ("object", _) => "an object".to_owned(),
        ("null", _) => "`null`".to_owned(),
        (name, _) => name.to_owned(),
    };
    match &schema["type"] {
        Value::String(name) => plain(name),
        Value::Array(names) => names.iter().map(|name| plain(text(name))).collect::<Vec<_>>().join(" or "),
        _ => "any JSON".to_owned(),
    }
}

#[test]
fn the_guide_has_every_request_as_the_daemon_describes_it() {
    let described = serde_json::to_value(document()).expect("JSON");
    let made = reference(&described);
    let operations = described["paths"].as_object().expect("paths").values();
    let all: usize = operations.map(|item| METHODS.iter().filter(|method| !item[**method].is_null()).count()).sum();
    assert_eq!(made.matches("\n### `").count(), all, "each is in one of the families");
    let guide = std::fs::read_to_string(GUIDE).unwrap_or_else(|error| panic!("{GUIDE}: {error}"));
    let (prose, generated) = guide.split_once(MARK).expect("the mark is in the guide");
    if std::env::var_os(UPDATE).is_some() {
        return std::fs::write(GUIDE, format!("{prose}{MARK}{made}")).expect("the guide can be written");
    }
    assert!(generated == made, "docs/api.md is not what the daemon describes; run with {UPDATE}=1");
}

#[test]
fn the_guide_says_what_each_refusal_means() {
    let guide = std::fs::read_to_string(GUIDE).unwrap_or_else(|error| panic!("{GUIDE}: {error}"));
    for (status, _, when) in REFUSALS {
        assert!(guide.contains(&format!("| {status} | {when} |")), "{status}");
    }
}
