"""Benchmarks of the checksum, and a test that is none."""

import pytest
from codec import encode


@pytest.mark.parametrize("size", [512, 4096])
def test_encode(benchmark, size):
    benchmark(encode, bytes(size))


def test_fixed(benchmark):
    benchmark(lambda: sum(at ^ 3 for at in range(4096)))


def test_empty():
    assert encode(b"") == 0x811C9DC5
