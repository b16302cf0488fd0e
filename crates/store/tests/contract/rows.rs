//! Rows that are written with events.

use jiff::Timestamp;
use serde_json::json;
use store::rows::*;
use store::{Batch, Error, RunQuery};

use crate::support::*;

const REPO: &str = "repo:acme/widgets";

fn run(id: &str, status: RunStatus, created_at: Timestamp) -> Run {
    Run {
        id: run_id(id),
        schema_version: 1,
        tenant_id: tenant("acme"),
        repo_id: "Acme/Widgets".to_owned(),
        pr_id: "acme/widgets#7".to_owned(),
        pr_url: "https://github.com/acme/widgets/pull/7".to_owned(),
        kind: "train".to_owned(),
        status,
        current_step: Some("squash".to_owned()),
        trigger: Trigger { source: TriggerSource::Webhook, user_id: None, webhook_event_id: Some("1".to_owned()) },
        idempotency_key: Some(key("github:1")),
        a2a_correlation_id: None,
        last_heartbeat_at: None,
        result: Some(json!({"b": 1, "a": [1.5, null]})),
        error: None,
        cancellation: None,
        compensation_log: Vec::new(),
        last_transition: Some(TransitionContext { initiator: Some(Initiator::System), ..Default::default() }),
        resumed_from: None,
        resume_count: 0,
        created_at,
        updated_at: created_at,
        completed_at: None,
        duration_ms: None,
    }
}

fn of_each_kind() -> Vec<Row> {
    let step = json!({"tenantId": "acme", "runId": "r1", "stepId": "s1", "position": 1, "agent": "coder",
        "status": "completed", "output": {"ok": true}, "attempts": 2, "durationMs": 5});
    let checkpoint = json!({"tenantId": "acme", "runId": "r1", "id": "c1", "stepId": "s1", "agent": "coder",
        "status": "completed", "timestamp": at(3), "resumable": true, "idempotent": false,
        "tokensUsed": {"input": 1, "output": 2}});
    let workspace = json!({"id": "w1", "tenantId": "acme", "repoId": "acme/widgets", "prNumber": 7, "branch": "feature",
        "ratchetEnabled": true, "ratchetState": "WAITING_FOR_CI", "ratchetConsecutiveFixupAttempts": 1,
        "ratchetStaleCiSince": at(1), "createdAt": at(0), "updatedAt": at(2)});
    let session = json!({"id": "se1", "tenantId": "acme", "workspaceId": "w1", "kind": "ratchet", "status": "RUNNING",
        "working": true, "startedAt": at(4)});
    let transition = json!({"id": "t1", "tenantId": "acme", "workspaceId": "w1", "action": "FIX_CI",
        "reason": "red", "uiMessage": "Fixing build failures", "snapshot": {"ci": "failed"}, "createdAt": at(5)});
    vec![
        Row::Run(Box::new(run("r1", RunStatus::Running, at(0)))),
        Row::Step(Box::new(serde_json::from_value(step).unwrap())),
        Row::Checkpoint(Box::new(serde_json::from_value(checkpoint).unwrap())),
        Row::Workspace(Box::new(serde_json::from_value(workspace).unwrap())),
        Row::Session(Box::new(serde_json::from_value(session).unwrap())),
        Row::Transition(Box::new(serde_json::from_value(transition).unwrap())),
    ]
}

async fn write(world: &World, rows: Vec<Row>) -> store::Result<()> {
    let lease = world.lease(REPO, "a", at(0)).await;
    let at_seq = world.load(REPO).await.next_seq;
    world.store.append(&lease, Batch { rows, ..batch(at_seq, ["something"], at(1)) }).await
}

pub async fn section_6_1_a_row_of_every_kind_reads_back_as_it_was_written(world: World) {
    let rows = of_each_kind();
    write(&world, rows.clone()).await.unwrap();
    // Written again they are replaced, not doubled.
    write(&world, rows.clone()).await.unwrap();
    let (acme, r1) = (tenant("acme"), run_id("r1"));
    let mut read = vec![Row::Run(Box::new(world.store.run(Some(&acme), &r1).await.unwrap().unwrap()))];
    read.extend(world.store.steps(&acme, &r1).await.unwrap().into_iter().map(|it| Row::Step(Box::new(it))));
    read.extend(world.store.checkpoints(&acme, &r1).await.unwrap().into_iter().map(|it| Row::Checkpoint(Box::new(it))));
    read.extend(world.store.workspaces(Some(&acme)).await.unwrap().into_iter().map(|it| Row::Workspace(Box::new(it))));
    read.extend(world.store.sessions(&acme, "w1").await.unwrap().into_iter().map(|it| Row::Session(Box::new(it))));
    let transitions = world.store.transitions(&acme, "w1", 10).await.unwrap();
    read.extend(transitions.into_iter().map(|it| Row::Transition(Box::new(it))));
    assert_eq!(read, rows);
    assert!(world.store.workspace(&acme, "w1").await.unwrap().is_some());
    assert_eq!(world.store.workspaces(None).await.unwrap().len(), 1);
}

pub async fn section_2_3_a_run_that_ended_stays_as_it_ended(world: World) {
    for ended in [RunStatus::Completed, RunStatus::Failed, RunStatus::Cancelled] {
        let id = ended.as_str();
        let row = |status| Row::Run(Box::new(run(id, status, at(0))));
        write(&world, vec![row(RunStatus::Running), row(ended)]).await.unwrap();
        for other in RunStatus::ALL.into_iter().filter(|other| *other != ended) {
            let refused = write(&world, vec![row(other)]).await;
            assert!(matches!(&refused, Err(Error::RunEnded { run, .. }) if run.as_str() == id), "{refused:?}");
        }
        let end = || run(id, ended, at(0));
        let others = [
            Run { error: Some("another".to_owned()), ..end() },
            Run { result: Some(serde_json::json!("another")), ..end() },
            Run { completed_at: Some(at(9)), ..end() },
            Run { duration_ms: Some(9), ..end() },
        ];
        for other in others {
            let refused = write(&world, vec![Row::Run(Box::new(other.clone()))]).await;
            assert!(matches!(&refused, Err(Error::RunEnded { .. })), "{other:?}: {refused:?}");
        }
        let seen = Run { last_heartbeat_at: Some(at(9)), updated_at: at(9), ..end() };
        write(&world, vec![Row::Run(Box::new(seen.clone()))]).await.unwrap();
        assert_eq!(world.store.run(Some(&tenant("acme")), &run_id(id)).await.unwrap(), Some(seen));
    }
    let both = [RunStatus::Failed, RunStatus::Running].map(|status| Row::Run(Box::new(run("both", status, at(0)))));
    let refused = write(&world, both.to_vec()).await;
    assert!(matches!(refused, Err(Error::RunEnded { .. })), "within one batch too: {refused:?}");
}

pub async fn runs_are_listed_newest_first_in_pages(world: World) {
    // Two of the same instant, so that the instant alone is not enough of a cursor.
    let rows = [("a", 1), ("b", 3), ("c", 3), ("d", 2), ("e", 5)]
        .map(|(id, second)| Row::Run(Box::new(run(id, RunStatus::Running, at(second)))));
    write(&world, rows.to_vec()).await.unwrap();
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let query = RunQuery { tenant: Some(tenant("acme")), after, limit: 2, ..Default::default() };
        let page = world.store.runs(&query).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(store::RunCursor::after(last));
        seen.extend(page.into_iter().map(|run| run.id.to_string()));
    }
    assert_eq!(seen, ["e", "c", "b", "d", "a"]);
}

pub async fn runs_are_found_by_tenant_status_repository_and_kind(world: World) {
    let mut elsewhere = run("b", RunStatus::Running, at(2));
    elsewhere.repo_id = "acme/other".to_owned();
    elsewhere.kind = "nightly".to_owned();
    let mut theirs = run("c", RunStatus::Running, at(3));
    theirs.tenant_id = tenant("globex");
    let rows = [run("a", RunStatus::Failed, at(1)), elsewhere, theirs].map(|run| Row::Run(Box::new(run)));
    write(&world, rows.to_vec()).await.unwrap();
    let find = async |query: RunQuery| {
        let found = world.store.runs(&RunQuery { limit: 10, ..query }).await.unwrap();
        found.into_iter().map(|run| run.id.to_string()).collect::<Vec<_>>().join("")
    };
    let acme = || RunQuery { tenant: Some(tenant("acme")), ..Default::default() };
    assert_eq!(find(RunQuery::default()).await, "cba");
    assert_eq!(find(acme()).await, "ba");
    assert_eq!(find(RunQuery { status: Some(RunStatus::Running), ..acme() }).await, "b");
    assert_eq!(find(RunQuery { status: Some(RunStatus::Running), ..Default::default() }).await, "cb");
    let widgets = || Some("ACME/widgets".parse().unwrap());
    assert_eq!(find(RunQuery { repo: widgets(), ..acme() }).await, "a");
    assert_eq!(find(RunQuery { repo: widgets(), status: Some(RunStatus::Running), ..acme() }).await, "");
    let kind = |kind: &str| Some(kind.to_owned());
    assert_eq!(find(RunQuery { kind: kind("nightly"), ..acme() }).await, "b");
    assert_eq!(find(RunQuery { kind: kind("train"), ..Default::default() }).await, "ca");
    assert_eq!(find(RunQuery { kind: kind("nightly"), repo: widgets(), ..acme() }).await, "");
    assert_eq!(find(RunQuery { except: kind("train"), ..acme() }).await, "b");
}

pub async fn section_5_4_a_silent_run_is_found(world: World) {
    let with = |id, status, heartbeat: Option<i64>| {
        Row::Run(Box::new(Run { last_heartbeat_at: heartbeat.map(at), ..run(id, status, at(50)) }))
    };
    let rows = vec![
        with("alive", RunStatus::Running, Some(500)),
        with("silent", RunStatus::Running, Some(100)),
        with("waiting", RunStatus::WaitingExternal, Some(100)),
        with("never-heard-of", RunStatus::Running, None),
        with("over", RunStatus::Completed, Some(1)),
    ];
    write(&world, rows).await.unwrap();
    let stale = world.store.stale_runs(at(500), 10).await.unwrap();
    let ids: Vec<_> = stale.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(ids, ["never-heard-of", "silent"]);
}

pub async fn runs_that_changed_are_found_in_the_order_in_which_they_did(world: World) {
    let with = |id, owner: &str, status, second| {
        let run = Run { last_heartbeat_at: Some(at(second)), ..run(id, status, at(0)) };
        Row::Run(Box::new(Run { tenant_id: tenant(owner), ..run }))
    };
    let rows = vec![
        with("long-ago", "acme", RunStatus::Completed, 10),
        with("c", "acme", RunStatus::Completed, 30),
        with("a", "acme", RunStatus::Running, 20),
        with("theirs", "globex", RunStatus::Running, 25),
        with("b", "acme", RunStatus::Running, 21),
        with("d", "acme", RunStatus::Running, 40),
    ];
    write(&world, rows).await.unwrap();
    let since = async |owner: Option<&str>, second, limit| {
        let owner = owner.map(tenant);
        let found = world.store.runs_since(owner.as_ref(), at(second), limit).await.unwrap();
        found.into_iter().map(|run| run.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(since(Some("acme"), 20, 10).await, ["a", "b", "c", "d"]);
    assert_eq!(since(None, 20, 10).await, ["a", "b", "theirs", "c", "d"]);
    assert_eq!(since(Some("acme"), 31, 10).await, ["d"]);
    assert_eq!(since(Some("acme"), 20, 2).await, ["a", "b"], "c is later than d may be, which was left out");
    assert_eq!(since(Some("acme"), 21, 2).await, ["b", "c", "d"]);
    assert_eq!(since(Some("acme"), 41, 10).await, Vec::<String>::new());
}

pub async fn runs_that_have_not_ended_are_counted(world: World) {
    let mut theirs = run("c", RunStatus::Running, at(3));
    theirs.tenant_id = tenant("globex");
    let rows = [
        run("a", RunStatus::Running, at(1)),
        run("b", RunStatus::Running, at(2)),
        theirs,
        run("d", RunStatus::Completed, at(4)),
        run("e", RunStatus::AwaitingApproval, at(5)),
    ];
    write(&world, rows.map(|run| Row::Run(Box::new(run))).to_vec()).await.unwrap();
    let counted = world.store.active_runs().await.unwrap();
    let wanted = [
        (tenant("acme"), RunStatus::Running, 2),
        (tenant("globex"), RunStatus::Running, 1),
        (tenant("acme"), RunStatus::AwaitingApproval, 1),
    ];
    assert_eq!(counted, wanted);
}

const DAY: i64 = 86_400;

pub async fn what_came_of_runs_is_summed_up_over_all_of_them(world: World) {
    let ended = |id: &str, status, second: i64, took_ms| Run {
        completed_at: Some(at(second)),
        duration_ms: Some(took_ms),
        result: Some(json!({ "waited": { "ci": 5, "reviewer": took_ms } })),
        ..run(id, status, at(0))
    };
    let fixer = |outcome: &str, status, took_ms| Run {
        kind: "fixer".to_owned(),
        result: Some(json!({ "outcome": outcome })),
        ..ended(&format!("{outcome}-{took_ms}"), status, DAY, took_ms)
    };
    // More than any page of a list has.
    let mut rows: Vec<Run> =
        (0..1_200).map(|n| ended(&format!("r-{n}"), RunStatus::Completed, DAY + n, n as u64 + 1)).collect();
    rows.push(ended("another-day", RunStatus::Completed, 2 * DAY, 1_201));
    rows.push(ended("failed", RunStatus::Failed, DAY, 1));
    rows.push(ended("stopped", RunStatus::Cancelled, DAY, 1));
    rows.push(ended("long-ago", RunStatus::Completed, DAY - 1, 1));
    rows.push(run("under-way", RunStatus::Running, at(DAY)));
    rows.push(fixer("FIXER_PUSHED", RunStatus::Completed, 7));
    rows.extend([1, 2].map(|took| fixer("FIXER_GAVE_UP", RunStatus::Completed, took)));
    rows.push(fixer("FIXER_FAILED", RunStatus::Failed, 3));
    rows.push(Run { tenant_id: tenant("globex"), ..ended("theirs", RunStatus::Completed, DAY, 1) });
    for rows in rows.chunks(400) {
        write(&world, rows.iter().map(|run| Row::Run(Box::new(run.clone()))).collect()).await.unwrap();
    }
    let of = async |owner: Option<&str>, kind: &str, second| {
        world.store.endings(owner.map(tenant).as_ref(), kind, at(second)).await.unwrap()
    };
    let acme = of(Some("acme"), "train", DAY).await;
    let counted = [(RunStatus::Completed, 1_201), (RunStatus::Failed, 1), (RunStatus::Cancelled, 1)];
    assert_eq!(acme.ended, counted.into());
    assert_eq!((acme.lead, acme.took_ms), (Some(Lead { p50_ms: 601, p95_ms: 1_141 }), 1_201 * 1_202 / 2));
    let days = [
        (Endings::day(at(DAY)), Lead { p50_ms: 600, p95_ms: 1_140 }),
        (Endings::day(at(2 * DAY)), Lead { p50_ms: 1_201, p95_ms: 1_201 }),
    ];
    assert_eq!(acme.lead_by_day, days.into());
    let waited = [("ci".to_owned(), 5 * 1_201), ("reviewer".to_owned(), 1_201 * 1_202 / 2)];
    assert_eq!(acme.waited_ms, waited.into());
    assert_eq!(of(None, "train", DAY).await.count(RunStatus::Completed), 1_202);
    assert_eq!(of(Some("acme"), "train", 0).await.count(RunStatus::Completed), 1_202);
    let fixers = of(None, "fixer", DAY).await;
    let outcomes = [("FIXER_FAILED", 1), ("FIXER_GAVE_UP", 2), ("FIXER_PUSHED", 1)];
    assert_eq!(fixers.outcomes, outcomes.map(|(outcome, count)| (outcome.to_owned(), count)).into());
    assert_eq!((fixers.count(RunStatus::Completed), fixers.waited_ms.len()), (3, 0));
    assert_eq!((fixers.lead, fixers.took_ms), (Some(Lead { p50_ms: 7, p95_ms: 7 }), 7), "of those that pushed");
    assert_eq!(of(None, "nightly", 0).await, Endings::default());
}

pub async fn what_trains_landed_is_counted_on_its_day_whatever_became_of_them(world: World) {
    let step = |run: &str, pr: u64, status: &str, second: Option<i64>| {
        let step = json!({"tenantId": "acme", "runId": run, "stepId": format!("pr-{pr}"), "position": 0,
            "agent": "merge-train", "status": status, "attempts": 1, "completedAt": second.map(at)});
        Row::Step(Box::new(serde_json::from_value(step).unwrap()))
    };
    let train = |id: &str, status: RunStatus| {
        let completed_at = status.is_terminal().then(|| at(3 * DAY));
        Row::Run(Box::new(Run { completed_at, ..run(id, status, at(0)) }))
    };
    let rows = vec![
        train("train-1", RunStatus::Completed),
        step("train-1", 1, "completed", Some(DAY)),
        step("train-1", 2, "completed", Some(2 * DAY)),
        train("train-2", RunStatus::Cancelled),
        step("train-2", 3, "completed", Some(DAY + 1)),
        step("train-2", 4, "skipped", Some(3 * DAY)),
        train("train-3", RunStatus::Failed),
        step("train-3", 5, "completed", Some(2 * DAY)),
        step("train-3", 6, "failed", Some(3 * DAY)),
        train("train-4", RunStatus::WaitingExternal),
        step("train-4", 7, "completed", Some(3 * DAY)),
        step("train-4", 8, "running", None),
        // A workflow may have a step of that name.
        step("run-1", 9, "completed", Some(DAY)),
        step("train-5", 10, "completed", Some(DAY - 1)),
    ];
    write(&world, rows.clone()).await.unwrap();
    // A train tells of all of its steps whenever it moves.
    write(&world, rows).await.unwrap();
    let landed = async |owner: Option<&str>| world.store.landed(owner.map(tenant).as_ref(), at(DAY)).await.unwrap();
    let day = |second| Endings::day(at(second));
    assert_eq!(landed(Some("acme")).await, [(day(DAY), 2), (day(2 * DAY), 2), (day(3 * DAY), 1)].into());
    assert_eq!(landed(None).await.values().sum::<u64>(), 5);
    assert_eq!(landed(Some("globex")).await, [].into());
    let retention = store::Retention { runs: jiff::SignedDuration::from_secs(1), ..Default::default() };
    world.store.sweep(at(9 * DAY), &retention).await.unwrap();
    assert_eq!(landed(None).await, [(day(3 * DAY), 1)].into(), "what is forgotten of runs is forgotten here");
}

pub async fn archived_workspaces_are_not_among_those_that_are_open(world: World) {
    let with = |id: &str, owner: &str, archived_at: Option<Timestamp>| {
        let repo = format!("{owner}/{id}");
        let workspace = json!({"id": id, "tenantId": owner, "repoId": repo, "ratchetEnabled": true,
            "ratchetState": "NEW", "createdAt": at(0), "updatedAt": at(2), "archivedAt": archived_at});
        Row::Workspace(Box::new(serde_json::from_value(workspace).unwrap()))
    };
    let rows = vec![with("a", "acme", None), with("b", "acme", Some(at(3))), with("c", "acme", None)];
    write(&world, rows.into_iter().chain([with("d", "globex", None)]).collect()).await.unwrap();
    let open = async |owner: Option<&str>, repo: Option<&str>| {
        let repo = repo.map(|repo| repo.parse().unwrap());
        let found = world.store.open_workspaces(owner.map(tenant).as_ref(), repo.as_ref()).await.unwrap();
        found.into_iter().map(|workspace| workspace.id).collect::<Vec<_>>().join("")
    };
    assert_eq!(open(None, None).await, "acd");
    assert_eq!(open(Some("acme"), None).await, "ac");
    assert_eq!(open(Some("acme"), Some("Acme/C")).await, "c");
    assert_eq!(open(None, Some("acme/b")).await, "");
    assert_eq!(open(Some("globex"), Some("acme/c")).await, "");
}

pub async fn rows_of_another_tenant_are_not_seen(world: World) {
    write(&world, of_each_kind()).await.unwrap();
    let (globex, r1) = (tenant("globex"), run_id("r1"));
    assert_eq!(world.store.run(Some(&globex), &r1).await.unwrap(), None);
    assert_eq!(world.store.steps(&globex, &r1).await.unwrap(), []);
    assert_eq!(world.store.checkpoints(&globex, &r1).await.unwrap(), []);
    assert_eq!(world.store.workspaces(Some(&globex)).await.unwrap(), []);
    assert_eq!(world.store.workspace(&globex, "w1").await.unwrap(), None);
    assert_eq!(world.store.sessions(&globex, "w1").await.unwrap(), []);
    assert_eq!(world.store.transitions(&globex, "w1", 10).await.unwrap(), []);
    let mut theirs = run("r1", RunStatus::Completed, at(0));
    theirs.tenant_id = globex.clone();
    write(&world, vec![Row::Run(Box::new(theirs))]).await.unwrap();
    let ours = world.store.run(Some(&tenant("acme")), &r1).await.unwrap().unwrap();
    assert_eq!(ours.status, RunStatus::Running, "a run of the same name is another one");
}

pub async fn a_refused_row_leaves_no_event(world: World) {
    let row = |status| Row::Run(Box::new(run("r", status, at(0))));
    write(&world, vec![row(RunStatus::Completed)]).await.unwrap();
    let before = world.load(REPO).await.next_seq;
    assert!(write(&world, vec![row(RunStatus::Running)]).await.is_err());
    assert_eq!(world.load(REPO).await.next_seq, before);
}
