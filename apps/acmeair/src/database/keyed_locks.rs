//! Per-key locks: one writer per document, others wait in order.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use tokio::sync::{Mutex, MutexGuard};

/// Keys are hashed to this many locks; two keys that share one merely wait for each other.
const LOCKS: usize = 1024;

#[derive(Debug)]
pub struct KeyedLocks {
    locks: Vec<Mutex<()>>,
    hasher: RandomState,
}

impl Default for KeyedLocks {
    fn default() -> KeyedLocks {
        KeyedLocks {
            locks: (0..LOCKS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
        }
    }
}

impl KeyedLocks {
    /// Locks a key; waiters are served in order.
    pub async fn lock(&self, key: &str) -> MutexGuard<'_, ()> {
        let index = self.hasher.hash_one(key) as usize % LOCKS;
        self.locks[index].lock().await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn one_at_a_time_changes_the_same_and_others_need_not_wait() {
        let turns = KeyedLocks::default();
        let held = turns.lock("a").await;
        let moment = Duration::from_millis(1);
        assert!(tokio::time::timeout(moment, turns.lock("a")).await.is_err());
        let mut free = 0;
        for other in 0..100 {
            let turn = tokio::time::timeout(moment, turns.lock(&other.to_string())).await;
            free += u32::from(turn.is_ok());
        }
        // By chance one of a hundred may share the place; that more than half do is none.
        assert!(free > 50, "{free}");
        drop(held);
        assert!(tokio::time::timeout(moment, turns.lock("a")).await.is_ok());
    }
}
