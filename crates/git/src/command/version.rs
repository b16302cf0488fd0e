//! Which git it is, and what it can do.

use std::fmt;

/// The version of git: major, minor, patch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// The first whose `merge-tree` writes trees and whose `patch-id` sees spaces.
    pub const OLDEST: Self = Self(2, 39, 0);
    /// The first that reads attributes from a tree.
    const ATTR_SOURCE: Self = Self(2, 41, 0);

    /// From what `git version` prints.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.trim().strip_prefix("git version ")?.split(['.', ' ', '-']).map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Self(next()?, next()?, next().unwrap_or(0)))
    }

    pub fn reads_attributes_from_a_tree(self) -> bool {
        self >= Self::ATTR_SOURCE
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_every_vendor_are_read() {
        for (text, version) in [
            ("git version 2.47.3\n", Some(Version(2, 47, 3))),
            ("git version 2.39.5 (Apple Git-154)", Some(Version(2, 39, 5))),
            ("git version 2.41.0.windows.1", Some(Version(2, 41, 0))),
            ("git version 2.50.0-rc1", Some(Version(2, 50, 0))),
            ("git version 2.50-rc1", Some(Version(2, 50, 0))),
            ("hub version 2.14", None),
        ] {
            assert_eq!(Version::parse(text), version, "{text}");
        }
    }
}
