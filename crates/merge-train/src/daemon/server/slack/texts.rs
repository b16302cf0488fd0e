//! All that is said in Slack.

use jiff::Timestamp;
use merge_train_core::ids::RunId;
use merge_train_core::workflow::{ApprovalNeed, Decision, Gate, Run, RunStatus};
use serde_json::{Value, json};

use super::command::{SlackCommandError, SlackCommandUsage, USAGES};

/// What the id of a block with buttons begins with; the gate follows.
pub const GATE: &str = "gate:";
/// How much is shown of what others wrote. Together it stays below the 3000 characters that Slack shows of a text.
const LONGEST_NAME: usize = 200;
const LONGEST_IN_LIST: usize = 60;
/// How many people are named who may decide.
const MOST_NAMED: usize = 8;
const LONGEST_REASON: usize = 400;
const LONGEST_RESULT: usize = 1500;

/// Something to be said.
#[derive(Debug, Clone, PartialEq)]
pub struct SlackMessage {
    to: To,
    text: String,
    /// The run and the gate that there are buttons for.
    buttons: Option<(RunId, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    /// Only whoever asked sees it.
    Caller,
    Channel,
    /// It takes the place of the message whose button was pressed.
    Original,
}

impl SlackMessage {
    fn new(text: impl Into<String>) -> Self {
        Self { to: To::Caller, text: text.into(), buttons: None }
    }

    /// For everybody in the channel.
    pub fn for_all(self) -> Self {
        Self { to: To::Channel, ..self }
    }

    /// In the place of the message whose button was pressed.
    pub fn instead(self) -> Self {
        Self { to: To::Original, ..self }
    }

    fn with_buttons(self, run: &Run, step: &str) -> Self {
        Self { buttons: Some((run.id.clone(), step.to_owned())), ..self }
    }

    /// As Slack reads it.
    pub fn json(&self) -> Value {
        let mut blocks = vec![json!({ "type": "section", "text": { "type": "mrkdwn", "text": self.text } })];
        if let Some((run, step)) = &self.buttons {
            let button = |action: &str, label: &str, style: &str| {
                let text = json!({ "type": "plain_text", "text": label });
                json!({ "type": "button", "action_id": action, "style": style, "text": text, "value": run })
            };
            let elements = [button("approve", "Approve", "primary"), button("reject", "Reject", "danger")];
            blocks.push(json!({ "type": "actions", "block_id": format!("{GATE}{step}"), "elements": elements }));
        }
        match self.to {
            To::Original => json!({ "replace_original": true, "text": self.text, "blocks": blocks }),
            to => {
                let kind = if to == To::Channel { "in_channel" } else { "ephemeral" };
                json!({ "response_type": kind, "replace_original": false, "text": self.text, "blocks": blocks })
            }
        }
    }
}

/// Other people's text, with nothing in it that Slack would take for its own, and not more than so many characters.
pub fn escape(text: &str, longest: usize) -> String {
    let mut escaped = String::new();
    let mut length = 0;
    for c in text.chars() {
        let piece = match c {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            _ => "",
        };
        length += piece.len().max(1);
        if length > longest {
            escaped.push('…');
            break;
        }
        if piece.is_empty() { escaped.push(c) } else { escaped.push_str(piece) }
    }
    escaped
}

/// The same as code, which a backtick would end.
fn code(text: &str) -> String {
    short(text, LONGEST_NAME)
}

fn short(text: &str, longest: usize) -> String {
    format!("`{}`", escape(&text.replace('`', "'").replace(['\n', '\r'], " "), longest))
}

fn block(text: &str) -> String {
    format!("\n```{}```", escape(&text.replace('`', "'"), LONGEST_RESULT))
}

/// Somebody, as the log of a run names them.
fn who(name: &str) -> String {
    match name.strip_prefix("slack:") {
        Some(user) if !user.is_empty() && user.bytes().all(|byte| byte.is_ascii_alphanumeric()) => format!("<@{user}>"),
        _ => escape(name, LONGEST_NAME),
    }
}

/// A time, in the reader's time zone.
fn date(at: Timestamp) -> String {
    format!("<!date^{}^{{date_short_pretty}}, {{time}}|{at:.0}>", at.as_second())
}

fn because(reason: Option<&str>) -> String {
    reason.map(|reason| format!(": {}", escape(reason, LONGEST_REASON))).unwrap_or_default()
}

fn after(duration_ms: Option<u64>) -> String {
    match duration_ms {
        None => String::new(),
        Some(ms) if ms < 10_000 => format!(", after {}.{} s", ms / 1000, ms % 1000 / 100),
        Some(ms) if ms < 600_000 => format!(", after {} s", ms / 1000),
        Some(ms) => format!(", after {} min", ms / 60_000),
    }
}

fn name(run: &Run) -> String {
    format!("Run {} of {}", code(run.id.as_str()), code(&run.kind))
}

pub fn help(slash: &str) -> SlackMessage {
    let line = |usage: &SlackCommandUsage| {
        let rest = if usage.rest.is_empty() { String::new() } else { format!(" {}", usage.rest) };
        format!("`{slash} {}{rest}` {}", usage.verb, usage.meaning)
    };
    let lines: Vec<String> = USAGES.iter().map(line).collect();
    let values =
        "A value is parsed as JSON if possible, and is text otherwise: `count=3`, `ref=main`, `note=\"two words\"`.";
    SlackMessage::new(format!("{}\n{values}", lines.join("\n")))
}

pub fn mistake(slash: &str, mistake: &SlackCommandError) -> SlackMessage {
    SlackMessage::new(match mistake {
        SlackCommandError::Unknown { word, near } => {
            let near: Vec<String> = near.iter().map(|verb| format!("`{slash} {verb}`")).collect();
            let question =
                if near.is_empty() { String::new() } else { format!(" Did you mean {}?", near.join(" or ")) };
            format!("Unknown command {}.{question} `{slash} help` lists all commands.", code(word))
        }
        SlackCommandError::Rest { verb, why } => {
            let usage = USAGES.iter().find(|usage| usage.verb == *verb).map(|usage| usage.rest).unwrap_or_default();
            let usage = format!("`{slash} {verb} {usage}`").replace(" `", "`");
            format!("Not understood: {}. Usage: {usage}.", escape(why, LONGEST_REASON))
        }
    })
}

pub fn unknown_workspace(team: &str) -> SlackMessage {
    let team = code(team);
    SlackMessage::new(format!(
        "merge-train does not know this workspace, {team}. merge-train's operator can add it to `[[slack_workspaces]]` \
         in the configuration."
    ))
}

pub fn replies_elsewhere() -> SlackMessage {
    SlackMessage::new(
        "Nothing was done: Slack wants the reply at an address that does not begin with `slack.response_url_prefix`. \
         merge-train's operator can change that in the configuration.",
    )
}

pub fn for_operators(user: &str) -> SlackMessage {
    let user = code(user);
    SlackMessage::new(format!(
        "You may only view. merge-train's operator can add your id, {user}, to the `operators` of this workspace in \
         the configuration."
    ))
}

pub fn slow() -> SlackMessage {
    SlackMessage::new("Storing this takes longer than usual. The result follows here.")
}

pub fn looking() -> SlackMessage {
    SlackMessage::new("One moment.")
}

pub fn taken_in(run: &RunId) -> SlackMessage {
    SlackMessage::new(format!("Accepted. The result of run {} follows here.", code(run.as_str())))
}

pub fn started(run: &RunId, workflow: &str) -> SlackMessage {
    let (run, workflow) = (code(run.as_str()), code(workflow));
    SlackMessage::new(format!(
        "Run {run} of {workflow} is accepted. A message follows here when somebody has to decide, or when it has ended."
    ))
}

pub fn no_such_run(run: &RunId) -> SlackMessage {
    SlackMessage::new(format!("There is no run {}.", code(run.as_str())))
}

/// Why something is not done.
pub fn refused(why: &str) -> SlackMessage {
    SlackMessage::new(format!("Not done: {}.", escape(why.trim_end_matches('.'), LONGEST_RESULT)))
}

pub fn is_a_train(run: &Run) -> SlackMessage {
    let pull = format!("<{}|its pull request>", escape(&run.pr_url, LONGEST_REASON));
    SlackMessage::new(format!(
        "Run {} is a train: control it with `@merge-train start` and `@merge-train stop` on {pull}.",
        code(run.id.as_str())
    ))
}

pub fn nothing_to_decide(run: &Run) -> SlackMessage {
    SlackMessage::new(format!(
        "There is nothing to decide: {} is {}.",
        uncapitalised(&name(run)),
        code(run.status.as_str())
    ))
}

fn uncapitalised(text: &str) -> String {
    text.replacen("Run", "run", 1)
}

pub fn listed(runs: &[Run], slash: &str) -> SlackMessage {
    let line = |run: &Run| {
        let step = run.current_step.as_deref().map(|step| format!(" at {}", short(step, LONGEST_IN_LIST)));
        let (id, kind) = (code(run.id.as_str()), short(&run.kind, LONGEST_IN_LIST));
        format!("{id}  {kind}  *{}*{}  {}", run.status, step.unwrap_or_default(), date(run.created_at))
    };
    if runs.is_empty() {
        return SlackMessage::new(format!("There are no runs yet. `{slash} run NAME` starts one."));
    }
    SlackMessage::new(runs.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// A run, with buttons if it stands at a gate.
pub fn shown(run: &Run, gate: Option<(&str, &Gate)>) -> SlackMessage {
    let by = run.trigger.user_id.as_deref().map(|by| format!(" by {}", who(by))).unwrap_or_default();
    let about = match (run.repo_id.as_str(), run.pr_id.as_str()) {
        ("", _) => String::new(),
        (repo, "") => format!(" It is about {}.", code(repo)),
        (repo, pr) => {
            format!(" It is about <{}|{}#{}>.", escape(&run.pr_url, LONGEST_REASON), escape(repo, LONGEST_NAME), pr)
        }
    };
    let begun = format!("It was started{by}, {}.{about}", date(run.created_at));
    if run.status.is_terminal() {
        return SlackMessage::new(format!("{}\n{begun}", ending(run)));
    }
    if let Some((step, gate)) = gate {
        return SlackMessage::new(format!("{}\n{begun}", waiting(run, step, gate))).with_buttons(run, step);
    }
    let step = run.current_step.as_deref().map(|step| format!(" at {}", code(step))).unwrap_or_default();
    SlackMessage::new(format!("{} is *{}*{step}.\n{begun}", name(run), run.status))
}

/// A run has come to a gate.
pub fn asked(run: &Run, step: &str, gate: &Gate) -> SlackMessage {
    SlackMessage::new(waiting(run, step, gate)).with_buttons(run, step)
}

fn waiting(run: &Run, step: &str, gate: &Gate) -> String {
    let mut people: Vec<String> = gate.by.iter().take(MOST_NAMED).map(|name| who(name)).collect();
    if gate.by.len() > MOST_NAMED {
        people.push(format!("{} more", gate.by.len() - MOST_NAMED));
    }
    let of_whom = match (people.as_slice(), gate.need) {
        ([], _) => "anyone who may start runs here can decide".to_owned(),
        ([one], _) => format!("{one} can decide"),
        (all, ApprovalNeed::Any) => format!("one of {} can decide", all.join(", ")),
        (all, ApprovalNeed::All) => format!("all of {} have to approve", all.join(", ")),
    };
    format!("{} waits for approval of {}: {of_whom}.", name(run), code(step))
}

/// What somebody decided, and when.
pub struct GateDecision<'a> {
    pub by: &'a str,
    pub decision: Decision,
    pub reason: Option<&'a str>,
    pub at: Timestamp,
    pub step: &'a str,
}

fn deciding(run: &Run, decided: &GateDecision<'_>) -> String {
    let verb = match decided.decision {
        Decision::Approved => "approved",
        Decision::Rejected => "rejected",
    };
    let (by, at, reason) = (who(decided.by), date(decided.at), because(decided.reason));
    format!("{}: {by} {verb} {}, {at}{reason}.", name(run), code(decided.step))
}

/// A decision has been made.
pub fn decided(run: &Run, decided: &GateDecision<'_>) -> SlackMessage {
    SlackMessage::new(deciding(run, decided))
}

/// Somebody has approved, and others have to as well.
pub fn not_enough_yet(run: &Run, decided: &GateDecision<'_>, gate: &Gate) -> SlackMessage {
    let text = format!("{}\n{}", deciding(run, decided), waiting(run, decided.step, gate));
    SlackMessage::new(text).with_buttons(run, decided.step)
}

/// A run has ended.
pub fn ended(run: &Run) -> SlackMessage {
    SlackMessage::new(ending(run))
}

fn ending(run: &Run) -> String {
    let after = after(run.duration_ms);
    match run.status {
        RunStatus::Completed => {
            let result = run.result.as_ref().filter(|result| !result.is_null());
            let result = result.map(|result| block(&result.to_string())).unwrap_or_default();
            format!("{} has *completed*{after}.{result}", name(run))
        }
        RunStatus::Cancelled => {
            let cancellation = run.cancellation.as_ref();
            let by = cancellation.and_then(|it| it.user_id.as_deref()).map(|by| format!(" by {}", who(by)));
            let reason = because(cancellation.and_then(|it| it.reason.as_deref()));
            format!("{} was *cancelled*{}{after}{reason}.", name(run), by.unwrap_or_default())
        }
        _ => {
            let error = run.error.as_deref().map(block).unwrap_or_default();
            format!("{} has *{}*{after}.{error}", name(run), run.status)
        }
    }
}

/// It takes longer than Slack lets anybody reply.
pub fn still_going(run: &RunId, status: Option<RunStatus>, slash: &str) -> SlackMessage {
    let run = code(run.as_str());
    let state = status.map(|status| format!(", and is *{status}*")).unwrap_or_default();
    SlackMessage::new(format!("Run {run} takes longer than Slack allows{state}. `{slash} show` shows its progress."))
}

#[cfg(test)]
mod tests;
