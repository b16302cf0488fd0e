//! How far each schedule has come.

use async_trait::async_trait;
use jiff::Timestamp;
use merge_train_core::ids::TenantId;

use crate::db::{Conn, micros, sql};
use crate::error::Result;
use crate::writer::Write;

pub async fn slot(conn: &mut Conn<'_>, tenant: &TenantId, name: &str) -> Result<Option<Timestamp>> {
    let query = sql("SELECT slot FROM schedules WHERE tenant = $1 AND name = $2");
    let row = query.text(tenant.as_str()).text(name).first(conn).await?;
    row.map(|row| row.time(0)).transpose()
}

pub struct Done {
    pub tenant: TenantId,
    pub name: String,
    pub slot: Timestamp,
}

#[async_trait]
impl Write for Done {
    type Answer = ();

    async fn run(&self, conn: &mut Conn<'_>) -> Result<()> {
        // Another instance may be ahead.
        let query = "INSERT INTO schedules (tenant, name, slot) VALUES ($1, $2, $3) \
                     ON CONFLICT (tenant, name) DO UPDATE SET slot = excluded.slot WHERE schedules.slot < excluded.slot";
        sql(query).text(self.tenant.as_str()).text(self.name.as_str()).int(micros(self.slot)).execute(conn).await?;
        Ok(())
    }
}
