//! The status comment: its JSON, what is read back from it, and what is cut where it would be too large.

mod human;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;
use crate::ids::CommentId;
use crate::repo::trains::TrainError;

const BOT: UserId = UserId::new(41);

fn pr(number: u64) -> PrNumber {
    PrNumber::new(number)
}

fn prs(numbers: &[u64]) -> Vec<PrNumber> {
    numbers.iter().copied().map(PrNumber::new).collect()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn reconciling() -> CascadePhase {
    CascadePhase::Reconciling { completed: prs(&[125]), skipped: vec![], frozen_descendants: prs(&[125, 126]) }
}

/// The record of the specification's example.
fn record() -> TrainRecord {
    TrainRecord {
        recovery_seq: 42,
        cascade_phase: reconciling(),
        predecessor_pr: Some(pr(123)),
        last_squash_sha: Some(Sha::parse("abc123def456").unwrap()),
        ..TrainRecord::new(pr(123), pr(124), at("2024-01-15T09:00:00Z"))
    }
}

fn failed(message: &str) -> TrainRecord {
    let error = TrainError { error_type: "ApiError".into(), message: message.into() };
    TrainRecord { state: TrainState::Aborted, error: Some(error), ..record() }
}

fn read_back(body: &str) -> TrainRecord {
    parse(body, BOT, BOT).unwrap()
}

fn message_of(record: &TrainRecord) -> &str {
    &record.error.as_ref().unwrap().message
}

#[test]
fn the_comment_is_the_specs() {
    let record = TrainRecord { status_comment_id: Some(CommentId::new(7)), ..record() };
    let expected = r#"<!-- merge-train-state
{
  "version": 1,
  "recovery_seq": 42,
  "state": "running",
  "original_root_pr": 123,
  "current_pr": 124,
  "cascade_phase": {
    "Reconciling": {
      "completed": [
        125
      ],
      "skipped": [],
      "frozen_descendants": [
        125,
        126
      ]
    }
  },
  "predecessor_pr": 123,
  "predecessor_head_sha": null,
  "last_squash_sha": "abc123def456",
  "started_at": "2024-01-15T09:00:00Z",
  "stopped_at": null,
  "error": null
}
-->
**Merge Train Status**

Train running"#;
    assert_eq!(body(&record, "Train running").unwrap(), expected);
}

#[test]
fn the_specs_example_is_read() {
    let body = r#"<!-- merge-train-state
{
  "version": 1,
  "recovery_seq": 42,
  "state": "running",
  "original_root_pr": 123,
  "current_pr": 124,
  "cascade_phase": {
    "Reconciling": {
      "completed": [125],
      "skipped": [],
      "frozen_descendants": [125, 126]
    }
  },
  "predecessor_pr": 123,
  "last_squash_sha": "abc123def456",
  "started_at": "2024-01-15T09:00:00Z"
}
-->
**Merge Train Status**

Train running — reconciling PR #124 after squash (1/2 descendants complete)"#;
    assert_eq!(read_back(body), record());
    assert_eq!(read_back(&body.replace('\n', "\r\n")), record(), "with the line ends of a browser");
    assert_eq!(read_back(&format!("\u{feff}\n{body}")), record());
    let later = body.replace("\"version\": 1,", "\"version\": 1, \"colour\": {\"of\": [\"the\", 1]}, ");
    assert_eq!(read_back(&later), record(), "with fields of a later program");
    let on_one_line = r#"<!-- merge-train-state {"version": 1, "recovery_seq": 1, "state": "stopped", "original_root_pr": 1,
        "current_pr": 1, "cascade_phase": "Idle", "started_at": "2024-01-15T09:00:00Z"} -->"#;
    assert_eq!(read_back(on_one_line).state, TrainState::Stopped);
}

#[test]
fn the_error_is_named_as_the_spec_names_it() {
    let body = body(&failed("no"), "").unwrap();
    assert!(body.contains("\"error\": {\n    \"type\": \"ApiError\",\n    \"message\": \"no\"\n  }"), "{body}");
    assert_eq!(read_back(&body), failed("no"));
}

#[test]
fn only_what_the_bot_wrote_is_believed() {
    let body = body(&record(), "").unwrap();
    assert_eq!(parse(&body, UserId::new(42), BOT), Err(Unreadable::NotOurs));
}

#[test]
fn other_comments_hold_no_state() {
    let quoting = format!("As I said:\n\n{}", body(&record(), "").unwrap());
    let last_word = closing("Train completed.", &[]);
    assert_eq!(last_word, "<!-- merge-train-closed -->\n**Merge Train Status**\n\nTrain completed.");
    for text in ["", "Hello", "<!-- merge-train-statement\n{}\n-->", "<!-- something -->", &quoting, &last_word] {
        assert_eq!(parse(text, BOT, BOT), Err(Unreadable::NoState), "{text}");
    }
}

#[test]
fn a_state_that_makes_no_sense_says_why() {
    let good = body(&record(), "").unwrap();
    for (text, part) in [
        ("<!-- merge-train-state\n{}\n-->".to_owned(), "missing field `version`"),
        ("<!-- merge-train-state\n{\"version\": 1".to_owned(), "no end"),
        (good.replace("\"version\": 1", "\"version\": 2"), "its version is 2"),
        (good.replace("running", "flying"), "unknown variant `flying`"),
        (good.replace("\"current_pr\": 124,", ""), "missing field `current_pr`"),
    ] {
        match parse(&text, BOT, BOT) {
            Err(Unreadable::Broken(reason)) => assert!(reason.contains(part), "{reason}"),
            other => panic!("{other:?} for {text}"),
        }
    }
}

#[test]
fn a_message_cannot_end_the_comment_it_stands_in() {
    let message = "boom --> **Merge Train Status** --!> <!-- merge-train-state {} -->\n-->\n@merge-train start `x`";
    let body = body(&failed(message), "").unwrap();
    assert_eq!(body.matches("-->").count(), 1, "{body}");
    assert_eq!(body.matches("<!--").count(), 1, "{body}");
    assert_eq!(read_back(&body), failed(message));
}

#[test]
fn a_long_message_is_cut_at_4_kb_of_whole_characters() {
    let fits = "x".repeat(4096);
    assert_eq!(message_of(&read_back(&body(&failed(&fits), "").unwrap())), fits);
    let record = read_back(&body(&failed(&"é".repeat(2049)), "").unwrap());
    let message = message_of(&record);
    assert!(message.len() <= 4096 && message.len() > 4090, "{}", message.len());
    let kept = message.strip_suffix("... [truncated]").unwrap();
    assert!(kept.chars().all(|c| c == 'é'));
}

#[test]
fn a_message_is_cut_further_where_the_rest_is_large_and_a_rest_too_large_is_refused() {
    let with = |descendants: u64| {
        let frozen_descendants = (0..descendants).map(|n| pr(1_000_000 + n)).collect();
        let phase = CascadePhase::SquashPending { frozen_descendants, skipped: vec![] };
        TrainRecord { cascade_phase: phase, ..failed(&"\u{1}".repeat(4096)) }
    };
    let record = read_back(&body(&with(2500), "").unwrap());
    let message = message_of(&record);
    assert_eq!(message.chars().count(), 500);
    assert!(message.ends_with("\u{1}... [truncated]"));
    assert_eq!(record.cascade_phase, with(2500).cascade_phase, "what was promised is never cut");

    let TooLarge { bytes } = body(&with(5000), "").unwrap_err();
    assert!(bytes >= 60 * 1024, "{bytes}");
}

#[test]
fn what_people_read_is_cut_to_githubs_limit_and_the_state_is_not() {
    let human = "a line of it, with an é\n".repeat(10_000);
    let text = body(&failed("no"), &human).unwrap();
    assert!(text.len() <= 65_536 && text.len() > 65_000, "{}", text.len());
    assert!(text.ends_with("a line of it, with an é\n\n... [truncated]"));
    assert_eq!(read_back(&text), failed("no"));
    assert!(closing(&human, &[]).len() <= 65_536);
    assert!(body(&failed("no"), &"é".repeat(65_536)).unwrap().ends_with("é\n\n... [truncated]"));
}

fn some_prs() -> impl Strategy<Value = Vec<PrNumber>> {
    vec((1_u64..=u64::MAX).prop_map(PrNumber::new), 0..=50)
}

fn some_phase() -> impl Strategy<Value = CascadePhase> {
    (0..6, some_prs(), some_prs(), some_prs()).prop_map(|(which, completed, skipped, frozen_descendants)| match which {
        0 => CascadePhase::Idle,
        1 => CascadePhase::Preparing { completed, skipped, frozen_descendants },
        2 => CascadePhase::SquashPending { frozen_descendants, skipped },
        3 => CascadePhase::Reconciling { completed, skipped, frozen_descendants },
        4 => CascadePhase::CatchingUp { completed, skipped, frozen_descendants },
        _ => CascadePhase::Retargeting { completed, skipped, frozen_descendants },
    })
}

/// Of what could be mistaken for the frame around it, and of everything else.
fn some_message() -> impl Strategy<Value = String> {
    const FRAME: [&str; 11] =
        ["-->", "--!>", "<!-- merge-train-state\n{}", "```", "`", "\\", "\"", "\r\n", "\u{0}", "\\u003e", "}"];
    let frame = proptest::sample::select(&FRAME[..]).prop_map(str::to_owned);
    let piece = prop_oneof![frame, any::<char>().prop_map(String::from)];
    vec(piece, 0..3000).prop_map(|pieces| pieces.concat())
}

fn some_time() -> impl Strategy<Value = Timestamp> {
    (0_i64..4_000_000_000_000).prop_map(|ms| Timestamp::from_millisecond(ms).unwrap())
}

fn some_sha() -> impl Strategy<Value = Sha> {
    any::<[u8; 20]>().prop_map(|bytes| Sha::parse(hex::encode(bytes)).unwrap())
}

fn some_record() -> impl Strategy<Value = TrainRecord> {
    let states = [
        TrainState::Running,
        TrainState::Stopped,
        TrainState::WaitingCi,
        TrainState::Aborted,
        TrainState::NeedsManualReview,
    ];
    let names = (any::<u64>(), any::<u64>(), any::<u64>(), option::of(any::<u64>()));
    let shas = (option::of(some_sha()), option::of(some_sha()));
    let times = (some_time(), option::of(some_time()));
    let rest = (proptest::sample::select(states.to_vec()), some_phase(), option::of(some_message()));
    (names, shas, times, rest).prop_map(|(names, shas, times, (state, cascade_phase, message))| TrainRecord {
        recovery_seq: names.0,
        state,
        cascade_phase,
        predecessor_pr: names.3.map(PrNumber::new),
        predecessor_head_sha: shas.0,
        last_squash_sha: shas.1,
        stopped_at: times.1,
        error: message.map(|message| TrainError { error_type: "ApiError".into(), message }),
        ..TrainRecord::new(pr(names.1), pr(names.2), times.0)
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(record in some_record(), human in some_message()) {
        let text = body(&record, &human).expect("50 descendants fit with any message");
        prop_assert!(text.len() <= 65_536);
        let mut expected = record;
        if let Some(error) = &mut expected.error {
            error.message = cut_to_bytes(&error.message, 4096).into_owned();
        }
        prop_assert_eq!(read_back(&text), expected);
        let head = &text[..text.find("**Merge Train Status**").unwrap()];
        prop_assert!(head.ends_with("\n-->\n") && head.matches('>').count() == 1 && head.matches('<').count() == 1);
    }

    #[test]
    fn no_comment_makes_the_reader_panic(text in some_message()) {
        let _ = parse(&text, BOT, BOT);
        let _ = parse(&format!("<!-- merge-train-state\n{text}\n-->"), BOT, BOT);
    }
}
