//! The exchanges under way: a fixed number of places, given out and taken back without allocating.

use crate::client::Ticket;

/// What the driver keeps of an exchange until it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// When it should have started.
    pub intended_ns: u64,
    /// When our loop took it.
    pub released_ns: u64,
    /// When the first byte of an answer in parts arrived; 0 for an answer in one.
    pub first_ns: u64,
    /// Which request.
    pub request: u16,
    /// How many are under way that began together.
    pub count: u32,
}

/// The places.
#[derive(Debug)]
pub struct Tickets {
    places: Vec<Option<Exchange>>,
    free: Vec<u32>,
    open: usize,
    max: usize,
}

impl Tickets {
    /// At most `max` exchanges. Memory is reserved, and touched only when used.
    #[must_use]
    pub fn new(max: usize) -> Self {
        let max = max.min(u32::MAX as usize);
        Self {
            places: Vec::with_capacity(max),
            free: Vec::with_capacity(max),
            open: 0,
            max,
        }
    }

    /// Opens a place; `None` when all are taken.
    pub fn open(&mut self, exchange: Exchange) -> Option<Ticket> {
        let at = match self.free.pop() {
            Some(at) => at,
            None if self.places.len() < self.max => {
                self.places.push(None);
                (self.places.len() - 1) as u32
            }
            None => return None,
        };
        self.places[at as usize] = Some(exchange);
        self.open += exchange.count as usize;
        Some(Ticket(at))
    }

    /// Notes the first byte of an answer.
    pub fn first_byte(&mut self, ticket: Ticket, arrived_ns: u64) {
        if let Some(Some(exchange)) = self.places.get_mut(ticket.0 as usize) {
            // Interim answers come first: a later call tells of what is not the first byte.
            if exchange.first_ns == 0 {
                exchange.first_ns = arrived_ns;
            }
        }
    }

    /// An exchange that is under way.
    #[must_use]
    pub fn get(&self, ticket: Ticket) -> Option<Exchange> {
        *self.places.get(ticket.0 as usize)?
    }

    /// Takes an exchange out; `None` if there is none (any more).
    pub fn close(&mut self, ticket: Ticket) -> Option<Exchange> {
        let exchange = self.places.get_mut(ticket.0 as usize)?.take()?;
        self.free.push(ticket.0);
        self.open -= exchange.count as usize;
        Some(exchange)
    }

    /// Takes so many of a run out; `None` if there are not so many.
    #[inline]
    pub fn close_some(&mut self, ticket: Ticket, count: u32) -> Option<Exchange> {
        let place = self.places.get_mut(ticket.0 as usize)?;
        let exchange = place.as_mut()?;
        exchange.count = exchange.count.checked_sub(count)?;
        let taken = Exchange { count, ..*exchange };
        self.open -= count as usize;
        if exchange.count == 0 {
            *place = None;
            self.free.push(ticket.0);
        }
        Some(taken)
    }

    /// Exchanges under way.
    #[must_use]
    pub fn count(&self) -> usize {
        self.open
    }
}
