//! gRPC calls over HTTP/2: methods, message framing, status codes.

mod echo;
mod health;
mod protobuf;
mod reflection;

use std::time::Duration;

/// Bytes before each message: whether it is compressed, and its length.
pub(crate) const PREFIX_BYTES: usize = 5;

/// The largest message received or sent.
pub(crate) const MESSAGE_BYTES_MAX: usize = 16 << 20;

/// A call, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Echo,
    Collect,
    Produce,
    Converse,
    HealthCheck,
    HealthWatch,
    Reflect,
    Unknown,
}

impl Call {
    pub(crate) fn of(path: &str) -> Self {
        match path {
            "/tare.origin.Echo/Echo" => Self::Echo,
            "/tare.origin.Echo/Collect" => Self::Collect,
            "/tare.origin.Echo/Produce" => Self::Produce,
            "/tare.origin.Echo/Converse" => Self::Converse,
            "/grpc.health.v1.Health/Check" => Self::HealthCheck,
            "/grpc.health.v1.Health/Watch" => Self::HealthWatch,
            "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
            | "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo" => Self::Reflect,
            _ => Self::Unknown,
        }
    }

    /// Whether the request is a single message, which is answered when it is complete.
    pub(crate) fn takes_one(self) -> bool {
        matches!(
            self,
            Self::Echo | Self::Produce | Self::HealthCheck | Self::HealthWatch
        )
    }

    /// Calls for control, which are not counted as load.
    pub(crate) fn is_control(self) -> bool {
        matches!(self, Self::HealthCheck | Self::HealthWatch | Self::Reflect)
    }
}

/// The status of a call: code and message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Code {
    number: u8,
    message: Option<&'static str>,
}

impl Code {
    pub(crate) const OK: Code = Code {
        number: 0,
        message: None,
    };
    pub(crate) const DEADLINE: Code = Code::with(4, "the deadline has passed");
    pub(crate) const NOT_FOUND: Code = Code::with(5, "no such service");
    pub(crate) const TOO_LARGE: Code = Code::with(8, "a message is larger than 16 MiB");
    pub(crate) const FULL: Code = Code::with(8, "the origin's buffers are full");
    pub(crate) const UNKNOWN_CALL: Code = Code::with(12, "the origin has no such call");
    pub(crate) const COMPRESSED: Code =
        Code::with(12, "the origin does not read compressed messages");
    pub(crate) const MALFORMED: Code = Code::with(13, "a message cannot be read");
    pub(crate) const NOT_ONE: Code = Code::with(13, "this call takes exactly one message");

    const fn with(number: u8, message: &'static str) -> Self {
        Self {
            number,
            message: Some(message),
        }
    }

    /// The code that a request asks for; invalid ones become UNKNOWN.
    fn asked(number: u64) -> Self {
        let known = u8::try_from(number).ok().filter(|number| *number <= 16);
        match known {
            Some(0) => Self::OK,
            Some(number) => Self::with(number, "as asked for"),
            None => Self::with(2, "as asked for"),
        }
    }

    pub(crate) fn number(self) -> u8 {
        self.number
    }

    /// Plain ASCII of fewer than 127 bytes.
    pub(crate) fn message(self) -> Option<&'static str> {
        self.message
    }
}

/// The state of a call between its messages.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CallState {
    /// The behaviour is drawn and the headers are decided.
    pub begun: bool,
    /// The delay that the current message asks for is over.
    waited: bool,
    /// Messages taken.
    pub messages: u64,
    bytes: u64,
    /// Of messages to produce.
    size_bytes: u64,
    left: u64,
    interval: Duration,
    ends_with: Option<Code>,
    watch: bool,
}

/// The next step of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The next message.
    Next,
    /// The same message again after this delay.
    Delay(Duration),
    End(Code),
    /// Nothing, for as long as the connection lasts.
    Watch,
}

impl CallState {
    pub(crate) fn is_watch(&self) -> bool {
        self.watch
    }

    /// Takes a message; appends the answer to the outbox. `pattern_bytes` is the size that a behaviour gives to answers.
    pub(crate) fn take(
        &mut self,
        call: Call,
        message: &[u8],
        pattern_bytes: u64,
        outbox: &mut Vec<u8>,
    ) -> Step {
        let step = match call {
            Call::Echo | Call::Converse => self.echo(call, message, pattern_bytes, outbox),
            Call::Collect => self.collect(message),
            Call::Produce => self.plan(message),
            Call::HealthCheck => health::check(message, outbox),
            Call::HealthWatch => health::watch(message, outbox),
            Call::Reflect => reflection::answer(message, outbox),
            Call::Unknown => Step::End(Code::UNKNOWN_CALL),
        };
        self.watch = step == Step::Watch;
        if !matches!(step, Step::Delay(_)) {
            self.messages += 1;
            self.waited = false;
        }
        step
    }

    /// Continues without a message; `None` when one is needed.
    pub(crate) fn go_on(&mut self, outbox: &mut Vec<u8>) -> Option<Step> {
        let code = self.ends_with?;
        if self.left == 0 {
            return Some(Step::End(code));
        }
        if !self.interval.is_zero() && !self.waited {
            self.waited = true;
            return Some(Step::Delay(self.interval));
        }
        self.waited = false;
        self.left -= 1;
        echo::write_payload(outbox, self.size_bytes);
        Some(Step::Next)
    }

    /// The client has closed its side.
    pub(crate) fn ended(&mut self, call: Call, outbox: &mut Vec<u8>) -> Step {
        match call {
            Call::Collect => {
                self.write_collected(outbox);
                Step::End(Code::OK)
            }
            Call::HealthWatch if self.watch => Step::Watch,
            call if call.takes_one() => Step::End(Code::NOT_ONE),
            _ => Step::End(Code::OK),
        }
    }
}

/// Appends a message with its prefix, uncompressed.
fn framed(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; PREFIX_BYTES]);
    write(out);
    let length = (out.len() - start - PREFIX_BYTES) as u32;
    out[start + 1..start + PREFIX_BYTES].copy_from_slice(&length.to_be_bytes());
}

/// Reads `grpc-timeout`: at most eight digits and a unit.
pub(crate) fn parse_timeout(value: &[u8]) -> Option<Duration> {
    let (&unit, digits) = value.split_last()?;
    let number = tare_http2_frames::field::decimal(digits).filter(|_| digits.len() <= 8)?;
    Some(match unit {
        b'H' => Duration::from_secs(number * 3600),
        b'M' => Duration::from_secs(number * 60),
        b'S' => Duration::from_secs(number),
        b'm' => Duration::from_millis(number),
        b'u' => Duration::from_micros(number),
        b'n' => Duration::from_nanos(number),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_digits_and_a_unit() {
        assert_eq!(parse_timeout(b"10m"), Some(Duration::from_millis(10)));
        assert_eq!(
            parse_timeout(b"99999999H"),
            Some(Duration::from_secs(99_999_999 * 3600))
        );
        for wrong in [&b""[..], b"m", b"10", b"123456789S", b"-1S", b"1x"] {
            assert_eq!(parse_timeout(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn words_of_status_fit_in_a_short_string_of_a_header_block() {
        for code in [
            Code::DEADLINE,
            Code::NOT_FOUND,
            Code::TOO_LARGE,
            Code::FULL,
            Code::UNKNOWN_CALL,
            Code::COMPRESSED,
            Code::MALFORMED,
            Code::NOT_ONE,
        ] {
            let message = code.message().unwrap();
            assert!(message.is_ascii() && message.len() < 127 && !message.contains('%'));
        }
    }
}
