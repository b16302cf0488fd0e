//! People at work in workspaces: the ratchet keeps out of their way, and misses nothing meanwhile.

use jiff::Timestamp;

use super::{Event, SessionId};
use crate::facts::HeadRepo;
use crate::ids::PrNumber;
use crate::repo::transaction::Transaction;

/// The longest name of a session.
const LONGEST_NAME: usize = 128;
/// So many sessions are open in one workspace at most.
const MOST_SESSIONS: usize = 64;

/// A session begins, or gives a sign of life.
pub(super) fn seen(
    transaction: &mut Transaction<'_>,
    pr: PrNumber,
    session: &SessionId,
    idle: bool,
    by: Option<&str>,
    again: bool,
) -> Result<(), String> {
    let workspace = transaction.state.workspaces.get(&pr);
    let known = workspace.and_then(|workspace| workspace.sessions.get(session));
    if known.is_some() {
        transaction.record(Event::SessionSeen { pr, session: session.clone(), idle });
        return Ok(());
    }
    if again {
        return Err(format!(
            "The session {session:?} is no longer known: it sent no heartbeat for too long, or it was ended. Open a \
             new one."
        ));
    }
    let Some(known) = transaction.state.pr(pr) else {
        return Err(format!("There is no pull request #{pr} known here."));
    };
    if known.head_repo == HeadRepo::Fork {
        return Err(format!("The branch of #{pr} is in a fork, which the ratchet does not handle."));
    }
    if session.is_empty() || session.len() > LONGEST_NAME {
        return Err(format!("The name of a session has 1 to {LONGEST_NAME} characters."));
    }
    if workspace.is_some_and(|workspace| workspace.sessions.len() >= MOST_SESSIONS) {
        return Err(format!("There are {MOST_SESSIONS} sessions in this workspace already; end one first."));
    }
    transaction.record(Event::SessionOpened { pr, session: session.clone(), idle, by: by.map(str::to_owned) });
    Ok(())
}

pub(super) fn end(
    transaction: &mut Transaction<'_>,
    pr: PrNumber,
    session: &SessionId,
    exit_code: Option<i32>,
) -> Result<(), String> {
    let known = transaction.state.workspaces.get(&pr).and_then(|workspace| workspace.sessions.get(session));
    let Some(started_at) = known.map(|known| known.started_at) else {
        return Err(format!("There is no session {session:?} in the workspace of #{pr}: it has ended already."));
    };
    transaction.record(Event::SessionEnded { pr, session: session.clone(), started_at, exit_code, vanished: false });
    Ok(())
}

/// Those of which nobody has heard for too long are over.
pub(super) fn expire(transaction: &mut Transaction<'_>) {
    let (timeout, now) = (transaction.settings.ratchet.session_timeout, transaction.now);
    let gone: Vec<(PrNumber, SessionId, Timestamp)> = transaction
        .state
        .workspaces
        .iter()
        .flat_map(|(pr, workspace)| workspace.sessions.iter().map(|(id, session)| (*pr, id.clone(), session)))
        .filter(|(_, _, session)| crate::repo::ratchet::has_vanished(session, timeout, now))
        .map(|(pr, id, session)| (pr, id, session.started_at))
        .collect();
    for (pr, session, started_at) in gone {
        transaction.record(Event::SessionEnded { pr, session, started_at, exit_code: None, vanished: true });
    }
}
