//! Counters of database operations.

use mongodb::event::cmap::CmapEvent;
use serving::metrics::{Counter, Latency, MetricsPage};

/// A kind of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Read documents.
    Find,
    /// Insert documents.
    Insert,
    /// Update documents.
    Update,
    /// Update or delete one document and return it.
    FindAndModify,
    /// Delete documents.
    Delete,
    Aggregate,
    CreateIndexes,
}

const OPS: [(Op, &str); 7] = [
    (Op::Find, "find"),
    (Op::Insert, "insert"),
    (Op::Update, "update"),
    (Op::FindAndModify, "findAndModify"),
    (Op::Delete, "delete"),
    (Op::Aggregate, "aggregate"),
    (Op::CreateIndexes, "createIndexes"),
];

#[derive(Debug, Default)]
pub struct Counts {
    ops: [Latency; OPS.len()],
    /// Operations that returned an error.
    pub failed: Counter,
    /// Operations that timed out.
    pub late: Counter,
    /// Operations not attempted because the database was unreachable.
    pub refused: Counter,
    opened: Counter,
    closed: Counter,
    no_connection: Counter,
}

impl Counts {
    /// Latency of one kind of operation.
    pub fn op(&self, op: Op) -> &Latency {
        // The discriminants are the indices of the table.
        &self.ops[op as usize]
    }

    pub fn operations(&self) -> u64 {
        self.ops.iter().map(Latency::count).sum()
    }

    /// Counts an event of the connection pool.
    pub fn connection(&self, event: &CmapEvent) {
        match event {
            CmapEvent::ConnectionReady(_) => self.opened.count(),
            CmapEvent::ConnectionClosed(_) => self.closed.count(),
            CmapEvent::ConnectionCheckoutFailed(_) => self.no_connection.count(),
            _ => {}
        }
    }

    pub fn write(&self, page: &mut MetricsPage) {
        let took = "Operations of the database in seconds, as the service sees them.";
        for (op, name) in OPS {
            let labels = format!("op=\"{name}\"");
            page.latency("acmeair_db_operation_seconds", took, &labels, self.op(op));
        }
        let wrong = "Operations that brought nothing: error, late (given up), refused (not tried while it is away), pool (no connection).";
        for (why, count) in [
            ("error", &self.failed),
            ("late", &self.late),
            ("refused", &self.refused),
            ("pool", &self.no_connection),
        ] {
            let labels = format!("why=\"{why}\"");
            page.counter("acmeair_db_failures_total", wrong, &labels, count);
        }
        let opened = "Connections of the pool that were opened.";
        let metric = "acmeair_db_connections_opened_total";
        page.counter(metric, opened, "", &self.opened);
        let closed = "Connections of the pool that were closed.";
        let metric = "acmeair_db_connections_closed_total";
        page.counter(metric, closed, "", &self.closed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_counted_under_its_own_name() {
        let counts = Counts::default();
        for (place, (op, name)) in OPS.into_iter().enumerate() {
            for _ in 0..=place {
                counts.op(op).took(std::time::Duration::ZERO);
            }
            let mut page = MetricsPage::default();
            counts.write(&mut page);
            let line = format!(
                "acmeair_db_operation_seconds_count{{op=\"{name}\"}} {}\n",
                place + 1
            );
            assert!(page.text().contains(&line), "{line}");
        }
        assert_eq!(counts.operations(), 28);
    }
}
