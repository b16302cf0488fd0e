//! Accounts as git knows them: the signature of an account, and the account behind an address.

use crate::git::Signature;
use crate::world::{Account, Id, World};

/// Where GitHub's own commits come from.
pub const GITHUB_EMAIL: &str = "noreply@github.com";

/// How an account signs what it commits through GitHub, now.
pub fn signature_of(world: &World, account: Id) -> Signature {
    let account = world.account(account);
    Signature::utc(account.display_name(), account.commit_email(), world.now.as_second())
}

/// GitHub itself, which commits whatever is made in the browser or by a merge.
pub fn github_signature(world: &World) -> Signature {
    Signature::utc("GitHub", GITHUB_EMAIL, world.now.as_second())
}

/// The account that an address in a commit belongs to: its own address, one of GitHub's `noreply` addresses, or, for an
/// account that never gave one, any address before whose `@` its login stands.
pub fn account_by_email<'w>(world: &'w World, email: &str) -> Option<&'w Account> {
    let own = |account: &&Account| account.email.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(email));
    if let Some(account) = world.accounts.all().find(own) {
        return Some(account);
    }
    let (local, host) = email.rsplit_once('@')?;
    if host.eq_ignore_ascii_case("users.noreply.github.com") {
        return match local.split_once('+') {
            Some((id, _)) => world.accounts.get(0, id.parse().ok()?),
            None => world.account_named(local),
        };
    }
    world.account_named(local).filter(|account| account.email.is_none())
}
