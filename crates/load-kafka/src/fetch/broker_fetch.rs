//! Fetching from one broker: its request, which is reused, and the response being read.

use tare_kafka::fetch::{FetchLimits, FetchRequest, FetchScanner, PartitionToFetch, TopicToFetch};

use super::cursor::PartitionCursor;
use tare_load::client::{DueExchange, ErrorClass, WaitCause};

#[derive(Debug, Clone, Copy)]
pub struct InFlightFetch {
    pub due: DueExchange,
    /// Why it was not sent immediately.
    pub waited: Option<WaitCause>,
    /// Number of the assignment that it was sent for.
    pub assignment: u32,
}

/// The first failure of a fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchFailure {
    pub class: ErrorClass,
    /// The error message.
    pub words: String,
}

/// The state of fetching from one broker.
#[derive(Debug)]
pub struct BrokerFetch {
    /// Partitions to fetch, by their index among the cursors.
    pub wanted: Vec<u32>,
    /// Number of the assignment that the requested partitions are of.
    assignment: u32,
    request: Option<FetchRequest>,
    pub scanner: FetchScanner,
    pub in_flight: Option<InFlightFetch>,
    pub response: ResponseState,
    /// Partitions of the ListOffsets request in flight.
    pub offset_lookup: Vec<u32>,
}

/// How far a response has been read.
#[derive(Debug, Default)]
pub struct ResponseState {
    /// Partitions of the request, in its order.
    pub requested: Vec<u32>,
    /// Index in `requested` at which the next partition of the response is expected.
    pub index: usize,
    /// The cursor of the partition whose records are being read.
    pub cursor: Option<u32>,
    /// Records so far.
    pub records: u64,
    pub failure: Option<FetchFailure>,
    /// Time for which the broker reads nothing from this client, because of a quota.
    pub throttle_ms: i32,
}

impl BrokerFetch {
    /// Without partitions to fetch.
    pub fn new(scanner: FetchScanner) -> Self {
        Self {
            wanted: Vec::new(),
            assignment: 0,
            request: None,
            scanner,
            in_flight: None,
            response: ResponseState::default(),
            offset_lookup: Vec::new(),
        }
    }

    /// The request for the wanted partitions, each from its position.
    pub fn request(
        &mut self,
        client: &str,
        limits: &FetchLimits,
        (topics, cursors, assignment): (&[String], &[PartitionCursor], u32),
    ) -> &mut FetchRequest {
        let offset = |at: u32| cursors[at as usize].position.unwrap_or(0);
        let requested = &mut self.response.requested;
        let is_same = self.assignment == assignment && *requested == self.wanted;
        match &mut self.request {
            Some(request) if is_same => {
                for (index, &at) in requested.iter().enumerate() {
                    request.set_offset(index, offset(at));
                }
            }
            request => {
                // By topic: the response has the order of the request.
                self.wanted
                    .sort_by_key(|&at| (cursors[at as usize].topic, at));
                requested.clone_from(&self.wanted);
                self.assignment = assignment;
                let parts: Vec<PartitionToFetch> = requested
                    .iter()
                    .map(|&at| PartitionToFetch {
                        partition: cursors[at as usize].partition,
                        leader_epoch: -1,
                        offset: offset(at),
                    })
                    .collect();
                let mut named = Vec::new();
                let mut from = 0;
                for run in requested
                    .chunk_by(|&a, &b| cursors[a as usize].topic == cursors[b as usize].topic)
                {
                    named.push(TopicToFetch {
                        name: &topics[usize::from(cursors[run[0] as usize].topic)],
                        partitions: &parts[from..from + run.len()],
                    });
                    from += run.len();
                }
                *request = Some(FetchRequest::new(client, limits, &named));
            }
        }
        self.request
            .get_or_insert_with(|| FetchRequest::new(client, limits, &[]))
    }
}
