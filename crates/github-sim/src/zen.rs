//! What GitHub's API says when it is asked for nothing in particular.

const LINES: [&str; 14] = [
    "Responsive is better than fast.",
    "It's not fully shipped until it's fast.",
    "Anything added dilutes everything else.",
    "Practicality beats purity.",
    "Approachable is better than simple.",
    "Mind your words, they are important.",
    "Speak like a human.",
    "Half measures are as bad as nothing at all.",
    "Encourage flow.",
    "Non-blocking is better than blocking.",
    "Favor focus over features.",
    "Avoid administrative distraction.",
    "Design for failure.",
    "Keep it logically awesome.",
];

/// One of them; which one depends on `number` only.
pub fn line(number: u64) -> &'static str {
    LINES[(number % LINES.len() as u64) as usize]
}
