//! `POST /slack/commands` and `/slack/interactions`: verified before anything is read, stored before they are answered, and
//! answered before Slack gives up. What comes of them is told afterwards.

mod actions;
mod command;
mod follow_up;
mod reply;
mod request;
mod signature;
mod texts;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use merge_train_core::ids::TenantId;
use merge_train_core::inbox::{Key, RequestHash};
use serde_json::Value;
use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::App;
use super::body::BufferedBody;
use super::openapi::Chatting;
use super::problem::Problem;
use crate::clock;
use crate::config;
use crate::daemon::failpoint;
use crate::daemon::run_orders::OrderError;
use actions::{SlackAction, SlackRequest, SlackResponse, SlackRole};
use command::SlackCommand;
use follow_up::{FollowUpSender, SlackInput};
use reply::{ReplyAddress, ReplyClient};
use request::SlackCaller;
use signature::SigningSecret;
pub use texts::escape;

/// Slack gives up after three seconds; the way there and back takes some of them.
const AT_ONCE: Duration = Duration::from_millis(2000);
/// How many people are told at once what came of what they asked for. Others look for themselves.
const MOST_TOLD: usize = 1024;

/// What Slack may do here.
pub struct SlackIntegration {
    secret: SigningSecret,
    workspaces: BTreeMap<String, AllowedSlackWorkspace>,
    replies: ReplyClient,
    room: Semaphore,
    tasks: TaskTracker,
    stopping: CancellationToken,
}

struct AllowedSlackWorkspace {
    tenant: TenantId,
    operators: Vec<String>,
}

impl SlackIntegration {
    /// None where nothing is configured.
    pub fn new(
        settings: &config::SlackSettings,
        workspaces: &[config::SlackWorkspaceSettings],
        stopping: CancellationToken,
    ) -> anyhow::Result<Option<Self>> {
        let Some(secret) = &settings.signing_secret else { return Ok(None) };
        let workspace = |it: &config::SlackWorkspaceSettings| {
            (it.team_id.clone(), AllowedSlackWorkspace { tenant: it.tenant.clone(), operators: it.operators.clone() })
        };
        Ok(Some(Self {
            secret: SigningSecret::new(secret),
            workspaces: workspaces.iter().map(workspace).collect(),
            replies: ReplyClient::new(&settings.response_url_prefix, stopping.clone())?,
            room: Semaphore::new(MOST_TOLD),
            tasks: TaskTracker::new(),
            stopping,
        }))
    }

    /// Waits for the replies that are under way when the daemon stops.
    pub async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Receives a slash command from Slack
#[utoipa::path(
    post,
    path = "/slack/commands",
    operation_id = "slack_command",
    tag = "senders",
    params(
        ("X-Slack-Request-Timestamp" = String, Header, description = "When Slack sent it (Unix time in seconds)."),
        ("X-Slack-Signature" = String, Header, description = "Proof that Slack sent it: `v0=` and the HMAC of time and \
             body."),
    ),
    request_body(content = Object, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "A message for the user, or nothing.", body = Object), Chatting)
)]
pub async fn commands(State(app): State<Arc<App>>, headers: HeaderMap, body: Body) -> Response {
    answered(take_command(&app, &headers, body).await)
}

/// Receives a button press from Slack
#[utoipa::path(
    post,
    path = "/slack/interactions",
    operation_id = "slack_interaction",
    tag = "senders",
    params(
        ("X-Slack-Request-Timestamp" = String, Header, description = "When Slack sent it (Unix time in seconds)."),
        ("X-Slack-Signature" = String, Header, description = "Proof that Slack sent it: `v0=` and the HMAC of time and \
             body."),
    ),
    request_body(content = Object, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "A message for the user, or nothing.", body = Object), Chatting)
)]
pub async fn interactions(State(app): State<Arc<App>>, headers: HeaderMap, body: Body) -> Response {
    answered(take_interaction(&app, &headers, body).await)
}

/// Slack shows people the body of a 200, and of nothing else.
fn answered(result: Result<Option<Value>, Problem>) -> Response {
    let response = match result {
        Ok(Some(message)) => Json(message).into_response(),
        Ok(None) => StatusCode::OK.into_response(),
        Err(problem) => {
            tracing::warn!(status = problem.status().as_u16(), ?problem, "a request from Slack was refused");
            problem.into_response()
        }
    };
    failpoint::answer("slack", response)
}

async fn take_command(app: &Arc<App>, headers: &HeaderMap, body: Body) -> Result<Option<Value>, Problem> {
    let (slack, held) = verified(app, headers, body).await?;
    let Some(command) = request::parse_slash_command(&held.bytes)? else { return Ok(None) };
    if !slack.workspaces.contains_key(&command.caller.team) {
        return Ok(Some(texts::unknown_workspace(&command.caller.team).json()));
    }
    let action = match command::parse(&command.text) {
        Ok(SlackCommand::Help) => return Ok(Some(texts::help(&command.slash).json())),
        Err(mistake) => return Ok(Some(texts::mistake(&command.slash, &mistake).json())),
        Ok(SlackCommand::Run { workflow, inputs }) => SlackAction::Run { workflow, inputs },
        Ok(SlackCommand::List) => SlackAction::List,
        Ok(SlackCommand::Show(run)) => SlackAction::Show(run),
        Ok(SlackCommand::Decide { run, decision, reason }) => SlackAction::Decide { run, gate: None, decision, reason },
        Ok(SlackCommand::Cancel { run, reason }) => SlackAction::Cancel { run, reason },
    };
    begin(app, slack, &held, command.caller, command.slash, action, SlackInput::Typing).await.map(Some)
}

async fn take_interaction(app: &Arc<App>, headers: &HeaderMap, body: Body) -> Result<Option<Value>, Problem> {
    let (slack, held) = verified(app, headers, body).await?;
    let request::ButtonClick { caller, run, step, decision } = request::parse_button_click(&held.bytes)?;
    let action = SlackAction::Decide { run, gate: Some(step), decision, reason: None };
    begin(app, slack, &held, caller, request::SLASH.to_owned(), action, SlackInput::Pressing).await.map(Some)
}

/// A body that Slack sent just now.
async fn verified<'a>(
    app: &'a App,
    headers: &HeaderMap,
    body: Body,
) -> Result<(&'a Arc<SlackIntegration>, BufferedBody), Problem> {
    let slack = app.slack.as_ref().ok_or_else(|| {
        Problem::not_found(
            "Slack is not set up: set slack.signing_secret (MERGE_TRAIN_SLACK_SIGNING_SECRET) to the signing secret of \
             your Slack app, and [[slack_workspaces]] to the workspaces that may use it",
        )
    })?;
    let held = app.budget.read(headers, body).await?;
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let (timestamp, signature) = (text("x-slack-request-timestamp"), text("x-slack-signature"));
    let checked = slack.secret.check(&held.bytes, timestamp, signature, clock::now());
    checked.map_err(|forged| Problem::unauthorized(forged.to_string()))?;
    Ok((slack, held))
}

/// Has a request accepted, and gives the answer that is there in time. The rest goes on by itself.
async fn begin(
    app: &Arc<App>,
    slack: &Arc<SlackIntegration>,
    held: &BufferedBody,
    caller: SlackCaller,
    slash: String,
    action: SlackAction,
    by: SlackInput,
) -> Result<Value, Problem> {
    let SlackCaller { team, user, trigger, response_url } = caller;
    let key = Key::slack(&team, &trigger).map_err(|error| Problem::bad_request(error.to_string()))?;
    let Some(address) = slack.replies.address(&response_url) else {
        tracing::warn!("Slack wants a reply at an address that does not begin with slack.response_url_prefix");
        return Ok(texts::replies_elsewhere().json());
    };
    let Some(workspace) = slack.workspaces.get(&team) else {
        let answer = texts::unknown_workspace(&team).json();
        say(slack, address, answer.clone());
        return Ok(answer);
    };
    let is_operator = workspace.operators.contains(&user);
    let request = SlackRequest {
        tenant: workspace.tenant.clone(),
        role: if is_operator { SlackRole::Operator } else { SlackRole::Viewer },
        user,
        key,
        hash: RequestHash::of(&held.bytes),
        slash,
        action,
    };
    let (tell, told) = oneshot::channel();
    slack.tasks.spawn(carry_out(app.clone(), slack.clone(), request, address, by, tell));
    let answer = tokio::time::timeout(AT_ONCE, told).await;
    Ok(answer.ok().and_then(Result::ok).unwrap_or_else(|| texts::slow().json()))
}

/// Says something to whoever pressed a button: of the answer to that Slack shows nothing.
fn say(slack: &Arc<SlackIntegration>, mut address: ReplyAddress, message: Value) {
    let slack = slack.clone();
    slack.tasks.clone().spawn(async move { slack.replies.send(&mut address, &message).await });
}

/// Accepts a request, has it answered, and tells what came of it.
async fn carry_out(
    app: Arc<App>,
    slack: Arc<SlackIntegration>,
    request: SlackRequest,
    mut address: ReplyAddress,
    by: SlackInput,
    tell: oneshot::Sender<Value>,
) {
    let response = request.accept(&app).await.unwrap_or_else(|failed| {
        if let OrderError::Store(error) = &failed
            && error.is_outage()
        {
            app.health.store_failed(error);
        }
        SlackResponse::Answered(texts::refused(&failed.to_string()).json())
    });
    let Ok(_room) = slack.room.try_acquire() else {
        tracing::warn!(key = %request.key, "too many wait to be told what came of what they asked for");
        let (SlackResponse::Answered(answer) | SlackResponse::Repeated(answer) | SlackResponse::Begun(answer, _)) =
            response;
        return drop(tell.send(answer));
    };
    let (answer, then) = match response {
        SlackResponse::Repeated(answer) => return drop(tell.send(answer)),
        SlackResponse::Answered(answer) => (answer, None),
        SlackResponse::Begun(answer, then) => (answer, Some(then)),
    };
    let is_late = tell.send(answer.clone()).is_err();
    if is_late || (by == SlackInput::Pressing && then.is_none()) {
        slack.replies.send(&mut address, &answer).await;
    }
    if let Some(then) = then {
        let (tenant, actor, slash) = (&request.tenant, &request.actor(), &request.slash);
        FollowUpSender { app: &app, slack: &slack, tenant, actor, slash, by, address }.tell(then).await;
    }
}
