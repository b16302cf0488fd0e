//! What GitHub and fixers are told to say and do, and how they say and do it.

use super::*;

/// What a fixer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fixer {
    /// It goes on until a test says otherwise.
    Works,
    Pushes,
    GivesUp,
    Fails,
    Dies,
    TimesOut,
    /// It pushes something that cannot be taken.
    Oversteps,
    /// It ends with the daemon.
    Stops,
    /// Its checkout cannot be made: for now, or at all.
    Stumbles,
    Breaks,
}

/// What becomes of its push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Lands,
    /// It lands, and the answer is lost.
    LandsUnheard,
    /// It does not arrive, and nobody hears of it.
    GetsLost,
    IsRejected,
    FindsNoBranch,
    /// Whatever is tried: it is not there to be pushed.
    CannotBeMade,
    /// Nor can it be looked for.
    CannotBeFound,
    /// No answer comes.
    Hangs,
}

/// What GitHub and the fixer of a pull request are told to say and do.
#[derive(Clone)]
pub(super) struct Script {
    pub(super) merge: MergeState,
    pub(super) review: Option<ReviewDecision>,
    pub(super) ci: BTreeMap<Sha, CiFacts>,
    pub(super) points: Vec<ReviewerRequest>,
    pub(super) said: u64,
    pub(super) labels: BTreeSet<String>,
    pub(super) fork: bool,
    /// GitHub has it no more.
    pub(super) gone: bool,
    pub(super) signature: Option<String>,
    pub(super) diagnosis: Option<EffectFailure>,
    pub(super) fixer: Fixer,
    pub(super) way: Way,
    pub(super) files: Vec<String>,
}

impl Bench {
    pub(super) fn facts(&self, number: u64) -> PullFacts {
        let script = &self.scripts[&number];
        let head_repo = if script.fork { HeadRepo::Fork } else { HeadRepo::Same };
        let (updated_at, labels) = (at(self.worker.clock), script.labels.clone());
        PullFacts { updated_at, labels, head_repo, ..self.hub.facts(number) }
    }

    pub(super) fn merge_facts(&self, number: u64) -> MergeFacts {
        let (pull, script) = (&self.hub.pulls[&number], &self.scripts[&number]);
        MergeFacts {
            is_open: pull.landed.is_none() && !pull.closed,
            head_sha: pull.head.clone(),
            base_ref: pull.base.clone(),
            review: script.review,
            ci: script.ci.get(&pull.head).cloned().unwrap_or_default(),
            ..merge_facts(number, script.merge)
        }
    }

    pub(super) fn talk(&self, number: u64) -> ReviewActivity {
        let Script { said, points, .. } = &self.scripts[&number];
        let detail = Some(ReviewThreadActivity { mark: format!("mark {said}"), points: points.clone() });
        ReviewActivity { overview: format!("overview {said}"), detail }
    }

    pub(super) fn glance(&self, number: u64) -> HeartbeatFacts {
        let (merge, talk) = (self.merge_facts(number), self.talk(number));
        HeartbeatFacts { repo: "acme/widgets".parse().unwrap(), merge, talk }
    }

    pub(super) fn perform(&mut self, effect: &Effect, requested_at: Timestamp) -> Input {
        let result = match effect {
            Effect::Ratchet(effect) => self.ratchet_answer(effect),
            Effect::Mirror(effect) if !matches!(effect, MirrorEffect::ReadConversations { .. }) => {
                Ok(self.mirror_answer(effect))
            }
            Effect::Mirror(_) | Effect::Outbox(_) | Effect::Trains(_) | Effect::Commands(_) | Effect::Settings(_) => {
                return self.hub.perform(effect, requested_at);
            }
        };
        Input::Completed { effect: effect.clone(), requested_at, result }
    }

    fn mirror_answer(&self, effect: &MirrorEffect) -> Answer {
        match effect {
            MirrorEffect::Survey => {
                let there = self.scripts.iter().filter(|(_, script)| !script.gone);
                let pulls: Vec<PullFacts> = there.map(|(number, _)| self.facts(*number)).collect();
                listing(&pulls).into()
            }
            MirrorEffect::FetchPull { pr } => {
                Some(self.facts(pr.get())).filter(|_| !self.scripts[&pr.get()].gone).into()
            }
            MirrorEffect::ReadMergeStates { prs } => {
                let there = prs.iter().filter(|pr| !self.scripts[&pr.get()].gone);
                Answer::MergeStates(there.map(|pr| self.merge_facts(pr.get())).collect())
            }
            MirrorEffect::ReadConversations { .. } => unreachable!("the hub answers that"),
        }
    }

    fn ratchet_answer(&mut self, effect: &RatchetEffect) -> Result<Answer, EffectFailure> {
        Ok(match effect {
            RatchetEffect::ReadTalk { .. } if self.is_deaf => return Err(failure(EffectFailureKind::Transient)),
            RatchetEffect::ReadTalk { prs } => {
                Answer::ReviewActivity(prs.iter().map(|pr| (*pr, self.talk(pr.get()))).collect())
            }
            RatchetEffect::Diagnose { pr, .. } => {
                let script = &self.scripts[&pr.get()];
                let found = CiDiagnosis { signature: script.signature.clone() };
                script.diagnosis.clone().map_or(Ok(found), Err)?.into()
            }
            RatchetEffect::Fix { pr, head, .. } => self.fixed(pr.get(), head.clone())?.into(),
            RatchetEffect::Forward { pr, push, doubted, .. } => self.forwarded(pr.get(), push, *doubted)?.into(),
            RatchetEffect::ClearFixer { .. } if self.is_sticky => return Err(failure(EffectFailureKind::Transient)),
            RatchetEffect::ClearFixer { .. } => ().into(),
        })
    }

    pub(super) fn fixed(&mut self, number: u64, from: Sha) -> Result<FixEnd, EffectFailure> {
        let told = "no memory left".to_owned();
        let ended = |exit| FixEnd { exit, push: None, refused: None, diff: None };
        Ok(match self.scripts[&number].fixer {
            Fixer::Works => unreachable!("it goes on"),
            Fixer::Pushes => {
                let to = self.hub.commit(&[&from]);
                let files = self.scripts[&number].files.clone();
                let push = FixPush { from, tree: to.clone(), to, files, unlisted: 0 };
                FixEnd { push: Some(push), diff: Some("+ mended".to_owned()), ..ended(FixExit::Done) }
            }
            Fixer::GivesUp => ended(FixExit::Done),
            Fixer::Fails => ended(FixExit::Failed { told }),
            Fixer::Dies => ended(FixExit::Died { told }),
            Fixer::TimesOut => ended(FixExit::TimedOut { told: "after 30 minutes".to_owned() }),
            Fixer::Oversteps => FixEnd { refused: Some("it rewrites history".to_owned()), ..ended(FixExit::Done) },
            Fixer::Stops => ended(FixExit::Stopped),
            Fixer::Stumbles => return Err(failure(EffectFailureKind::Transient)),
            Fixer::Breaks => return Err(failure(EffectFailureKind::Permanent)),
        })
    }

    pub(super) fn forwarded(
        &mut self,
        number: u64,
        push: &FixPush,
        doubted: bool,
    ) -> Result<ForwardedPush, EffectFailure> {
        let way = self.scripts[&number].way;
        let head = self.hub.pulls[&number].head.clone();
        let probed = match &head {
            head if *head == push.to => PushProbeResult::Landed { head: head.clone() },
            head if *head == push.from => PushProbeResult::NotYet,
            _ => PushProbeResult::Foreign { head: head.clone(), tree: None },
        };
        if way == Way::FindsNoBranch {
            let probed = ForwardedPush::Probed(PushProbeResult::BranchGone);
            return Ok(if doubted { probed } else { ForwardedPush::Pushed(PushOutcome::BranchGone) });
        }
        match (doubted, way, probed) {
            (_, Way::Hangs, _) => unreachable!("it hangs"),
            (_, Way::GetsLost, _) => Err(failure(EffectFailureKind::Transient)),
            (_, Way::CannotBeFound, _) | (false, Way::CannotBeMade, _) => {
                let reason = "it is nowhere any more".to_owned();
                Err(EffectFailure { reason, ..failure(EffectFailureKind::Permanent) })
            }
            (true, _, probed) => Ok(ForwardedPush::Probed(probed)),
            (false, Way::IsRejected, _) => {
                Ok(ForwardedPush::Pushed(PushOutcome::Rejected { reason: "protected branch".to_owned() }))
            }
            (false, _, PushProbeResult::Foreign { head, tree }) => {
                Ok(ForwardedPush::Pushed(PushOutcome::Foreign { head, tree }))
            }
            (false, way, _) => {
                self.hub.pulls.get_mut(&number).expect("there").head = push.to.clone();
                match way {
                    Way::LandsUnheard => Err(failure(EffectFailureKind::Transient)),
                    _ => Ok(ForwardedPush::Pushed(PushOutcome::Landed)),
                }
            }
        }
    }
}
