//! What the operator wants of the ratchet.

use jiff::SignedDuration;

/// Which pushes of a fixer wait for a person.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ApprovalRule {
    #[default]
    Never,
    Always,
    /// Those that touch one of these paths, as patterns.
    Paths(Vec<String>),
}

impl ApprovalRule {
    /// How it is written that all wait.
    pub const ALWAYS: &str = "always";

    /// As the configuration has it.
    pub fn of(patterns: &[String]) -> Self {
        match patterns {
            [] => Self::Never,
            patterns if patterns.iter().any(|pattern| pattern == Self::ALWAYS) => Self::Always,
            patterns => Self::Paths(patterns.to_vec()),
        }
    }

    /// Whatever one of both wants to wait.
    pub fn and(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Always, _) | (_, Self::Always) => Self::Always,
            (Self::Never, one) | (one, Self::Never) => one.clone(),
            (Self::Paths(these), Self::Paths(those)) => {
                let new = those.iter().filter(|pattern| !these.contains(pattern));
                Self::Paths(these.iter().chain(new).cloned().collect())
            }
        }
    }

    /// The first path that makes a push of these files wait; none where it need not.
    pub fn reason<'f>(&self, files: &'f [String]) -> Option<&'f str> {
        match self {
            Self::Never => None,
            Self::Always => Some(files.first().map_or("", String::as_str)),
            Self::Paths(patterns) => {
                let patterns: Vec<Pattern<'_>> = patterns.iter().map(|pattern| Pattern::of(pattern)).collect();
                let is_meant = |file: &&String| patterns.iter().any(|pattern| pattern.means(file));
                files.iter().find(is_meant).map(String::as_str)
            }
        }
    }
}

/// `*` and `?` stay within a part of the path, `**` does not. What cannot be read as a pattern is meant as it stands.
enum Pattern<'p> {
    Glob(globset::GlobMatcher),
    Plain(&'p str),
}

impl<'p> Pattern<'p> {
    fn of(pattern: &'p str) -> Self {
        let glob = globset::GlobBuilder::new(pattern).literal_separator(true).build();
        glob.map_or(Self::Plain(pattern), |glob| Self::Glob(glob.compile_matcher()))
    }

    fn means(&self, file: &str) -> bool {
        match self {
            Self::Glob(glob) => glob.is_match(file),
            Self::Plain(name) => *name == file,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Whether the ratchet is on for pull requests without a setting of their own.
    pub enabled: bool,
    /// Whether there is a fixer to send.
    pub has_fixer: bool,
    /// How many attempts in a row a pull request gets before a person is asked.
    pub max_attempts: u32,
    /// How many fixers a repository gets in a day.
    pub daily_budget: usize,
    /// How long CI may take to start again after a fixer's push.
    pub stale_ci_timeout: SignedDuration,
    /// How long late comments are waited for after everything is green.
    pub grace: SignedDuration,
    /// A session that gave no sign of life for so long is over.
    pub session_timeout: SignedDuration,
    pub approve: ApprovalRule,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: false,
            has_fixer: false,
            max_attempts: 3,
            daily_budget: 50,
            stale_ci_timeout: SignedDuration::from_mins(5),
            grace: SignedDuration::from_secs(60),
            session_timeout: SignedDuration::from_secs(90),
            approve: ApprovalRule::Never,
        }
    }
}
