//! Plain TCP: echo, fixed-size answers, discard, source.

use crate::behaviour::{After, BehaviourOverride};
use crate::body::BODY_PATTERN;
use crate::options::{TcpMode, TcpSizes};
use crate::protocol::{Next, Protocol, Serve};
use crate::service::Service;

/// Bytes written per call, before the next connection has its turn.
const PIECE_BYTES: usize = 32 * 1024;

/// One connection.
#[derive(Debug)]
pub(crate) struct Tcp {
    mode: TcpMode,
    /// Received bytes that are not part of an answered request.
    pending_bytes: u64,
    /// Bytes of the current answer still to be written.
    unwritten_bytes: u64,
    /// Bytes of the current answer already written, for the position in the body pattern.
    written_bytes: u64,
    /// What happens to the connection after the current answer.
    after: After,
}

impl Tcp {
    pub(crate) fn new(mode: TcpMode) -> Self {
        Self {
            mode,
            pending_bytes: 0,
            unwritten_bytes: 0,
            written_bytes: 0,
            after: After::KeepAlive,
        }
    }

    /// Answers requests of a fixed size one after another.
    fn answer(&mut self, sizes: TcpSizes, service: &mut Service, out: &mut Vec<u8>) -> Next {
        loop {
            if self.unwritten_bytes > 0 {
                let size = self.unwritten_bytes.min(PIECE_BYTES as u64);
                let start = (self.written_bytes % 26) as usize;
                out.extend_from_slice(&BODY_PATTERN[start..start + size as usize]);
                self.written_bytes += size;
                self.unwritten_bytes -= size;
                if self.unwritten_bytes > 0 || out.len() >= PIECE_BYTES {
                    return Next::Resume;
                }
            }
            match self.after {
                After::KeepAlive => {}
                After::Close => return Next::Close,
                After::Reset => {
                    service.counters.resets.add(1);
                    return Next::Reset;
                }
            }
            if self.pending_bytes < sizes.request_bytes {
                return Next::Read;
            }
            self.pending_bytes -= sizes.request_bytes;
            service.counters.tcp_exchanges.add(1);
            let behaviour = service.behave(&BehaviourOverride::default());
            self.after = behaviour.after;
            self.written_bytes = 0;
            self.unwritten_bytes = match behaviour.after {
                After::Reset => 0,
                After::KeepAlive | After::Close => sizes.answer_bytes,
            };
            if !behaviour.delay.is_zero() {
                return Next::Wait(behaviour.delay);
            }
        }
    }

    fn flow(&self, out: &mut Vec<u8>) -> Next {
        if matches!(self.mode, TcpMode::Discard) {
            return Next::Read;
        }
        out.extend_from_slice(&BODY_PATTERN[..PIECE_BYTES]);
        // Each piece starts the pattern anew: the bytes of a source are not checked.
        Next::Serve(Serve::MORE)
    }
}

impl Protocol for Tcp {
    fn open(&mut self, _: &mut Service, out: &mut Vec<u8>) -> Next {
        match self.mode {
            TcpMode::Echo | TcpMode::Sized(_) | TcpMode::Discard => Next::Read,
            TcpMode::Source => self.flow(out),
        }
    }

    fn receive(
        &mut self,
        input: &[u8],
        _: Option<u64>,
        service: &mut Service,
        out: &mut Vec<u8>,
    ) -> Next {
        match self.mode {
            TcpMode::Echo => {
                out.extend_from_slice(input);
                Next::Read
            }
            TcpMode::Sized(sizes) => {
                self.pending_bytes += input.len() as u64;
                self.answer(sizes, service, out)
            }
            TcpMode::Discard => Next::Read,
            TcpMode::Source => Next::Serve(Serve::MORE),
        }
    }

    fn resume(&mut self, service: &mut Service, out: &mut Vec<u8>) -> Next {
        match self.mode {
            TcpMode::Sized(sizes) => self.answer(sizes, service, out),
            TcpMode::Echo => Next::Read,
            TcpMode::Discard | TcpMode::Source => self.flow(out),
        }
    }

    /// Everything received is answered or being sent, so the connection is closed.
    fn ended(&mut self) -> Option<Next> {
        Some(Next::Close)
    }

    /// A client between two requests cannot be distinguished from one that is done.
    fn held_bytes(&mut self) -> usize {
        0
    }

    fn is_idle(&self) -> bool {
        self.pending_bytes == 0 && self.unwritten_bytes == 0
    }
}
