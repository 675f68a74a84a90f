//! Miles for bookings: looked up at flight, added to the customer, after the booking was answered.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use serving::metrics::{Counter, MetricsPage};
use tokio::sync::Semaphore;

use crate::peer::Peer;
use crate::retry::{CallError, RetryPolicy, RetryingCall};

/// Timeout of the update at customer.
const CUSTOMER_LIMIT: Duration = Duration::from_secs(10);
/// Concurrent updates.
const IN_FLIGHT_MAX: usize = 256;
/// Updates that wait or will be retried; further ones are dropped and counted.
const WAITING_MAX: usize = 100_000;
/// Pause between retries of deferred updates.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Whether miles are added or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// Add to the customer.
    Give,
    /// Remove from the customer.
    Take,
}

/// The update for one booking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    pub customer: String,
    /// The flight segment.
    pub segment: String,
    /// Add or remove.
    pub sign: Sign,
}

/// Updates miles in the background.
#[derive(Debug)]
pub struct Miles {
    flight: Peer,
    customer: Peer,
    ask: RetryingCall,
    change: RetryingCall,
    permits: Semaphore,
    /// Updates started and not finished, deferred ones included.
    pending: AtomicI64,
    retry_queue: Mutex<VecDeque<Update>>,
    /// Sum of all miles added and removed.
    sum: AtomicI64,
    applied: Counter,
    /// Updates that failed for now and are retried later.
    deferred: Counter,
    /// Updates with an unknown outcome: the response was lost.
    uncertain: Counter,
    /// Updates that failed permanently: no such segment or customer.
    refused: Counter,
    lost: Counter,
}

#[derive(Deserialize)]
struct Worth {
    miles: i64,
}

/// Why an update failed.
enum UpdateError {
    Retryable,
    Unknown,
    Permanent,
}

impl From<CallError> for UpdateError {
    fn from(failed: CallError) -> UpdateError {
        match failed.uncertain() {
            true => UpdateError::Unknown,
            false => UpdateError::Retryable,
        }
    }
}

impl Miles {
    /// With these two services. The timeout is that of calls to flight.
    pub fn new(flight: Peer, customer: Peer, timeout: Duration) -> Arc<Miles> {
        Arc::new(Miles {
            flight,
            customer,
            ask: RetryingCall::new("getrewardmiles", timeout, RetryPolicy::Always),
            change: RetryingCall::new(
                "updateCustomerTotalMiles",
                CUSTOMER_LIMIT,
                RetryPolicy::UnlessDone,
            ),
            permits: Semaphore::new(IN_FLIGHT_MAX),
            pending: AtomicI64::new(0),
            retry_queue: Mutex::default(),
            sum: AtomicI64::new(0),
            applied: Counter::default(),
            deferred: Counter::default(),
            uncertain: Counter::default(),
            refused: Counter::default(),
            lost: Counter::default(),
        })
    }

    /// Starts an update in the background.
    pub fn update(self: Arc<Self>, update: Update) {
        if self.pending.fetch_add(1, Ordering::Relaxed) >= WAITING_MAX as i64 {
            self.lost.count();
            self.pending.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        tokio::spawn(async move {
            // The semaphore is never closed; if it were, updates would merely not be limited.
            let _permit = self.permits.acquire().await.ok();
            self.settle(update).await;
        });
    }

    async fn settle(&self, update: Update) {
        let count = match self.attempt(&update).await {
            Ok(miles) => {
                self.sum.fetch_add(miles, Ordering::Relaxed);
                &self.applied
            }
            Err(UpdateError::Retryable) => {
                self.deferred.count();
                self.lock_queue().push_back(update);
                return;
            }
            Err(UpdateError::Unknown) => &self.uncertain,
            Err(UpdateError::Permanent) => &self.refused,
        };
        count.count();
        self.pending.fetch_sub(1, Ordering::Relaxed);
    }

    /// One attempt: lookup and update. Returns the miles added to the customer.
    async fn attempt(&self, update: &Update) -> Result<i64, UpdateError> {
        let form = [("flightSegment", update.segment.as_str())];
        let answer = self
            .ask
            .post(&self.flight, "/flight/getrewardmiles", &form)
            .await;
        // The lookup changes nothing, so a lost response is safe to retry.
        let answer = answer.map_err(|_| UpdateError::Retryable)?;
        if !answer.status.is_success() {
            return Err(UpdateError::Permanent);
        }
        let worth: Worth =
            serde_json::from_slice(&answer.body).map_err(|_| UpdateError::Permanent)?;
        let miles = match update.sign {
            Sign::Give => worth.miles,
            Sign::Take => -worth.miles,
        };
        let whose: String = form_urlencoded::byte_serialize(update.customer.as_bytes()).collect();
        // In a path, a space is not written as `+`.
        let path = format!(
            "/customer/internal/updateCustomerTotalMiles/{}",
            whose.replace('+', "%20")
        );
        let form = [("miles", miles.to_string())];
        let form = form.each_ref().map(|(name, value)| (*name, value.as_str()));
        let answer = self.change.post(&self.customer, &path, &form).await?;
        match answer.status.is_success() {
            true => Ok(miles),
            false => Err(UpdateError::Permanent),
        }
    }

    /// Retries deferred updates, forever.
    pub async fn retry_deferred(self: Arc<Self>) {
        loop {
            tokio::time::sleep(RETRY_PAUSE).await;
            let all = std::mem::take(&mut *self.lock_queue());
            for update in all {
                let _permit = self.permits.acquire().await.ok();
                self.settle(update).await;
            }
        }
    }

    /// Resets the counters; deferred updates are dropped with the bookings that they were for.
    pub fn reset(&self) {
        let forgotten = std::mem::take(&mut *self.lock_queue()).len();
        self.pending.fetch_sub(forgotten as i64, Ordering::Relaxed);
        self.sum.store(0, Ordering::Relaxed);
        for (_, counter) in self.outcomes() {
            counter.reset();
        }
    }

    /// No code that holds the lock can panic.
    fn lock_queue(&self) -> MutexGuard<'_, VecDeque<Update>> {
        self.retry_queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
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

    pub fn write(&self, page: &mut MetricsPage) {
        self.flight.write(page);
        self.customer.write(page);
        self.ask.write(page);
        self.change.write(page);
        let help = "Updates of miles: applied, deferred (tried again later), uncertain (the answer was lost), refused, lost (too many).";
        for (outcome, count) in self.outcomes() {
            let labels = format!("outcome=\"{outcome}\"");
            page.counter("acmeair_mile_updates_total", help, &labels, count);
        }
        let help = "Updates of miles that have begun and not ended.";
        let pending = self.pending.load(Ordering::Relaxed);
        page.gauge("acmeair_mile_updates_pending", help, "", pending);
    }

    /// The counters as JSON, for status page and audit.
    pub fn status(&self) -> Value {
        let mut status = json!({
            "pending": self.pending.load(Ordering::Relaxed),
            "sum": self.sum.load(Ordering::Relaxed),
        });
        for (outcome, count) in self.outcomes() {
            status[outcome] = json!(count.get());
        }
        status
    }

    /// The state of the breakers.
    pub fn calls(&self) -> Value {
        json!([self.ask.status(), self.change.status()])
    }
}
