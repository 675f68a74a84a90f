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
        self.open += 1;
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
        self.open -= 1;
        Some(exchange)
    }

    /// Exchanges under way.
    #[must_use]
    pub fn count(&self) -> usize {
        self.open
    }
}
