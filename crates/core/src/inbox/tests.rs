//! The keys of the inbox, and the specification's table of what a repeated key gets.

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn record(status: RequestStatus) -> RequestRecord {
    RequestRecord {
        key: Key::api("cli", "req-1").unwrap(),
        source: Source::Api,
        tenant_id: TenantId::parse("acme").unwrap(),
        run_id: None,
        status,
        request_hash: RequestHash::of(b"a"),
        response: Some(serde_json::json!({"run": 1})),
        error: (status == RequestStatus::Failed).then(|| "no disk".to_owned()),
        created_at: at("2026-01-01T00:00:00Z"),
        updated_at: at("2026-01-01T00:00:00Z"),
        expires_at: at("2026-01-02T00:00:00Z"),
        lock_expires_at: None,
        attempts: 1,
    }
}

#[test]
fn section_3_1_keys_have_the_form_of_their_source() {
    let delivery = DeliveryIdExample::get();
    assert_eq!(Key::github(&delivery).as_str(), "github:12345678-1234-1234-1234-123456789012");
    assert_eq!(Key::api("cli-abc123", "req-550e").unwrap().as_str(), "api:cli-abc123:req-550e");
    assert_eq!(Key::slack("T12345678", "1234567890.123456").unwrap().as_str(), "slack:T12345678:1234567890.123456");
    let daily = Key::scheduler("daily-cleanup", at("2024-12-19T07:31:12Z"), SignedDuration::from_hours(24)).unwrap();
    assert_eq!(daily.as_str(), "scheduler:daily-cleanup:2024-12-19T00:00:00Z");
}

struct DeliveryIdExample;
impl DeliveryIdExample {
    fn get() -> crate::ids::DeliveryId {
        crate::ids::DeliveryId::parse("12345678-1234-1234-1234-123456789012").unwrap()
    }
}

#[test]
fn section_3_2_two_ticks_of_one_slot_have_one_key() {
    let key = |time| Key::scheduler("hourly", at(time), SignedDuration::from_hours(1)).unwrap();
    assert_eq!(key("2026-01-01T10:00:00Z"), key("2026-01-01T10:59:59.9Z"));
    assert_ne!(key("2026-01-01T10:59:59Z"), key("2026-01-01T11:00:00Z"));
}

#[test]
fn section_3_2_no_caller_can_write_anothers_key() {
    assert!(Key::api("a:b", "c").is_err(), "would be the key of client a, request b:c");
    assert!(Key::api("a", "").is_err());
    assert!(Key::api("a", &"x".repeat(256)).is_err());
    assert!(Key::api("a", "new\nline").is_err());
}

#[test]
fn section_4_1_every_row_of_the_check_and_set_table() {
    let now = at("2026-01-01T01:00:00Z");
    let policy = InboxPolicy::default();
    let same = RequestHash::of(b"a");
    let judge = |record: &RequestRecord, hash: &RequestHash| judge(Some(record), hash, now, &policy);

    assert_eq!(super::judge(None, &same, now, &policy), ArrivalDecision::New);

    let completed = record(RequestStatus::Completed);
    let replay = ArrivalDecision::Replay { response: completed.response.clone(), run_id: None };
    assert_eq!(judge(&completed, &same), replay);

    let waiting = record(RequestStatus::Processing);
    assert_eq!(judge(&waiting, &same), ArrivalDecision::InFlight { run_id: None });
    let locked = RequestRecord { lock_expires_at: Some(at("2026-01-01T01:00:01Z")), ..waiting.clone() };
    assert_eq!(judge(&locked, &same), ArrivalDecision::InFlight { run_id: None });
    let abandoned = RequestRecord { lock_expires_at: Some(now), ..waiting.clone() };
    assert_eq!(judge(&abandoned, &same), ArrivalDecision::Retry);
    let hopeless = RequestRecord { attempts: 3, ..abandoned };
    assert!(matches!(judge(&hopeless, &same), ArrivalDecision::Exhausted { .. }));

    let failed = record(RequestStatus::Failed);
    assert_eq!(judge(&failed, &same), ArrivalDecision::Retry);
    let exhausted = RequestRecord { attempts: 3, ..failed.clone() };
    assert_eq!(judge(&exhausted, &same), ArrivalDecision::Exhausted { error: "no disk".to_owned() });

    let other = RequestHash::of(b"b");
    for status in [RequestStatus::Processing, RequestStatus::Completed, RequestStatus::Failed] {
        assert_eq!(judge(&record(status), &other), ArrivalDecision::Conflict, "{status:?}");
    }

    for status in [RequestStatus::Completed, RequestStatus::Failed] {
        let expired = RequestRecord { expires_at: now, ..record(status) };
        assert_eq!(judge(&expired, &other), ArrivalDecision::New, "{status:?}: forgotten");
    }
    let acknowledged = RequestRecord { expires_at: now, ..waiting };
    assert_eq!(
        judge(&acknowledged, &same),
        ArrivalDecision::InFlight { run_id: None },
        "what is unfinished is not forgotten"
    );
}
