//! Which streams are closed, and how: late frames on some are ignored, on others they are errors (RFC 9113 §5.1).

use std::collections::VecDeque;

/// Streams remembered whose frames may still be under way, or that the client reset: more than are open at a time.
const RECENT_MAX: usize = 2048;

/// Ranges of stream ids remembered; clients use every second one.
const RANGES_MAX: usize = 64;

/// How a stream was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClosedStream {
    /// By the server, before the client had ended it.
    Early,
    /// By RST_STREAM of the client.
    Reset,
    /// Both sides had ended it.
    Ended,
    /// It was never opened, but one with a higher id was.
    Skipped,
}

/// The closed streams of a connection.
#[derive(Debug, Default)]
pub(super) struct ClosedStreams {
    recent: VecDeque<(u32, ClosedStream)>,
    /// First and last id of each range of opened streams, in order.
    opened: VecDeque<(u32, u32)>,
    /// Streams up to this id count as opened.
    forgotten: u32,
}

impl ClosedStreams {
    /// A stream is opened.
    pub(super) fn opens(&mut self, id: u32) {
        match self.opened.back_mut() {
            Some((_, last)) if *last + 2 == id => *last = id,
            _ => self.opened.push_back((id, id)),
        }
        if self.opened.len() > RANGES_MAX
            && let Some((_, last)) = self.opened.pop_front()
        {
            self.forgotten = last;
        }
    }

    /// A stream is closed by one side alone.
    pub(super) fn closes(&mut self, id: u32, how: ClosedStream) {
        if self.recent.len() == RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back((id, how));
    }

    /// How a stream that is not open was closed; its id is not above the highest one.
    #[cold]
    pub(super) fn find(&self, id: u32) -> ClosedStream {
        let recent = self.recent.iter().rev();
        if let Some((_, how)) = { recent }.find(|(known, _)| *known == id) {
            return *how;
        }
        let is_in = |&(first, last): &(u32, u32)| (first..=last).contains(&id);
        match id <= self.forgotten || self.opened.iter().any(is_in) {
            true => ClosedStream::Ended,
            false => ClosedStream::Skipped,
        }
    }
}
