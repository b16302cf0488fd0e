//! The dashboard in a real browser: what people see, press and type, live, in both themes and on a phone.

mod browser;
mod every_page;
mod hostile;
mod people;
mod reading;
#[path = "../ratchet/shop.rs"]
#[allow(dead_code, unused_imports, reason = "the other suite needs more of it")]
mod shop;
#[path = "../serve"]
mod serve {
    #[allow(dead_code, unused_imports, reason = "the other suite needs more of it")]
    pub mod support;
}
