//! The worker, as the driver keeps it: decides, records, begins what is asked for, and dies.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::Timestamp;

use super::super::*;
use super::github::{failure, irreversible};
use super::objects::Objects;
use super::world::{NOW, UnderWay, World, settings};
use crate::facts::Permission;
use crate::repo::trains::work::TrainTask;
use crate::repo::trains::{MergeMethods, MergePolicy, StaleApprovals};

impl World {
    /// Does what an effect asks for that leaves no trace, or whose trace nobody minds, and answers.
    pub(super) fn perform(&mut self, git: &Objects, effect: Effect, requested_at: Timestamp) -> Input {
        let result = self.answer(git, &effect);
        Input::Completed { effect, requested_at, result }
    }

    fn answer(&mut self, git: &Objects, effect: &Effect) -> Result<Answer, EffectFailure> {
        Ok(match effect {
            Effect::Mirror(MirrorEffect::FetchPull { pr }) => Some(self.github.facts(pr.get())).into(),
            Effect::Mirror(MirrorEffect::ReadMergeStates { prs }) => self.github.merge_facts(git, prs).into(),
            Effect::Outbox(OutboxEffect::Say { .. }) => ().into(),
            Effect::Trains(TrainsEffect::WriteStatus { root, seq, body, .. }) => {
                self.github.write_status(*root, *seq, body.clone()).into()
            }
            Effect::Trains(TrainsEffect::ReadStatus { root, comment }) => self.github.status(*root, *comment).into(),
            Effect::Trains(TrainsEffect::ReadPolicy { .. }) => policy().into(),
            Effect::Commands(CommandsEffect::ReadPermission { .. }) => Permission::Read.into(),
            Effect::Trains(TrainsEffect::Work { work, .. }) => {
                self.looked(work);
                self.github.work(git, work, &self.late)?.into()
            }
            Effect::Settings(SettingsEffect::ReadSettings { .. }) => no_settings().into(),
            Effect::Mirror(MirrorEffect::Survey)
            | Effect::Mirror(MirrorEffect::ReadConversations { .. })
            | Effect::Ratchet(_)
            | Effect::Settings(SettingsEffect::ReadProposal { .. })
            | Effect::Settings(SettingsEffect::ShowCheck { .. })
            | Effect::Trains(TrainsEffect::DeleteBranch { .. }) => {
                unreachable!("{effect:?} is not asked for where everything is known and stays")
            }
        })
    }

    /// Whoever has looked is sure again.
    fn looked(&mut self, work: &TrainTask) {
        match work {
            TrainTask::Probe(push) => self.unsure.remove(&("push", push.pull)),
            TrainTask::Look { pull } => self.unsure.remove(&("squash", *pull)),
            _ => false,
        };
    }

    /// Decides, records, and begins what is asked for, as the driver does.
    pub(super) fn feed(&mut self, git: &Objects, input: Input, now: Timestamp) {
        let settings = settings();
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let plan = decide(&self.state, &input, &settings, now);
            let seqs: BTreeMap<PrNumber, u64> = self.seqs();
            plan.events.iter().for_each(|event| apply(&mut self.state, &read_back(event), now));
            if self.seqs().iter().any(|(root, seq)| seqs.get(root).is_some_and(|before| before > seq)) {
                self.flaw = Some("a record went back in its sequence".to_owned());
            }
            self.forget_trifles();
            for served in plan.cancels {
                if let Some(under_way) = self.under_way.remove(&served.work()) {
                    inputs.push_back(failed(under_way.effect.clone(), now, failure("called off")));
                    self.give_up(under_way);
                }
            }
            let effects: BTreeMap<EffectKey, Effect> =
                plan.effects.into_iter().map(|effect| (effect.key(), effect)).collect();
            for (key, effect) in effects {
                if is_trifling(&effect) {
                    inputs.push_back(self.perform(git, effect, now));
                } else if !self.under_way.contains_key(&key) {
                    self.begin(key, effect);
                }
            }
        }
    }

    fn begin(&mut self, key: EffectKey, effect: Effect) {
        if let Effect::Trains(TrainsEffect::Work { work, .. }) = &effect
            && let Some(pull) = irreversible(work)
            && self.unsure.contains(&(work.name(), pull))
        {
            self.flaw =
                Some(format!("a {} of #{pull} that may have been done was begun again without a look", work.name()));
        }
        self.under_way.insert(key, UnderWay { effect, done: None, is_slow: false });
    }

    fn seqs(&self) -> BTreeMap<PrNumber, u64> {
        self.state.active_trains.iter().map(|(root, train)| (*root, train.recovery_seq)).collect()
    }

    /// What would tell states apart that are alike: which webhooks were heard (none comes twice here), when the status comment was
    /// written last (here it is written as often as it changes), and how long nothing is done again (here no time is lost).
    fn forget_trifles(&mut self) {
        self.state.seen_dedupe_keys.clear();
        self.state.paces.clear();
        for detail in self.state.details.values_mut() {
            detail.status.written_at = None;
        }
    }

    pub(super) fn crash(&mut self, git: &Objects) {
        self.left.crashes -= 1;
        for (_, under_way) in std::mem::take(&mut self.under_way) {
            self.give_up(under_way);
        }
        self.github.lose_clone();
        let now = at(NOW);
        let position = Position { generation: 1, next_seq: 1, taken_at: now };
        let json = serde_json::to_string(&Snapshot::of(&self.state, position)).expect("a snapshot is JSON");
        let restored = serde_json::from_str::<Snapshot>(&json).expect("what was written is read").restore();
        if restored != self.state {
            self.flaw = Some("what is read back is not what was there".to_owned());
        }
        self.state = restored;
        self.feed(git, Input::Resume, now);
        // A new worker looks at once at whatever fell due before it came.
        self.feed(git, Input::Tick, now);
    }
}

/// The event as whoever comes later reads it from the log.
fn read_back(event: &Event) -> Event {
    let json = serde_json::to_string(event).expect("an event is JSON");
    serde_json::from_str(&json).expect("what was written is read")
}

/// What is done at once: it is asked for again until it is done, and nothing depends on when that is.
fn is_trifling(effect: &Effect) -> bool {
    match effect {
        Effect::Outbox(OutboxEffect::Say { .. })
        | Effect::Trains(TrainsEffect::WriteStatus { .. })
        | Effect::Trains(TrainsEffect::ReadPolicy { .. })
        | Effect::Commands(CommandsEffect::ReadPermission { .. })
        | Effect::Settings(SettingsEffect::ReadSettings { .. }) => true,
        Effect::Trains(TrainsEffect::Work { work, .. }) => {
            matches!(work, TrainTask::Plan { .. } | TrainTask::Worktrees(_))
        }
        Effect::Mirror(MirrorEffect::Survey)
        | Effect::Mirror(MirrorEffect::ReadConversations { .. })
        | Effect::Mirror(MirrorEffect::FetchPull { .. })
        | Effect::Mirror(MirrorEffect::ReadMergeStates { .. })
        | Effect::Trains(TrainsEffect::ReadStatus { .. })
        | Effect::Ratchet(_)
        | Effect::Settings(SettingsEffect::ReadProposal { .. })
        | Effect::Settings(SettingsEffect::ShowCheck { .. })
        | Effect::Trains(TrainsEffect::DeleteBranch { .. }) => false,
    }
}

fn policy() -> MergePolicy {
    let methods = MergeMethods { allow_squash_merge: true, allow_merge_commit: false, allow_rebase_merge: false };
    MergePolicy { methods, stale_approvals: StaleApprovals::Kept, required_checks: Some(BTreeSet::new()) }
}
