//! Source of the values in templates for one worker: seeded random values, counters, rows of tables.

use std::sync::Arc;

use tare_record::load::{DataTable, LoadPlan, Rows};
use tare_stats::random::Random;

use super::date::{Moment, write_date};
use super::encode::{Escaping, put_unsigned};
use crate::clock::realtime_ns;

/// Values of one worker. Each worker counts in steps of the number of workers, so that together they leave out no number.
#[derive(Debug)]
pub struct Filler {
    random: Random,
    next_seq: u64,
    step: u64,
    cycles: Vec<u64>,
    tables: Arc<[DataTable]>,
    cursors: Vec<u64>,
    now: Moment,
}

/// Initial state of each worker's filler.
#[derive(Debug)]
pub(crate) struct FillerStart {
    seed: u64,
    tables: Arc<[DataTable]>,
    pub(crate) cycles: usize,
    now: Moment,
}

impl FillerStart {
    pub(crate) fn of(plan: &LoadPlan) -> Self {
        Self {
            seed: plan.seed,
            tables: plan.load.mix.tables.clone().into(),
            cycles: 0,
            now: Moment::of_unix((realtime_ns() / 1_000_000_000) as i64),
        }
    }

    pub(crate) fn filler(&self, worker: u32, workers: u32) -> Filler {
        let tables = Arc::clone(&self.tables);
        Filler::new(self.seed, (worker, workers), tables, self.cycles, self.now)
    }
}

impl Filler {
    /// Of worker `worker` of `workers`.
    #[must_use]
    pub fn new(
        seed: u64,
        (worker, workers): (u32, u32),
        tables: Arc<[DataTable]>,
        cycles: usize,
        now: Moment,
    ) -> Self {
        Self {
            random: Random::for_purpose(seed, &format!("fillings of worker {worker}")),
            next_seq: u64::from(worker),
            step: u64::from(workers.max(1)),
            cycles: vec![u64::from(worker); cycles],
            cursors: vec![u64::from(worker); tables.len()],
            tables,
            now,
        }
    }

    /// The worker's next sequence number.
    pub fn next_seq(&mut self) -> u64 {
        let next = self.next_seq;
        self.next_seq += self.step;
        next
    }

    /// A random number below a limit.
    pub fn below(&mut self, limit: usize) -> usize {
        self.random.below(limit as u64) as usize
    }

    /// A random number from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        self.random.unit()
    }

    /// A random number between two, both included.
    pub fn between(&mut self, least: i64, most: i64) -> i64 {
        let span = most.wrapping_sub(least) as u64;
        match span.checked_add(1) {
            Some(choices) => least.wrapping_add(self.random.below(choices) as i64),
            None => self.random.bits() as i64,
        }
    }

    pub(super) fn next_of_cycle(&mut self, cycle: usize, items: usize) -> usize {
        let next = self.cycles[cycle];
        self.cycles[cycle] = next.wrapping_add(self.step);
        (next % items as u64) as usize
    }

    pub(super) fn int(&mut self, (least, most): (i64, i64), digits: u8, out: &mut Vec<u8>) {
        let number = self.between(least, most);
        if number < 0 {
            out.push(b'-');
        }
        put_unsigned(number.unsigned_abs(), digits, out);
    }

    pub(super) fn hex(&mut self, digits: u32, out: &mut Vec<u8>) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut bits = 0;
        for at in 0..digits {
            if at % 16 == 0 {
                bits = self.random.bits();
            }
            out.push(DIGITS[(bits & 15) as usize]);
            bits >>= 4;
        }
    }

    /// RFC 9562 §5.4.
    pub(super) fn uuid(&mut self, out: &mut Vec<u8>) {
        let start = out.len();
        for digits in [8, 4, 4, 4, 12] {
            if out.len() > start {
                out.push(b'-');
            }
            self.hex(digits, out);
        }
        out[start + 14] = b'4';
        out[start + 19] = b"89ab"[(self.random.bits() & 3) as usize];
    }

    pub(super) fn date(
        &mut self,
        (from_days, to_days): (i32, i32),
        format: &str,
        escaping: Escaping,
        out: &mut Vec<u8>,
    ) -> bool {
        let days = self.between(i64::from(from_days), i64::from(to_days));
        let moment = Moment {
            day: self.now.day + days,
            second: self.now.second,
        };
        write_date(moment, format, escaping, out)
    }

    #[must_use]
    pub fn tables(&self) -> &[DataTable] {
        &self.tables
    }

    /// Takes a row of a table in the table's order; unique rows are handled by the session.
    pub fn take_row(&mut self, table: usize) -> u32 {
        let rows = self.tables[table].rows.len() as u64;
        match self.tables[table].order {
            Rows::Random => self.random.below(rows) as u32,
            Rows::Sequential | Rows::Unique => {
                let cursor = &mut self.cursors[table];
                let row = *cursor % rows.max(1);
                *cursor = cursor.wrapping_add(self.step);
                row as u32
            }
        }
    }

    pub(super) fn cell(&self, table: usize, row: u32, column: usize) -> &[u8] {
        self.tables[table].rows[row as usize][column].as_bytes()
    }
}
