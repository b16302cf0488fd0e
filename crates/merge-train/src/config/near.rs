//! What somebody may have meant.

/// Below this a name is another word, not a slip of the finger.
const LIKENESS: f64 = 0.7;
const MOST: usize = 3;

/// The names that look like `written`, the likeliest first.
pub fn near<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let written = written.to_lowercase();
    let mut likely: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| (strsim::normalized_damerau_levenshtein(&written, &name.to_lowercase()), name))
        .filter(|(likeness, _)| *likeness >= LIKENESS)
        .collect();
    likely.sort_by(|left, right| right.0.total_cmp(&left.0));
    likely.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// `; did you mean "bind_address"? allowed: …`, the question only when a name is near.
pub fn instead<'a>(written: &str, names: impl IntoIterator<Item = &'a str>, allowed: &[impl AsRef<str>]) -> String {
    let names: Vec<String> = near(written, names).into_iter().map(|name| format!("{name:?}")).collect();
    let question = if names.is_empty() { String::new() } else { format!(" did you mean {}?", names.join(" or ")) };
    let allowed: Vec<&str> = allowed.iter().map(AsRef::as_ref).collect();
    format!(";{question} allowed: {}", allowed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_recognised_and_another_word_is_not() {
        let names = ["bind_address", "webhook_secret", "public_url"];
        assert_eq!(near("bind_adress", names), ["bind_address"]);
        assert_eq!(near("Webhook-Secret", names), ["webhook_secret"]);
        assert_eq!(near("colour", names), [""; 0]);
    }

    #[test]
    fn a_hint_ends_with_what_is_allowed() {
        let hint = |written| instead(written, ["port", "host"], &["[port]", "[host]"]);
        assert_eq!(hint("prot"), "; did you mean \"port\"? allowed: [port], [host]");
        assert_eq!(hint("colour"), "; allowed: [port], [host]");
    }
}
