//! Parser of HTTP/1.1 responses on one client connection, without I/O: bytes in, events out.
//!
//! Every request is registered with [`Codec::begin`], because its kind decides whether the response has a body. Bytes go in
//! through [`Codec::feed`], which borrows the codec: no request can begin while received bytes are unread, so unsolicited
//! bytes are never taken for the response to the next request. Body slices are borrowed from the input. A response that
//! arrives whole costs one parse and no copy; only a head or a trailer section that arrives in pieces is buffered. Apart from
//! the boundaries of body slices, neither the events nor the error depend on how the bytes were split.

mod body_check;
mod chunked;
mod error;
#[cfg(test)]
mod fault_tests;
mod frames;
mod head;
mod head_cache;
mod interlude;
#[cfg(test)]
pub(crate) mod properties;
mod section;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

pub use body_check::{BodyCheck, BodyMismatch, BodyProgress};
pub use error::{CodecError, PipelineFull};
pub use frames::{End, Event, HEAD_BYTES_MAX, Head, Limits, RequestKind};
pub use head::{ContentCoding, HttpVersion, Keep};
pub use head_cache::HeadCache;

use chunked::{Chunks, Piece};
use head::{Framing, HeadFacts, Persistence, Watch};
use interlude::{Interlude, Unasked};
use section::{Gathered, PartialInput, SectionStart};

/// The parser of one connection. See the module for the rules.
#[derive(Debug)]
pub struct Codec {
    limits: Limits,
    waiting: VecDeque<RequestKind>,
    state: State,
    partial: PartialInput,
    watch: Watch,
    interlude: Interlude,
    answer: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Between responses or within a head.
    Head,
    Length {
        left: u64,
    },
    Chunks(Chunks),
    Trailers,
    UntilClose,
    /// All bytes of the response are read, `End` is not reported yet.
    Complete(After),
    Tunnel,
    /// A response announced the end of the connection.
    Closed,
    Failed(CodecError),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    NextHead,
    Tunnel,
}

impl Codec {
    /// A fresh connection. Allocates nothing until the first request.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            waiting: VecDeque::new(),
            state: State::Head,
            partial: PartialInput::default(),
            watch: Watch::default(),
            interlude: Interlude::default(),
            answer: End {
                status: 0,
                body_bytes: 0,
                keep_alive: true,
                interim: 0,
            },
        }
    }

    /// Makes the value of one header of each head available from [`Feed::watched`].
    pub fn watch(&mut self, name: &'static str) {
        self.watch.keep = Keep::Value(name);
    }

    /// Makes the selected part of each head available from [`Feed::watched`].
    pub fn keep(&mut self, keep: Keep) {
        self.watch.keep = keep;
    }

    /// Registers a request. Its response comes after those of the requests begun before it.
    ///
    /// # Errors
    /// When `pipeline_max` requests are outstanding.
    pub fn begin(&mut self, kind: RequestKind) -> Result<(), PipelineFull> {
        let max = self.limits.pipeline_max;
        if self.waiting.len() >= max {
            return Err(PipelineFull { max });
        }
        self.waiting.push_back(kind);
        Ok(())
    }

    /// Outstanding requests: begun and not completely answered.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether another request may be sent: no error, and no response announced the end of the connection.
    #[must_use]
    pub fn is_reusable(&self) -> bool {
        match self.state {
            State::Head => true,
            State::Length { .. } | State::Chunks(_) | State::Trailers => self.answer.keep_alive,
            State::Complete(After::NextHead) => self.answer.keep_alive,
            State::Complete(After::Tunnel) | State::Tunnel => false,
            State::UntilClose | State::Closed | State::Failed(_) => false,
        }
    }

    /// Whether a byte of the response that comes next was read.
    #[must_use]
    pub fn is_between(&self) -> bool {
        matches!(self.state, State::Head | State::Closed) && self.partial.is_empty()
    }

    /// Where the first redirect led, as its `Location` says.
    #[must_use]
    pub fn redirected_to(&self) -> Option<&[u8]> {
        self.watch.redirected_to.as_deref()
    }

    /// Back to the state of a new connection, keeping buffers and what to keep of heads.
    pub fn reset(&mut self) {
        self.waiting.clear();
        self.partial.clear();
        self.interlude = Interlude::default();
        self.state = State::Head;
        self.answer = End {
            status: 0,
            body_bytes: 0,
            keep_alive: true,
            interim: 0,
        };
    }

    /// Parses received bytes. Read the returned iterator to its end: the rest of the input is lost otherwise.
    pub fn feed<'c, 'b>(&'c mut self, bytes: &'b [u8]) -> Feed<'c, 'b> {
        Feed {
            codec: self,
            input: bytes,
            head_cache: None,
            failed: false,
        }
    }

    /// Like [`Codec::feed`], but a head that is equal to the cached one is not parsed again.
    #[inline]
    pub fn feed_cached<'c, 'b>(
        &'c mut self,
        bytes: &'b [u8],
        head_cache: &'c mut HeadCache,
    ) -> Feed<'c, 'b> {
        // A kept value has to be copied from each head. The cache knows whether its head sets cookies.
        let head_cache =
            matches!(self.watch.keep, Keep::Nothing | Keep::Cookies).then_some(head_cache);
        Feed {
            codec: self,
            input: bytes,
            head_cache,
            failed: false,
        }
    }

    /// The server closed the connection. A body without a stated length is complete by that.
    ///
    /// # Errors
    /// When requests are unanswered or a response is incomplete.
    pub fn eof(&mut self) -> Result<Option<End>, CodecError> {
        let error = match self.state {
            State::Failed(error) => error,
            State::UntilClose => {
                self.waiting.pop_front();
                self.state = State::Closed;
                return Ok(Some(self.answer));
            }
            State::Tunnel => return Ok(None),
            State::Head if !self.partial.is_empty() => {
                // A head without an empty line was never parsed: report malformed bytes as such.
                head::parse(self.partial.bytes(), &mut self.watch)
                    .err()
                    .unwrap_or(CodecError::ClosedInHead)
            }
            State::Trailers if !self.partial.is_empty() => parse_trailers(self.partial.bytes())
                .err()
                .unwrap_or(CodecError::ClosedInBody {
                    body_bytes: self.answer.body_bytes,
                }),
            State::Length { .. } | State::Chunks(_) | State::Trailers => CodecError::ClosedInBody {
                body_bytes: self.answer.body_bytes,
            },
            State::Head if self.interlude.is_read_on() => CodecError::UnexpectedBytes,
            State::Head | State::Closed | State::Complete(_) if self.waiting.is_empty() => {
                return Ok(None);
            }
            State::Head | State::Closed | State::Complete(_) => CodecError::ClosedBeforeAnswer {
                waiting: self.waiting.len(),
            },
        };
        self.state = State::Failed(error);
        Err(error)
    }

    fn step<'b>(
        &mut self,
        input: &mut &'b [u8],
        mut head_cache: Option<&mut HeadCache>,
    ) -> Result<Option<Event<'b>>, CodecError> {
        loop {
            match self.state {
                State::Complete(after) => return Ok(Some(self.complete(after))),
                State::Failed(error) => return Err(error),
                _ if input.is_empty() => return Ok(None),
                State::Head | State::Closed if self.interlude.skip_line_end(input) => {}
                State::Head if self.waiting.is_empty() || self.interlude.is_read_on() => {
                    match self.interlude.read_unasked(input) {
                        Unasked::NeedMore => return Ok(None),
                        Unasked::IdleTimeout => return Err(CodecError::IdleTimeout),
                        Unasked::Other => return Err(CodecError::UnexpectedBytes),
                    }
                }
                State::Head => match self.head(input, head_cache.as_deref_mut())? {
                    Some(facts) => {
                        if let Some(head) = self.begin_answer(&facts)? {
                            return Ok(Some(Event::Head(head)));
                        }
                    }
                    None => return Ok(None),
                },
                State::Length { left } => {
                    let take = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
                    let left = left - take as u64;
                    self.state = match left {
                        0 => State::Complete(After::NextHead),
                        _ => State::Length { left },
                    };
                    return self.body(take_front(input, take)).map(Some);
                }
                State::Chunks(mut chunks) => {
                    let piece = chunks.step(input, self.limits.chunk_padding_bytes_max)?;
                    self.state = State::Chunks(chunks);
                    match piece {
                        Piece::Data(slice) => return self.body(slice).map(Some),
                        Piece::Trailers => self.state = State::Trailers,
                        Piece::NeedMore => return Ok(None),
                    }
                }
                State::Trailers => {
                    if !self.trailers(input)? {
                        return Ok(None);
                    }
                    self.state = State::Complete(After::NextHead);
                }
                State::UntilClose => return self.body(std::mem::take(input)).map(Some),
                State::Tunnel => return Ok(Some(Event::Tunnel(std::mem::take(input)))),
                State::Closed => return Err(CodecError::BytesAfterClose),
            }
        }
    }

    /// Reads one head from the input or, when it arrives in pieces, from the buffer of partial input.
    fn head(
        &mut self,
        input: &mut &[u8],
        head_cache: Option<&mut HeadCache>,
    ) -> Result<Option<HeadFacts>, CodecError> {
        let max_bytes = self.limits.head_bytes_max;
        if self.partial.is_empty() {
            let window = &input[..input.len().min(max_bytes)];
            if let Some(facts) = head_cache
                .as_deref()
                .and_then(|head_cache| head_cache.lookup(window))
                && (self.watch.keep == Keep::Nothing || !facts.sets_cookies)
            {
                self.watch.value.clear();
                take_front(input, facts.head_bytes);
                return Ok(Some(facts));
            }
            if let Some(facts) = head::parse(window, &mut self.watch)? {
                if let Some(head_cache) = head_cache {
                    head_cache.keep(window, facts);
                }
                take_front(input, facts.head_bytes);
                return Ok(Some(facts));
            }
            if window.len() == max_bytes {
                return Err(CodecError::HeadTooLarge { max_bytes });
            }
        }
        loop {
            let gathered = self
                .partial
                .gather(input, SectionStart::InStatusLine, max_bytes);
            if gathered == Gathered::NeedMore {
                return Ok(None);
            }
            if let Some(facts) = head::parse(self.partial.bytes(), &mut self.watch)? {
                self.partial.clear();
                return Ok(Some(facts));
            }
            if gathered == Gathered::Full || self.partial.bytes().len() >= max_bytes {
                return Err(CodecError::HeadTooLarge { max_bytes });
            }
        }
    }

    /// Decides where the body ends (RFC 9112 §6.3); `None` for an interim response.
    fn begin_answer(&mut self, facts: &HeadFacts) -> Result<Option<Head>, CodecError> {
        let status = facts.status;
        if status == 101 {
            return Err(CodecError::UnexpectedUpgrade);
        }
        if status < 200 {
            self.answer.interim += 1;
            let max = self.limits.interim_max;
            if self.answer.interim > max {
                return Err(CodecError::TooManyInterim { max });
            }
            return Ok(None);
        }
        let kind = self
            .waiting
            .front()
            .copied()
            .unwrap_or(RequestKind::Ordinary);
        let mut keep_alive = facts.persistence == Persistence::KeepAlive;
        let bodiless = kind == RequestKind::Head || status == 204 || status == 304;
        self.state = match facts.framing {
            _ if kind == RequestKind::Connect && status < 300 => State::Complete(After::Tunnel),
            _ if bodiless => State::Complete(After::NextHead),
            Framing::Length(0) => State::Complete(After::NextHead),
            Framing::Length(left) if left > self.limits.body_bytes_max => {
                return Err(CodecError::BodyTooLarge {
                    max_bytes: self.limits.body_bytes_max,
                });
            }
            Framing::Length(left) => State::Length { left },
            Framing::Chunked => State::Chunks(Chunks::new()),
            Framing::Unstated => {
                keep_alive = false;
                State::UntilClose
            }
        };
        self.answer.status = status;
        self.answer.keep_alive = keep_alive;
        self.answer.body_bytes = 0;
        let content_length = match facts.framing {
            Framing::Length(length) => Some(length),
            Framing::Unstated | Framing::Chunked => None,
        };
        Ok(Some(Head {
            status,
            version: facts.version,
            keep_alive,
            content_length,
            coding: facts.coding,
        }))
    }

    fn body<'b>(&mut self, slice: &'b [u8]) -> Result<Event<'b>, CodecError> {
        let max_bytes = self.limits.body_bytes_max;
        self.answer.body_bytes = self.answer.body_bytes.saturating_add(slice.len() as u64);
        if self.answer.body_bytes > max_bytes {
            return Err(CodecError::BodyTooLarge { max_bytes });
        }
        Ok(Event::Body(slice))
    }

    /// Skips the trailer section; true when its empty line was read.
    fn trailers(&mut self, input: &mut &[u8]) -> Result<bool, CodecError> {
        let max_bytes = self.limits.head_bytes_max;
        if self.partial.is_empty()
            && let Some(rest) = input.strip_prefix(b"\r\n")
        {
            *input = rest;
            return Ok(true);
        }
        match self
            .partial
            .gather(input, SectionStart::AtLineStart, max_bytes)
        {
            Gathered::NeedMore => Ok(false),
            gathered => {
                let complete = parse_trailers(self.partial.bytes())?;
                if !complete && gathered == Gathered::Full {
                    return Err(CodecError::TrailersTooLarge { max_bytes });
                }
                self.partial.clear();
                Ok(true)
            }
        }
    }

    fn complete<'b>(&mut self, after: After) -> Event<'b> {
        let end = self.answer;
        self.waiting.pop_front();
        self.interlude = Interlude::after_answer();
        self.answer.interim = 0;
        self.state = match after {
            After::Tunnel => State::Tunnel,
            After::NextHead if end.keep_alive => State::Head,
            After::NextHead => State::Closed,
        };
        Event::End(end)
    }
}

/// Whether the trailer section is complete. Its fields are validated and discarded, as RFC 9112 §7.1.2 allows.
///
/// A folded field is put on one line first: httparse takes it in a head only.
fn parse_trailers(bytes: &[u8]) -> Result<bool, CodecError> {
    let mut storage = [httparse::EMPTY_HEADER; head::HEADERS_MAX];
    let parsed = match bytes.windows(2).any(is_fold) {
        true => httparse::parse_headers(&unfolded(bytes), &mut storage).map(|s| s.is_complete()),
        false => httparse::parse_headers(bytes, &mut storage).map(|s| s.is_complete()),
    };
    parsed.map_err(|_| CodecError::BadTrailer)
}

/// Whether a line goes on with the second of two bytes.
fn is_fold(pair: &[u8]) -> bool {
    matches!(pair, [b'\n', b' ' | b'\t'])
}

/// The same bytes with spaces in place of the line breaks within fields.
#[cold]
fn unfolded(bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for at in 1..out.len() {
        if is_fold(&out[at - 1..=at]) {
            let from = at - if at > 1 && out[at - 2] == b'\r' { 2 } else { 1 };
            head::unfold(&mut out[from..at]);
        }
    }
    out
}

fn take_front<'b>(input: &mut &'b [u8], count: usize) -> &'b [u8] {
    let (front, rest) = input.split_at(count);
    *input = rest;
    front
}

/// The events in one piece of input.
#[derive(Debug)]
pub struct Feed<'c, 'b> {
    codec: &'c mut Codec,
    input: &'b [u8],
    head_cache: Option<&'c mut HeadCache>,
    failed: bool,
}

impl Feed<'_, '_> {
    /// The part of the last head that [`Codec::keep`] selected.
    #[must_use]
    pub fn watched(&self) -> &[u8] {
        &self.codec.watch.value
    }
}

impl<'b> Iterator for Feed<'_, 'b> {
    type Item = Result<Event<'b>, CodecError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let head_cache = self.head_cache.as_deref_mut();
        match self.codec.step(&mut self.input, head_cache) {
            Ok(event) => event.map(Ok),
            Err(error) => {
                self.failed = true;
                self.codec.state = State::Failed(error);
                Some(Err(error))
            }
        }
    }
}

/// Entry point of the fuzz target and of the property tests: feeds arbitrary bytes as a server's responses. The first two bytes choose the request kinds and the split. Must return.
///
/// Returns the number of events, so that the work is not optimised away.
#[must_use]
pub fn fuzz_entry(data: &[u8]) -> usize {
    let (setup, stream) = data.split_at(data.len().min(2));
    let kinds = setup.first().copied().unwrap_or(0);
    let piece_bytes = usize::from(setup.get(1).copied().unwrap_or(0)).max(1);
    let mut codec = Codec::new(Limits {
        head_bytes_max: 256,
        ..Limits::default()
    });
    for shift in 0..4 {
        let kind = match (kinds >> (2 * shift)) & 3 {
            0 | 1 => RequestKind::Ordinary,
            2 => RequestKind::Head,
            _ => RequestKind::Connect,
        };
        if codec.begin(kind).is_err() {
            break;
        }
    }
    let fed: usize = stream
        .chunks(piece_bytes)
        .map(|piece| codec.feed(piece).count())
        .sum();
    fed + usize::from(codec.eof().is_ok())
}
