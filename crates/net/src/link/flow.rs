//! One way of a link: the thread that reads, and the thread that writes when a piece is due.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use super::counts::Tally;
use super::offload::OnWire;
use super::pause::{Bell, Pause, Woken, exact_timers, now_ns};
use super::plan::{Scheduling, WayPlan};
use super::pool::{Buffer, LOOK_NS, Pool};
use super::shape::{Fate, Shaper};
use super::sys::memory::BlockSlice;
use super::tun::Tun;
use super::{LinkError, Scheduled, THREADS, sys};

/// In the middle of the low half: above what is not real-time, below the kernel's own threads (50).
const PRIORITY: i32 = 10;
/// What a thread that may not be real-time asks for.
const NICE: i32 = -10;

/// So often a reader without packets looks whether links have memory that they need no more.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: LOOK_NS as _,
};

/// What one way is made of.
pub(super) struct Flow {
    pub(super) from: Arc<Tun>,
    pub(super) to: Arc<Tun>,
    pub(super) bell: Arc<Bell>,
    pub(super) tally: Arc<Tally>,
    pub(super) plan: WayPlan,
    pub(super) seed: u64,
    pub(super) purpose: &'static str,
    pub(super) scheduling: Scheduling,
    pub(super) pool: Arc<Pool>,
}

/// A piece under way.
struct Piece {
    due_ns: u64,
    length: usize,
    on_wire: OnWire,
    memory: BlockSlice,
}

impl Flow {
    /// Starts both threads, and says how they are scheduled.
    pub(super) fn start(self, threads: &mut Vec<JoinHandle<()>>) -> Result<Scheduled, LinkError> {
        // Its limit is the memory that there is for pieces.
        let (pass, arriving) = channel();
        let (say, scheduled) = sync_channel(1);
        let scheduling = self.scheduling;
        let writer = Writer {
            to: self.to,
            bell: Arc::clone(&self.bell),
            tally: Arc::clone(&self.tally),
            arriving,
        };
        let reader = Reader {
            from: self.from,
            bell: self.bell,
            tally: self.tally,
            shaper: Shaper::new(self.plan, self.seed, self.purpose),
            buffer: Buffer::new(self.pool),
            pass,
        };
        threads.push(spawn(THREADS[0], move || {
            let _ = say.send(schedule(scheduling));
            // Without it timers are up to 50 µs late: seen in the counts, no reason to end.
            let _ = exact_timers();
            writer.run();
        })?);
        threads.push(spawn(THREADS[1], move || {
            schedule(scheduling);
            reader.run();
        })?);
        Ok(scheduled.recv().unwrap_or(Scheduled::Usual))
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, LinkError> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(body)
        .map_err(LinkError::NoStart)
}

/// Puts the calling thread before others as far as permitted.
fn schedule(wanted: Scheduling) -> Scheduled {
    if wanted == Scheduling::Usual {
        return Scheduled::Usual;
    }
    if sys::go_first(PRIORITY).is_ok() {
        return Scheduled::RealTime;
    }
    // On Linux this is the calling thread alone.
    match rustix::process::setpriority_process(None, NICE) {
        Ok(()) => Scheduled::Nice,
        Err(_) => Scheduled::Usual,
    }
}

struct Reader {
    from: Arc<Tun>,
    bell: Arc<Bell>,
    tally: Arc<Tally>,
    shaper: Shaper,
    buffer: Buffer,
    pass: Sender<Piece>,
}

impl Reader {
    fn run(mut self) {
        while !self.bell.is_rung() {
            match self.from.read(self.buffer.room()) {
                Ok(length) => self.take(length),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The device was removed: nothing will come any more.
                Err(_) => return,
            }
        }
    }

    fn wait(&mut self) {
        let mut either = [
            PollFd::new(&*self.from, PollFlags::IN),
            PollFd::new(&*self.bell, PollFlags::IN),
        ];
        let limit = self.buffer.is_shared().then_some(&LOOK);
        // Interrupted or not, the loop looks again.
        if poll(&mut either, limit) == Ok(0) {
            self.buffer.trim(now_ns());
        }
    }

    fn take(&mut self, length: usize) {
        let now = now_ns();
        let Some(on_wire) = OnWire::of(self.buffer.filled(length)) else {
            return;
        };
        let tally = &self.tally.reader;
        let due_ns = match self.shaper.admit(now, on_wire.bytes) {
            Fate::Due(due_ns) => due_ns,
            Fate::Lost => {
                tally.lost.add(on_wire.packets);
                return tally.entered(on_wire);
            }
            Fate::Full => {
                tally.queue_full.add(on_wire.packets);
                return tally.entered(on_wire);
            }
        };
        match self.buffer.keep(length) {
            Some(memory) => {
                // A writer that has ended needs nothing.
                let _ = self.pass.send(Piece {
                    due_ns,
                    length,
                    on_wire,
                    memory,
                });
            }
            None => tally.no_buffer.add(on_wire.packets),
        }
        tally.entered(on_wire);
    }
}

struct Writer {
    to: Arc<Tun>,
    bell: Arc<Bell>,
    tally: Arc<Tally>,
    arriving: Receiver<Piece>,
}

impl Writer {
    fn run(self) {
        let bell = Arc::clone(&self.bell);
        let mut pause = Pause::new(&bell);
        // Ends with the reader, which holds the other side.
        while let Ok(piece) = self.arriving.recv() {
            let Woken::At(now) = pause.until(piece.due_ns) else {
                return;
            };
            let tally = &self.tally.writer;
            tally.late_by(now - piece.due_ns);
            match self.to.write(&piece.memory[..piece.length]) {
                Ok(_) => {
                    tally.packets.add(piece.on_wire.packets);
                    tally.bytes.add(piece.on_wire.bytes);
                    tally.pieces.add(1);
                }
                Err(_) => tally.refused.add(piece.on_wire.packets),
            }
        }
    }
}
