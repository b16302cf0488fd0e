//! The worker, as the driver keeps it: decides, records, begins what is asked for, and dies.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::Timestamp;

use super::super::*;
use super::github::{failure, irreversible};
use super::objects::Objects;
use super::world::{NOW, UnderWay, World, settings};
use crate::facts::Permission;
use crate::repo::trains::work::Work;
use crate::repo::trains::{MergeMethods, Policy, StaleApprovals};

impl World {
    /// Does what an effect asks for that leaves no trace, or whose trace nobody minds, and answers.
    pub(super) fn perform(&mut self, git: &Objects, effect: Effect, requested_at: Timestamp) -> Input {
        match effect {
            Effect::FetchPull { pr } => {
                Input::Fetched { pr, requested_at, result: Ok(Some(self.github.facts(pr.get()))) }
            }
            Effect::ReadMergeStates { prs } => {
                let result = Ok(self.github.merge_facts(git, &prs));
                Input::MergeStates { prs, requested_at, result }
            }
            Effect::Say { note, .. } => Input::Said { note, result: Ok(()) },
            Effect::WriteStatus { root, seq, body, .. } => {
                let comment = self.github.write_status(root, seq, body);
                Input::StatusWritten { root, seq, result: Ok(comment) }
            }
            Effect::ReadStatus { root, comment } => {
                Input::StatusRead { root, comment, result: Ok(self.github.status(root, comment)) }
            }
            Effect::ReadPolicy { .. } => Input::PolicyRead { result: Ok(policy()) },
            Effect::ReadPermission { comment, .. } => Input::PermissionRead { comment, result: Ok(Permission::Read) },
            Effect::Train { root, work } => {
                self.looked(&work);
                let result = self.github.work(git, &work, &self.late);
                Input::Worked { root, work, result }
            }
            Effect::ReadSettings { .. } => no_settings(requested_at),
            Effect::Survey
            | Effect::ReadConversations { .. }
            | Effect::ReadTalk { .. }
            | Effect::Diagnose { .. }
            | Effect::Fix { .. }
            | Effect::Forward { .. }
            | Effect::ClearFixer { .. }
            | Effect::ReadProposal { .. }
            | Effect::ShowCheck { .. }
            | Effect::DeleteBranch { .. } => {
                unreachable!("{effect:?} is not asked for where everything is known and stays")
            }
        }
    }

    /// Whoever has looked is sure again.
    fn looked(&mut self, work: &Work) {
        match work {
            Work::Probe(push) => self.unsure.remove(&("push", push.pull)),
            Work::Look { pull } => self.unsure.remove(&("squash", *pull)),
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
                    inputs.push_back(under_way.effect.clone().failed(now, failure("called off")));
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
        if let Effect::Train { work, .. } = &effect
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
        Effect::Say { .. }
        | Effect::WriteStatus { .. }
        | Effect::ReadPolicy { .. }
        | Effect::ReadPermission { .. }
        | Effect::ReadSettings { .. } => true,
        Effect::Train { work, .. } => matches!(work, Work::Plan { .. } | Work::Worktrees(_)),
        Effect::Survey
        | Effect::ReadConversations { .. }
        | Effect::FetchPull { .. }
        | Effect::ReadMergeStates { .. }
        | Effect::ReadStatus { .. }
        | Effect::ReadTalk { .. }
        | Effect::Diagnose { .. }
        | Effect::Fix { .. }
        | Effect::Forward { .. }
        | Effect::ClearFixer { .. }
        | Effect::ReadProposal { .. }
        | Effect::ShowCheck { .. }
        | Effect::DeleteBranch { .. } => false,
    }
}

fn policy() -> Policy {
    let methods = MergeMethods { allow_squash_merge: true, allow_merge_commit: false, allow_rebase_merge: false };
    Policy { methods, stale_approvals: StaleApprovals::Kept, required_checks: Some(BTreeSet::new()) }
}
