//! CPU over the rate, and memory over connections and configured services: interpolation, fits, and their errors.

/// Most that a rate or a number of connections may exceed the measured ones, as a factor.
pub const EXTRAPOLATION_MAX: f64 = 2.0;

/// CPU of one instance in one repeat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuPoint {
    /// Requests per second through it.
    pub rate_per_s: f64,
    pub connections: f64,
    pub cores: f64,
}

/// Why a value cannot be given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OutOfRange {
    /// Nothing was measured.
    Nothing,
    /// More requests per second than [`EXTRAPOLATION_MAX`] times the highest measured rate.
    Rate { highest: f64 },
    /// More connections than [`EXTRAPOLATION_MAX`] times the most measured.
    Connections { most: f64 },
}

/// CPU at a rate and a number of connections: piecewise linear between measured points, a line beyond them.
pub fn cores(points: &[CpuPoint], rate_per_s: f64, connections: f64) -> Result<f64, OutOfRange> {
    let mut groups: Vec<f64> = points.iter().map(|point| point.connections).collect();
    groups.sort_by(f64::total_cmp);
    groups.dedup();
    let most = *groups.last().ok_or(OutOfRange::Nothing)?;
    if connections > most * EXTRAPOLATION_MAX {
        return Err(OutOfRange::Connections { most });
    }
    let at = |group: f64| {
        let points = points.iter().filter(|point| point.connections == group);
        let mut line: Vec<(f64, f64)> = points
            .map(|point| (point.rate_per_s, point.cores))
            .collect();
        line.sort_by(|a, b| a.0.total_cmp(&b.0));
        over_rate(&line, rate_per_s)
    };
    // CPU hardly depends on the number of connections: beyond the measured ones it is that of the nearest.
    let above = groups.iter().copied().find(|group| *group >= connections);
    let below = groups
        .iter()
        .rev()
        .copied()
        .find(|group| *group <= connections);
    match (below, above) {
        (Some(low), Some(high)) if high > low => {
            let share = (connections - low) / (high - low);
            Ok(at(low)? * (1.0 - share) + at(high)? * share)
        }
        (Some(only), _) | (None, Some(only)) => at(only),
        (None, None) => Err(OutOfRange::Nothing),
    }
}

/// The line through measured points, sorted by rate.
fn over_rate(line: &[(f64, f64)], rate: f64) -> Result<f64, OutOfRange> {
    let (first, last) = line.first().zip(line.last()).ok_or(OutOfRange::Nothing)?;
    if rate > last.0 * EXTRAPOLATION_MAX {
        return Err(OutOfRange::Rate { highest: last.0 });
    }
    if line.len() == 1 {
        return Ok(first.1 * rate / first.0);
    }
    if rate < first.0 {
        // Towards what an idle instance takes: never below nothing, never more than at the lowest rate.
        let idle = between(line[0], line[1], 0.0).clamp(0.0, first.1);
        return Ok(between((0.0, idle), *first, rate));
    }
    let upper = line.iter().position(|point| point.0 >= rate);
    let upper = upper.unwrap_or(line.len() - 1).max(1);
    Ok(between(line[upper - 1], line[upper], rate))
}

fn between(low: (f64, f64), high: (f64, f64), at: f64) -> f64 {
    if high.0 <= low.0 {
        return f64::midpoint(low.1, high.1);
    }
    low.1 + (high.1 - low.1) * (at - low.0) / (high.0 - low.0)
}

/// The largest error, as a logarithm, with which a measured point between two others is found from the others: the error of
/// interpolation, rather too large, since neighbours are then twice as far apart. `None`: there is no such point.
pub fn interpolation_error(points: &[CpuPoint]) -> Option<f64> {
    let errors = points.iter().filter_map(|point| {
        let others: Vec<CpuPoint> = points
            .iter()
            .filter(|other| {
                other.connections == point.connections && other.rate_per_s != point.rate_per_s
            })
            .copied()
            .collect();
        let is_between = others
            .iter()
            .any(|other| other.rate_per_s < point.rate_per_s)
            && others
                .iter()
                .any(|other| other.rate_per_s > point.rate_per_s);
        if !is_between {
            return None;
        }
        let found = cores(&others, point.rate_per_s, point.connections).ok()?;
        Some((found / point.cores).ln().abs()).filter(|error| error.is_finite())
    });
    errors.reduce(f64::max)
}

/// Memory of one instance in one repeat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryPoint {
    pub connections: f64,
    pub services: f64,
    pub bytes: f64,
}

/// Memory = base + per connection + per configured service.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryFit {
    pub base: f64,
    /// `None`: only one number was measured.
    pub per_connection: Option<f64>,
    /// `None`: only one number was measured.
    pub per_service: Option<f64>,
    most_connections: f64,
}

impl MemoryFit {
    /// The least-squares fit; `None` without points.
    pub fn of(points: &[MemoryPoint]) -> Option<MemoryFit> {
        let varies = |of: fn(&MemoryPoint) -> f64| {
            let first = points.first().map(of);
            points.iter().any(|point| Some(of(point)) != first)
        };
        let with_connections = varies(|point| point.connections);
        let with_services = varies(|point| point.services);
        let rows = points.iter().map(|point| {
            let mut row = vec![1.0];
            row.extend(with_connections.then_some(point.connections));
            row.extend(with_services.then_some(point.services));
            (row, point.bytes)
        });
        let found = least_squares(&rows.collect::<Vec<_>>())?;
        let mut found = found.into_iter();
        Some(MemoryFit {
            base: found.next()?,
            per_connection: if with_connections { found.next() } else { None },
            per_service: if with_services { found.next() } else { None },
            most_connections: points
                .iter()
                .map(|point| point.connections)
                .fold(0.0, f64::max),
        })
    }

    /// Memory with so many connections and services.
    pub fn bytes(&self, connections: f64, services: f64) -> Result<f64, OutOfRange> {
        if connections > self.most_connections * EXTRAPOLATION_MAX {
            return Err(OutOfRange::Connections {
                most: self.most_connections,
            });
        }
        // Memory that does not grow is no gain per connection.
        let part = |each: Option<f64>, count: f64| each.unwrap_or(0.0).max(0.0) * count;
        Ok(self.base + part(self.per_connection, connections) + part(self.per_service, services))
    }
}

/// Least squares by the normal equations; `None` if they have no single solution.
fn least_squares(rows: &[(Vec<f64>, f64)]) -> Option<Vec<f64>> {
    let width = rows.first()?.0.len();
    let mut system = vec![vec![0.0; width + 1]; width];
    for (row, value) in rows {
        for i in 0..width {
            for j in 0..width {
                system[i][j] += row[i] * row[j];
            }
            system[i][width] += row[i] * value;
        }
    }
    for pivot in 0..width {
        let best = (pivot..width)
            .max_by(|a, b| system[*a][pivot].abs().total_cmp(&system[*b][pivot].abs()))?;
        system.swap(pivot, best);
        let divisor = system[pivot][pivot];
        if divisor.abs() < 1e-9 {
            return None;
        }
        let used = system[pivot].clone();
        for (_, row) in system
            .iter_mut()
            .enumerate()
            .filter(|(row, _)| *row != pivot)
        {
            let factor = row[pivot] / divisor;
            for (value, used) in row.iter_mut().zip(&used) {
                *value -= used * factor;
            }
        }
    }
    Some(
        (0..width)
            .map(|row| system[row][width] / system[row][row])
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(rate_per_s: f64, connections: f64, cores: f64) -> CpuPoint {
        CpuPoint {
            rate_per_s,
            connections,
            cores,
        }
    }

    #[test]
    fn between_points_cpu_lies_on_the_line_and_below_them_it_falls_to_the_idle_one() {
        let points = [
            at(100.0, 16.0, 0.03),
            at(1000.0, 16.0, 0.12),
            at(4000.0, 16.0, 0.36),
        ];
        let cores = |rate| cores(&points, rate, 16.0).unwrap();
        assert!((cores(1000.0) - 0.12).abs() < 1e-12);
        assert!((cores(2500.0) - 0.24).abs() < 1e-12);
        // The line of the two lowest meets 0 at 0.02.
        assert!((cores(0.0) - 0.02).abs() < 1e-12);
        assert!((cores(50.0) - 0.025).abs() < 1e-12);
        // Beyond the highest rate, along the last line.
        assert!((cores(8000.0) - 0.68).abs() < 1e-12);
    }

    #[test]
    fn connections_between_two_numbers_are_weighted() {
        let points = [at(100.0, 10.0, 1.0), at(100.0, 30.0, 2.0)];
        assert!((cores(&points, 100.0, 15.0).unwrap() - 1.25).abs() < 1e-12);
        assert_eq!(cores(&points, 100.0, 1.0), Ok(1.0));
        assert_eq!(cores(&points, 100.0, 60.0), Ok(2.0));
    }

    #[test]
    fn beyond_twice_the_measured_range_there_is_no_answer() {
        let points = [at(100.0, 10.0, 1.0), at(200.0, 10.0, 2.0)];
        assert_eq!(cores(&points, 400.0, 10.0), Ok(4.0));
        assert_eq!(
            cores(&points, 401.0, 10.0),
            Err(OutOfRange::Rate { highest: 200.0 })
        );
        assert_eq!(
            cores(&points, 100.0, 21.0),
            Err(OutOfRange::Connections { most: 10.0 })
        );
        assert_eq!(cores(&[], 1.0, 1.0), Err(OutOfRange::Nothing));
    }

    #[test]
    fn the_error_of_interpolation_is_that_at_the_points_between_others() {
        let straight = [at(1.0, 1.0, 1.0), at(2.0, 1.0, 2.0), at(3.0, 1.0, 3.0)];
        assert!(interpolation_error(&straight).unwrap() < 1e-12);
        let bent = [at(1.0, 1.0, 1.0), at(2.0, 1.0, 1.0), at(3.0, 1.0, 3.0)];
        assert!((interpolation_error(&bent).unwrap() - 2f64.ln()).abs() < 1e-12);
        assert_eq!(interpolation_error(&straight[..2]), None);
    }

    #[test]
    fn memory_is_split_into_its_three_causes() {
        let of = |connections: f64, services: f64| MemoryPoint {
            connections,
            services,
            bytes: 5e7 + 3e4 * connections + 2e4 * services,
        };
        let points = [
            of(16.0, 0.0),
            of(128.0, 0.0),
            of(16.0, 500.0),
            of(128.0, 500.0),
        ];
        let fit = MemoryFit::of(&points).unwrap();
        assert!((fit.base / 5e7 - 1.0).abs() < 1e-6);
        assert!((fit.per_connection.unwrap() / 3e4 - 1.0).abs() < 1e-6);
        assert!((fit.per_service.unwrap() / 2e4 - 1.0).abs() < 1e-6);
        let one = MemoryFit::of(&points[..1]).unwrap();
        assert_eq!(one.per_connection, None);
        assert_eq!(one.bytes(16.0, 900.0), Ok(points[0].bytes));
        assert!(one.bytes(33.0, 0.0).is_err());
    }
}
