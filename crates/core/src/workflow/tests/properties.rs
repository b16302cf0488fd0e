//! Whatever comes to a run, in whatever order.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Happening {
    Done,
    Fails,
    Crash,
    Approve,
    Reject,
    Signal,
    Cancel,
    Pass(i64),
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let one = prop_oneof![
        6 => Just(Happening::Done),
        2 => Just(Happening::Fails),
        2 => Just(Happening::Crash),
        2 => Just(Happening::Approve),
        1 => Just(Happening::Reject),
        2 => Just(Happening::Signal),
        1 => Just(Happening::Cancel),
        1 => (1..700_i64).prop_map(Happening::Pass),
    ];
    proptest::collection::vec(one, 0..40)
}

fn steps() -> impl Strategy<Value = Vec<StepPlan>> {
    let one = (0..4_usize, any::<bool>(), any::<bool>(), 0..2_u32, any::<bool>()).prop_map(
        |(kind, resumable, idempotent, times, is_undone)| {
            let step = match kind {
                0 => gate("x", &[]),
                1 => wait("x", "landed", None),
                _ => StepPlan { retry: RetryPolicy { times, backoff_ms: 1_000 }, ..agent("x") },
            };
            let step = StepPlan { resumable, idempotent, ..step };
            if is_undone && kind > 1 { undone_by("undo", step) } else { step }
        },
    );
    proptest::collection::vec(one, 1..6).prop_map(|mut steps| {
        steps.iter_mut().enumerate().for_each(|(index, step)| step.id = format!("step-{index}"));
        steps
    })
}

proptest! {
    /// No transition but the specification's, nothing after the end, no step that is neither resumable nor idempotent done twice
    /// but for its own retries, and a run whose commands end and that nobody keeps waiting ends. `Trial` holds that the log
    /// tells all.
    #[test]
    fn whatever_comes_a_run_keeps_the_rules_and_ends(steps in steps(), happenings in happenings()) {
        let mut trial = Trial::of(steps.clone());
        for happening in happenings {
            trial.clock += 1;
            match happening {
                Happening::Done if !trial.under_way.is_empty() => trial.ends(Ok(json!({}))),
                Happening::Fails if !trial.under_way.is_empty() => trial.ends(Err("no luck")),
                Happening::Done | Happening::Fails => {}
                Happening::Crash => trial.crash(),
                Happening::Approve => drop(trial.approve("api:ops")),
                Happening::Reject => {
                    let (by, decision) = ("api:ops".to_owned(), Decision::Rejected);
                    drop(trial.ask(Request::Decide { by, decision, reason: None, step: None }));
                }
                Happening::Signal => drop(trial.signal("landed", None)),
                Happening::Cancel => drop(trial.cancel()),
                Happening::Pass(seconds) => trial.passes(seconds),
            }
        }
        for _ in 0..100 {
            if trial.under_way.is_empty() { trial.passes(700) } else { trial.ends(Ok(json!({}))) }
        }
        prop_assert!(trial.status().is_terminal(), "{:?}", trial.state);
        let mut status = RunStatus::Pending;
        for (event, _) in &trial.log {
            if let Event::RunTransition { from, to, .. } = event {
                prop_assert_eq!(*from, status);
                prop_assert_eq!(from.check(*to), Ok(()));
                status = *to;
            }
        }
        for (index, step) in steps.iter().enumerate() {
            let begun = trial.log.iter().filter(|(event, _)| is_start(event, index)).count();
            let allowed = 1 + step.retry.times as usize;
            prop_assert!(step.idempotent || begun <= allowed, "{} was done {begun} times", step.id);
        }
    }
}

fn is_start(event: &Event, index: usize) -> bool {
    matches!(event, Event::StepStarted { step, .. } if *step == index)
}
