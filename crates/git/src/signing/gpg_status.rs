//! Why gpg did not sign, from the status lines that it writes for programs.

/// The low half of gpg's error numbers is the code; the rest says which part of gpg it came from.
const CODE: u32 = 0xffff;
const NO_SECRET_KEY: u32 = 17;
const BAD_PASSPHRASE: u32 = 11;
const UNUSABLE_SECRET_KEY: u32 = 54;
const NO_PINENTRY: u32 = 85;
const CANCELLED: u32 = 99;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    NoSecretKey,
    UnusableKey,
    PassphraseNeeded,
    Unknown,
}

/// Reads the `[GNUPG:]` lines among what git passed on.
pub(super) fn reason(stderr: &str) -> Reason {
    let status = || stderr.lines().filter_map(|line| line.trim().strip_prefix("[GNUPG:] "));
    if status().any(|line| line.starts_with("PINENTRY_LAUNCHED")) {
        return Reason::PassphraseNeeded;
    }
    let failure = status().find_map(|line| line.strip_prefix("FAILURE sign ")?.trim().parse::<u32>().ok());
    match failure.map(|number| number & CODE) {
        Some(NO_SECRET_KEY) => Reason::NoSecretKey,
        Some(UNUSABLE_SECRET_KEY) => Reason::UnusableKey,
        Some(BAD_PASSPHRASE | NO_PINENTRY | CANCELLED) => Reason::PassphraseNeeded,
        _ => Reason::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_read_from_the_status_lines_and_not_from_the_prose() {
        for (stderr, expected) in [
            ("gpg: skipped \"z\"\n[GNUPG:] INV_SGNR 9 z\n[GNUPG:] FAILURE sign 17\n", Reason::NoSecretKey),
            ("[GNUPG:] KEY_CONSIDERED C3 3\n[GNUPG:] INV_SGNR 9 e\n[GNUPG:] FAILURE sign 54", Reason::UnusableKey),
            (
                "[GNUPG:] BEGIN_SIGNING H8\n[GNUPG:] PINENTRY_LAUNCHED 7543 curses\n[GNUPG:] FAILURE sign 83918950",
                Reason::PassphraseNeeded,
            ),
            ("[GNUPG:] FAILURE sign 67108949", Reason::PassphraseNeeded),
            ("[GNUPG:] FAILURE sign nonsense", Reason::Unknown),
            ("gpg: signing failed: No secret key", Reason::Unknown),
            ("", Reason::Unknown),
        ] {
            assert_eq!(reason(stderr), expected, "{stderr}");
        }
    }
}
