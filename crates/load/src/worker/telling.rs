//! What a worker tells the ledger: tables and ticks while it works, its end when it leaves.

use tare_schema::agent::Scheduled;

use super::{FromWorker, Tick, Worker, WorkerEnd};
use crate::arrivals::NEVER;
use crate::client::Client;
use crate::clock::monotonic_ns;
use crate::engine::HandOver;

/// Tables under way to the ledger at most: 32 MB. A ledger that far behind has to be waited for.
const TABLES_OUT_MAX: usize = 64;

impl<C: Client> Worker<C> {
    /// Ends the samples that are over. A loop that was held up ends several, so that none is missing.
    pub(super) fn tick(&mut self, now_ns: u64) {
        self.hand_over(HandOver::Everything);
        while now_ns >= self.next_tick_ns {
            self.report_tick(self.next_tick_ns);
            self.next_tick_ns = self.next_tick_ns.saturating_add(self.plan.sample_every_ns);
        }
    }

    fn report_tick(&mut self, end_ns: u64) {
        let book = self.engine.book();
        let tick = Tick {
            worker: self.plan.worker,
            number: self.next_tick,
            end_offset_ns: end_ns.saturating_sub(self.start_ns),
            all: *book.counts().exchanges(),
            in_flight: book.under_way() as u64,
            open: book.counts().open,
            records: Some(book.counts().records)
                .filter(|records| records.are_told)
                .map(|records| records.counts),
            backlog: self.engine.client().backlog(),
        };
        self.next_tick += 1;
        self.send(FromWorker::Tick(tick));
    }

    fn hand_over(&mut self, what: HandOver) {
        let worker = self.plan.worker;
        for tally in self.engine.book_mut().hand_over(what) {
            self.tables_out += 1;
            // Fails only when the ledger is gone, and then nobody wants the table.
            let _ = self.plan.reports.send(FromWorker::Table { worker, tally });
        }
        while let Ok(tally) = self.plan.emptied.try_recv() {
            self.tables_out -= 1;
            self.engine.book_mut().give_back(tally);
        }
        while self.tables_out > TABLES_OUT_MAX {
            let Ok(tally) = self.plan.emptied.recv() else {
                return;
            };
            self.tables_out -= 1;
            self.engine.book_mut().give_back(tally);
        }
    }

    pub(super) fn send(&self, report: FromWorker) {
        // Fails only when the ledger is gone; the load is then being aborted.
        let _ = self.plan.reports.send(report);
    }

    pub(super) fn leave(mut self, failure: Option<String>, scheduled: Scheduled) {
        let started = self.start_ns != NEVER;
        if started {
            let now_ns = monotonic_ns();
            self.engine.abandon(&mut self.io.sockets);
            self.mark(now_ns);
            self.hand_over(HandOver::Everything);
            self.report_tick(now_ns);
        }
        let spent = self.meter.spent(self.bytes(), self.sleeper.spun_ns());
        let book = self.engine.book();
        let counts = book.counts().clone();
        let mut protocol_counts = Vec::new();
        let mut note = |name, count| protocol_counts.push((name, count));
        self.engine.client().counts(&mut note);
        let mut acknowledged = Vec::new();
        self.engine
            .client()
            .acknowledged(&mut |one| acknowledged.push(one));
        let fixed_ns = match started {
            true => book.arrivals().window_end_ns(),
            false => 0,
        };
        let end = WorkerEnd {
            worker: self.plan.worker,
            cpu_ns: spent.cpu_ns,
            process_cpu_ns: spent.process_cpu_ns,
            spun_ns: spent.spun_ns,
            scheduled,
            window_end_ns: if fixed_ns == NEVER {
                counts.last_done_ns
            } else {
                fixed_ns
            },
            bytes_sent: spent.bytes_sent,
            bytes_received: spent.bytes_received,
            protocol_counts,
            acknowledged,
            tls: self.io.sockets.take_tls_counts(),
            client_certificates: self.io.sockets.certificates_shown(),
            clock_steps: self.io.offset.steps(),
            interrupted: !started || self.plan.control.end_ns() <= fixed_ns.min(NEVER - 1),
            counts,
            hopeless: self.hopeless.map(|why| why.to_string()),
            broke_off: self.broke_off.take(),
            failure,
        };
        self.send(FromWorker::Ended(Box::new(end)));
    }
}
