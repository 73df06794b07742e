//! The loop.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, watch},
    task::{AbortHandle, JoinSet},
    time::{Instant, sleep_until},
};

use super::{
    Command, Settings,
    age::Age,
    attempt::{self, AttemptEnd, Lane},
    commit::{Beside, Flight, Landing, Unstored},
    error::Error,
    feed::Bells,
    ids::Ids,
    persist::Group,
    read::{Located, Reader},
    shares::Shares,
    tail::TailWriter,
};
use crate::{
    batch::{
        core::{BatchNo, Begin, Context, Core, Effect, Input, Output, Resumed, TaskNo},
        event::StopReason,
    },
    clock::Clock,
    dispatch::Backends,
    seeded::{self, Bug},
    store::{
        self, layout,
        records::{self, BatchRecord, Counters, Task},
    },
};

/// The most inputs that one commit serves: a bound on how long the first of them waits.
const GROUP_INPUTS: usize = 256;
/// How often a group looks whether more has come, in a row, before it is committed: an answer passes from the socket to its connection's
/// task and from there to its call's. Each look costs some microseconds, and a flush that serves one more call saves a hundred and more.
const GROUP_LOOKS: u32 = 3;
/// A group is committed once it is this large; the store's bound on one commit is 4 MiB, and one input adds at most about 1.
pub(super) const GROUP_BYTES: usize = 1 << 20;
/// What the running calls have to end once the store has failed in part: as long as a stop gives them by default.
const FAILING_GRACE: Duration = Duration::from_secs(30);
/// A timer far enough away to mean none.
const NEVER: Duration = Duration::from_hours(365 * 24);

/// A batch that runs, as the engine sees it.
pub(super) struct LiveBatch {
    pub(super) at: Located,
    pub(super) tenant: Arc<str>,
    /// Whose share it counts to.
    pub(super) agent: Option<Arc<str>>,
    pub(super) head: BatchRecord,
    pub(super) tail: Arc<TailWriter>,
    /// By index: the attempts that are under way.
    pub(super) attempts: HashMap<u32, AbortHandle>,
}

/// A task that has live batches.
pub(super) struct LiveTask {
    pub(super) record: Task,
    pub(super) batches: usize,
}

/// All live state.
pub(super) struct Loop {
    pub(super) core: Core,
    pub(super) clock: Clock,
    pub(super) ids: Ids,
    pub(super) reader: Arc<Reader>,
    pub(super) backends: Backends,
    pub(super) counters: Counters,
    pub(super) age: Age,
    pub(super) live: HashMap<BatchNo, LiveBatch>,
    pub(super) by_id: HashMap<(Arc<str>, Arc<str>), BatchNo>,
    pub(super) tasks: HashMap<TaskNo, LiveTask>,
    pub(super) task_numbers: HashMap<(Arc<str>, Arc<str>), TaskNo>,
    pub(super) bells: Bells,
    pub(super) group: Group,
    attempts: JoinSet<AttemptEnd>,
    call_timeout: Duration,
    /// How many batches may be unfinished before no new one is taken in.
    pub(super) most_open: usize,
    pub(super) shares: Shares,
    /// The group that is being made durable, or found no space.
    pub(super) unstored: Option<Unstored>,
    pub(super) flight: Flight,
    /// Why nothing more can be made durable, where something was left out of the open group.
    pub(super) fault: Option<store::Error>,
    /// Set while the server is about to stop: when running calls are given up.
    pub(super) give_up: Option<Instant>,
    /// Why it is about to stop, where the store is the reason.
    failing: Option<store::Error>,
}

impl Loop {
    /// Reads what an earlier run left unfinished and takes it up again. That counts as open, but goes on in any case.
    pub(super) fn open(
        reader: Arc<Reader>,
        clock: Clock,
        settings: Settings,
        backends: Backends,
    ) -> Result<Self, Error> {
        reader.load_dropping()?;
        let counters = match reader.store.get(layout::COUNTERS)? {
            Some(value) => records::decode(&value)?,
            None => Counters { next_task: 1, next_batch: 1, stopped_well: true, age: 0 },
        };
        let mut this = Self {
            core: Core::default(),
            clock,
            ids: Ids::new(clock),
            reader,
            backends,
            age: Age::new(counters.age, clock),
            counters,
            live: HashMap::new(),
            by_id: HashMap::new(),
            tasks: HashMap::new(),
            task_numbers: HashMap::new(),
            bells: Bells::default(),
            group: Group::default(),
            attempts: JoinSet::new(),
            call_timeout: settings.call_timeout,
            most_open: settings.open_batches,
            shares: Shares::new(settings.agent_open_batches),
            unstored: None,
            flight: Flight::new(Beside::Thread),
            fault: None,
            give_up: None,
            failing: None,
        };
        this.restore_backends()?;
        let batches = this.read_unfinished()?;
        this.commit()?;
        this.step(Input::Resume(batches));
        // What finds no space waits in the loop, which can be told to stop.
        this.commit()?;
        Ok(this)
    }

    /// Reads a batch up to where its log ends.
    pub(super) fn take_up(&mut self, at: Located) -> Result<Resumed, Error> {
        self.reader.verify(at.task)?;
        let head = self.reader.head(at)?;
        let spec = Arc::new(self.reader.spec(&head)?);
        let state = self.reader.state(at, spec.calls.len(), &spec.options)?;
        let record = self.reader.task_head(at.task)?;
        let stop = match head.stop {
            _ if record.end_time != 0 => Some(StopReason::TaskEnded),
            // Nobody waits for a direct step any more: like a parked batch it is closed, and whoever wants it repeats it (R11).
            _ if head.direct => Some(StopReason::Parked),
            stop => stop,
        };
        let tenant: Arc<str> = record.tenant.as_str().into();
        let batch_id: Arc<str> = head.batch_id.as_str().into();
        self.task_numbers.insert((tenant.clone(), record.task_id.as_str().into()), at.task);
        self.tasks.entry(at.task).or_insert(LiveTask { record, batches: 0 }).batches += 1;
        let keys = if seeded::has(Bug::KeysNotReadOnResume) { Vec::new() } else { self.stored_keys(at.task, &spec)? };
        let tail = TailWriter::new(state.last_sequence);
        if !head.direct {
            self.by_id.insert((tenant.clone(), batch_id.clone()), at.batch);
        }
        let agent = self.shares.take(&spec.agent_id);
        let live = LiveBatch { at, tenant: tenant.clone(), agent, head, tail, attempts: HashMap::new() };
        self.live.insert(at.batch, live);
        let begin = Begin { batch: at.batch, task: at.task, tenant, batch_id, spec, keys };
        Ok(Resumed { begin, state, stop })
    }

    /// Runs until the server has stopped, or the store fails.
    pub(super) async fn run(mut self, mut commands: mpsc::Receiver<Command>) -> Result<(), store::Error> {
        let mut tools = self.backends.changes();
        let outcome = loop {
            match self.turn(&mut commands, &mut tools).await {
                Ok(true) => {}
                Ok(false) => break self.failing.take().map_or(Ok(()), Err),
                Err(error) => break Err(error),
            }
        };
        self.close(outcome).await
    }

    /// Ends what still runs, and notes a stop that went well.
    pub(super) async fn close(mut self, outcome: Result<(), store::Error>) -> Result<(), store::Error> {
        self.attempts.shutdown().await;
        self.backends.shutdown().await;
        outcome.and_then(|()| self.note_good_stop())
    }

    /// Makes durable what has happened, then takes in what happens next; false once the server has stopped.
    pub(super) async fn turn(
        &mut self,
        commands: &mut mpsc::Receiver<Command>,
        tools: &mut watch::Receiver<u64>,
    ) -> Result<bool, store::Error> {
        if !self.flight.is_under_way() {
            match self.commit()? {
                Landing::Full => {
                    self.wait_for_space(commands).await;
                    if self.gives_up() {
                        tracing::warn!(
                            "stopped while the store is full: calls whose outcome had no space are in doubt"
                        );
                        return Ok(false);
                    }
                    return Ok(true);
                }
                Landing::Durable if self.has_stopped() => return Ok(false),
                Landing::Durable | Landing::UnderWay => {}
            }
        }
        if self.flight.is_under_way() && (self.group.bytes >= GROUP_BYTES || self.gives_up()) {
            let written = self.flight.landed().await?;
            self.landed(written)?;
            return Ok(true);
        }
        self.take_one(commands, tools).await?;
        self.gather(commands).await?;
        Ok(true)
    }

    /// Takes in whatever else arrives meanwhile: it goes into the same flush.
    async fn gather(&mut self, commands: &mut mpsc::Receiver<Command>) -> Result<(), store::Error> {
        let (mut inputs, mut looks) = (1, 0);
        // One that is under way is joined by nothing more, and tells when the next can begin.
        while !self.flight.is_under_way() && inputs < GROUP_INPUTS && self.group.bytes < GROUP_BYTES {
            if let Some(end) = self.attempts.try_join_next() {
                self.attempt_ended(end)?;
            } else if let Ok(command) = commands.try_recv() {
                self.obey(command);
            } else if looks < GROUP_LOOKS {
                looks += 1;
                tokio::task::yield_now().await;
                continue;
            } else {
                break;
            }
            (inputs, looks) = (inputs + 1, 0);
        }
        Ok(())
    }

    /// Waits for something to happen, and takes it in.
    async fn take_one(
        &mut self,
        commands: &mut mpsc::Receiver<Command>,
        tools: &mut watch::Receiver<u64>,
    ) -> Result<(), store::Error> {
        let due = self.clock.instant(self.core.next_due().unwrap_or(NEVER));
        let give_up = self.give_up.unwrap_or(due);
        tokio::select! {
            written = self.flight.landed() => {
                let written = written?;
                self.landed(written)?;
            }
            Some(end) = self.attempts.join_next(), if !self.attempts.is_empty() => self.attempt_ended(end)?,
            command = commands.recv() => match command {
                Some(command) => self.obey(command),
                // Nobody is left who could ask for anything.
                None => self.drain(Duration::ZERO),
            },
            () = sleep_until(due) => self.step(Input::Tick),
            Ok(()) = tools.changed() => self.step(Input::ToolsChanged),
            () = sleep_until(give_up), if self.give_up.is_some() => {}
        }
        Ok(())
    }

    pub(super) fn obey(&mut self, command: Command) {
        // Whoever asked may be gone by now; a batch that was taken in runs all the same.
        match command {
            Command::Start(request) => self.start(*request),
            Command::Plan { tenant, spec, reply } => {
                let _ = reply.send(self.plan(&tenant, &spec));
            }
            Command::Follow { at, reply } => {
                let _ = reply.send(self.live.get(&at.batch).map(|live| live.tail.reader()));
            }
            Command::FollowTask { task, reply } => self.follow_task(task, reply),
            Command::Cancel { at, abort, reply } => self.cancel(at, abort, reply),
            Command::EndTask(request) => self.end_task(*request),
            Command::RunningKeys { task, reply } => self.running_keys(task, reply),
            Command::SettleKey(request) => self.settle_key(*request),
            Command::SetVariable(request) => self.set_variable(*request),
            Command::ListTools { reply } => {
                let _ = reply.send(self.backends.list_tools());
            }
            Command::ReachBackend { spec, reply } => self.reach_backend(spec, reply),
            Command::RegisterBackend(request) => self.register_backend(*request),
            Command::DeregisterBackend { name, reply } => self.deregister_backend(name, reply),
            Command::ListBackends { reply } => {
                let _ = reply.send(self.backends.states());
            }
            Command::Expire(request) => self.expire(*request),
            Command::Drain { grace } => self.drain(grace),
            Command::StoreFailed { error } => {
                tracing::error!(%error, "the store failed in part: running calls are written to their end, then the server stops");
                self.failing.get_or_insert(error);
                self.drain(FAILING_GRACE);
            }
        }
    }

    pub(super) fn drain(&mut self, grace: Duration) {
        if self.give_up.is_none() {
            self.give_up = Some(Instant::now() + grace);
            self.step(Input::Drain);
        }
    }

    pub(super) fn draining(&self) -> bool {
        self.give_up.is_some()
    }

    fn has_stopped(&self) -> bool {
        self.give_up.is_some() && (!self.core.is_busy() || self.gives_up())
    }

    pub(super) fn step(&mut self, input: Input) {
        let mut out = Output::default();
        let mut context = Context { now: self.clock.now(), ids: &mut self.ids, tools: &self.backends };
        self.core.step(input, &mut context, &mut out);
        self.persist(out);
    }

    fn attempt_ended(&mut self, end: Result<AttemptEnd, tokio::task::JoinError>) -> Result<(), store::Error> {
        match end {
            Ok(AttemptEnd { batch, index, input, lease }) => {
                self.group.leases.extend(lease);
                if let Some(live) = self.live.get_mut(&batch) {
                    live.attempts.remove(&index);
                }
                self.step(input?);
                Ok(())
            }
            // It was aborted, and the core has counted it as lost already.
            Err(error) if error.is_cancelled() => Ok(()),
            Err(error) => Err(store::Error::Failed(format!("an attempt ended in a panic: {error}"))),
        }
    }

    pub(super) fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Send(wish) => self.spawn(Lane::Call, wish),
            Effect::Lookup(wish) => self.spawn(Lane::Lookup, wish),
            Effect::Abort { batch, index } => {
                if let Some(attempt) = self.live.get_mut(&batch).and_then(|live| live.attempts.remove(&index)) {
                    attempt.abort();
                }
            }
        }
    }

    pub(super) fn has_attempts(&self) -> bool {
        !self.attempts.is_empty()
    }

    fn spawn(&mut self, lane: Lane, wish: crate::batch::core::Attempt) {
        let (batch, index) = (wish.batch, wish.index);
        let Some((spec, _)) = self.core.batch(batch) else { return };
        let Some(live) = self.live.get_mut(&batch) else { return };
        let attempt = attempt::outgoing(spec, &live.head, &wish, self.call_timeout);
        let run = attempt::run(
            lane,
            wish,
            attempt,
            self.backends.clone(),
            Arc::clone(&self.reader),
            live.tail.reporter(self.clock),
        );
        let handle = self.attempts.spawn(run);
        live.attempts.insert(index, handle);
    }

    /// A batch is over and everyone was told.
    pub(super) fn forget(&mut self, batch: BatchNo) {
        let Some(live) = self.live.remove(&batch) else { return };
        if let Some(agent) = &live.agent {
            self.shares.give_back(agent);
        }
        self.by_id.remove(&(live.tenant.clone(), live.head.batch_id.as_str().into()));
        let task = live.at.task;
        if let Some(entry) = self.tasks.get_mut(&task) {
            entry.batches -= 1;
            if entry.batches == 0
                && let Some(entry) = self.tasks.remove(&task)
            {
                self.task_numbers.remove(&(live.tenant, entry.record.task_id.as_str().into()));
            }
        }
    }
}
