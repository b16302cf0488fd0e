//! As whom GitHub is spoken to.

use crate::config::{Config, Credentials};

/// The one client, as whom the configuration says.
pub fn client(config: &Config, credentials: &Credentials) -> anyhow::Result<github::Client> {
    let auth = match credentials {
        Credentials::App { app_id, private_key_pem, installation_id } => github::Auth::App {
            app_id: *app_id,
            private_key_pem: private_key_pem.clone(),
            installation_id: installation_id.map(merge_train_core::ids::InstallationId::new),
        },
        Credentials::Token(token) => github::Auth::Token(token.clone()),
    };
    let mut client = github::Config::new(auth);
    client.api_url.clone_from(&config.github.api_url);
    client.graphql_url.clone_from(&config.github.graphql_url);
    Ok(github::Client::new(&client)?)
}
