//! The pushes that a gateway took, from the log of its branch.

use std::time::{Duration, SystemTime};

use crate::Oid;

/// What git writes into the log of a branch that was pushed to; the daemon's own entries say something else.
const MESSAGE: &str = "push";

/// One push of a fixer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    pub from: Oid,
    pub to: Oid,
    pub at: SystemTime,
}

/// Of a reflog. A last line without an end is still being written; a line that is none, somebody else wrote.
pub(super) fn parse(log: &[u8]) -> Vec<Push> {
    let Some(end) = log.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
    let text = String::from_utf8_lossy(&log[..end]);
    text.lines().filter_map(parse_line).collect()
}

/// Of `old new name <email> seconds zone<tab>message`.
fn parse_line(line: &str) -> Option<Push> {
    let (entry, message) = line.split_once('\t')?;
    if message.trim_end() != MESSAGE {
        return None;
    }
    let mut words = entry.splitn(3, ' ');
    let (from, to) = (Oid::parse(words.next()?).ok()?, Oid::parse(words.next()?).ok()?);
    let (_zone, rest) = words.next()?.rsplit_once(' ').map(|(rest, zone)| (zone, rest))?;
    let seconds: u64 = rest.rsplit_once(' ')?.1.parse().ok()?;
    let at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?;
    let is_deletion = to.as_str().bytes().all(|byte| byte == b'0');
    (!is_deletion).then_some(Push { from, to, at })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(digit: char) -> Oid {
        Oid::parse(digit.to_string().repeat(40)).unwrap()
    }

    fn line(from: char, to: char, who: &str, message: &str) -> String {
        format!("{} {} {who} 1700000000 +0200\t{message}\n", oid(from), oid(to))
    }

    #[test]
    fn pushes_are_read_in_their_order_whoever_made_them() {
        let log = [
            line('0', 'a', "merge-train <merge-train@localhost>", "merge-train: made"),
            line('a', 'b', "A Fixer <fixer@example.com>", "push"),
            line('b', 'c', "merge-train <merge-train@localhost>", "merge-train: refreshed"),
            line('c', 'd', "> 12 +0000 <a b@c>", "push"),
            line('d', 'e', "<>", "push"),
        ];
        let pushes = parse(log.concat().as_bytes());
        let moves: Vec<_> = pushes.iter().map(|push| (push.from.clone(), push.to.clone())).collect();
        assert_eq!(moves, [(oid('a'), oid('b')), (oid('c'), oid('d')), (oid('d'), oid('e'))]);
        assert!(pushes.iter().all(|push| push.at == SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)));
    }

    #[test]
    fn what_is_no_entry_of_a_push_is_passed_over() {
        let good = line('a', 'b', "x <y>", "push");
        for other in [
            String::new(),
            "garbage\n".into(),
            "\t\n".into(),
            "a b c\tpush\n".into(),
            format!("{} {}\tpush\n", oid('a'), oid('b')),
            format!("{} {} x <y> never +0000\tpush\n", oid('a'), oid('b')),
            format!("{} {} x <y> 99999999999999999999999 +0000\tpush\n", oid('a'), oid('b')),
            line('a', '0', "x <y>", "push"),
            line('a', 'b', "x <y>", "push: forged"),
        ] {
            assert_eq!(parse(format!("{other}{good}").as_bytes()).len(), 1, "{other:?}");
        }
        assert_eq!(parse(b"\xff\xfe\n"), []);
    }

    #[test]
    fn a_line_that_is_still_being_written_is_not_read() {
        let good = line('a', 'b', "x <y>", "push");
        assert_eq!(parse(format!("{good}{}", good.trim_end()).as_bytes()).len(), 1);
        assert_eq!(parse(good.trim_end().as_bytes()), []);
    }
}
