//! What Slack sends: a form for a slash command, JSON in a form for a button.

use std::collections::BTreeMap;

use merge_train_core::ids::RunId;
use merge_train_core::workflow::Decision;
use serde::Deserialize;
use url::form_urlencoded;

use super::texts::GATE;
use crate::daemon::server::problem::Problem;

/// The name of the command where Slack does not say a sensible one.
pub const SLASH: &str = "/merge-train";
/// The longest id that Slack may have given somebody.
const LONGEST_ID: usize = 64;

/// Who wants something, and where replies go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlackCaller {
    pub team: String,
    pub user: String,
    /// Slack's id of this one request.
    pub trigger: String,
    pub response_url: String,
}

/// A slash command, as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlashCommand {
    pub caller: SlackCaller,
    /// The name of the command, with the slash.
    pub slash: String,
    pub text: String,
}

/// A button, as it was pressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ButtonClick {
    pub caller: SlackCaller,
    pub run: RunId,
    /// The gate that the button was made for.
    pub step: String,
    pub decision: Decision,
}

/// Reads a slash command. None: Slack only wants to know whether anybody is there.
pub fn parse_slash_command(body: &[u8]) -> Result<Option<SlashCommand>, Problem> {
    let form: BTreeMap<String, String> = form_urlencoded::parse(body).into_owned().collect();
    if form.get("ssl_check").is_some_and(|value| value == "1") {
        return Ok(None);
    }
    let field = |name: &str| form.get(name).cloned().ok_or_else(|| lacks(name));
    let caller = SlackCaller {
        team: field("team_id")?,
        user: user(field("user_id")?)?,
        trigger: field("trigger_id")?,
        response_url: field("response_url")?,
    };
    let is_name = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let is_slash = |slash: &String| {
        slash.len() <= LONGEST_ID && slash.strip_prefix('/').is_some_and(|name| name.chars().all(is_name))
    };
    let slash = field("command").ok().filter(is_slash).unwrap_or_else(|| SLASH.to_owned());
    Ok(Some(SlashCommand { caller, slash, text: field("text").unwrap_or_default() }))
}

#[derive(Deserialize)]
struct Payload {
    #[serde(rename = "type")]
    kind: String,
    team: Option<SlackTeam>,
    user: User,
    #[serde(default)]
    trigger_id: String,
    #[serde(default)]
    response_url: String,
    #[serde(default)]
    actions: Vec<Action>,
}

#[derive(Deserialize)]
struct SlackTeam {
    id: String,
}

#[derive(Deserialize)]
struct User {
    id: String,
    /// Where an app is installed for a whole organisation, only this says which workspace it is.
    team_id: Option<String>,
}

#[derive(Deserialize)]
struct Action {
    action_id: String,
    #[serde(default)]
    block_id: String,
    #[serde(default)]
    value: String,
}

/// Reads a button.
pub fn parse_button_click(body: &[u8]) -> Result<ButtonClick, Problem> {
    let payload = form_urlencoded::parse(body).find(|(name, _)| name == "payload").ok_or_else(|| lacks("payload"))?.1;
    let payload: Payload = serde_json::from_str(&payload)
        .map_err(|error| Problem::bad_request(format!("the payload is not what Slack sends for a button: {error}")))?;
    if payload.kind != "block_actions" {
        let kind = payload.kind;
        return Err(Problem::bad_request(format!("only buttons are understood here (block_actions), not {kind:?}")));
    }
    let team = payload.team.map(|team| team.id).or(payload.user.team_id).ok_or_else(|| lacks("team"))?;
    let (user, trigger) = (user(payload.user.id)?, payload.trigger_id);
    let caller = SlackCaller { team, user, trigger, response_url: payload.response_url };
    let [action] = payload.actions.as_slice() else {
        return Err(Problem::bad_request("the payload does not have exactly one action"));
    };
    let decision = match action.action_id.as_str() {
        "approve" => Some(Decision::Approved),
        "reject" => Some(Decision::Rejected),
        _ => None,
    };
    let ours = decision.zip(action.block_id.strip_prefix(GATE)).zip(RunId::parse(action.value.as_str()).ok());
    let ((decision, step), run) = ours.ok_or_else(|| Problem::bad_request("unknown button"))?;
    Ok(ButtonClick { caller, run, step: step.to_owned(), decision })
}

fn lacks(name: &str) -> Problem {
    Problem::bad_request(format!("the form lacks {name:?}"))
}

/// Somebody's id. It names people at gates and in the log.
fn user(id: String) -> Result<String, Problem> {
    let is_id = (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_id { Ok(id) } else { Err(Problem::bad_request("the user id is not a valid Slack id")) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn form(fields: &[(&str, &str)]) -> Vec<u8> {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish().into_bytes()
    }

    const FIELDS: [(&str, &str); 6] = [
        ("team_id", "T1"),
        ("user_id", "U1"),
        ("trigger_id", "13345224609.738474920.8088930838d88f008e0"),
        ("response_url", "https://hooks.slack.com/commands/1/2"),
        ("command", "/train"),
        ("text", "run deploy ref=\"a & b\""),
    ];

    fn caller() -> SlackCaller {
        let [team, user, trigger, response_url] = [0, 1, 2, 3].map(|index| FIELDS[index].1.to_owned());
        SlackCaller { team, user, trigger, response_url }
    }

    #[test]
    fn a_slash_command_is_read() {
        let typed = parse_slash_command(&form(&FIELDS)).unwrap().unwrap();
        assert_eq!((typed.slash.as_str(), typed.text.as_str()), ("/train", "run deploy ref=\"a & b\""));
        assert_eq!(typed.caller, caller());
    }

    #[test]
    fn a_slash_command_without_text_is_one_and_without_a_sensible_name_has_ours() {
        let typed = parse_slash_command(&form(&[&FIELDS[..4], &[("command", "/<!here>")]].concat())).unwrap().unwrap();
        assert_eq!((typed.slash.as_str(), typed.text.as_str()), ("/merge-train", ""));
    }

    #[test]
    fn slack_may_ask_whether_anybody_is_there() {
        assert_eq!(parse_slash_command(b"ssl_check=1&token=x").unwrap(), None);
    }

    #[test]
    fn what_lacks_something_is_no_command() {
        for left_out in &FIELDS[..4] {
            let fields: Vec<_> = FIELDS.into_iter().filter(|field| field != left_out).collect();
            assert!(parse_slash_command(&form(&fields)).is_err(), "without {}", left_out.0);
        }
        for user in ["", "U1> <!channel", "slack:U1", &"U".repeat(65)] {
            let fields = [&[("user_id", user)], &FIELDS[..1], &FIELDS[2..]].concat();
            assert!(parse_slash_command(&form(&fields)).is_err(), "{user:?}");
        }
    }

    fn payload(change: impl FnOnce(&mut Value)) -> Result<ButtonClick, Problem> {
        let SlackCaller { team, user, trigger, response_url } = caller();
        let mut payload = json!({
            "type": "block_actions",
            "team": { "id": team, "domain": "x" },
            "user": { "id": user, "name": "x" },
            "trigger_id": trigger,
            "response_url": response_url,
            "actions": [{ "action_id": "reject", "block_id": "gate:ok", "value": "run-1", "type": "button" }],
        });
        change(&mut payload);
        parse_button_click(&form(&[("payload", &payload.to_string())]))
    }

    #[test]
    fn a_button_is_read() {
        let pressed = payload(|_| {}).unwrap();
        let run = RunId::parse("run-1").unwrap();
        assert_eq!(pressed, ButtonClick { caller: caller(), run, step: "ok".to_owned(), decision: Decision::Rejected });
        let in_an_organisation = payload(|payload| {
            payload["team"] = Value::Null;
            payload["user"]["team_id"] = json!("T1");
        });
        assert_eq!(in_an_organisation.unwrap().caller, caller());
    }

    #[test]
    fn what_is_none_of_our_buttons_is_refused() {
        type Change = fn(&mut Value);
        let changes: [Change; 7] = [
            |payload| payload["type"] = json!("view_submission"),
            |payload| payload["actions"] = json!([]),
            |payload| payload["actions"][0]["action_id"] = json!("merge"),
            |payload| payload["actions"][0]["block_id"] = json!("ok"),
            |payload| payload["actions"][0]["value"] = json!("../x"),
            |payload| payload["team"] = Value::Null,
            |payload| payload["user"]["id"] = json!("U 1"),
        ];
        for (index, change) in changes.into_iter().enumerate() {
            assert!(payload(change).is_err(), "change {index}");
        }
        assert!(parse_button_click(b"payload=nonsense").is_err() && parse_button_click(b"").is_err());
    }
}
