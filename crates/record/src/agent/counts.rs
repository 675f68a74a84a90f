//! Counters of a load. A new one is a line here: its sum over workers, its JSON and its schema follow.

use std::ops::AddAssign;

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

/// Structs of counters that are added field by field.
macro_rules! counters {
    ($($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $number:ty,)* })*) => {
        $(
            $(#[$meta])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
            pub struct $name {
                $($(#[$field_meta])* pub $field: $number,)*
            }

            impl AddAssign for $name {
                #[inline]
                fn add_assign(&mut self, other: Self) {
                    $(self.$field += other.$field;)*
                }
            }
        )*
    };
}

counters! {
    /// Exchanges with one request over the whole load.
    RequestCount {
        /// Requests sent.
        sent: u64,
        /// Of these, successful.
        ok: u64,
    }

    /// Responses by time of arrival, not by intended start: rates and costs of a window are relative to these.
    CompletedCounts {
        /// Successful responses.
        ok: u64,
        /// Failed exchanges: an unexpected response, refused or cut off.
        errors: u64,
    }

    /// Connections over the whole load.
    ConnectionCounts {
        /// Connections opened.
        opened: u64,
        /// Of these, replacements for connections that were lost or closed.
        reconnects: u64,
        /// Failed connection attempts.
        failed: u64,
        /// Greatest number open at a time.
        peak: u32,
    }

    /// Counters of the generator, of exchanges intended in the window.
    GeneratorCounts {
        /// Responses with a kernel timestamp.
        kernel_timestamps: u64,
        /// Responses with a timestamp of the agent's clock, because the kernel gave none.
        user_timestamps: u64,
        /// Kernel timestamps taken with other exchanges in flight on the connection: upper bounds.
        timestamp_upper_bounds: u64,
        /// Responses with a timestamp before their request was sent: the clocks disagree, and their service time counts as 0.
        timestamps_before_send: u64,
        /// Values outside of the histograms' range.
        out_of_range: u64,
    }
}

impl GeneratorCounts {
    /// Share of the responses with a timestamp that have the kernel's; `None` without any.
    #[must_use]
    pub fn kernel_timestamp_share(&self) -> Option<f64> {
        let all = self.kernel_timestamps + self.user_timestamps;
        (all > 0).then(|| self.kernel_timestamps as f64 / all as f64)
    }

    /// Share of the kernel timestamps that are upper bounds; `None` without any.
    #[must_use]
    pub fn upper_bound_share(&self) -> Option<f64> {
        let all = self.kernel_timestamps;
        (all > 0).then(|| self.timestamp_upper_bounds as f64 / all as f64)
    }
}

/// Records that the exchanges of a load carried, by time of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RecordCounts {
    /// Records within the window.
    pub in_window: u64,
    /// Records over the whole load, warm-up and drain included.
    pub total: u64,
    /// Bytes within the window: of keys and values where the load decodes each record, else of whole batches as received.
    pub bytes_in_window: u64,
    /// Bytes over the whole load.
    pub bytes_total: u64,
    /// Last arrival within the window, since its start.
    pub last_arrival_ns: u64,
    /// Records with a negative end-to-end latency: the timestamp is later than the arrival, so the clocks differ or one was set. They are in no
    /// histogram.
    #[serde(default)]
    pub negative_end_to_end: u64,
}

impl AddAssign for RecordCounts {
    fn add_assign(&mut self, other: Self) {
        self.in_window += other.in_window;
        self.total += other.total;
        self.bytes_in_window += other.bytes_in_window;
        self.bytes_total += other.bytes_total;
        self.last_arrival_ns = self.last_arrival_ns.max(other.last_arrival_ns);
        self.negative_end_to_end += other.negative_end_to_end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_added_field_by_field() {
        let mut sum = ConnectionCounts {
            opened: 1,
            reconnects: 2,
            failed: 3,
            peak: 4,
        };
        sum += sum;
        assert_eq!(
            (sum.opened, sum.reconnects, sum.failed, sum.peak),
            (2, 4, 6, 8)
        );
    }
}
