//! Sets of numbers that mostly follow each other.

/// Whether a number was there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noted {
    /// It was not.
    New,
    /// It was.
    Again,
    /// There are too many gaps: it was not noted.
    Full,
}

/// A set of numbers as half-open ranges, in order, that do not touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranges {
    all: Vec<(u64, u64)>,
    max: usize,
}

impl Ranges {
    /// An empty one that takes so many ranges.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self {
            all: Vec::with_capacity(max.min(16)),
            max: max.max(1),
        }
    }

    /// What they are.
    #[must_use]
    pub fn all(&self) -> &[(u64, u64)] {
        &self.all
    }

    /// How many numbers are in it.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.all.iter().map(|(from, to)| to - from).sum()
    }

    /// Whether a number is in it.
    #[must_use]
    pub fn has(&self, number: u64) -> bool {
        let behind = self.all.partition_point(|&(from, _)| from <= number);
        behind > 0 && number < self.all[behind - 1].1
    }

    /// Numbers of it that are not in another one.
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

    /// Takes one number in.
    #[inline]
    pub fn add(&mut self, number: u64) -> Noted {
        if let Some((_, to)) = self.all.last_mut()
            && *to == number
        {
            *to += 1;
            return Noted::New;
        }
        match self.has(number) {
            true => Noted::Again,
            false => self.add_range(number, 1),
        }
    }

    /// Takes numbers in that follow each other. [`Noted::Again`]: at least one of them was there.
    pub fn add_range(&mut self, from: u64, count: u64) -> Noted {
        let to = from + count;
        if count == 0 {
            return Noted::New;
        }
        // The ranges that touch it become one with it.
        let first = self.all.partition_point(|&(_, end)| end < from);
        let behind = self.all.partition_point(|&(start, _)| start <= to);
        if first == behind {
            if self.all.len() == self.max {
                return Noted::Full;
            }
            self.all.insert(first, (from, to));
            return Noted::New;
        }
        let touched = &self.all[first..behind];
        let overlaps = touched.iter().any(|&(start, end)| start < to && from < end);
        let whole = (from.min(touched[0].0), to.max(touched[touched.len() - 1].1));
        self.all[first] = whole;
        self.all.drain(first + 1..behind);
        match overlaps {
            true => Noted::Again,
            false => Noted::New,
        }
    }
}
