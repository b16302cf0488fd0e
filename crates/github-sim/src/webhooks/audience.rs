//! Who is told of an event. Each receiver gets a delivery of its own, stored in the transaction that caused it.

use serde_json::{Value, json};

use super::payload;
use crate::faults::{self, Circumstances, FaultKind, Occasion};
use crate::world::{Delivery, DeliveryTarget, FromGit, Id, NodeKind, World, node_id};

/// Something that happened in a repository.
pub struct Event {
    pub name: &'static str,
    pub action: Option<&'static str>,
    pub repo: Id,
    pub sender: Id,
    pub told: Told,
    pub from_git: Option<FromGit>,
}

impl Event {
    pub fn new(name: &'static str, action: Option<&'static str>, repo: Id, sender: Id) -> Self {
        Self { name, action, repo, sender, told: Told::Subscribers, from_git: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Subscribers,
    /// Subscribers, and this app in any case.
    SubscribersAnd(Id),
    /// This app and nobody else.
    App(Id),
    /// This hook and nobody else.
    Hook(Id),
}

/// A receiver, and the installation through which it hears of the repository.
struct Receiver {
    target: DeliveryTarget,
    installation: Option<Id>,
}

/// Stores a delivery for everyone who listens. `payload` makes what is special about the event; the action, the
/// repository, the sender and the like are added here.
pub fn tell(world: &mut World, event: Event, payload: impl FnOnce(&World) -> Value) {
    let receivers = receivers(world, &event);
    if receivers.is_empty() {
        return;
    }
    let payload = payload::framed(world, &event, payload(world));
    for Receiver { target, installation } in receivers {
        let mut payload = payload.clone();
        if let Some(id) = installation {
            payload["installation"] = json!({ "id": id, "node_id": node_id(NodeKind::Installation, 0, id) });
        }
        let repo = Some(event.repo);
        let from_git = event.from_git.clone();
        store(
            world,
            Outgoing { target, name: event.name, action: event.action, repo, installation, from_git },
            payload,
        );
    }
}

/// Stores what only the app itself is told: its installations, its pings.
pub fn tell_app(
    world: &mut World,
    app: Id,
    installation: Option<Id>,
    name: &'static str,
    action: Option<&'static str>,
    payload: Value,
) {
    let listens = world.apps.get(0, app).is_some_and(|app| app.webhook.url.is_some());
    if listens {
        let target = DeliveryTarget::App { app };
        store(world, Outgoing { target, name, action, repo: None, installation, from_git: None }, payload);
    }
}

/// Sends a delivery once more, under the same delivery id.
pub fn redeliver(world: &mut World, delivery: &Delivery) -> Id {
    let id = world.next_id();
    let again =
        Delivery { id, redelivery: true, created_at: world.now, fault: None, outcome: None, ..delivery.clone() };
    world.deliveries.insert(again);
    id
}

struct Outgoing {
    target: DeliveryTarget,
    name: &'static str,
    action: Option<&'static str>,
    repo: Option<Id>,
    installation: Option<Id>,
    from_git: Option<FromGit>,
}

fn store(world: &mut World, outgoing: Outgoing, payload: Value) {
    let fault = strike(world, &outgoing);
    let (id, guid, created_at) = (world.next_id(), world.random_uuid(), world.now);
    world.deliveries.insert(Delivery {
        id,
        guid,
        target: outgoing.target,
        event: outgoing.name.to_owned(),
        action: outgoing.action.map(str::to_owned),
        repo: outgoing.repo,
        installation: outgoing.installation,
        payload,
        from_git: outgoing.from_git,
        fault,
        redelivery: false,
        created_at,
        outcome: None,
    });
}

fn strike(world: &mut World, outgoing: &Outgoing) -> Option<FaultKind> {
    let repository = outgoing.repo.and_then(|id| world.repo(id)).map(|repo| world.full_name(repo)).unwrap_or_default();
    let event = match outgoing.action {
        Some(action) => format!("{}.{action}", outgoing.name),
        None => outgoing.name.to_owned(),
    };
    let now = Circumstances { repository: &repository, event: &event, ..Circumstances::default() };
    faults::strike(world, Occasion::Webhook, now)
}

fn receivers(world: &World, event: &Event) -> Vec<Receiver> {
    let Some(repo) = world.repo(event.repo) else { return Vec::new() };
    let wants = |events: &[String]| events.iter().any(|name| name == event.name || name == "*");
    let hooks = world.hooks.within(repo.id).filter(|hook| match event.told {
        Told::Subscribers | Told::SubscribersAnd(_) => hook.active && wants(&hook.events),
        Told::Hook(id) => hook.id == id,
        Told::App(_) => false,
    });
    let hooks = hooks
        .map(|hook| Receiver { target: DeliveryTarget::Hook { repo: repo.id, hook: hook.id }, installation: None });
    let installations = world.installations.within(0).filter(|installation| {
        let app = world.apps.get(0, installation.app);
        let told = match event.told {
            Told::Subscribers => wants(&installation.events),
            Told::SubscribersAnd(app) => app == installation.app || wants(&installation.events),
            Told::App(app) => app == installation.app,
            Told::Hook(_) => false,
        };
        told && installation.account == repo.owner
            && installation.covers(repo.id)
            && installation.suspended_at.is_none()
            && app.is_some_and(|app| app.webhook.url.is_some())
    });
    let apps = installations.map(|installation| Receiver {
        target: DeliveryTarget::App { app: installation.app },
        installation: Some(installation.id),
    });
    hooks.chain(apps).collect()
}
