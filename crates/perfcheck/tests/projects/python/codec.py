"""Something to measure."""

# Doubled by a test: the slowdown that is to be found.
ROUNDS = 1


def encode(data: bytes) -> int:
    """A checksum of bytes."""
    value = 0x811C9DC5
    for _ in range(ROUNDS):
        for one in data:
            value = (value ^ one) * 16777619 & 0xFFFFFFFF
    return value
