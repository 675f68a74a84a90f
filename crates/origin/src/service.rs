//! State shared by the protocols of one worker: behaviour, random numbers, counters and stalls.

use std::sync::Arc;

use crate::behaviour::{After, Behaviour, BehaviourOverride};
use crate::counters::{AllCounters, Counters};
use crate::delay::Rng;
use crate::mongodb::SharedDatabase;
use crate::options::Limits;
use crate::stall::Stalls;

/// One worker's view of the origin.
#[derive(Debug)]
pub(crate) struct Service {
    pub limits: Limits,
    pub overrides: Vec<BehaviourOverride>,
    pub rng: Rng,
    pub counters: Arc<Counters>,
    pub all: AllCounters,
    pub stalls: Arc<Stalls>,
    pub database: SharedDatabase,
    /// The origin is stopping.
    pub is_ending: bool,
}

impl Service {
    /// Draws the behaviour of one answer.
    pub(crate) fn behave(&mut self, requested: &BehaviourOverride) -> Behaviour {
        let mut behaviour = Behaviour::default();
        for one in &self.overrides {
            one.apply(&mut behaviour, &mut self.rng);
        }
        requested.apply(&mut behaviour, &mut self.rng);
        behaviour
    }

    /// The behaviour of the answer to a request, counted. `None`: the request's own behaviour is invalid, and is answered with 400.
    pub(crate) fn answer(&mut self, requested: Option<BehaviourOverride>) -> Behaviour {
        let mut behaviour = self.behave(&requested.unwrap_or_default());
        if requested.is_none() {
            behaviour = Behaviour::of_status(400);
        }
        match behaviour.after {
            After::Reset => self.counters.resets.add(1),
            After::KeepAlive | After::Close => self.counters.request(behaviour.status),
        }
        behaviour
    }
}
