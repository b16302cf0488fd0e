//! What people do to pull requests while trains are under way.

use super::trains::Yard;
use super::*;
use crate::train::TrainState;
use crate::train::work::Work;

impl Yard {
    /// Goes on until the state is as asked for.
    fn until(&mut self, what: impl Fn(&Yard) -> bool) {
        for _ in 0..2_000 {
            if what(self) {
                return;
            }
            self.answer(0);
        }
        panic!("it never comes to that: {:#?}", self.worker.state.active_trains);
    }

    /// Until a train is to do something like this next.
    fn until_next(&mut self, root: u64, what: impl Fn(&Work) -> bool) {
        let key = EffectKey::Train(pr(root));
        self.until(|yard| matches!(yard.under_way.get(&key), Some(Effect::Train { work, .. }) if what(work)));
    }

    fn said(&mut self, on: u64, id: u64, body: &str) {
        let plan = self.worker.comment_event(CommentChange::Created, comment(on, id, body));
        self.take(plan);
    }

    fn told(&mut self, number: u64) {
        let facts = self.hub.facts(number);
        let plan = self.worker.pull_event("edited", facts);
        self.take(plan);
    }

    fn take(&mut self, plan: Plan) {
        for root in &plan.cancels {
            self.under_way.remove(&EffectKey::Train(*root));
        }
        self.begin(plan);
    }

    fn standing(&self, root: u64) -> Option<TrainState> {
        self.worker.state.active_trains.get(&pr(root)).map(|train| train.state)
    }

    fn error(&self, root: u64) -> Option<&str> {
        let train = self.worker.state.active_trains.get(&pr(root))?;
        train.error.as_ref().map(|error| error.error_type.as_str())
    }

    /// The comments that were owed on a pull request, in their order.
    fn notes(&self, on: u64) -> Vec<&str> {
        let note =
            |recorded: &Recorded| matches!(&recorded.event, Event::NoteOwed { pr: there, .. } if *there == pr(on));
        let owed = self.worker.log.iter().filter(|recorded| note(recorded));
        owed.filter_map(|recorded| match &recorded.event {
            Event::NoteOwed { say: Say::Comment { body }, .. } => Some(body.as_str()),
            _ => None,
        })
        .collect()
    }
}

#[test]
fn a_root_that_is_put_onto_an_open_pull_request_ends_its_own_train() {
    let mut yard = Yard::new(&[0, 0]);
    yard.start(2);
    yard.until(|yard| yard.standing(2).is_some());
    yard.hub.edit(2, |pull| pull.base = branch("feature-1"));
    yard.told(2);
    yard.said(2, 102, "@merge-train predecessor #1");
    assert_eq!(yard.error(2), Some("PredecessorDeclarationChanged"));
}
