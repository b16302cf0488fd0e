//! What a command says to GitHub Actions in its output: `::error file=a.rs,line=3::message`.

use crate::world::Annotation;

/// Where an annotation without a file stands, as GitHub puts it.
pub const NO_FILE: &str = ".github";

/// An annotation that a line of output asks for. `line_number` is the line's own, for one that names no file.
pub fn parse(line: &str, line_number: u64) -> Option<Annotation> {
    let rest = line.trim_start().strip_prefix("::")?;
    let (head, message) = rest.split_once("::")?;
    let (command, properties) = head.split_once(' ').unwrap_or((head, ""));
    let annotation_level = match command {
        "error" => "failure",
        "warning" => "warning",
        "notice" => "notice",
        _ => return None,
    };
    let property = |name: &str| {
        let found = properties.split(',').filter_map(|one| one.trim().split_once('=')).find(|(key, _)| *key == name);
        found.map(|(_, value)| unescape(value)).filter(|value| !value.is_empty())
    };
    let number = |name: &str| property(name).and_then(|value| value.parse::<u64>().ok());
    let file = property("file");
    let start_line = number("line").unwrap_or(if file.is_some() { 1 } else { line_number });
    let end_line = number("endLine").unwrap_or(start_line).max(start_line);
    let on_one_line = start_line == end_line;
    let column = |name: &str| number(name).filter(|_| on_one_line);
    let start_column = column("col");
    Some(Annotation {
        path: file.unwrap_or_else(|| NO_FILE.to_owned()),
        start_line,
        end_line,
        start_column,
        end_column: column("endColumn").or(start_column),
        annotation_level: annotation_level.to_owned(),
        title: property("title"),
        message: unescape(message),
        raw_details: None,
    })
}

/// How the line stands in the log: `##[error]message`.
pub fn shown(annotation: &Annotation) -> String {
    let word = if annotation.annotation_level == "failure" { "error" } else { &annotation.annotation_level };
    format!("##[{word}]{}", annotation.message)
}

/// The escapes of workflow commands: `%25`, `%0D`, `%0A`, `%3A`, `%2C`.
fn unescape(text: &str) -> String {
    // `%25` last: what it leaves is not to be read again.
    [("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")]
        .into_iter()
        .fold(text.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workflow_command_becomes_an_annotation() {
        let found = parse("::error file=src/a.rs,line=3,col=5,title=Bad%2C bad::one%0Atwo", 9).expect("an annotation");
        assert_eq!((found.path.as_str(), found.start_line, found.end_line), ("src/a.rs", 3, 3));
        assert_eq!((found.start_column, found.end_column), (Some(5), Some(5)));
        assert_eq!(found.annotation_level, "failure");
        assert_eq!((found.title.as_deref(), found.message.as_str()), (Some("Bad, bad"), "one\ntwo"));
        assert_eq!(shown(&found), "##[error]one\ntwo");
    }

    #[test]
    fn without_a_file_it_stands_at_the_line_of_the_log() {
        let found = parse("  ::warning::look here", 9).expect("an annotation");
        assert_eq!((found.path.as_str(), found.start_line), (NO_FILE, 9));
        assert_eq!(found.annotation_level, "warning");
    }

    #[test]
    fn columns_mean_something_only_on_one_line() {
        let found = parse("::notice file=a,line=2,endLine=4,col=1,endColumn=3::x", 1).expect("an annotation");
        assert_eq!((found.end_line, found.start_column, found.end_column), (4, None, None));
    }

    #[test]
    fn other_lines_are_output() {
        for line in ["error: x", "::group::x", "::error", "a ::error::x", "", "::"] {
            assert!(parse(line, 1).is_none(), "{line}");
        }
    }
}
