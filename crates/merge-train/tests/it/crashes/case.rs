//! The cases, and their names.

use std::fmt;

use crate::crashes::scenario::Scenario;

/// How far into the recovery the second crash may be, counted in points of any kind.
const RECOVERY: u64 = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Crashes {
    Once,
    /// Again during the recovery.
    Twice,
}

impl Crashes {
    pub const ALL: [Self; 2] = [Self::Once, Self::Twice];

    fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Twice => "twice",
        }
    }
}

/// One cell of the matrix, and which of the times that its point is reached is the end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    pub point: String,
    pub nth: usize,
    pub scenario: Scenario,
    pub crashes: Crashes,
}

impl Case {
    /// Which time it is differs from case to case, and is always the same for one.
    pub fn new(point: &str, times: usize, scenario: Scenario, crashes: Crashes) -> Self {
        let spread = hash(&format!("{point}/{}", scenario.name()));
        let nth = 1 + usize::try_from(spread % times as u64).expect("less than there are");
        Self { point: point.to_owned(), nth, scenario, crashes }
    }

    /// Reads what `Display` prints; without `#n` it is the first time.
    pub fn parse(name: &str) -> Option<Self> {
        let mut parts = name.split('/');
        let (place, scenario, crashes) = (parts.next()?, parts.next()?, parts.next()?);
        let (point, nth) = place.split_once('#').unwrap_or((place, "1"));
        Some(Self {
            point: point.to_owned(),
            nth: nth.parse().ok()?,
            scenario: Scenario::named(scenario)?,
            crashes: Crashes::ALL.into_iter().find(|found| found.name() == crashes)?,
        })
    }

    /// The second crash: at the n-th point of any kind that the daemon reaches after its start. How far that is differs from
    /// case to case, so that together they die all over the recovery.
    pub fn second(&self) -> String {
        let nth = 1 + hash(&self.to_string()) % RECOVERY;
        armed("any", usize::try_from(nth).expect("a small number"))
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { point, nth, scenario, crashes } = self;
        write!(f, "{point}#{nth}/{}/{}", scenario.name(), crashes.name())
    }
}

/// In the words of the `fail` crate: the n-th time that the point is reached is the end.
pub fn armed(point: &str, nth: usize) -> String {
    if nth <= 1 { format!("{point}=return") } else { format!("{point}={}*off->return", nth - 1) }
}

/// FNV-1a: the same on every machine and with every compiler.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn a_case_is_known_by_its_name() {
    let case =
        Case { point: "effect.push.end".to_owned(), nth: 2, scenario: Scenario::FanOut, crashes: Crashes::Twice };
    assert_eq!(case.to_string(), "effect.push.end#2/fan-out/twice");
    assert_eq!(Case::parse("effect.push.end#2/fan-out/twice"), Some(case));
    let first = Case::parse("commit.after/late/once").expect("a case");
    assert_eq!(first.to_string(), "commit.after#1/late/once");
    assert_eq!(Case::parse("commit.after/never/once"), None);
}
