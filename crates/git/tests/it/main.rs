//! The git engine on real repositories.

#![allow(dead_code, reason = "the test world offers more than each scenario uses")]

mod support;
