//! The program as its users meet it, a folder for each subject. One program for all of it: linking is what takes time.

mod agent;
mod architecture;
mod crashes;
mod dashboard;
mod demo;
mod docs;
mod ratchet;
mod serve;
mod shop;
mod sim;
mod storms;
mod support;
mod trains;
