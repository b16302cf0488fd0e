//! Arrivals that are taken in together, and told to the other instances.

use std::collections::BTreeSet;

use async_trait::async_trait;
use merge_train_core::inbox::InboxPolicy;
use sqlx::{PgPool, Postgres, Transaction};

use super::wakes;
use crate::db::Conn;
use crate::error::{Error, Result};
use crate::inbox::{Admission, Arrival, Route, admit};
use crate::stream::Owner;
use crate::writer::{Admitted, Transactions};

/// The transactions in which arrivals are taken in, one after another.
pub struct Groups {
    pool: PgPool,
    policy: InboxPolicy,
    owner: Owner,
    current: Option<Transaction<'static, Postgres>>,
}

impl Groups {
    pub fn new(pool: PgPool, policy: InboxPolicy, owner: Owner) -> Self {
        Self { pool, policy, owner, current: None }
    }
}

fn none() -> Error {
    Error::Unavailable { reason: "no transaction was begun".to_owned(), source: None }
}

#[async_trait]
impl Transactions for Groups {
    async fn begin(&mut self) -> Result<()> {
        self.current = Some(self.pool.begin().await?);
        Ok(())
    }

    async fn commit(&mut self) -> Result<()> {
        Ok(self.current.take().ok_or_else(none)?.commit().await?)
    }

    async fn rollback(&mut self) {
        // Dropped without a commit, it is rolled back.
        self.current = None;
    }

    fn conn(&mut self) -> Result<Conn<'_>> {
        Ok(Conn::Postgres(self.current.as_mut().ok_or_else(none)?))
    }

    async fn admit(&mut self, arrivals: &[&Arrival]) -> Result<Admitted> {
        // Two instances that take in the same keys in one order cannot wait for each other in a circle.
        let mut order: Vec<usize> = (0..arrivals.len()).collect();
        order.sort_by_key(|index| (&arrivals[*index].tenant, &arrivals[*index].key));
        let sorted: Vec<_> = order.iter().map(|index| arrivals[*index]).collect();
        let (policy, owner) = (self.policy, self.owner.clone());
        let mut conn = self.conn()?;
        let admitted = admit::admit(&mut conn, &policy, &sorted).await?;
        let streams: BTreeSet<_> = sorted
            .iter()
            .zip(&admitted)
            .filter(|(_, admission)| **admission == Admission::Accepted)
            .filter_map(
                |(arrival, _)| if let Route::Stream { stream, .. } = &arrival.route { Some(stream) } else { None },
            )
            .collect();
        wakes::tell(&mut conn, &owner, streams.into_iter()).await?;
        let mut admissions: Vec<_> = order.into_iter().zip(admitted).collect();
        admissions.sort_by_key(|(index, _)| *index);
        Ok(Admitted::Each(admissions.into_iter().map(|(_, admission)| admission).collect()))
    }

    async fn close(&mut self) {
        self.current = None;
    }
}
