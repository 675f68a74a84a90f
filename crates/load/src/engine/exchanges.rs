//! The exchanges in flight, in a slab of fixed size: no allocation per exchange.

use crate::client::ExchangeId;

/// State of an exchange in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exchange {
    /// Intended start.
    pub intended_ns: u64,
    /// When the generator took it up.
    pub released_ns: u64,
    /// First byte of a response read in several pieces; 0 otherwise.
    pub first_ns: u64,
    pub request: u16,
    /// Exchanges of the batch still in flight; 1 without batching.
    pub count: u32,
}

#[derive(Debug)]
pub struct ExchangeSlab {
    slots: Vec<Option<Exchange>>,
    free: Vec<u32>,
    open: usize,
    max: usize,
}

impl ExchangeSlab {
    /// At most `max` exchanges. Memory is reserved, and touched only when used.
    #[must_use]
    pub fn new(max: usize) -> Self {
        let max = max.min(u32::MAX as usize);
        Self {
            slots: Vec::with_capacity(max),
            free: Vec::with_capacity(max),
            open: 0,
            max,
        }
    }

    /// Adds an exchange; `None` if the slab is full.
    pub fn open(&mut self, exchange: Exchange) -> Option<ExchangeId> {
        let at = match self.free.pop() {
            Some(at) => at,
            None if self.slots.len() < self.max => {
                self.slots.push(None);
                (self.slots.len() - 1) as u32
            }
            None => return None,
        };
        self.slots[at as usize] = Some(exchange);
        self.open += exchange.count as usize;
        Some(ExchangeId(at))
    }

    /// Records the first byte of a response.
    pub fn first_byte(&mut self, ticket: ExchangeId, arrived_ns: u64) {
        if let Some(Some(exchange)) = self.slots.get_mut(ticket.0 as usize) {
            // Interim responses come first: only the first call is the first byte.
            if exchange.first_ns == 0 {
                exchange.first_ns = arrived_ns;
            }
        }
    }

    /// An exchange in flight.
    #[must_use]
    pub fn get(&self, ticket: ExchangeId) -> Option<Exchange> {
        *self.slots.get(ticket.0 as usize)?
    }

    /// Removes an exchange; `None` if it is not in flight (any more).
    pub fn close(&mut self, ticket: ExchangeId) -> Option<Exchange> {
        let exchange = self.slots.get_mut(ticket.0 as usize)?.take()?;
        self.free.push(ticket.0);
        self.open -= exchange.count as usize;
        Some(exchange)
    }

    /// Removes `count` exchanges of a batch; `None` if there are fewer.
    #[inline]
    pub fn close_some(&mut self, ticket: ExchangeId, count: u32) -> Option<Exchange> {
        let slot = self.slots.get_mut(ticket.0 as usize)?;
        let exchange = slot.as_mut()?;
        exchange.count = exchange.count.checked_sub(count)?;
        let taken = Exchange { count, ..*exchange };
        self.open -= count as usize;
        if exchange.count == 0 {
            *slot = None;
            self.free.push(ticket.0);
        }
        Some(taken)
    }

    /// Exchanges in flight.
    #[must_use]
    pub fn count(&self) -> usize {
        self.open
    }
}
