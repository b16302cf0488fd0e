//! A write that waits for its turn.

use async_trait::async_trait;
use tokio::sync::oneshot;

use crate::db::Conn;
use crate::error::{Error, Result};
use crate::inbox::{Admission, Arrival};

/// A write. It may be run again where the first transaction came to nothing.
///
/// It looks before it writes: what it refuses (`Error::is_refusal`) it refuses before its first change, since others share
/// its transaction.
#[async_trait]
pub trait Write: Send + Sync + 'static {
    type Answer: Send + 'static;
    async fn run(&self, conn: &mut Conn<'_>) -> Result<Self::Answer>;
}

/// An arrival that waits to be taken in.
pub struct Admit {
    pub arrival: Arrival,
    pub reply: oneshot::Sender<Result<Admission>>,
}

/// A write and the place for its answer.
pub struct Job<W: Write> {
    write: W,
    answer: Option<Result<W::Answer>>,
    reply: oneshot::Sender<Result<W::Answer>>,
}

impl<W: Write> Job<W> {
    pub fn new(write: W, reply: oneshot::Sender<Result<W::Answer>>) -> Self {
        Self { write, answer: None, reply }
    }
}

/// Any job, whatever its answer.
#[async_trait]
pub trait Erased: Send {
    /// An error means that the transaction must be rolled back; a refusal is kept for the caller.
    async fn run(&mut self, conn: &mut Conn<'_>) -> Result<()>;
    /// Tells the caller, once it is durable.
    fn answer(self: Box<Self>);
    fn refuse(self: Box<Self>, error: Error);
}

#[async_trait]
impl<W: Write> Erased for Job<W> {
    async fn run(&mut self, conn: &mut Conn<'_>) -> Result<()> {
        match self.write.run(conn).await {
            Err(error) if !error.is_refusal() => Err(error),
            decided => {
                self.answer = Some(decided);
                Ok(())
            }
        }
    }

    fn answer(self: Box<Self>) {
        if let Some(answer) = self.answer {
            // A caller that went away needs no answer.
            let _ = self.reply.send(answer);
        }
    }

    fn refuse(self: Box<Self>, error: Error) {
        // As above.
        let _ = self.reply.send(Err(error));
    }
}
