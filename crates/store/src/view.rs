//! One look at the whole store: whatever is written meanwhile is not in it.

use std::path::PathBuf;

use merge_train_core::ids::{RunId, StreamId, TenantId};

use crate::backend::Reader;
use crate::error::{Error, Result};
use crate::inbox::{Entry, EntryId, TakeLimit, take};
use crate::rows::{self, Run};
use crate::stream::{Loaded, Since, StreamInfo, load};

/// A store as it was at one moment. Holding it for long keeps the database from tidying up.
pub struct View {
    pub(crate) reader: Reader,
    /// Where damage would be.
    pub(crate) file: Option<PathBuf>,
}

impl View {
    /// All streams, by name.
    pub async fn streams(&mut self, tenant: Option<&TenantId>) -> Result<Vec<StreamInfo>> {
        let read = load::streams(&mut self.reader.conn(), tenant).await;
        read.map_err(|error| self.locate(error))
    }

    /// As `Store::load`.
    pub async fn load(&mut self, stream: &StreamId, since: Since) -> Result<Loaded> {
        let read = load::load(&mut self.reader.conn(), stream, since).await;
        read.map_err(|error| self.locate(error))
    }

    /// As `Store::run`, of whomever.
    pub async fn run(&mut self, id: &RunId) -> Result<Option<Run>> {
        let read = rows::query::run(&mut self.reader.conn(), None, id).await;
        read.map_err(|error| self.locate(error))
    }

    /// As `Store::unsettled`.
    pub async fn unsettled(
        &mut self,
        stream: &StreamId,
        after: Option<EntryId>,
        limit: TakeLimit,
    ) -> Result<Vec<Entry>> {
        let read = take::unsettled(&mut self.reader.conn(), stream, after, limit).await;
        read.map_err(|error| self.locate(error))
    }

    fn locate(&self, error: Error) -> Error {
        error.in_file(self.file.as_deref())
    }
}
