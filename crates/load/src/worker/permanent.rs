//! When a worker gives the load up: errors that every connection must meet, so that waiting for more of them tells nothing.

use crate::client::Closed;

/// Permanent errors after which a load without a success is ended.
const ERRORS_MAX: u32 = 5;

/// What a worker knows when a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Some connection of the load was open at some time: the server is there.
    Reached,
    /// None was, of any worker.
    NotReached,
    /// The load has not begun: the server may still be starting.
    NotBegun,
}

/// The permanent errors of one worker.
#[derive(Debug, Default)]
pub(super) struct PermanentErrors {
    /// TLS errors that no repetition changes.
    tls: u32,
    /// Attempts that reached nobody while the load ran.
    unreached: u32,
}

impl PermanentErrors {
    /// Counts the end of a connection; true if it is a permanent error and there were enough of them.
    pub fn add(&mut self, why: Closed, reach: Reach) -> bool {
        let count = match why {
            Closed::Tls(failure) if failure.is_final() => &mut self.tls,
            Closed::Refused | Closed::Unreachable if reach == Reach::NotReached => {
                &mut self.unreached
            }
            _ => return false,
        };
        *count += 1;
        *count >= ERRORS_MAX
    }

    /// Whether TLS failed so often that it is not a server that is still starting.
    pub fn is_refused_by_tls(&self) -> bool {
        self.tls >= ERRORS_MAX
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tls::TlsFailure;

    fn add(errors: &mut PermanentErrors, times: u32, why: Closed, reach: Reach) -> bool {
        (0..times).fold(false, |_, _| errors.add(why, reach))
    }

    #[test]
    fn only_permanent_errors_end_a_load_however_many_were_met_before() {
        let mut errors = PermanentErrors::default();
        // A server that is still starting refuses them all at first.
        assert!(!add(&mut errors, 100, Closed::Refused, Reach::NotBegun));
        for why in [Closed::Eof, Closed::Reset, Closed::ConnectTimeout] {
            assert!(!errors.add(why, Reach::Reached), "{why:?}");
        }
        assert!(!add(&mut errors, 100, Closed::Refused, Reach::Reached));
        assert!(!errors.is_refused_by_tls());
    }

    proptest! {
        #[test]
        fn a_load_is_given_up_after_five_permanent_errors_and_after_nothing_else(
            ends in prop::collection::vec((0..6_usize, 0..3_usize), 0..40),
        ) {
            let mut errors = PermanentErrors::default();
            let (mut tls, mut unreached) = (0, 0);
            for (why, reach) in ends {
                let why = [
                    Closed::Eof,
                    Closed::Reset,
                    Closed::ConnectTimeout,
                    Closed::Refused,
                    Closed::Unreachable,
                    Closed::Tls(TlsFailure::ClientCertificateRejected(116)),
                ][why];
                let reach = [Reach::Reached, Reach::NotReached, Reach::NotBegun][reach];
                let expected = match (why, reach) {
                    (Closed::Tls(_), _) => {
                        tls += 1;
                        tls >= 5
                    }
                    (Closed::Refused | Closed::Unreachable, Reach::NotReached) => {
                        unreached += 1;
                        unreached >= 5
                    }
                    _ => false,
                };
                prop_assert_eq!(errors.add(why, reach), expected);
            }
        }
    }

    #[test]
    fn a_server_that_was_never_reached_ends_it() {
        let mut errors = PermanentErrors::default();
        assert!(!add(&mut errors, 4, Closed::Refused, Reach::NotReached));
        assert!(errors.add(Closed::Unreachable, Reach::NotReached));
        assert!(!errors.add(Closed::Eof, Reach::NotReached));
    }

    #[test]
    fn refusals_are_not_counted_as_errors_of_tls() {
        let mut errors = PermanentErrors::default();
        let rejected = Closed::Tls(TlsFailure::ClientCertificateRejected(116));
        add(&mut errors, 100, Closed::Refused, Reach::NotBegun);
        assert!(!add(&mut errors, 4, rejected, Reach::Reached));
        assert!(!errors.is_refused_by_tls());
        assert!(errors.add(rejected, Reach::Reached) && errors.is_refused_by_tls());
    }
}
