//! Migrations are part of the program: a new one must be compiled in.
fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
