//! Turns: of those who would change the same thing one does, and the others wait.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use tokio::sync::{Mutex, MutexGuard};

/// Things are told apart by so many places; two that share one merely wait for each other.
const PLACES: usize = 1024;

/// Who changes what.
#[derive(Debug)]
pub struct Turns {
    places: Vec<Mutex<()>>,
    hasher: RandomState,
}

impl Default for Turns {
    fn default() -> Turns {
        Turns {
            places: (0..PLACES).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
        }
    }
}

impl Turns {
    /// Waits for the turn to change this, in the order of asking.
    pub async fn of(&self, key: &str) -> MutexGuard<'_, ()> {
        let place = self.hasher.hash_one(key) as usize % PLACES;
        self.places[place].lock().await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn one_at_a_time_changes_the_same_and_others_need_not_wait() {
        let turns = Turns::default();
        let held = turns.of("a").await;
        let moment = Duration::from_millis(1);
        assert!(tokio::time::timeout(moment, turns.of("a")).await.is_err());
        let mut free = 0;
        for other in 0..100 {
            let turn = tokio::time::timeout(moment, turns.of(&other.to_string())).await;
            free += u32::from(turn.is_ok());
        }
        // By chance one of a hundred may share the place; that more than half do is none.
        assert!(free > 50, "{free}");
        drop(held);
        assert!(tokio::time::timeout(moment, turns.of("a")).await.is_ok());
    }
}
