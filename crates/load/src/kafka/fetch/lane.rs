//! The way to one broker: the request that is sent to it again and again, and the answer that is being read.

use tare_kafka::fetch::{FetchLimits, FetchRequest, FetchScanner, PartitionToFetch, TopicToFetch};

use super::source::Source;
use crate::client::{Due, ErrorClass, WaitCause};

/// A fetch that is under way.
#[derive(Debug, Clone, Copy)]
pub struct UnderWay {
    /// The exchange that it is.
    pub due: Due,
    /// Why it was not sent at once.
    pub waited: Option<WaitCause>,
    /// Of which deal of partitions it is: those dealt since are others.
    pub deal: u32,
}

/// What was wrong with a fetch first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// Its class.
    pub class: ErrorClass,
    /// In words.
    pub words: String,
}

/// The way to a broker.
#[derive(Debug)]
pub struct Lane {
    /// Partitions to ask for, by their number among the sources.
    pub wanted: Vec<u32>,
    /// Those that the request asks for, in its order.
    pub asked: Vec<u32>,
    /// The deal that `asked` is of.
    deal: u32,
    request: Option<FetchRequest>,
    pub scanner: FetchScanner,
    pub under_way: Option<UnderWay>,
    /// Where in `asked` the answer is.
    pub place: usize,
    /// The source whose records are being read.
    pub source: Option<u32>,
    pub wrong: Option<Wrong>,
    /// Partitions whose offsets are being asked for.
    pub placing: Vec<u32>,
}

impl Lane {
    /// One without anything to ask for.
    pub fn new(scanner: FetchScanner) -> Self {
        Self {
            wanted: Vec::new(),
            asked: Vec::new(),
            deal: 0,
            request: None,
            scanner,
            under_way: None,
            place: 0,
            source: None,
            wrong: None,
            placing: Vec::new(),
        }
    }

    /// The request for what is wanted now, from where each partition is.
    pub fn request(
        &mut self,
        client: &str,
        limits: &FetchLimits,
        (topics, sources, deal): (&[String], &[Source], u32),
    ) -> &mut FetchRequest {
        let offset = |at: u32| sources[at as usize].position.unwrap_or(0);
        let is_same = self.deal == deal && self.asked == self.wanted;
        match &mut self.request {
            Some(request) if is_same => {
                for (place, &at) in self.asked.iter().enumerate() {
                    request.set_offset(place, offset(at));
                }
            }
            request => {
                // By topic: the answer comes in the order of the request.
                self.wanted
                    .sort_by_key(|&at| (sources[at as usize].topic, at));
                self.asked.clone_from(&self.wanted);
                self.deal = deal;
                let parts: Vec<PartitionToFetch> = self
                    .asked
                    .iter()
                    .map(|&at| PartitionToFetch {
                        partition: sources[at as usize].partition,
                        leader_epoch: -1,
                        offset: offset(at),
                    })
                    .collect();
                let mut named = Vec::new();
                let mut from = 0;
                for run in self
                    .asked
                    .chunk_by(|&a, &b| sources[a as usize].topic == sources[b as usize].topic)
                {
                    named.push(TopicToFetch {
                        name: &topics[usize::from(sources[run[0] as usize].topic)],
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
