//! Sets of mostly consecutive numbers, as ranges.

/// The result of adding a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Insertion {
    New,
    /// It was in the set already.
    Duplicate,
    /// Too many ranges: it was not added.
    Full,
}

/// A set of numbers as sorted half-open ranges that do not touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranges {
    all: Vec<(u64, u64)>,
    max: usize,
}

impl Ranges {
    /// An empty set of at most `max` ranges.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self {
            all: Vec::with_capacity(max.min(16)),
            max: max.max(1),
        }
    }

    /// The ranges.
    #[must_use]
    pub fn all(&self) -> &[(u64, u64)] {
        &self.all
    }

    /// How many numbers are in the set.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.all.iter().map(|(from, to)| to - from).sum()
    }

    /// Whether the set contains a number.
    #[must_use]
    pub fn has(&self, number: u64) -> bool {
        let behind = self.all.partition_point(|&(from, _)| from <= number);
        behind > 0 && number < self.all[behind - 1].1
    }

    /// How many numbers are in this set but not in the other.
    #[must_use]
    pub fn without(&self, other: &Ranges) -> u64 {
        let both: u64 = self
            .all
            .iter()
            .map(|&(from, to)| {
                let first = other.all.partition_point(|&(_, end)| end <= from);
                let cut = |&(start, end): &(u64, u64)| end.min(to).saturating_sub(start.max(from));
                let others = other.all[first..].iter();
                others
                    .take_while(|&&(start, _)| start < to)
                    .map(cut)
                    .sum::<u64>()
            })
            .sum();
        self.count() - both
    }

    /// Adds a number.
    #[inline]
    pub fn add(&mut self, number: u64) -> Insertion {
        if let Some((_, to)) = self.all.last_mut()
            && *to == number
        {
            *to += 1;
            return Insertion::New;
        }
        match self.has(number) {
            true => Insertion::Duplicate,
            false => self.add_range(number, 1),
        }
    }

    /// Adds consecutive numbers. [`Insertion::Duplicate`]: at least one was in the set already.
    pub fn add_range(&mut self, from: u64, count: u64) -> Insertion {
        let to = from + count;
        if count == 0 {
            return Insertion::New;
        }
        // Merges the ranges that it touches.
        let first = self.all.partition_point(|&(_, end)| end < from);
        let behind = self.all.partition_point(|&(start, _)| start <= to);
        if first == behind {
            if self.all.len() == self.max {
                return Insertion::Full;
            }
            self.all.insert(first, (from, to));
            return Insertion::New;
        }
        let touched = &self.all[first..behind];
        let overlaps = touched.iter().any(|&(start, end)| start < to && from < end);
        let whole = (from.min(touched[0].0), to.max(touched[touched.len() - 1].1));
        self.all[first] = whole;
        self.all.drain(first + 1..behind);
        match overlaps {
            true => Insertion::Duplicate,
            false => Insertion::New,
        }
    }
}
