//! The store, on any database.

use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::Timestamp;
use merge_train_core::ids::{RepoId, RunId, StreamId, TenantId};
use merge_train_core::inbox::{Key, RequestRecord};
use tokio::sync::broadcast;

use crate::Store;
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::inbox::finish::Finish;
use crate::inbox::{self, Admission, Arrival, Claim, Entry, EntryId, Outcome, TakeLimit};
use crate::rows::{self, Checkpoint, Endings, Run, RunQuery, RunStatus, RunStep, Session, Transition, Workspace};
use crate::schedule;
use crate::stream::append::Append;
use crate::stream::compact::Compact;
use crate::stream::lease::{Acquire, Release, Renew};
use crate::stream::{Batch, Busiest, Lease, LeaseRequest, Loaded, Since, Snapshot, StoredEvent, StreamInfo, load};
use crate::sweep::{self, Retention, Swept};
use crate::view::View;
use crate::whole::{Check, Import, ImportedStream};

#[async_trait]
impl<B: Backend> Store for B {
    async fn admit(&self, arrival: Arrival) -> Result<Admission> {
        Backend::admit(self, arrival).await
    }

    async fn waiting(&self, now: Timestamp, limit: usize) -> Result<Vec<StreamId>> {
        inbox::waiting::waiting(&mut self.reader().await?.conn(), now, limit)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn take(&self, lease: &Lease, limit: TakeLimit) -> Result<Vec<Entry>> {
        inbox::take::take(&mut self.reader().await?.conn(), lease, limit)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn finish(&self, claim: &Claim, outcome: Outcome, now: Timestamp) -> Result<()> {
        self.write(Finish { claim: claim.clone(), outcome, policy: *self.policy(), now }).await
    }

    async fn record(&self, tenant: &TenantId, key: &Key) -> Result<Option<RequestRecord>> {
        inbox::record::find(&mut self.reader().await?.conn(), tenant, key)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn unsettled(&self, stream: &StreamId, after: Option<EntryId>, limit: TakeLimit) -> Result<Vec<Entry>> {
        inbox::take::unsettled(&mut self.reader().await?.conn(), stream, after, limit)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    fn wakes(&self) -> broadcast::Receiver<StreamId> {
        Backend::wakes(self)
    }

    async fn acquire(&self, request: LeaseRequest) -> Result<Lease> {
        self.write(Acquire(request)).await
    }

    async fn renew(&self, lease: &Lease, now: Timestamp) -> Result<()> {
        self.write(Renew { lease: lease.clone(), now }).await
    }

    async fn release(&self, lease: &Lease, wake_at: Option<Timestamp>) -> Result<()> {
        self.write(Release { lease: lease.clone(), wake_at }).await
    }

    async fn load(&self, stream: &StreamId, since: Since) -> Result<Loaded> {
        load::load(&mut self.reader().await?.conn(), stream, since)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn append(&self, lease: &Lease, batch: Batch) -> Result<()> {
        self.write(Append { lease: lease.clone(), batch, policy: *self.policy() }).await
    }

    async fn compact(&self, lease: &Lease, snapshot: Snapshot) -> Result<u64> {
        self.write(Compact { lease: lease.clone(), snapshot }).await
    }

    async fn history(&self, stream: &StreamId, before: Option<u64>, limit: usize) -> Result<Vec<StoredEvent>> {
        load::history(&mut self.reader().await?.conn(), stream, before, limit)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn streams(&self, tenant: Option<&TenantId>) -> Result<Vec<StreamInfo>> {
        load::streams(&mut self.reader().await?.conn(), tenant)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn busiest(&self, tenant: Option<&TenantId>, limit: usize) -> Result<Busiest> {
        load::busiest(&mut self.reader().await?.conn(), tenant, limit)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn run(&self, tenant: Option<&TenantId>, id: &RunId) -> Result<Option<Run>> {
        rows::query::run(&mut self.reader().await?.conn(), tenant, id)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn runs(&self, query: &RunQuery) -> Result<Vec<Run>> {
        rows::query::runs(&mut self.reader().await?.conn(), query)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn runs_of_each(&self, queries: &[RunQuery]) -> Result<Vec<Vec<Run>>> {
        rows::query::runs_of_each(&mut self.reader().await?.conn(), queries)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn stale_runs(&self, before: Timestamp, limit: usize) -> Result<Vec<Run>> {
        rows::query::stale_runs(&mut self.reader().await?.conn(), before, limit)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn runs_since(&self, tenant: Option<&TenantId>, since: Timestamp, limit: usize) -> Result<Vec<Run>> {
        rows::query::runs_since(&mut self.reader().await?.conn(), tenant, since, limit)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn active_runs(&self) -> Result<Vec<(TenantId, RunStatus, u64)>> {
        rows::query::active_runs(&mut self.reader().await?.conn())
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn endings(&self, tenant: Option<&TenantId>, kind: &str, since: Timestamp) -> Result<Endings> {
        rows::endings::endings(&mut self.reader().await?.conn(), tenant, kind, since)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn landed(&self, tenant: Option<&TenantId>, since: Timestamp) -> Result<BTreeMap<i64, u64>> {
        rows::landings::landed(&mut self.reader().await?.conn(), tenant, since)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn steps(&self, tenant: &TenantId, run: &RunId) -> Result<Vec<RunStep>> {
        rows::query::steps(&mut self.reader().await?.conn(), tenant, run)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn checkpoints(&self, tenant: &TenantId, run: &RunId) -> Result<Vec<Checkpoint>> {
        rows::query::checkpoints(&mut self.reader().await?.conn(), tenant, run)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn workspaces(&self, tenant: Option<&TenantId>) -> Result<Vec<Workspace>> {
        rows::query::workspaces(&mut self.reader().await?.conn(), tenant)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn open_workspaces(&self, tenant: Option<&TenantId>, repo: Option<&RepoId>) -> Result<Vec<Workspace>> {
        rows::query::open_workspaces(&mut self.reader().await?.conn(), tenant, repo)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn workspace(&self, tenant: &TenantId, id: &str) -> Result<Option<Workspace>> {
        rows::query::workspace(&mut self.reader().await?.conn(), tenant, id)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn sessions(&self, tenant: &TenantId, workspace: &str) -> Result<Vec<Session>> {
        rows::query::sessions(&mut self.reader().await?.conn(), tenant, workspace)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn transitions(&self, tenant: &TenantId, workspace: &str, limit: usize) -> Result<Vec<Transition>> {
        rows::query::transitions(&mut self.reader().await?.conn(), tenant, workspace, limit)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn schedule(&self, tenant: &TenantId, name: &str) -> Result<Option<Timestamp>> {
        schedule::slot(&mut self.reader().await?.conn(), tenant, name)
            .await
            .map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn schedule_done(&self, tenant: &TenantId, name: &str, slot: Timestamp) -> Result<()> {
        self.write(schedule::Done { tenant: tenant.clone(), name: name.to_owned(), slot }).await
    }

    async fn import(&self, streams: Vec<ImportedStream>) -> Result<()> {
        self.write(Import { streams, policy: *self.policy() }).await
    }

    async fn view(&self) -> Result<View> {
        Ok(View { reader: self.reader().await?, file: self.file() })
    }

    async fn sweep(&self, now: Timestamp, retention: &Retention) -> Result<Swept> {
        sweep::sweep(self, now, retention).await
    }

    async fn check(&self, now: Timestamp) -> Result<()> {
        self.write(Check { now }).await?.map_err(|reason| Error::Unavailable { reason, source: None })
    }

    async fn examine(&self) -> Result<()> {
        Backend::examine(self).await
    }

    async fn close(&self) {
        Backend::close(self).await;
    }
}
