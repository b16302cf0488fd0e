//! The end of a request that its caller worked on itself.

use async_trait::async_trait;
use jiff::Timestamp;
use merge_train_core::inbox::InboxPolicy;

use super::{Claim, EntryId, Outcome, Settlement, record, settle};
use crate::db::{Conn, Script, int, sql};
use crate::error::{Error, Result};
use crate::writer::Write;

pub struct Finish {
    pub claim: Claim,
    pub outcome: Outcome,
    pub policy: InboxPolicy,
    pub now: Timestamp,
}

#[async_trait]
impl Write for Finish {
    type Answer = ();

    async fn run(&self, conn: &mut Conn<'_>) -> Result<()> {
        let Claim { tenant, key, fence, .. } = &self.claim;
        let Some(found) = record::find_for_update(conn, tenant, key).await? else {
            return Err(Error::Expired { key: key.clone() });
        };
        let held =
            sql("SELECT id FROM inbox WHERE id = $1 AND fence = $2 AND status = 'processing' AND stream IS NULL");
        if held.int(found.id).int(int(*fence)).first(conn).await?.is_none() {
            return Err(Error::LockLost { key: key.clone() });
        }
        let settled = [Settlement { entry: EntryId(found.id), outcome: self.outcome.clone() }];
        let mut script = Script::default();
        settle::close(&mut script, conn, &settled, &self.policy, self.now);
        script.execute(conn).await
    }
}
