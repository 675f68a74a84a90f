//! State shared by the protocols of one worker: behaviour, random numbers, counters and stalls.

use std::sync::Arc;

use crate::behaviour::{Behaviour, Change};
use crate::counters::{AllCounters, Counters};
use crate::mongodb::SharedDatabase;
use crate::options::Limits;
use crate::rng::Rng;
use crate::stall::{PlannedStall, Stalls};

/// One worker's view of the origin.
#[derive(Debug)]
pub(crate) struct Service {
    pub limits: Limits,
    pub changes: Vec<Change>,
    pub rng: Rng,
    pub counters: Arc<Counters>,
    pub all: AllCounters,
    pub stalls: Arc<Stalls>,
    pub database: SharedDatabase,
    pub server_state: ServerState,
}

/// Whether the origin serves or is stopping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerState {
    Serving,
    Ending,
}

/// Whether a stall could be planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Planned {
    Yes,
    TooMany,
}

impl Service {
    /// Draws the behaviour of one answer.
    pub(crate) fn behave(&mut self, requested: &Change) -> Behaviour {
        let mut behaviour = Behaviour::default();
        for change in &self.changes {
            change.apply(&mut behaviour, &mut self.rng);
        }
        requested.apply(&mut behaviour, &mut self.rng);
        behaviour
    }

    pub(crate) fn stall(&self, stall: PlannedStall) -> Planned {
        if self.stalls.plan(stall) {
            Planned::Yes
        } else {
            Planned::TooMany
        }
    }
}
