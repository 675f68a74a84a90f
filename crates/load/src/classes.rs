//! The outcome classes of a load, numbered once for all workers; met at most once per class and worker.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::client::ErrorClass;
use crate::tally::CLASSES_MAX;

/// Number of the class of right answers.
pub const RIGHT: u8 = 0;

/// Of connections, the number of those whose attempt began before the window.
pub const BEFORE: u8 = 1;

/// Classes told apart; the rest are [`ErrorClass::OTHER`].
const KEPT_MAX: usize = 64;
const _: () = assert!(
    KEPT_MAX < CLASSES_MAX,
    "the number of a class must fit a tally"
);

/// Longest example kept, in characters.
const EXAMPLE_CHARS_MAX: usize = 200;

/// A class that occurred, with its first example in words.
#[derive(Debug, Clone)]
pub struct SeenClass {
    /// The class.
    pub class: ErrorClass,
    /// What was wrong the first time.
    pub example: Option<String>,
}

/// All classes that occurred, in the order of their numbers, from 1.
#[derive(Debug, Clone, Default)]
pub struct Classes(Arc<Mutex<Vec<SeenClass>>>);

impl Classes {
    /// What occurred so far.
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
        // One place is kept for "other".
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

/// One worker's view of the classes: the lock is taken only for a class it has not met.
#[derive(Debug)]
pub struct ClassNumbers {
    shared: Classes,
    met: Vec<(ErrorClass, u8)>,
}

impl ClassNumbers {
    /// A view of these.
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
    use tare_schema::agent::Fault;

    use super::*;

    #[test]
    fn two_workers_number_a_class_alike_and_keep_its_first_example() {
        let shared = Classes::default();
        let (mut a, mut b) = (ClassNumbers::of(&shared), ClassNumbers::of(&shared));
        assert_eq!(a.number(ErrorClass::TIMEOUT, &"first"), 1);
        assert_eq!(b.number(ErrorClass::RUBBISH, &"x"), 2);
        assert_eq!(b.number(ErrorClass::TIMEOUT, &"second"), 1);
        assert_eq!(shared.seen()[0].example.as_deref(), Some("first"));
    }

    #[test]
    fn a_server_with_a_thousand_codes_fills_only_the_classes_kept() {
        let shared = Classes::default();
        let mut numbers = ClassNumbers::of(&shared);
        for code in 0..1000 {
            let class = ErrorClass {
                name: "status",
                code: Some(code),
                fault: Fault::Target,
            };
            assert!(usize::from(numbers.number(class, &"")) <= KEPT_MAX);
        }
        let seen = shared.seen();
        assert_eq!(seen.len(), KEPT_MAX);
        assert_eq!(seen[KEPT_MAX - 1].class, ErrorClass::OTHER);
    }
}
