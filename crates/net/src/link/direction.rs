//! One direction of a link: the thread that reads, and the thread that writes when a piece is due.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use super::counts::DirectionCounters;
use super::offload::WireSize;
use super::plan::{DirectionPlan, Scheduling};
use super::pool::{Buffer, Pool, TRIM_EVERY_NS};
use super::shape::{Admission, Shaper};
use super::sleep::{PreciseSleep, StopFlag, Woken, minimise_timer_slack, now_ns};
use super::sys::memory::BlockSlice;
use super::tun::Tun;
use super::{LinkError, LinkScheduling, THREADS, sys};

/// Real-time priority, below the kernel's own threads (50).
const PRIORITY: i32 = 10;
/// Nice value of a thread that may not be real-time.
const NICE: i32 = -10;

/// How often an idle reader returns unused memory to the kernel.
const TRIM_EVERY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: TRIM_EVERY_NS as _,
};

/// Configuration of the threads of one direction.
pub(super) struct DirectionThreads {
    pub(super) from: Arc<Tun>,
    pub(super) to: Arc<Tun>,
    pub(super) stop_flag: Arc<StopFlag>,
    pub(super) counters: Arc<DirectionCounters>,
    pub(super) plan: DirectionPlan,
    pub(super) seed: u64,
    pub(super) purpose: &'static str,
    pub(super) scheduling: Scheduling,
    pub(super) pool: Arc<Pool>,
}

/// A piece in transit.
struct Piece {
    due_ns: u64,
    length: usize,
    wire_size: WireSize,
    memory: BlockSlice,
}

impl DirectionThreads {
    /// Starts both threads; returns how they are scheduled.
    pub(super) fn start(
        self,
        threads: &mut Vec<JoinHandle<()>>,
    ) -> Result<LinkScheduling, LinkError> {
        // Bounded by the memory for pieces.
        let (pass, arriving) = channel();
        let (say, scheduled) = sync_channel(1);
        let scheduling = self.scheduling;
        let writer = Writer {
            to: self.to,
            stop_flag: Arc::clone(&self.stop_flag),
            counters: Arc::clone(&self.counters),
            arriving,
        };
        let reader = Reader {
            from: self.from,
            stop_flag: self.stop_flag,
            counters: self.counters,
            shaper: Shaper::new(self.plan, self.seed, self.purpose),
            buffer: Buffer::new(self.pool),
            pass,
        };
        threads.push(spawn(THREADS[0], move || {
            let _ = say.send(schedule(scheduling));
            // If this fails, timers are up to 50 µs late, which the counts show.
            let _ = minimise_timer_slack();
            writer.run();
        })?);
        threads.push(spawn(THREADS[1], move || {
            schedule(scheduling);
            reader.run();
        })?);
        Ok(scheduled.recv().unwrap_or(LinkScheduling::Default))
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, LinkError> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(body)
        .map_err(LinkError::NoStart)
}

/// Raises the priority of the calling thread as far as permitted.
fn schedule(wanted: Scheduling) -> LinkScheduling {
    if wanted == Scheduling::Default {
        return LinkScheduling::Default;
    }
    if sys::set_sched_fifo(PRIORITY).is_ok() {
        return LinkScheduling::RealTime;
    }
    // On Linux this is the calling thread alone.
    match rustix::process::setpriority_process(None, NICE) {
        Ok(()) => LinkScheduling::Nice,
        Err(_) => LinkScheduling::Default,
    }
}

struct Reader {
    from: Arc<Tun>,
    stop_flag: Arc<StopFlag>,
    counters: Arc<DirectionCounters>,
    shaper: Shaper,
    buffer: Buffer,
    pass: Sender<Piece>,
}

impl Reader {
    fn run(mut self) {
        while !self.stop_flag.is_stopped() {
            match self.from.read(self.buffer.free_space()) {
                Ok(length) => self.take(length),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The device was removed: no more packets come.
                Err(_) => return,
            }
        }
    }

    fn wait(&mut self) {
        let mut either = [
            PollFd::new(&*self.from, PollFlags::IN),
            PollFd::new(&*self.stop_flag, PollFlags::IN),
        ];
        let limit = self.buffer.is_shared().then_some(&TRIM_EVERY);
        // An interrupted `poll` is repeated by the caller's loop.
        if poll(&mut either, limit) == Ok(0) {
            self.buffer.trim(now_ns());
        }
    }

    fn take(&mut self, length: usize) {
        let now = now_ns();
        let Some(wire_size) = WireSize::of(self.buffer.filled(length)) else {
            return;
        };
        let counters = &self.counters.reader;
        let due_ns = match self.shaper.admit(now, wire_size.bytes) {
            Admission::Due(due_ns) => due_ns,
            Admission::Lost => {
                counters.lost.add(wire_size.packets);
                return counters.entered(wire_size);
            }
            Admission::Full => {
                counters.queue_full.add(wire_size.packets);
                return counters.entered(wire_size);
            }
        };
        match self.buffer.keep(length) {
            Some(memory) => {
                // Fails only if the writer has ended.
                let _ = self.pass.send(Piece {
                    due_ns,
                    length,
                    wire_size,
                    memory,
                });
            }
            None => counters.no_buffer.add(wire_size.packets),
        }
        counters.entered(wire_size);
    }
}

struct Writer {
    to: Arc<Tun>,
    stop_flag: Arc<StopFlag>,
    counters: Arc<DirectionCounters>,
    arriving: Receiver<Piece>,
}

impl Writer {
    fn run(self) {
        let stop_flag = Arc::clone(&self.stop_flag);
        let mut sleep = PreciseSleep::new(&stop_flag);
        // Ends with the reader, which owns the sender.
        while let Ok(piece) = self.arriving.recv() {
            let Woken::At(now) = sleep.until(piece.due_ns) else {
                return;
            };
            let counters = &self.counters.writer;
            counters.late_by(now - piece.due_ns);
            match self.to.write(&piece.memory[..piece.length]) {
                Ok(_) => {
                    counters.packets.add(piece.wire_size.packets);
                    counters.bytes.add(piece.wire_size.bytes);
                    counters.pieces.add(1);
                }
                Err(_) => counters.refused.add(piece.wire_size.packets),
            }
        }
    }
}
