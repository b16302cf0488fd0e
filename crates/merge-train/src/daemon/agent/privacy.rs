//! What other processes of the same user may see of this one.

/// Keeps the memory, the environment and the open files of this process from every other process of the same user: those of
/// the superuser excepted. What is started from here is as open as ever, once it is another program.
#[cfg(target_os = "linux")]
pub fn close_to_others() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};

    // Nothing depends on it: it is the second wall behind that of the guard.
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "other processes of this user can look into this one");
    }
}

#[cfg(not(target_os = "linux"))]
pub fn close_to_others() {}

#[cfg(all(test, target_os = "linux"))]
#[test]
fn a_process_can_be_closed_to_others() {
    use rustix::process::{DumpableBehavior, dumpable_behavior};

    close_to_others();
    assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
}
