//! `POST /slack/commands` and `/slack/interactions`: verified before anything is read, stored before they are answered, and
//! answered before Slack gives up. What comes of them is told afterwards.

mod command;
mod errand;
mod follow;
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
use super::body::Held;
use super::openapi::Chatting;
use super::problem::Problem;
use crate::clock;
use crate::config;
use crate::daemon::failpoint;
use crate::daemon::orders::Failed;
use command::Command;
use errand::{Errand, Standing, Taken, Wish};
use follow::{By, Teller};
use reply::{Address, Replies};
use request::Caller;
use signature::SigningSecret;
pub use texts::escape;

/// Slack gives up after three seconds; the way there and back takes some of them.
const AT_ONCE: Duration = Duration::from_millis(2000);
/// How many people are told at once what came of what they asked for. Others look for themselves.
const MOST_TOLD: usize = 1024;

/// What Slack may do here.
pub struct Slack {
    secret: SigningSecret,
    workspaces: BTreeMap<String, Workspace>,
    replies: Replies,
    room: Semaphore,
    tasks: TaskTracker,
    stopping: CancellationToken,
}

struct Workspace {
    tenant: TenantId,
    operators: Vec<String>,
}

impl Slack {
    /// None where nothing is configured.
    pub fn new(
        settings: &config::Slack,
        workspaces: &[config::SlackWorkspace],
        stopping: CancellationToken,
    ) -> anyhow::Result<Option<Self>> {
        let Some(secret) = &settings.signing_secret else { return Ok(None) };
        let workspace = |it: &config::SlackWorkspace| {
            (it.team_id.clone(), Workspace { tenant: it.tenant.clone(), operators: it.operators.clone() })
        };
        Ok(Some(Self {
            secret: SigningSecret::new(secret),
            workspaces: workspaces.iter().map(workspace).collect(),
            replies: Replies::new(&settings.response_url_prefix, stopping.clone())?,
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
    let Some(typed) = request::typed(&held.bytes)? else { return Ok(None) };
    if !slack.workspaces.contains_key(&typed.caller.team) {
        return Ok(Some(texts::unknown_workspace(&typed.caller.team).json()));
    }
    let wish = match command::parse(&typed.text) {
        Ok(Command::Help) => return Ok(Some(texts::help(&typed.slash).json())),
        Err(mistake) => return Ok(Some(texts::mistake(&typed.slash, &mistake).json())),
        Ok(Command::Run { workflow, inputs }) => Wish::Run { workflow, inputs },
        Ok(Command::List) => Wish::List,
        Ok(Command::Show(run)) => Wish::Show(run),
        Ok(Command::Decide { run, decision, reason }) => Wish::Decide { run, gate: None, decision, reason },
        Ok(Command::Cancel { run, reason }) => Wish::Cancel { run, reason },
    };
    begin(app, slack, &held, typed.caller, typed.slash, wish, By::Typing).await.map(Some)
}

async fn take_interaction(app: &Arc<App>, headers: &HeaderMap, body: Body) -> Result<Option<Value>, Problem> {
    let (slack, held) = verified(app, headers, body).await?;
    let request::Pressed { caller, run, step, decision } = request::pressed(&held.bytes)?;
    let wish = Wish::Decide { run, gate: Some(step), decision, reason: None };
    begin(app, slack, &held, caller, request::SLASH.to_owned(), wish, By::Pressing).await.map(Some)
}

/// A body that Slack sent just now.
async fn verified<'a>(app: &'a App, headers: &HeaderMap, body: Body) -> Result<(&'a Arc<Slack>, Held), Problem> {
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

/// Has an errand taken in, and gives the answer that is there in time. The rest goes on by itself.
async fn begin(
    app: &Arc<App>,
    slack: &Arc<Slack>,
    held: &Held,
    caller: Caller,
    slash: String,
    wish: Wish,
    by: By,
) -> Result<Value, Problem> {
    let Caller { team, user, trigger, response_url } = caller;
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
    let errand = Errand {
        tenant: workspace.tenant.clone(),
        standing: if is_operator { Standing::Operator } else { Standing::Viewer },
        user,
        key,
        hash: RequestHash::of(&held.bytes),
        slash,
        wish,
    };
    let (tell, told) = oneshot::channel();
    slack.tasks.spawn(carry_out(app.clone(), slack.clone(), errand, address, by, tell));
    let answer = tokio::time::timeout(AT_ONCE, told).await;
    Ok(answer.ok().and_then(Result::ok).unwrap_or_else(|| texts::slow().json()))
}

/// Says something to whoever pressed a button: of the answer to that Slack shows nothing.
fn say(slack: &Arc<Slack>, mut address: Address, message: Value) {
    let slack = slack.clone();
    slack.tasks.clone().spawn(async move { slack.replies.send(&mut address, &message).await });
}

/// Takes an errand in, has it answered, and tells what came of it.
async fn carry_out(
    app: Arc<App>,
    slack: Arc<Slack>,
    errand: Errand,
    mut address: Address,
    by: By,
    tell: oneshot::Sender<Value>,
) {
    let taken = errand.take_in(&app).await.unwrap_or_else(|failed| {
        if let Failed::Store(error) = &failed
            && error.is_outage()
        {
            app.health.store_failed(error);
        }
        Taken::Answered(texts::refused(&failed.to_string()).json())
    });
    let Ok(_room) = slack.room.try_acquire() else {
        tracing::warn!(key = %errand.key, "too many wait to be told what came of what they asked for");
        let (Taken::Answered(answer) | Taken::Repeated(answer) | Taken::Begun(answer, _)) = taken;
        return drop(tell.send(answer));
    };
    let (answer, then) = match taken {
        Taken::Repeated(answer) => return drop(tell.send(answer)),
        Taken::Answered(answer) => (answer, None),
        Taken::Begun(answer, then) => (answer, Some(then)),
    };
    let is_late = tell.send(answer.clone()).is_err();
    if is_late || (by == By::Pressing && then.is_none()) {
        slack.replies.send(&mut address, &answer).await;
    }
    if let Some(then) = then {
        let (tenant, actor, slash) = (&errand.tenant, &errand.actor(), &errand.slash);
        Teller { app: &app, slack: &slack, tenant, actor, slash, by, address }.tell(then).await;
    }
}
