//! Many writes, one commit: what waits is taken together, so that each pays for a share of the disk's flush.

mod job;

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;

use async_trait::async_trait;
use futures_util::FutureExt;
use tokio::sync::{mpsc, oneshot};

use crate::db::Conn;
use crate::error::{Error, Result};
use crate::inbox::{Admission, Arrival};
pub use job::Write;
use job::{Admit, Erased, Job};

/// Writes that wait for the writer; more callers than that wait for a place.
const QUEUE: usize = 4096;

/// Jobs in one commit.
const MOST_JOBS: usize = 32;

/// Jobs in one commit with arrivals. An arrival has somebody waiting for its acknowledgement; jobs can wait for the next
/// commit, and those who hand them in put the more into each.
const MOST_JOBS_BESIDE: usize = 8;

/// The transactions that a writer makes its writes in.
#[async_trait]
pub trait Transactions: Send + 'static {
    async fn begin(&mut self) -> Result<()>;
    async fn commit(&mut self) -> Result<()>;
    async fn rollback(&mut self);
    async fn close(&mut self);
    /// Within a transaction.
    fn conn(&mut self) -> Result<Conn<'_>>;
    /// Takes these arrivals in, and says for each what became of it. Where there is no room for anything new, it says so
    /// before it writes.
    async fn admit(&mut self, arrivals: &[&Arrival]) -> Result<Admitted>;
}

/// Where writes are handed in.
pub struct Writer {
    queue: mpsc::Sender<Queued>,
}

enum Queued {
    Admit(Admit),
    Job(Box<dyn Erased>),
    Close(oneshot::Sender<()>),
}

impl Writer {
    /// Starts the task that owns the transactions. `group`: the most writes in one commit.
    pub fn start(transactions: impl Transactions, group: usize) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        tokio::spawn(run(transactions, waiting, group.max(1)));
        Self { queue }
    }

    pub async fn admit(&self, arrival: Arrival) -> Result<Admission> {
        let (reply, answer) = oneshot::channel();
        self.hand_in(Queued::Admit(Admit { arrival, reply })).await?;
        answer.await.map_err(|_| closed())?
    }

    pub async fn write<W: Write>(&self, write: W) -> Result<W::Answer> {
        let (reply, answer) = oneshot::channel();
        self.hand_in(Queued::Job(Box::new(Job::new(write, reply)))).await?;
        answer.await.map_err(|_| closed())?
    }

    /// Lets what was handed in be written, and ends the task.
    pub async fn close(&self) {
        let (reply, done) = oneshot::channel();
        if self.queue.send(Queued::Close(reply)).await.is_ok() {
            // An error means that somebody else closed it, which is as good.
            let _ = done.await;
        }
    }

    async fn hand_in(&self, queued: Queued) -> Result<()> {
        self.queue.send(queued).await.map_err(|_| closed())
    }
}

fn closed() -> Error {
    Error::Unavailable { reason: "it was closed".to_owned(), source: None }
}

/// What became of arrivals.
pub enum Admitted {
    Each(Vec<Admission>),
    /// None was taken in. What is not an arrival goes on: it is what makes room.
    NoRoom(String),
}

/// What is written in one commit.
#[derive(Default)]
struct Group {
    admits: Vec<Admit>,
    jobs: Vec<Box<dyn Erased>>,
}

async fn run(mut transactions: impl Transactions, mut waiting: mpsc::Receiver<Queued>, most: usize) {
    let mut taken = Vec::with_capacity(most);
    let mut later: VecDeque<Box<dyn Erased>> = VecDeque::new();
    let mut closer = None;
    loop {
        // What was put off is reason enough to go on.
        if later.is_empty() && (closer.is_some() || waiting.recv_many(&mut taken, most).await == 0) {
            break;
        }
        while taken.len() < most
            && let Ok(queued) = waiting.try_recv()
        {
            taken.push(queued);
        }
        let mut group = Group::default();
        for queued in taken.drain(..) {
            match queued {
                Queued::Admit(admit) => group.admits.push(admit),
                Queued::Job(job) => later.push_back(job),
                Queued::Close(reply) => closer = Some(reply),
            }
        }
        let most_jobs = if group.admits.is_empty() { MOST_JOBS } else { MOST_JOBS_BESIDE };
        let room = most.saturating_sub(group.admits.len()).clamp(1, most_jobs).min(later.len());
        // With one write to a commit, an arrival and a job are two.
        let room = if most == 1 && !group.admits.is_empty() { 0 } else { room };
        group.jobs.extend(later.drain(..room));
        group.write(&mut transactions).await;
    }
    transactions.close().await;
    drop(transactions);
    if let Some(reply) = closer {
        // Nobody waits for it any more: nothing to do about that.
        let _ = reply.send(());
    }
}

impl Group {
    fn len(&self) -> usize {
        self.admits.len() + self.jobs.len()
    }

    /// Writes all in one commit. Where the database refuses one of them, each is tried alone, so that none suffers for
    /// another; where the database is gone, all are told so.
    async fn write(mut self, transactions: &mut impl Transactions) {
        // A caller that went away is answered like the others: its write may be under way already elsewhere.
        match self.attempt(transactions).await {
            Ok(admitted) => self.answer(admitted),
            Err(error) if (error.is_outage() && !error.is_collision()) || self.len() <= 1 => self.refuse(error),
            Err(_) => {
                for alone in self.split() {
                    Box::pin(alone.write(transactions)).await;
                }
            }
        }
    }

    /// In a transaction of its own, which is over afterwards, whatever happened.
    async fn attempt(&mut self, transactions: &mut impl Transactions) -> Result<Admitted> {
        if self.len() == 0 {
            return Ok(Admitted::Each(Vec::new()));
        }
        transactions.begin().await?;
        let attempt = AssertUnwindSafe(self.run(transactions)).catch_unwind().await;
        let outcome = match attempt {
            Ok(Ok(admitted)) => transactions.commit().await.map(|()| admitted),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(Error::Corrupt { reason: "writing to it went wrong: see the panic in the log".to_owned() }),
        };
        if outcome.is_err() {
            transactions.rollback().await;
        }
        outcome
    }

    async fn run(&mut self, transactions: &mut impl Transactions) -> Result<Admitted> {
        let mut admitted = Admitted::Each(Vec::new());
        if !self.admits.is_empty() {
            let arrivals: Vec<_> = self.admits.iter().map(|admit| &admit.arrival).collect();
            admitted = transactions.admit(&arrivals).await?;
        }
        for job in &mut self.jobs {
            job.run(&mut transactions.conn()?).await?;
        }
        Ok(admitted)
    }

    fn answer(self, admitted: Admitted) {
        // A caller that went away needs no answer.
        match admitted {
            Admitted::Each(admissions) => {
                for (admit, admission) in self.admits.into_iter().zip(admissions) {
                    let _ = admit.reply.send(Ok(admission));
                }
            }
            Admitted::NoRoom(reason) => {
                for admit in self.admits {
                    let _ = admit.reply.send(Err(Error::Unavailable { reason: reason.clone(), source: None }));
                }
            }
        }
        for job in self.jobs {
            job.answer();
        }
    }

    /// The first gets the error with its cause, the others are told the same.
    fn refuse(self, error: Error) {
        let reason = error.reason();
        let again = std::iter::repeat_with(|| Error::Unavailable { reason: reason.clone(), source: None });
        let mut errors = std::iter::once(error).chain(again);
        for (admit, error) in self.admits.into_iter().zip(&mut errors) {
            let _ = admit.reply.send(Err(error));
        }
        for (job, error) in self.jobs.into_iter().zip(&mut errors) {
            job.refuse(error);
        }
    }

    fn split(self) -> impl Iterator<Item = Self> {
        let admits = self.admits.into_iter().map(|admit| Self { admits: vec![admit], jobs: Vec::new() });
        let jobs = self.jobs.into_iter().map(|job| Self { admits: Vec::new(), jobs: vec![job] });
        admits.chain(jobs)
    }
}
