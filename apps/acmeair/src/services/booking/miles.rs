//! Miles for bookings: asked of flight, given to or taken from the customer, after the booking was answered.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::guard::{Failed, Guarded, Repeat};
use crate::metrics::{Counter, Page};
use crate::peer::Peer;

/// What flight has to say how many miles a segment is worth.
const FLIGHT_LIMIT: Duration = Duration::from_millis(500);
/// What customer has to change the miles.
const CUSTOMER_LIMIT: Duration = Duration::from_secs(10);
/// Updates under way at once.
const UNDER_WAY_MAX: usize = 256;
/// Updates that wait or are owed; further ones are lost, and counted.
const WAITING_MAX: usize = 100_000;
/// Between two looks at what is owed.
const OWED_PAUSE: Duration = Duration::from_secs(1);

/// Which way the miles go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// To the customer.
    Give,
    /// From the customer.
    Take,
}

/// The miles of one booking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// Whose.
    pub customer: String,
    /// The segment that they are for.
    pub segment: String,
    /// Given or taken.
    pub sign: Sign,
}

/// Updates miles.
#[derive(Debug)]
pub struct Miles {
    flight: Peer,
    customer: Peer,
    ask: Guarded,
    change: Guarded,
    room: Semaphore,
    /// Begun and not ended; what is owed is among them.
    pending: AtomicI64,
    owed: Mutex<VecDeque<Update>>,
    /// The sum of all miles given and taken.
    sum: AtomicI64,
    applied: Counter,
    /// What could not be done at once: it is tried again later.
    deferred: Counter,
    /// Whether they were done nobody knows: the answer was lost.
    uncertain: Counter,
    /// Refused for good: no such segment or customer.
    refused: Counter,
    lost: Counter,
}

#[derive(Deserialize)]
struct Worth {
    miles: i64,
}

/// Why an update did not come about.
enum Not {
    Yet,
    Known,
    Ever,
}

impl From<Failed> for Not {
    fn from(failed: Failed) -> Not {
        match failed.uncertain() {
            true => Not::Known,
            false => Not::Yet,
        }
    }
}

impl Miles {
    /// Asks the one and tells the other.
    #[must_use]
    pub fn new(flight: Peer, customer: Peer) -> Arc<Miles> {
        Arc::new(Miles {
            flight,
            customer,
            ask: Guarded::new("getrewardmiles", FLIGHT_LIMIT, Repeat::Always),
            change: Guarded::new(
                "updateCustomerTotalMiles",
                CUSTOMER_LIMIT,
                Repeat::UnlessDone,
            ),
            room: Semaphore::new(UNDER_WAY_MAX),
            pending: AtomicI64::new(0),
            owed: Mutex::default(),
            sum: AtomicI64::new(0),
            applied: Counter::default(),
            deferred: Counter::default(),
            uncertain: Counter::default(),
            refused: Counter::default(),
            lost: Counter::default(),
        })
    }

    /// Begins an update; nobody waits for it.
    pub fn update(self: Arc<Self>, update: Update) {
        if self.pending.fetch_add(1, Ordering::Relaxed) >= WAITING_MAX as i64 {
            self.lost.count();
            self.pending.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        tokio::spawn(async move {
            // The semaphore is never closed; if it were, updates would merely not be limited.
            let _place = self.room.acquire().await.ok();
            self.settle(update).await;
        });
    }

    async fn settle(&self, update: Update) {
        let count = match self.attempt(&update).await {
            Ok(miles) => {
                self.sum.fetch_add(miles, Ordering::Relaxed);
                &self.applied
            }
            Err(Not::Yet) => {
                self.deferred.count();
                self.debts().push_back(update);
                return;
            }
            Err(Not::Known) => &self.uncertain,
            Err(Not::Ever) => &self.refused,
        };
        count.count();
        self.pending.fetch_sub(1, Ordering::Relaxed);
    }

    /// Two calls; the number of miles that the customer has more after them.
    async fn attempt(&self, update: &Update) -> Result<i64, Not> {
        let form = [("flightSegment", update.segment.as_str())];
        let answer = self
            .ask
            .post(&self.flight, "/flight/getrewardmiles", &form)
            .await;
        // To ask changes nothing, so a lost answer is no more than a failure.
        let answer = answer.map_err(|_| Not::Yet)?;
        if !answer.status.is_success() {
            return Err(Not::Ever);
        }
        let worth: Worth = serde_json::from_slice(&answer.body).map_err(|_| Not::Ever)?;
        let miles = match update.sign {
            Sign::Give => worth.miles,
            Sign::Take => -worth.miles,
        };
        let whose: String = form_urlencoded::byte_serialize(update.customer.as_bytes()).collect();
        // In a path a space is no plus.
        let path = format!(
            "/customer/internal/updateCustomerTotalMiles/{}",
            whose.replace('+', "%20")
        );
        let form = [("miles", miles.to_string())];
        let form = form.each_ref().map(|(name, value)| (*name, value.as_str()));
        let answer = self.change.post(&self.customer, &path, &form).await?;
        match answer.status.is_success() {
            true => Ok(miles),
            false => Err(Not::Ever),
        }
    }

    /// Does again and again what could not be done at once, without end.
    pub async fn pay_debts(self: Arc<Self>) {
        loop {
            tokio::time::sleep(OWED_PAUSE).await;
            let all = std::mem::take(&mut *self.debts());
            for update in all {
                let _place = self.room.acquire().await.ok();
                self.settle(update).await;
            }
        }
    }

    /// Begins to count anew; what is owed is forgotten with the bookings that it was for.
    pub fn reset(&self) {
        let forgotten = std::mem::take(&mut *self.debts()).len();
        self.pending.fetch_sub(forgotten as i64, Ordering::Relaxed);
        self.sum.store(0, Ordering::Relaxed);
        for counter in [
            &self.applied,
            &self.deferred,
            &self.uncertain,
            &self.refused,
            &self.lost,
        ] {
            counter.reset();
        }
    }

    /// Nothing that holds the lock can panic half way.
    fn debts(&self) -> MutexGuard<'_, VecDeque<Update>> {
        self.owed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outcomes(&self) -> [(&'static str, &Counter); 5] {
        [
            ("applied", &self.applied),
            ("deferred", &self.deferred),
            ("uncertain", &self.uncertain),
            ("refused", &self.refused),
            ("lost", &self.lost),
        ]
    }

    /// Writes it down.
    pub fn write(&self, page: &mut Page) {
        self.flight.write(page);
        self.customer.write(page);
        self.ask.write(page);
        self.change.write(page);
        let help = "Updates of miles: applied, deferred (tried again later), uncertain (the answer was lost), refused, lost (too many).";
        for (outcome, count) in self.outcomes() {
            let labels = format!("outcome=\"{outcome}\"");
            page.counter("acmeair_mile_updates_total", help, &labels, count.get());
        }
        let help = "Updates of miles that have begun and not ended.";
        let pending = self.pending.load(Ordering::Relaxed);
        page.gauge("acmeair_mile_updates_pending", help, "", pending);
    }

    /// The same for people and for the audit.
    #[must_use]
    pub fn status(&self) -> Value {
        let mut told = json!({
            "pending": self.pending.load(Ordering::Relaxed),
            "sum": self.sum.load(Ordering::Relaxed),
        });
        for (outcome, count) in self.outcomes() {
            told[outcome] = json!(count.get());
        }
        told
    }

    /// How the breakers stand.
    #[must_use]
    pub fn calls(&self) -> Value {
        json!([self.ask.status(), self.change.status()])
    }
}
