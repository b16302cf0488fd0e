//! How the inbox keeps what is asked of a repository. What is asked for directly is the label of its entry; what is asked of the run
//! of a train or a fixer is the body of its entry. Both are written and read here alone.

use merge_train_core::repo::Request;
use serde_json::Value;

/// The label of an entry whose body is the request.
pub const IN_BODY: &str = "train_order";

/// The request as a label: its name, and where it has parameters, all of it as JSON.
pub fn label(request: &Request) -> String {
    match serde_json::to_value(request).expect("a request is JSON") {
        Value::String(name) => name,
        with_parameters => with_parameters.to_string(),
    }
}

pub fn from_label(label: &str) -> serde_json::Result<Request> {
    let value = serde_json::from_str(label).unwrap_or_else(|_| Value::from(label));
    serde_json::from_value(value)
}

/// The request as the body of an entry called [`IN_BODY`].
pub fn body(request: &Request) -> Vec<u8> {
    serde_json::to_vec(request).expect("a request is JSON")
}

pub fn from_body(body: &[u8]) -> serde_json::Result<Request> {
    serde_json::from_slice(body)
}

#[cfg(test)]
mod tests {
    use merge_train_core::ids::PrNumber;
    use merge_train_core::repo::Attribution;

    use super::*;

    #[test]
    fn a_request_is_read_back_from_what_the_inbox_keeps() {
        let pr = PrNumber::new(7);
        let behest = Attribution { by: Some("api:ops".to_owned()), ..Attribution::default() };
        for (request, expected) in [
            (Request::Sync, "sync"),
            (Request::LookAt { prs: vec![pr] }, r#"{"look_at":{"prs":[7]}}"#),
            (Request::StartTrain { pr, behest: behest.clone() }, r#"{"start_train":{"pr":7,"by":"api:ops"}}"#),
            (Request::Ratchet { pr: None, on: true, behest }, r#"{"ratchet":{"on":true,"by":"api:ops"}}"#),
        ] {
            assert_eq!(label(&request), expected);
            assert_eq!(from_label(expected).unwrap(), request);
            assert_eq!(from_body(&body(&request)).unwrap(), request);
        }
        assert!(from_label("moon").is_err());
    }
}
