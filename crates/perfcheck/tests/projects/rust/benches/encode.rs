//! Benchmarks of the checksum.

use std::hint::black_box;

use codec::encode;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

fn benchmarks(c: &mut Criterion) {
    let data = vec![7; 16 << 10];
    let mut group = c.benchmark_group("encode");
    for size in [4 << 10, 16 << 10] {
        group.bench_with_input(BenchmarkId::from_parameter(size), &size, |b, size| {
            b.iter(|| encode(black_box(&data[..*size])));
        });
    }
    group.finish();
    c.bench_function("fixed", |b| {
        b.iter(|| data.iter().fold(0_u64, |sum, one| black_box(sum * 31 + u64::from(*one))));
    });
}

criterion_group!(all, benchmarks);
criterion_main!(all);
