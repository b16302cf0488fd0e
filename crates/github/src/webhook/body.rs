//! A webhook can be set to send its JSON as such or as the field of a form.

use std::borrow::Cow;

/// Why there is no JSON in a delivery.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    #[error("a form without the field `payload` is not a webhook of GitHub's")]
    NoPayload,
    #[error("the content type is {0:?}: set it to application/json in the webhook's settings at GitHub")]
    ContentType(String),
}

/// The JSON of a delivery. The signature is that of `bytes`, not of what this returns.
pub fn body_of<'a>(content_type: Option<&str>, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, BodyError> {
    let content_type = content_type.unwrap_or("application/json");
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "application/json" => Ok(Cow::Borrowed(bytes)),
        "application/x-www-form-urlencoded" => url::form_urlencoded::parse(bytes)
            .find(|(name, _)| name == "payload")
            .map(|(_, json)| Cow::Owned(json.into_owned().into_bytes()))
            .ok_or(BodyError::NoPayload),
        _ => Err(BodyError::ContentType(content_type.chars().take(80).collect())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_taken_as_it_is_and_out_of_a_form() {
        assert_eq!(body_of(Some("application/json; charset=utf-8"), b"{}").unwrap(), Cow::Borrowed(b"{}"));
        assert_eq!(body_of(None, b"{}").unwrap(), Cow::Borrowed(b"{}"));
        let form = body_of(Some("application/x-www-form-urlencoded"), b"payload=%7B%22a%22%3A%22b+c%22%7D").unwrap();
        assert_eq!(form.as_ref(), br#"{"a":"b c"}"#);
    }

    #[test]
    fn anything_else_is_refused_with_what_to_do() {
        assert_eq!(body_of(Some("application/x-www-form-urlencoded"), b"a=b"), Err(BodyError::NoPayload));
        let error = body_of(Some("text/plain"), b"{}").unwrap_err();
        assert!(error.to_string().contains("application/json"), "{error}");
    }
}
