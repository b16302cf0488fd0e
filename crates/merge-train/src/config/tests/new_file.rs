//! What `merge-train init` and `merge-train app create` write can be read.

use super::super::NewFileValues;
use super::documentation::uncommented;
use super::*;

#[test]
fn a_new_file_can_be_read_as_it_is_and_with_everything_in_it() {
    let text = NewFileValues::default().as_new_file();
    let config = parse(&text, &Environment::default()).expect("as it is");
    assert!(config.signing().is_ok() && config.credentials().is_err(), "only who it is on GitHub is left open");
    let variables = Environment::from(["WEBHOOK_SECRET", "DATABASE_PASSWORD"].map(|name| (name, "x")));
    let config = parse(&uncommented(&text), &variables).expect("with everything in it");
    assert_eq!((config.github.app_id, config.api_keys.len()), (Some(12345), 1));
    assert!(config.server.public_url.is_some() && config.state.database_url.is_some());
    assert!(text.lines().all(|line| line.chars().count() <= 140), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn what_is_given_is_set_and_what_is_there_stays() {
    let mut values = NewFileValues::default();
    values.number("github", "app_id", 7);
    values.text("github", "private_key_path", "a \"key\".pem");
    values.text("server", "webhook_secret", "s");
    values.text("api_keys", "name", "first");
    let new = values.as_new_file();
    assert!(new.contains("\napp_id = 7\n") && !new.contains("#app_id"), "{new}");
    let old = "# mine\n[server] # all of it\nbind_address = \"127.0.0.1:1\" # stays\n\n[log]\nformat = \"json\"\n";
    assert_eq!(values.set_in(Path::new("x"), old), [""; 0]);
    let added = values.added_to(old);
    assert_eq!(
        added,
        "# mine\n[server] # all of it\nwebhook_secret = \"s\"\nbind_address = \"127.0.0.1:1\" # stays\n\n[log]\nformat = \"json\"\n\n\
         [github]\napp_id = 7\nprivate_key_path = \"a \\\"key\\\".pem\"\n\n[[api_keys]]\nname = \"first\"\n"
    );
    assert_eq!(
        values.set_in(Path::new("x"), &added),
        ["github.app_id", "github.private_key_path", "server.webhook_secret", "api_keys.name"]
    );
}
