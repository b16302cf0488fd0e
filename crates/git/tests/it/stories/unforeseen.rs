//! Stories that the generator draws rarely or never.

use super::contents::Style;
use super::daemon::Moment;
use super::people::Act;
use super::story::{Planned, Story, Teller, When};

/// The author has a commit more, and forces the branch from a clone that knows nothing of what merge-train has pushed. The
/// webhook comes a little later than the next step of the train. All of it is the author's: nothing is foreign, and no
/// advice may throw it away.
#[test]
fn what_its_author_pushed_by_force_before_the_webhook_of_it_came_is_not_called_foreign_and_not_thrown_away() {
    let at = |act| Planned { when: When::At("push", 2, Moment::After), number: 2, act };
    let mut flaws = Vec::new();
    let mut teller = Teller::new();
    for seed in 0..12 {
        let planned = vec![at(Act::ForcePushOwnHead), at(Act::Push)];
        let (shape, style) = (vec![0, 1], Style::DeletesBelow);
        let story = Story { seed, shape, planned, strict: false, style, prompt: 2 };
        if let Err(found) = teller.tell(&story) {
            println!("{}\n{}", teller.conversation(), teller.daemon.log());
            flaws.push((seed, found));
        }
    }
    assert!(flaws.is_empty(), "{flaws:?}");
}

/// The same, found by chance: the author goes back to an older head of the branch and commits on top of it.
#[test]
fn what_its_author_pushed_on_top_of_an_older_head_is_not_called_foreign_and_not_thrown_away() {
    let at = |nth, moment, act| Planned { when: When::Nth(nth, moment), number: 2, act };
    let story = Story {
        seed: 3140,
        shape: vec![0, 1],
        planned: vec![
            at(10, Moment::After, Act::Push),
            at(13, Moment::After, Act::Start),
            at(8, Moment::Before, Act::PushOnOldHead),
        ],
        strict: false,
        style: Style::ModifiesBelow,
        prompt: 6,
    };
    let mut teller = Teller::new();
    let outcome = teller.tell(&story);
    assert_eq!(outcome, Ok(()), "{}\n{}", teller.conversation(), teller.daemon.log());
}
