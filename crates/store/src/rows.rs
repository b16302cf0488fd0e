//! Rows that are written with the events that cause them, and asked for by their columns.

/// A row to be written with a batch of events.
#[derive(Debug, Clone)]
pub enum Row {}
