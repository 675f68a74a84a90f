//! TCP without a protocol above it: echo, discard, source.

use crate::behaviour::{After, Change};
use crate::body::ALPHABET;
use crate::options::{TcpMode, TcpSizes};
use crate::protocol::{More, Next, Protocol, Serve, Standing};
use crate::service::Service;

/// Bytes written per call: as much as is sent before the next connection has its turn.
const PIECE_BYTES: usize = 32 * 1024;

/// One connection.
#[derive(Debug)]
pub(crate) struct Tcp {
    mode: TcpMode,
    /// Received and not yet part of an answered request.
    pending_bytes: u64,
    /// Of the answer under way.
    unwritten_bytes: u64,
    /// Of the answer under way, for its letters.
    written_bytes: u64,
    /// An answer that waits for its delay.
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

    /// Answers requests of a set size one after another.
    fn answer(&mut self, sizes: TcpSizes, service: &mut Service, out: &mut Vec<u8>) -> Next {
        loop {
            if self.unwritten_bytes > 0 {
                let size = self.unwritten_bytes.min(PIECE_BYTES as u64);
                let start = (self.written_bytes % 26) as usize;
                out.extend_from_slice(&ALPHABET[start..start + size as usize]);
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
            let behaviour = service.behave(&Change::default());
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
        out.extend_from_slice(&ALPHABET[..PIECE_BYTES]);
        // The next piece goes on where the alphabet stopped only every 26 pieces: nobody checks a flood of bytes.
        Next::Serve(Serve {
            more: More::Waits,
            wake_ns: None,
        })
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
            TcpMode::Source => Next::Serve(Serve {
                more: More::Waits,
                wake_ns: None,
            }),
        }
    }

    fn resume(&mut self, service: &mut Service, out: &mut Vec<u8>) -> Next {
        match self.mode {
            TcpMode::Sized(sizes) => self.answer(sizes, service, out),
            TcpMode::Echo => Next::Read,
            TcpMode::Discard | TcpMode::Source => self.flow(out),
        }
    }

    /// Everything received is answered by now or on its way: the client's end is followed by ours.
    fn ended(&mut self) -> Option<Next> {
        Some(Next::Close)
    }

    /// A client that waits between two requests cannot be told from one that is done.
    fn standing(&self) -> Standing {
        if self.pending_bytes == 0 && self.unwritten_bytes == 0 {
            Standing::Idle
        } else {
            Standing::Busy
        }
    }
}
