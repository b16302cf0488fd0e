//! How much memory there is for everybody.

use std::fs;

/// Half of what this machine has, or the container or service that the daemon is in. None where that cannot be found out.
pub fn half() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| in_bytes(&text, "MemTotal:"));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let bounds = bounds(&groups).filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok());
    machine.into_iter().chain(bounds).min().map(|all: u64| all / 2)
}

/// Where the bounds of a control group, and of those around it, stand. Without one there is a word in the file, and no number.
fn bounds(groups: &str) -> impl Iterator<Item = String> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let around = own.match_indices('/').map(|(end, _)| &own[..end]);
    let all = around.chain([own]).filter(|group| !group.is_empty()).map(|group| format!("{group}/"));
    let files = std::iter::once(String::new()).chain(all).map(|group| format!("/sys/fs/cgroup/{group}memory.max"));
    files.collect::<Vec<_>>().into_iter()
}

/// A line of a file of `/proc` that says how many kibibytes something is.
pub fn in_bytes(text: &str, name: &str) -> Option<u64> {
    let found = text.lines().find_map(|line| line.strip_prefix(name))?;
    found.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib.saturating_mul(1 << 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_of_all_groups_around_count() {
        let files: Vec<String> = bounds("1:name=x:/y\n0::/system.slice/merge-train.service\n").collect();
        let expected = ["", "system.slice/", "system.slice/merge-train.service/"];
        assert_eq!(files, expected.map(|group| format!("/sys/fs/cgroup/{group}memory.max")));
        assert_eq!(bounds("0::/\n").collect::<Vec<_>>(), ["/sys/fs/cgroup/memory.max"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn half_of_the_memory_is_some_and_not_more_than_the_machine_has() {
        let machine = in_bytes(&fs::read_to_string("/proc/meminfo").unwrap(), "MemTotal:").unwrap();
        let half = half().unwrap();
        assert!(half > 0 && half <= machine / 2, "{half} of {machine}");
    }
}
