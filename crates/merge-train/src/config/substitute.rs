//! `${NAME}` in the file: a value that stands in the environment.

use super::environment::Environment;
use super::kind::WrittenValue;

/// Why a text cannot be read as it was meant.
#[derive(Debug, PartialEq, Eq)]
pub struct SubstitutionError {
    /// The part of the text that is at fault, to point at.
    pub at: String,
    pub text: String,
}

/// The text with every `${NAME}` replaced by what the environment says, and `$${` by `${`. A text that took something from
/// there may stand for a number; any other is a text.
pub fn substitute(text: &str, environment: &Environment) -> Result<WrittenValue, SubstitutionError> {
    let (mut done, mut rest, mut took) = (String::with_capacity(text.len()), text, false);
    while let Some(start) = rest.find("${") {
        let (before, tail) = rest.split_at(start);
        if let Some(kept) = before.strip_suffix('$') {
            done.push_str(kept);
            done.push_str("${");
            rest = &tail[2..];
            continue;
        }
        done.push_str(before);
        let name = tail[2..].split_once('}').map(|(name, _)| name).filter(|name| is_name(name));
        let Some(name) = name else {
            let text = "`${` without a variable's name and `}` after it; for the characters themselves write `$${`";
            return Err(SubstitutionError { at: "${".into(), text: text.into() });
        };
        let Some(value) = environment.get(name) else {
            let text = format!("the environment variable {name} is not set; set it, or write `$${{` for a plain `${{`");
            return Err(SubstitutionError { at: format!("${{{name}}}"), text });
        };
        done.push_str(value);
        took = true;
        rest = &tail[2 + name.len() + 1..];
    }
    done.push_str(rest);
    Ok(if took { WrittenValue::Bare(done) } else { WrittenValue::Quoted(done) })
}

/// The variables that a text may take something from.
pub fn variables(text: &str) -> impl Iterator<Item = &str> {
    let after = text.split("${").skip(1);
    after.filter_map(|rest| rest.split_once('}').map(|(name, _)| name).filter(|name| is_name(name)))
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn substituted(text: &str) -> Result<String, String> {
        let environment = Environment::from([("HOST", "db"), ("LOOP", "${HOST}"), ("EMPTY", "")]);
        match substitute(text, &environment) {
            Ok(WrittenValue::Quoted(text) | WrittenValue::Bare(text)) => Ok(text),
            Ok(_) => unreachable!("a text stays a text"),
            Err(failure) => Err(failure.at),
        }
    }

    #[test]
    fn variables_are_replaced_and_the_escape_is_not() {
        for (text, expected) in [
            ("plain", "plain"),
            ("${HOST}", "db"),
            ("a ${HOST} and ${HOST}", "a db and db"),
            ("[${EMPTY}]", "[]"),
            ("$${HOST}", "${HOST}"),
            ("$$${HOST}", "$${HOST}"),
            ("$${ ${HOST} $5 $", "${ db $5 $"),
        ] {
            assert_eq!(substituted(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_the_environment_says_is_not_read_again() {
        assert_eq!(substituted("${LOOP}").as_deref(), Ok("${HOST}"));
    }

    #[test]
    fn an_unset_variable_and_a_broken_one_are_pointed_at() {
        assert_eq!(substituted("x ${NOPE}"), Err("${NOPE}".into()));
        for broken in ["${", "${HOST", "${}", "${a b}", "${9}"] {
            assert_eq!(substituted(broken), Err("${".into()), "{broken}");
        }
    }
}
