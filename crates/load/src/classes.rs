//! The outcome classes of a load, numbered once for all workers; the lock is taken at most once per class and worker.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::client::{ErrorClass, Status};
use crate::tally::CLASSES_MAX;

/// Class number of correct responses with a status 2xx or without a status.
pub const RIGHT: u8 = 0;

/// Correct responses of another status are numbered from here by its first digit.
const RIGHT_OTHER: u8 = 118;
const _: () = assert!(
    KEPT_MAX < RIGHT_OTHER as usize && RIGHT_OTHER as usize + Status::MAX / 100 < CLASSES_MAX,
    "errors and successful responses must not share a number"
);

/// Class number of connections whose attempt began before the window.
pub const BEFORE: u8 = 1;

/// Most error classes; the rest are [`ErrorClass::OTHER`].
const KEPT_MAX: usize = 64;
const _: () = assert!(
    KEPT_MAX < CLASSES_MAX,
    "the number of a class must fit a tally"
);

/// Class number of a correct response.
#[inline]
#[must_use]
pub fn of_right(status: Status) -> u8 {
    match status.index() / 100 {
        0 | 2 => RIGHT,
        digit => RIGHT_OTHER + digit as u8,
    }
}

/// Whether a class is one of correct responses.
#[inline]
#[must_use]
pub fn is_right(class: u8) -> bool {
    class == RIGHT || class >= RIGHT_OTHER
}

/// First digit of the status of a class of correct responses; `None` for [`RIGHT`] and for errors.
#[must_use]
pub fn status_digit(class: u8) -> Option<u8> {
    class.checked_sub(RIGHT_OTHER)
}

/// Longest example kept, in characters: the reason of a Kafka broker names up to three records, each with its topic of up to 249.
const EXAMPLE_CHARS_MAX: usize = 2000;

/// A class that occurred, with the first error message.
#[derive(Debug, Clone)]
pub struct SeenClass {
    pub class: ErrorClass,
    /// The first error message.
    pub example: Option<String>,
}

/// All classes that occurred, in the order of their numbers, which start at 1.
#[derive(Debug, Clone, Default)]
pub struct Classes(Arc<Mutex<Vec<SeenClass>>>);

impl Classes {
    /// The classes so far.
    #[must_use]
    pub fn seen(&self) -> Vec<SeenClass> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn number(&self, class: ErrorClass, example: &dyn fmt::Display) -> (ErrorClass, u8) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |seen: &[SeenClass], class| seen.iter().position(|s| s.class == class);
        if let Some(at) = known(&seen, class) {
            return (class, at as u8 + 1);
        }
        // One number is reserved for "other".
        let class = if seen.len() + 1 < KEPT_MAX {
            class
        } else {
            ErrorClass::OTHER
        };
        if let Some(at) = known(&seen, class) {
            return (class, at as u8 + 1);
        }
        let example = example.to_string();
        let example = example.chars().take(EXAMPLE_CHARS_MAX).collect::<String>();
        seen.push(SeenClass {
            class,
            example: (!example.is_empty()).then_some(example),
        });
        (class, seen.len() as u8)
    }
}

/// One worker's cache of class numbers: the lock is taken only for a class that is new to it.
#[derive(Debug)]
pub struct ClassNumbers {
    shared: Classes,
    met: Vec<(ErrorClass, u8)>,
}

impl ClassNumbers {
    /// A cache in front of these.
    #[must_use]
    pub fn of(shared: &Classes) -> Self {
        Self {
            shared: shared.clone(),
            met: Vec::with_capacity(KEPT_MAX * 2),
        }
    }

    /// The number of a class; `example` is formatted only if it is new.
    pub fn number(&mut self, class: ErrorClass, example: &dyn fmt::Display) -> u8 {
        if let Some(&(_, number)) = self.met.iter().find(|(met, _)| *met == class) {
            return number;
        }
        let (_, number) = self.shared.number(class, example);
        if self.met.len() < self.met.capacity() {
            self.met.push((class, number));
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use tare_record::agent::ErrorSource;

    use super::*;

    #[test]
    fn two_workers_number_a_class_alike_and_keep_its_first_example() {
        let shared = Classes::default();
        let (mut a, mut b) = (ClassNumbers::of(&shared), ClassNumbers::of(&shared));
        assert_eq!(a.number(ErrorClass::TIMEOUT, &"first"), 1);
        assert_eq!(b.number(ErrorClass::MALFORMED, &"x"), 2);
        assert_eq!(b.number(ErrorClass::TIMEOUT, &"second"), 1);
        assert_eq!(shared.seen()[0].example.as_deref(), Some("first"));
    }

    #[test]
    fn an_example_is_kept_up_to_its_limit() {
        let shared = Classes::default();
        let long = "é".repeat(EXAMPLE_CHARS_MAX + 1);
        ClassNumbers::of(&shared).number(ErrorClass::TIMEOUT, &long);
        let kept = shared.seen()[0].example.clone().unwrap();
        assert_eq!(kept.chars().count(), EXAMPLE_CHARS_MAX);
    }

    #[test]
    fn the_reason_of_a_broker_is_kept_whole() {
        let topic = "t".repeat(249);
        let record = format!(
            "RecordError(batchIndex=0, message='Compacted topic cannot accept message without key in topic partition {topic}-0.')"
        );
        let reason = format!(
            "127.0.0.1:9092 (broker 1) refuses 3 records for partition 0 of {topic:?}: InvalidRecord (One or more records have been rejected due to 3 record errors in total, and only showing the first three errors at most: [{record}, {record}, {record}])"
        );
        let shared = Classes::default();
        ClassNumbers::of(&shared).number(ErrorClass::TIMEOUT, &reason);
        assert_eq!(shared.seen()[0].example.as_ref(), Some(&reason));
    }

    #[test]
    fn a_right_answer_has_the_class_of_its_status_and_no_error_shares_it() {
        assert_eq!(of_right(Status::NONE), RIGHT);
        assert_eq!(of_right(Status::http(204)), RIGHT);
        assert_eq!(status_digit(RIGHT), None);
        for status in [199, 304, 404, 503, 999, u16::MAX] {
            let class = of_right(Status::http(status));
            assert!(is_right(class), "{status}");
            assert!(usize::from(class) > KEPT_MAX, "{status}");
            let digit = (status.min(999) / 100) as u8;
            assert_eq!(status_digit(class), Some(digit), "{status}");
        }
        assert!(!is_right(1) && !is_right(KEPT_MAX as u8));
    }

    #[test]
    fn a_server_with_a_thousand_codes_fills_only_the_classes_kept() {
        let shared = Classes::default();
        let mut numbers = ClassNumbers::of(&shared);
        for code in 0..1000 {
            let class = ErrorClass {
                name: "status",
                code: Some(code),
                error_source: ErrorSource::Target,
            };
            assert!(usize::from(numbers.number(class, &"")) <= KEPT_MAX);
        }
        let seen = shared.seen();
        assert_eq!(seen.len(), KEPT_MAX);
        assert_eq!(seen[KEPT_MAX - 1].class, ErrorClass::OTHER);
    }
}
