//! Log lines for programs: one flat JSON object each.

use std::fmt;
use std::io::Write;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, Scope};

/// What every line has; a field of the same name gets a `_` after it.
const RESERVED: &[&str] = &["timestamp", "level", "target"];

/// Writes `{"timestamp","level","event"?,…fields,"message"?,"target"}`. The fields are those of the event and of the spans
/// around it, by their own names; where two have the same, the innermost counts.
pub struct JsonLines<M> {
    writer: M,
}

impl<M> JsonLines<M> {
    pub fn new(writer: M) -> Self {
        Self { writer }
    }
}

impl<S, M> Layer<S> for JsonLines<M>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    M: for<'a> MakeWriter<'a> + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(fields) = span.extensions_mut().get_mut::<Fields>() {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        for span in context.event_scope(event).into_iter().flat_map(Scope::from_root) {
            if let Some(outer) = span.extensions().get::<Fields>() {
                fields.0.extend(outer.0.clone());
            }
        }
        event.record(&mut fields);
        let mut line = line(event, fields.0).to_string();
        line.push('\n');
        // Nobody is left to tell that the log cannot be written.
        _ = self.writer.make_writer_for(event.metadata()).write_all(line.as_bytes());
    }
}

fn line(event: &Event<'_>, mut fields: Map<String, Value>) -> Value {
    let metadata = event.metadata();
    // What comes by way of the `log` crate has its target in a field, and that of the bridge in its metadata.
    let target = fields.get("log.target").cloned().unwrap_or_else(|| metadata.target().into());
    fields.retain(|name, _| !name.starts_with("log."));
    let mut line = Map::new();
    line.insert("timestamp".into(), timestamp().into());
    line.insert("level".into(), metadata.level().as_str().into());
    let message = fields.shift_remove("message");
    if let Some(name) = fields.shift_remove("event") {
        line.insert("event".into(), name);
    }
    for (name, value) in fields {
        let taken = RESERVED.contains(&name.as_str());
        line.insert(if taken { format!("{name}_") } else { name }, value);
    }
    if let Some(message) = message {
        line.insert("message".into(), message);
    }
    line.insert("target".into(), target);
    Value::Object(line)
}

/// To the microsecond, with every digit, so that lines sort as text.
fn timestamp() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// The fields of a span or an event, in the order of its text.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn insert(&mut self, field: &Field, value: impl Into<Value>) {
        // `r#type = …` is how Rust writes a field that is called `type`.
        let name = field.name().strip_prefix("r#").unwrap_or(field.name());
        self.0.insert(name.to_owned(), value.into());
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.insert(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.insert(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.insert(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.insert(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.insert(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.insert(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        let causes = std::iter::successors(value.source(), |cause| cause.source());
        let text = causes.fold(value.to_string(), |text, cause| format!("{text}: {cause}"));
        self.insert(field, text);
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::layer::SubscriberExt;

    use super::super::redact::RedactingWriter;
    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The lines that `say` logs.
    fn lines(say: impl FnOnce()) -> Vec<String> {
        let written = Written::default();
        let writer = written.clone();
        let layer = JsonLines::new(RedactingWriter::new(move || writer.clone()));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), say);
        let bytes = written.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
    }

    fn parsed(line: &str) -> Map<String, Value> {
        serde_json::from_str(line).expect("a JSON object")
    }

    #[test]
    fn an_event_of_the_run_specification_has_its_name_and_its_fields() {
        let lines = lines(|| {
            tracing::info!(event = "idempotency_hit", key = %"github:1", cachedRunId = "r1", "seen before");
            tracing::info!(
                runId = "r2",
                event = "run_created",
                r#type = "autopilot",
                resumable = true,
                durationMs = 12345_u64
            );
        });
        let first = parsed(&lines[0]);
        let names: Vec<&String> = first.keys().collect();
        assert_eq!(names, ["timestamp", "level", "event", "key", "cachedRunId", "message", "target"]);
        assert_eq!(first["event"], "idempotency_hit");
        assert_eq!(first["key"], "github:1");
        assert_eq!(first["message"], "seen before");
        assert_eq!(first["level"], "INFO");
        let when = first["timestamp"].as_str().unwrap();
        assert!(when.len() == 27 && when.parse::<jiff::Timestamp>().is_ok(), "{when}");
        let second = parsed(&lines[1]);
        assert_eq!(second.keys().nth(2).map(String::as_str), Some("event"));
        assert_eq!((&second["type"], &second["resumable"]), (&"autopilot".into(), &true.into()));
        assert_eq!(second["durationMs"], 12345);
        assert!(!second.contains_key("message"));
    }

    #[test]
    fn the_fields_of_the_spans_around_it_are_in_the_line() {
        let lines = lines(|| {
            let outer = tracing::info_span!("outer", repo = "o/r", pr = 1, late = tracing::field::Empty);
            let _outer = outer.enter();
            outer.record("late", "now");
            tracing::info_span!("inner", pr = 2).in_scope(|| tracing::warn!(level = "mine", "hello"));
        });
        let line = parsed(&lines[0]);
        assert_eq!((&line["repo"], &line["pr"], &line["late"]), (&"o/r".into(), &2.into(), &"now".into()));
        assert_eq!((&line["level"], &line["level_"]), (&"WARN".into(), &"mine".into()));
    }

    #[test]
    fn an_error_is_told_with_its_causes() {
        let cause = io::Error::other("disk full");
        let error = crate::config::Error::Unreadable { path: "x".into(), source: cause };
        let lines = lines(|| tracing::error!(error = &error as &dyn std::error::Error, "no start"));
        assert!(parsed(&lines[0])["error"].as_str().unwrap().ends_with(": disk full"), "{}", lines[0]);
    }

    #[test]
    fn no_line_carries_a_token_wherever_it_was() {
        let lines = lines(|| {
            let span = tracing::info_span!("call", url = "https://x-access-token:hush@github.com/o/r");
            let _entered = span.enter();
            tracing::info!(header = "Bearer hush", key = ?"ghp_hush", "got ghs_hush\nand github_pat_hush");
        });
        assert!(!lines[0].contains("hush"), "{}", lines[0]);
        assert_eq!(parsed(&lines[0])["message"], "got ghs_***\nand github_pat_***");
    }

    #[test]
    fn no_line_for_people_carries_a_token_either() {
        let written = Written::default();
        let writer = written.clone();
        let make = RedactingWriter::new(move || writer.clone());
        let subscriber = tracing_subscriber::fmt().with_ansi(true).with_writer(make).finish();
        tracing::subscriber::with_default(subscriber, || tracing::info!(token = "ghp_hush", "sent Bearer hush"));
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        assert!(text.contains("sent Bearer ***") && text.contains("ghp_***") && !text.contains("hush"), "{text}");
    }
}
