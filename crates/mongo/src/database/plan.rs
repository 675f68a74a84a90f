//! Which index a query goes through, and which part of it.

use super::filter::{Bound, Filter, Test};
use super::index::{Coverage, Direction, Index, KeyRange, put_field, successor};
use super::sort::Sort;
use crate::bson::{Value, class_of};

/// Points that the lists of several `$in` may make together; beyond, the rest is left to the filter.
const POINTS_MAX: usize = 10_000;

/// The way to the documents that may pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Plan {
    /// All of them.
    Scan,
    /// Those in these ranges of an index.
    Index {
        /// Its place among the collection's.
        index: usize,
        ranges: Vec<KeyRange>,
        walk: Direction,
        /// They come in the order asked for.
        sorted: Sorted,
    },
}

/// Whether documents come in the order asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sorted {
    Yes,
    No,
}

impl Plan {
    /// Chooses: most fields bound to a value, then a range, then an order that saves sorting; of equals the eldest index.
    pub(crate) fn choose(indexes: &[Index], filter: &Filter<'_>, sort: &Sort<'_>) -> Self {
        let mut required = Vec::new();
        filter.required(&mut required);
        let mut best = (Plan::Scan, 0);
        for (at, index) in indexes.iter().enumerate() {
            let (plan, worth) = consider(at, index, &required, sort);
            if worth > best.1 {
                best = (plan, worth);
            }
        }
        best.0
    }
}

fn consider(
    at: usize,
    index: &Index,
    required: &[(&str, &Test<'_>)],
    sort: &Sort<'_>,
) -> (Plan, usize) {
    let mut prefixes = vec![Vec::new()];
    let mut bound_fields = 0;
    let mut ranges = None;
    for field in &index.spec.fields {
        let tests: Vec<&Test<'_>> = required
            .iter()
            .filter(|(path, _)| **path == *field.path)
            .map(|(_, test)| *test)
            .collect();
        if let Some(points) = points(&tests, index, prefixes.len()) {
            prefixes = prefixes
                .iter()
                .flat_map(|prefix| {
                    points.iter().map(|value| {
                        let mut key = prefix.clone();
                        put_field(&mut key, *value, field.direction);
                        key
                    })
                })
                .collect();
            bound_fields += 1;
            continue;
        }
        if let Some(interval) = Interval::of(&tests, index) {
            ranges = Some(
                prefixes
                    .iter()
                    .map(|prefix| interval.range(prefix, field.direction))
                    .collect(),
            );
        }
        break;
    }
    let has_range = ranges.is_some();
    let mut ranges: Vec<KeyRange> =
        ranges.unwrap_or_else(|| prefixes.into_iter().map(KeyRange::beginning).collect());
    ranges.sort_unstable_by(|one, other| one.from.cmp(&other.from));
    ranges.dedup();
    let walk = (ranges.len() <= 1)
        .then(|| order_given(index, bound_fields, sort))
        .flatten();
    // A sparse index has only documents with one of its fields: right for a filter that asks for one, else not.
    let useful = bound_fields > 0 || has_range || index.spec.coverage == Coverage::All;
    let worth = 4 * bound_fields + 2 * usize::from(has_range) + usize::from(walk.is_some());
    let plan = Plan::Index {
        index: at,
        ranges,
        walk: walk.unwrap_or(Direction::Ascending),
        sorted: if walk.is_some() {
            Sorted::Yes
        } else {
            Sorted::No
        },
    };
    (plan, if useful { worth } else { 0 })
}

/// The values that a field must have one of.
fn points<'a>(tests: &[&Test<'a>], index: &Index, so_far: usize) -> Option<Vec<Value<'a>>> {
    // What is null may be missing, and is then not in a sparse index.
    let is_in =
        |value: &Value<'_>| index.spec.coverage == Coverage::All || !matches!(value, Value::Null);
    let equal = tests.iter().find_map(|test| match test {
        Test::Equal(value) if is_in(value) => Some(vec![*value]),
        _ => None,
    });
    equal.or_else(|| {
        tests.iter().find_map(|test| match test {
            Test::In(items) => {
                let values: Vec<Value<'_>> = items.values().collect();
                (values.iter().all(is_in) && values.len() * so_far <= POINTS_MAX).then_some(values)
            }
            _ => None,
        })
    })
}

/// The way to walk that gives the order asked for, if there is one.
fn order_given(index: &Index, bound_fields: usize, sort: &Sort<'_>) -> Option<Direction> {
    if sort.fields.is_empty() || index.multikey {
        return None;
    }
    let fields = &index.spec.fields;
    let mut next = 0;
    let mut walk = None;
    for wanted in &sort.fields {
        // A field bound to one value is in any order.
        if fields[..bound_fields]
            .iter()
            .any(|field| *field.path == *wanted.path)
        {
            continue;
        }
        let field = fields.get(bound_fields + next)?;
        if *field.path != *wanted.path {
            return None;
        }
        let way = if field.direction == wanted.direction {
            Direction::Ascending
        } else {
            Direction::Descending
        };
        if *walk.get_or_insert(way) != way {
            return None;
        }
        next += 1;
    }
    Some(walk.unwrap_or(Direction::Ascending))
}

/// From one value to another of its class; a side without value ends with the class.
struct Interval<'a> {
    class: u8,
    low: Option<(Value<'a>, Side)>,
    high: Option<(Value<'a>, Side)>,
}

/// Whether the value at an end is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    In,
    Out,
}

impl<'a> Interval<'a> {
    fn of(tests: &[&Test<'a>], index: &Index) -> Option<Self> {
        let mut found: Option<Self> = None;
        for test in tests {
            let Test::Compared(bound, value) = test else {
                continue;
            };
            if index.spec.coverage == Coverage::Sparse && matches!(value, Value::Null) {
                continue;
            }
            let interval = found.get_or_insert(Self {
                class: class_of(value),
                low: None,
                high: None,
            });
            // Different items of an array may pass different tests: only one of them narrows then. Nor does a second class.
            let narrowed = interval.low.is_some() || interval.high.is_some();
            if (narrowed && index.multikey) || class_of(value) != interval.class {
                continue;
            }
            match bound {
                Bound::Greater => interval.low.get_or_insert((*value, Side::Out)),
                Bound::GreaterOrEqual => interval.low.get_or_insert((*value, Side::In)),
                Bound::Less => interval.high.get_or_insert((*value, Side::Out)),
                Bound::LessOrEqual => interval.high.get_or_insert((*value, Side::In)),
            };
        }
        found
    }

    fn range(&self, prefix: &[u8], direction: Direction) -> KeyRange {
        let key = |end: &Option<(Value<'_>, Side)>, class: u8| {
            let mut key = prefix.to_vec();
            match end {
                Some((value, _)) => put_field(&mut key, *value, direction),
                None if direction == Direction::Ascending => key.push(class),
                None => key.push(!class),
            }
            key
        };
        let side = |end: &Option<(Value<'_>, Side)>, without| end.map_or(without, |(_, side)| side);
        let low = (key(&self.low, self.class), side(&self.low, Side::In));
        // Without an end of its own: up to the next class, which is out.
        let high = (key(&self.high, self.class + 1), side(&self.high, Side::Out));
        let (first, last) = match direction {
            Direction::Ascending => (low, high),
            Direction::Descending => (high, low),
        };
        let from = match first {
            (key, Side::In) => Some(key),
            (key, Side::Out) => successor(key),
        };
        let to = match last {
            (key, Side::In) => successor(key),
            (key, Side::Out) => Some(key),
        };
        match from {
            Some(from) => KeyRange { from, to },
            // Behind everything there is nothing.
            None => KeyRange {
                from: Vec::new(),
                to: Some(Vec::new()),
            },
        }
    }
}
