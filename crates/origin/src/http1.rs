//! HTTP/1.1: requests are answered in their order, also pipelined ones.

mod answer;
mod body;
mod head;

use answer::Answer;
use body::{BodyReader, Step};
use head::{ConnectionPolicy, Malformed};

use crate::behaviour::{After, Behaviour, BehaviourOverride};
use crate::protocol::{Next, Protocol};
use crate::service::{Route, Service, control};

/// Approximate bytes written before they are sent: bounds the buffer with pipelining and large bodies.
const OUT_BYTES_MAX: usize = 64 * 1024;

/// Buffer capacity that a connection keeps between requests: bodies up to this are echoed without allocating.
const KEEP_BYTES: usize = 64 * 1024;

/// One connection.
#[derive(Debug, Default)]
pub(crate) struct Http1 {
    /// Unprocessed input: an incomplete head, or requests after an answer that is not finished.
    carry: Vec<u8>,
    /// The body to echo, or the text of an answer.
    stored: Vec<u8>,
    stage: Stage,
    arrived_ns: Option<u64>,
    kind: Kind,
}

/// Whether the connection is used for control, once known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Kind {
    #[default]
    Unknown,
    Load,
    Control,
}

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Head,
    Body(BodyReader, Request),
    Delayed(Answer),
    Answering(Answer),
    Over,
}

/// The parts of a head that are kept while the body arrives.
#[derive(Debug, Clone, Copy)]
struct Request {
    route: Route,
    is_head: bool,
    policy: ConnectionPolicy,
    /// `None`: invalid, and the error is stored.
    requested: Option<BehaviourOverride>,
}

impl Protocol for Http1 {
    fn receive(
        &mut self,
        input: &[u8],
        arrived_ns: Option<u64>,
        service: &mut Service,
        out: &mut Vec<u8>,
    ) -> Next {
        self.arrived_ns = arrived_ns;
        if self.carry.is_empty() {
            let mut rest = input;
            let next = self.advance(&mut rest, service, out);
            self.carry.extend_from_slice(rest);
            return next;
        }
        self.carry.extend_from_slice(input);
        // An incomplete head can only be completed by the end of a line, or exceed its limit.
        let hopeless = self.carry.len() < service.limits.head_bytes_max && !input.contains(&b'\n');
        if matches!(self.stage, Stage::Head) && hopeless {
            return Next::Read;
        }
        self.advance_carry(service, out)
    }

    fn resume(&mut self, service: &mut Service, out: &mut Vec<u8>) -> Next {
        if let Stage::Delayed(answer) = self.stage {
            self.begin(answer, service, out);
        }
        self.advance_carry(service, out)
    }

    fn held_bytes(&mut self) -> usize {
        self.carry.capacity() + self.stored.capacity()
    }

    fn is_idle(&self) -> bool {
        match self.stage {
            Stage::Head => self.carry.is_empty(),
            Stage::Over => true,
            _ => false,
        }
    }
}

impl Http1 {
    fn advance_carry(&mut self, service: &mut Service, out: &mut Vec<u8>) -> Next {
        let mut carried = std::mem::take(&mut self.carry);
        let mut rest = &carried[..];
        let next = self.advance(&mut rest, service, out);
        let taken = carried.len() - rest.len();
        carried.drain(..taken);
        carried.shrink_to(service.kept(KEEP_BYTES));
        self.carry = carried;
        next
    }

    fn advance(&mut self, input: &mut &[u8], service: &mut Service, out: &mut Vec<u8>) -> Next {
        loop {
            let step = match &mut self.stage {
                Stage::Over => return Next::Close,
                Stage::Delayed(_) => return Next::Resume,
                Stage::Answering(_) => self.answer(service, out),
                Stage::Head if input.is_empty() => return Next::Read,
                Stage::Head => self.head(input, service, out),
                Stage::Body(..) => self.body(input, service, out),
            };
            match step {
                Ok(None) if out.len() >= OUT_BYTES_MAX => return Next::Resume,
                Ok(None) => {}
                Ok(Some(next)) => return next,
                Err(malformed) => self.refuse(malformed, service, out),
            }
        }
    }

    fn head(
        &mut self,
        input: &mut &[u8],
        service: &mut Service,
        out: &mut Vec<u8>,
    ) -> Result<Option<Next>, Malformed> {
        let Some(head) = head::parse(input, service.limits.head_bytes_max)? else {
            return Ok(Some(Next::Read));
        };
        *input = &input[head.head_bytes..];
        let reader = BodyReader::new(head.framing, service.limits.body_bytes_max)?;
        self.classify(head.route, service);
        if let Some(certificate) = head.forwarded_certificate
            && !head.route.is_control()
        {
            service.counters.identities.add(certificate);
        }
        if head.expects_continue && input.is_empty() {
            out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        // An invalid behaviour is answered with 400 after the body.
        if let Err(error) = &head.requested {
            self.stored.extend_from_slice(error.to_string().as_bytes());
        }
        let request = Request {
            route: head.route,
            is_head: head.is_head,
            policy: head.policy,
            requested: head.requested.ok(),
        };
        self.stage = Stage::Body(reader, request);
        Ok(None)
    }

    fn classify(&mut self, route: Route, service: &Service) {
        if self.kind == Kind::Unknown {
            self.kind = if route.is_control() {
                Kind::Control
            } else {
                Kind::Load
            };
            if self.kind == Kind::Control {
                service.counters.control_connections.add(1);
            }
        }
    }

    fn body(
        &mut self,
        input: &mut &[u8],
        service: &mut Service,
        out: &mut Vec<u8>,
    ) -> Result<Option<Next>, Malformed> {
        let Stage::Body(reader, request) = &mut self.stage else {
            return Ok(None);
        };
        loop {
            match reader.step(input)? {
                Step::NeedMore => return Ok(Some(Next::Read)),
                Step::Data(slice)
                    if request.route == Route::Echo && request.requested.is_some() =>
                {
                    if !service.append(&mut self.stored, slice) {
                        return Err(Malformed::Full);
                    }
                }
                Step::Data(_) => {}
                Step::End => break,
            }
        }
        let request = *request;
        Ok(self.decide(&request, service, out))
    }

    /// Decides the answer to a complete request.
    fn decide(
        &mut self,
        request: &Request,
        service: &mut Service,
        out: &mut Vec<u8>,
    ) -> Option<Next> {
        let &Request {
            route,
            is_head,
            policy,
            requested,
        } = request;
        if route.is_control() {
            self.stored.clear();
            let status = control(route, service, &mut self.stored);
            let answer = Answer::new(&Behaviour::of_status(status), policy, is_head);
            let content_type = "text/plain; version=0.0.4";
            self.begin(answer.stored(self.stored.len(), content_type), service, out);
            return None;
        }
        let behaviour = service.answer(requested);
        let mut answer = Answer::new(&behaviour, policy, is_head);
        if requested.is_none() {
            answer = answer.stored(self.stored.len(), "text/plain");
        } else if route == Route::Echo {
            answer = answer.stored(self.stored.len(), "application/octet-stream");
        }
        if behaviour.delay.is_zero() {
            self.begin(answer, service, out);
            return None;
        }
        self.stage = Stage::Delayed(answer);
        Some(Next::Wait(behaviour.delay))
    }

    fn begin(&mut self, mut answer: Answer, service: &Service, out: &mut Vec<u8>) {
        if answer.after == After::Reset {
            self.stage = Stage::Answering(answer);
            return;
        }
        if service.is_ending {
            answer.after = After::Close;
        }
        answer.write_head(self.arrived_ns, out);
        self.stage = Stage::Answering(answer);
    }

    fn answer(&mut self, service: &Service, out: &mut Vec<u8>) -> Result<Option<Next>, Malformed> {
        let Stage::Answering(answer) = &mut self.stage else {
            return Ok(None);
        };
        if answer.after == After::Reset {
            return Ok(Some(Next::Reset));
        }
        if !answer.write_piece(&self.stored, out) {
            return Ok(None);
        }
        let (after, timestamps) = (answer.after, answer.timestamps);
        self.stored.clear();
        self.stored.shrink_to(service.kept(KEEP_BYTES));
        self.stage = match after {
            After::KeepAlive => Stage::Head,
            After::Close | After::Reset => Stage::Over,
        };
        Ok(match after {
            After::Close | After::Reset => Some(Next::Close),
            // Sent now, not together with later answers: its head has the time when it was sent.
            After::KeepAlive => timestamps.then_some(Next::Resume),
        })
    }

    /// Answers a malformed request with an error, and closes.
    fn refuse(&mut self, malformed: Malformed, service: &Service, out: &mut Vec<u8>) {
        if malformed != Malformed::Full {
            service.counters.malformed.add(1);
        }
        service.counters.request(malformed.status());
        self.stored = malformed.to_string().into_bytes();
        let behaviour = Behaviour::of_status(malformed.status());
        let answer = Answer::new(&behaviour, ConnectionPolicy::Close11, false);
        self.begin(answer.stored(self.stored.len(), "text/plain"), service, out);
    }
}
