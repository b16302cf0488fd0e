//! The dashboard in a real browser: what people see, press and type, live, in both themes and on a phone.

mod browser;
mod every_page;
mod hostile;
mod people;
mod reading;
