//! What the protocols of one worker share: behaviour, chance, counters and stalls.

use std::sync::Arc;

use crate::behaviour::{Behaviour, Change};
use crate::chance::Chance;
use crate::counters::{AllCounters, Counters};
use crate::mongodb::SharedDatabase;
use crate::options::Limits;
use crate::stall::{PlannedStall, Stalls};

/// One worker's view of the origin.
#[derive(Debug)]
pub(crate) struct Service {
    pub limits: Limits,
    pub changes: Vec<Change>,
    pub chance: Chance,
    pub counters: Arc<Counters>,
    pub all: AllCounters,
    pub stalls: Arc<Stalls>,
    pub database: SharedDatabase,
    pub life: Life,
}

/// Whether the origin goes on or is about to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
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
    /// Draws what one answer does.
    pub(crate) fn behave(&mut self, asked: &Change) -> Behaviour {
        let mut behaviour = Behaviour::default();
        for change in &self.changes {
            change.apply(&mut behaviour, &mut self.chance);
        }
        asked.apply(&mut behaviour, &mut self.chance);
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
