//! Query planning: which index a query uses, and which ranges of it.

use super::filter::{Bound, Filter, Test};
use super::index::{Coverage, Direction, Index, KeyRange, append_field_key, successor};
use super::sort::Sort;
use crate::bson::{Value, type_order_of};

/// Keys that several `$in` lists may make together; beyond this, the filter does the rest.
const EQUALITY_VALUES_MAX: usize = 10_000;

/// How candidate documents are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Plan {
    /// A collection scan.
    Scan,
    /// These ranges of an index.
    Index {
        /// Position of the index in the collection.
        index: usize,
        ranges: Vec<KeyRange>,
        walk: Direction,
        /// Whether documents come in the requested order.
        sorted: Sorted,
    },
}

/// Whether documents come in the requested order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sorted {
    Yes,
    No,
}

impl Plan {
    /// Chooses the plan with most fields bound to values, then a range, then a usable order; of equals, the oldest index.
    pub(crate) fn choose(indexes: &[Index], filter: &Filter<'_>, sort: &Sort<'_>) -> Self {
        let mut required = Vec::new();
        filter.required(&mut required);
        let mut best = (Plan::Scan, 0);
        for (at, index) in indexes.iter().enumerate() {
            let (plan, score) = evaluate(at, index, &required, sort);
            if score > best.1 {
                best = (plan, score);
            }
        }
        best.0
    }
}

fn evaluate(
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
        if let Some(equality_values) = equality_values(&tests, index, prefixes.len()) {
            prefixes = prefixes
                .iter()
                .flat_map(|prefix| {
                    equality_values.iter().map(|value| {
                        let mut key = prefix.clone();
                        append_field_key(&mut key, *value, field.direction);
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
        ranges.unwrap_or_else(|| prefixes.into_iter().map(KeyRange::with_prefix).collect());
    ranges.sort_unstable_by(|one, other| one.from.cmp(&other.from));
    ranges.dedup();
    let walk = (ranges.len() <= 1)
        .then(|| walk_direction(index, bound_fields, sort))
        .flatten();
    // A sparse index contains only documents with one of its fields: usable only if the filter requires one.
    let useful = bound_fields > 0 || has_range || index.spec.coverage == Coverage::All;
    let score = 4 * bound_fields + 2 * usize::from(has_range) + usize::from(walk.is_some());
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
    (plan, if useful { score } else { 0 })
}

/// The values of which a field must have one; `None` if the tests do not require that.
fn equality_values<'a>(
    tests: &[&Test<'a>],
    index: &Index,
    so_far: usize,
) -> Option<Vec<Value<'a>>> {
    // Null also matches missing fields, which a sparse index does not contain.
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
                (values.iter().all(is_in) && values.len() * so_far <= EQUALITY_VALUES_MAX)
                    .then_some(values)
            }
            _ => None,
        })
    })
}

/// The scan direction that gives the requested order, if there is one.
fn walk_direction(index: &Index, bound_fields: usize, sort: &Sort<'_>) -> Option<Direction> {
    if sort.fields.is_empty() || index.multikey {
        return None;
    }
    let fields = &index.spec.fields;
    let mut next = 0;
    let mut walk = None;
    for wanted in &sort.fields {
        // A field bound to one value does not affect the order.
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

/// An interval of values of one type; an open side ends with the type.
struct Interval<'a> {
    type_order: u8,
    low: Option<(Value<'a>, Side)>,
    high: Option<(Value<'a>, Side)>,
}

/// Whether an endpoint is included.
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
                type_order: type_order_of(value),
                low: None,
                high: None,
            });
            // In a multikey index, different items of an array may pass different tests: only one test can narrow. Another type
            // cannot.
            let narrowed = interval.low.is_some() || interval.high.is_some();
            if (narrowed && index.multikey) || type_order_of(value) != interval.type_order {
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
        let key = |end: &Option<(Value<'_>, Side)>, type_order: u8| {
            let mut key = prefix.to_vec();
            match end {
                Some((value, _)) => append_field_key(&mut key, *value, direction),
                None if direction == Direction::Ascending => key.push(type_order),
                None => key.push(!type_order),
            }
            key
        };
        let side = |end: &Option<(Value<'_>, Side)>, without| end.map_or(without, |(_, side)| side);
        let low = (key(&self.low, self.type_order), side(&self.low, Side::In));
        // An open upper end: up to the next type, exclusive.
        let high = (
            key(&self.high, self.type_order + 1),
            side(&self.high, Side::Out),
        );
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
            // No key sorts after this one.
            None => KeyRange {
                from: Vec::new(),
                to: Some(Vec::new()),
            },
        }
    }
}
