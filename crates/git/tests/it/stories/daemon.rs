//! The daemon without its process: the real decider and the real git engine, a clock that is moved by hand, and a log.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use git::repository::{Extent, Repository, Settings as CloneSettings};
use git::stack::{Pull, Stack};
use git::{Committer, Git, Remote, Signing};
use jiff::Timestamp;
use merge_train_core::facts::{
    CiFacts, CommentChange, ConversationFacts, Delivery, MergeFacts, Permission, RepoListing, SettingsFileContent,
    WebhookEvent,
};
use merge_train_core::ids::{BranchName, CommentId, DeliveryId, PrNumber, RepoId, Sha};
use merge_train_core::inbox::RequestHash;
use merge_train_core::repo::trains::work::{
    ObservedSquash, RetargetOutcome, SquashOutcome, TrainTask, TrainTaskOutcome,
};
use merge_train_core::repo::trains::{MergeMethods, MergePolicy, StaleApprovals, TrainState};
use merge_train_core::repo::{
    Answer, Effect, EffectFailure, EffectFailureKind, EffectKey, Input, NoteContent, Plan, RecordedEvent, RepoState,
    Settings, apply, decide, next_wake,
};
use merge_train_core::repo::{commands, mirror, outbox, settings, trains};
use tokio_util::sync::CancellationToken;

use super::github::{BOT, GitHub, MAIN, State, Webhook, branch, sha};
use super::plain;

/// How many effects a story may take: several times what the longest takes.
const MOST_EFFECTS: usize = 4_000;

/// Where the comment of a status is, by the pull request that it is on.
const STATUS_COMMENTS: u64 = 9_000_000;

pub struct Daemon {
    runtime: tokio::runtime::Runtime,
    repository: Arc<Repository>,
    stacks: BTreeMap<PrNumber, Stack>,
    pub state: RepoState,
    log: Vec<RecordedEvent>,
    settings: Settings,
    seconds: i64,
    pub under_way: BTreeMap<EffectKey, Effect>,
    deliveries: u64,
    effects: usize,
}

/// Something that answers for the engine.
pub trait Answers {
    /// Just before an effect is done, while it is done, and after it, before its answer is heard.
    fn around(&mut self, github: &mut GitHub, moment: Moment, effect: &Effect);
    /// What the daemon is told: the truth, unless a test takes a guard away.
    fn told(&mut self, github: &GitHub, work: &TrainTask, truth: TrainTaskOutcome) -> TrainTaskOutcome;
    /// What the engine is asked: what the decider wants, unless a test takes a guard away.
    fn asked(&mut self, work: &TrainTask) -> TrainTask;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Moment {
    Before,
    /// After everything was read and before anything is changed.
    Inside,
    After,
}

impl Daemon {
    pub fn new(github: &GitHub) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let committer =
            Committer { name: "merge-train".into(), email: "merge-train@example.com".into(), signing: Signing::Off };
        let settings = CloneSettings { base: github.path().join("clones"), extent: Extent::Full, committer };
        let remote = Remote::folder(&github.origin()).expect("an absolute path");
        let repository = runtime.block_on(async {
            let git = Git::find("git").await.expect("git is installed");
            Repository::open(git, &settings, &repo(), remote).await.expect("a clone")
        });
        // What GitHub has need not be copied.
        let info = settings.base.join("octocat-hello/clone/objects/info");
        std::fs::create_dir_all(&info).expect("a folder");
        std::fs::write(info.join("alternates"), format!("{}\n", github.origin().join("objects").display()))
            .expect("a file");
        Self {
            runtime,
            repository,
            stacks: BTreeMap::new(),
            state: RepoState::default(),
            log: Vec::new(),
            settings: Settings::default(),
            seconds: 0,
            under_way: BTreeMap::new(),
            deliveries: 0,
            effects: 0,
        }
    }

    /// One that knows nothing but has the same clone.
    pub fn start_over(&mut self) {
        self.state = RepoState::default();
        self.log.clear();
        self.under_way.clear();
        self.effects = 0;
        self.stacks.clear();
        self.hear("ping", None, WebhookEvent::Ping);
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_second(1_767_225_600 + self.seconds).expect("a time")
    }

    fn feed(&mut self, input: &Input) {
        let now = self.now();
        let Plan { events, effects, cancels } = decide(&self.state, input, &self.settings, now);
        for event in events {
            apply(&mut self.state, &event, now);
            self.log.push(RecordedEvent { seq: self.log.len() as u64 + 1, ts: now, event });
        }
        for served in cancels {
            self.under_way.remove(&served.work());
        }
        for effect in effects {
            self.under_way.entry(effect.key()).or_insert(effect);
        }
    }

    fn hear(&mut self, event: &str, action: Option<&str>, happening: WebhookEvent) {
        self.deliveries += 1;
        let id = DeliveryId::parse(format!("delivery-{}", self.deliveries)).expect("an id");
        let hash = RequestHash::of(format!("{}", self.deliveries).as_bytes());
        let (event, action) = (event.to_owned(), action.map(str::to_owned));
        let delivery = Delivery { id, event, action, repo: Some(repo()), default_branch: None, happening };
        let received_at = self.now();
        self.feed(&Input::Delivery { delivery, hash, received_at });
    }

    /// Hears of all that GitHub has to tell.
    pub fn hear_all(&mut self, github: &mut GitHub) {
        for webhook in std::mem::take(&mut github.webhooks) {
            self.seconds += 1;
            match webhook {
                Webhook::Pull(number) => {
                    let Some(facts) = github.facts(number) else { continue };
                    self.hear("pull_request", Some("edited"), WebhookEvent::Pull(facts));
                }
                Webhook::Comment { id, is_new } => {
                    let Some(comment) = github.comments.get(&id).cloned() else { continue };
                    let change = if is_new { CommentChange::Created } else { CommentChange::Edited };
                    let action = if is_new { "created" } else { "edited" };
                    self.hear("issue_comment", Some(action), WebhookEvent::Comment(change, comment));
                }
                Webhook::Deleted(comment) => {
                    let happening = WebhookEvent::Comment(CommentChange::Deleted, comment);
                    self.hear("issue_comment", Some("deleted"), happening);
                }
            }
        }
    }

    /// Does one thing that is under way and hears of it, or lets the time pass until something is due. False: nothing is left.
    pub fn step(&mut self, github: &mut GitHub, which: usize, people: &mut impl Answers) -> bool {
        self.effects += 1;
        assert!(self.effects < MOST_EFFECTS, "it never comes to rest: {:?}", self.under_way);
        let Some(key) = self.under_way.keys().nth(which % self.under_way.len().max(1)).copied() else {
            return self.sleep();
        };
        let effect = self.under_way.remove(&key).expect("just found");
        people.around(github, Moment::Before, &effect);
        let requested_at = self.now();
        self.seconds += 1;
        let result = self.perform(github, &effect, people);
        github.notice_pushes();
        people.around(github, Moment::After, &effect);
        self.feed(&Input::Completed { effect, requested_at, result });
        true
    }

    fn sleep(&mut self) -> bool {
        let now = self.now();
        let Some(wake) = next_wake(&self.state, &self.settings, now) else { return false };
        let wait = wake.duration_since(now).as_secs().max(1);
        // The polls that go on for ever, and nothing sooner.
        if wait > 300 {
            return false;
        }
        self.seconds += wait;
        self.feed(&Input::Tick);
        true
    }

    /// The time of the next poll: what no webhook told of is found.
    pub fn poll(&mut self) {
        self.seconds += 15 * 60;
        self.feed(&Input::Tick);
    }

    /// The process dies, and another goes on from the log. What was under way was done or not, and nobody heard of it.
    pub fn crash(&mut self, github: &mut GitHub, done: bool, people: &mut impl Answers) {
        for effect in std::mem::take(&mut self.under_way).into_values() {
            if done && matches!(effect, Effect::Trains(trains::Effect::Work { .. })) {
                drop(self.perform(github, &effect, people));
                github.notice_pushes();
            }
        }
        let mut state = RepoState::default();
        for recorded in &self.log {
            let text = serde_json::to_string(&recorded.event).expect("an event is JSON");
            apply(&mut state, &serde_json::from_str(&text).expect("the event again"), recorded.ts);
        }
        assert_eq!(state, self.state, "what is replayed is what was there");
        self.seconds += 1;
        self.feed(&Input::Resume);
    }

    /// The trains that would go on by themselves.
    pub fn live(&self) -> Vec<PrNumber> {
        let is_live = |state: TrainState| matches!(state, TrainState::Running | TrainState::WaitingCi);
        let trains = self.state.active_trains().values().filter(|train| is_live(train.state));
        trains.map(|train| train.original_root_pr).collect()
    }

    /// Why a train waits, as it says.
    pub fn why(&self, root: PrNumber) -> Option<String> {
        self.state.why(root).map(|why| format!("{why:?}"))
    }

    pub fn log(&self) -> String {
        let line = |recorded: &RecordedEvent| serde_json::to_string(&recorded.event).expect("an event is JSON");
        self.log.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn perform(
        &mut self,
        github: &mut GitHub,
        effect: &Effect,
        people: &mut impl Answers,
    ) -> Result<Answer, EffectFailure> {
        Ok(match effect {
            Effect::Mirror(effect) => read(github, effect),
            Effect::Outbox(outbox::Effect::Say { pr, say, .. }) => {
                match say {
                    NoteContent::Comment { body } => github.bot_says(pr.get(), body.clone()),
                    NoteContent::Close {} => github.change(pr.get(), |pull| pull.state = State::Closed),
                    NoteContent::Acknowledge { .. } | NoteContent::Plan { .. } | NoteContent::Order { .. } => {}
                }
                ().into()
            }
            Effect::Trains(effect) => return self.perform_for_train(github, effect, people),
            Effect::Commands(commands::Effect::ReadPermission { .. }) => Permission::Write.into(),
            Effect::Settings(settings::Effect::ReadSettings { .. }) => {
                let said = Ok(settings::RepositorySettings::default());
                settings::SettingsFile { at: sha(&github.main), blob: None, said }.into()
            }
            Effect::Settings(settings::Effect::ReadProposal { .. }) => settings::SettingsProposal::Untouched.into(),
            Effect::Settings(settings::Effect::ShowCheck { .. }) | Effect::Ratchet(_) => {
                unreachable!("nothing is under ratchet here")
            }
        })
    }

    fn perform_for_train(
        &mut self,
        github: &mut GitHub,
        effect: &trains::Effect,
        people: &mut impl Answers,
    ) -> Result<Answer, EffectFailure> {
        Ok(match effect {
            trains::Effect::Work { root, work } => {
                let truth = self.work(github, *root, &people.asked(work), people)?;
                people.told(github, work, truth).into()
            }
            trains::Effect::WriteStatus { root, body, .. } => {
                let id = STATUS_COMMENTS + root.get();
                github.write_comment(id, root.get(), BOT, body);
                CommentId::new(id).into()
            }
            trains::Effect::ReadStatus { comment, .. } => github.comments.get(&comment.get()).cloned().into(),
            trains::Effect::ReadPolicy { .. } => {
                let methods =
                    MergeMethods { allow_squash_merge: true, allow_merge_commit: false, allow_rebase_merge: false };
                let required_checks = Some(std::collections::BTreeSet::new());
                MergePolicy { methods, stale_approvals: StaleApprovals::Kept, required_checks }.into()
            }
            trains::Effect::DeleteBranch { .. } => ().into(),
        })
    }

    /// As the daemon's driver does it: git's work by the engine, the rest by GitHub.
    fn work(
        &mut self,
        github: &mut GitHub,
        root: PrNumber,
        work: &TrainTask,
        people: &mut impl Answers,
    ) -> Result<TrainTaskOutcome, EffectFailure> {
        let effect = Effect::Trains(trains::Effect::Work { root, work: work.clone() });
        let mut inside = |github: &mut GitHub| people.around(github, Moment::Inside, &effect);
        match work {
            TrainTask::Squash { pull, head, base, .. } => {
                Ok(TrainTaskOutcome::Squashed(squash(github, pull.get(), head.as_str(), base, &mut inside)))
            }
            TrainTask::Look { pull } => Ok(TrainTaskOutcome::Seen(match &github.pulls[&pull.get()].state {
                State::Open => ObservedSquash::Open { head: sha(&github.pulls[&pull.get()].head) },
                State::Closed => ObservedSquash::Closed,
                State::Merged(commit) => ObservedSquash::Merged { commit: Some(sha(commit)) },
            })),
            TrainTask::Retarget { pull, base } => {
                inside(github);
                if !github.pulls[&pull.get()].is_open() {
                    return Ok(TrainTaskOutcome::Retargeted(RetargetOutcome::NotOpen));
                }
                let base = base.to_string();
                github.change(pull.get(), |pull| pull.base = base);
                Ok(TrainTaskOutcome::Retargeted(RetargetOutcome::Done))
            }
            TrainTask::Worktrees(_) => Ok(TrainTaskOutcome::Tidied),
            TrainTask::Push(_) => {
                // Whoever pushes now comes between what git read and what it writes.
                inside(github);
                self.git_work(root, work)
            }
            TrainTask::Plan { .. }
            | TrainTask::Merge { .. }
            | TrainTask::Probe(_)
            | TrainTask::Expect { .. }
            | TrainTask::Prove { .. } => self.git_work(root, work),
        }
    }

    fn git_work(&mut self, root: PrNumber, work: &TrainTask) -> Result<TrainTaskOutcome, EffectFailure> {
        let (repository, cancel) = (self.repository.clone(), CancellationToken::new());
        let stacks = &mut self.stacks;
        let done = self.runtime.block_on(async {
            if let Entry::Vacant(entry) = stacks.entry(root) {
                entry.insert(repository.stack(root, cancel.clone()).await?);
            }
            let stack = &stacks[&root];
            Ok(match work {
                TrainTask::Plan { members, default } => {
                    let view = repository.glance(cancel.clone()).await?;
                    let plan = view.plan(members, default).await;
                    view.close().await?;
                    TrainTaskOutcome::Planned(plan?)
                }
                TrainTask::Merge { step, pull, branch, default } => {
                    let pull = Pull { number: *pull, branch: branch.clone() };
                    TrainTaskOutcome::Merged(stack.merge_for_train(&pull, step, default).await?)
                }
                TrainTask::Push(push) => TrainTaskOutcome::Pushed(stack.push_for_train(push).await?),
                TrainTask::Probe(push) => TrainTaskOutcome::Probed(stack.probe_for_train(push).await?),
                TrainTask::Expect { change, head, default } => {
                    TrainTaskOutcome::Expected(stack.expect_for_train(change, head, default).await?)
                }
                TrainTask::Prove { landed, earlier, default } => {
                    TrainTaskOutcome::Proved(stack.prove_for_train(landed, earlier, default).await?)
                }
                TrainTask::Squash { .. }
                | TrainTask::Look { .. }
                | TrainTask::Retarget { .. }
                | TrainTask::Worktrees(_) => {
                    unreachable!("GitHub does these")
                }
            })
        });
        done.map_err(|error: git::Error| {
            let kind = match &error {
                git::Error::Unreachable { .. } | git::Error::Failed { .. } => EffectFailureKind::Transient,
                _ => EffectFailureKind::Permanent,
            };
            EffectFailure { reason: error.to_string(), kind, retry_at: None }
        })
    }
}

/// What GitHub says when it is asked.
fn read(github: &mut GitHub, effect: &mirror::Effect) -> Answer {
    match effect {
        mirror::Effect::Survey => {
            let pulls = github.pulls.keys().filter_map(|number| github.facts(*number)).collect();
            RepoListing { default_branch: branch(MAIN), pulls, bot: BOT }.into()
        }
        mirror::Effect::ReadConversations { prs } => {
            let conversation = |pr: &PrNumber| ConversationFacts {
                pr: *pr,
                merged_by: github.landed.contains(&pr.get()).then_some(BOT),
                comments: github.comments.values().filter(|comment| comment.pr == *pr).cloned().collect(),
                acknowledged: std::collections::BTreeSet::new(),
                former_heads: former_heads(github, *pr),
            };
            Answer::Conversations(prs.iter().map(conversation).collect())
        }
        mirror::Effect::FetchPull { pr } => github.facts(pr.get()).into(),
        mirror::Effect::ReadMergeStates { prs } => {
            Answer::MergeStates(prs.iter().filter_map(|pr| merge_facts(github, *pr)).collect())
        }
    }
}

/// What the branch was forced away from: GitHub has it on the timeline.
fn former_heads(github: &GitHub, pr: PrNumber) -> Vec<Sha> {
    let Some(pull) = github.pulls.get(&pr.get()) else { return Vec::new() };
    let origin = github.origin();
    let is_gone =
        |commit: &&String| plain::try_git(&origin, &["merge-base", "--is-ancestor", commit, &pull.head]).is_none();
    let heads = pull.heads.iter().map(|head| &head.commit);
    heads.filter(is_gone).map(|commit| Sha::parse(commit.clone()).expect("a commit")).collect()
}

/// GitHub guards the head, and nothing guards the base: it is looked at just before.
fn squash(
    github: &mut GitHub,
    number: u64,
    head: &str,
    base: &BranchName,
    inside: &mut impl FnMut(&mut GitHub),
) -> SquashOutcome {
    let found = branch(&github.pulls[&number].base);
    if let State::Merged(commit) = &github.pulls[&number].state {
        return SquashOutcome::Merged { commit: sha(commit) };
    }
    if found != *base {
        return SquashOutcome::BaseChanged { base: found };
    }
    inside(github);
    match github.squash_for_train(number, head) {
        Ok(commit) => SquashOutcome::Merged { commit: sha(&commit) },
        Err(message) if message.starts_with("Head branch") => SquashOutcome::HeadChanged,
        Err(message) => SquashOutcome::Refused { message: message.to_owned() },
    }
}

fn merge_facts(github: &mut GitHub, number: PrNumber) -> Option<MergeFacts> {
    let pull = github.pulls.get(&number.get())?.clone();
    Some(MergeFacts {
        number,
        is_open: pull.is_open(),
        head_sha: sha(&pull.head),
        base_ref: branch(&pull.base),
        state: github.merge_state(number.get()),
        draft: false,
        review: None,
        ci: CiFacts::default(),
        own_file: SettingsFileContent::default(),
    })
}

fn repo() -> RepoId {
    RepoId::new("octocat", "hello").expect("a name")
}

/// The pull request that an effect is about, if a train does it.
pub fn subject(effect: &Effect) -> Option<u64> {
    let Effect::Trains(trains::Effect::Work { root, work }) = effect else { return None };
    Some(match work {
        TrainTask::Merge { pull, .. }
        | TrainTask::Squash { pull, .. }
        | TrainTask::Look { pull }
        | TrainTask::Retarget { pull, .. } => pull.get(),
        TrainTask::Push(push) | TrainTask::Probe(push) => push.pull.get(),
        TrainTask::Expect { change, .. } => change.pull.get(),
        TrainTask::Prove { landed, .. } => landed.pull.get(),
        TrainTask::Plan { .. } | TrainTask::Worktrees(_) => root.get(),
    })
}
