"""Bytes that are nearly right: a good file changed in some places."""

from __future__ import annotations

import random
from collections.abc import Sequence

MOST = 1 << 16  # bytes of an input
# What parsers trip over: signs of structure, ends, numbers at their limits, text that is none.
TOKENS = (
    *(b"", b"\x00", b"\n", b"\r\n", b"\r", b"\t", b" ", b",", b'"', b"'", b"\\", b"{", b"}", b"["),
    *(b"]", b"null", b"true", b"NaN", b"Infinity", b"-1", b"0", b"1e999", b"1" * 30, b"2147483648"),
    *(b"-9223372036854775809", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xc3(", b"\xed\xa0\x80"),
    *(b"\xf4\x90\x80\x80", b"%00", b"<", b">", b"@prefix", b"_:", b".", b"#", b"=", b"PAR1"),
    *(b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff" * 8, b"\x28\xb5\x2f\xfd"),
    *(b"[" * 2000, b'{"a":' * 2000, b"x" * 5000),
)


def mutated(draw: random.Random, seeds: Sequence[bytes]) -> bytes:
    """A seed with one to five changes; rarely nothing of it is left."""
    data = bytearray(draw.choice(seeds))
    if draw.random() < 0.02:
        data = bytearray(draw.randbytes(draw.randrange(64)))
    for _ in range(draw.choice((1, 1, 1, 2, 3, 5))):
        _change(draw, data, seeds)
    return bytes(data[:MOST])


def _change(draw: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    at = draw.randrange(len(data) + 1)
    span = slice(at, at + draw.choice((1, 1, 2, 4, 8, 16, 64, 512)))
    kind = draw.randrange(7)
    if kind == 0 and at < len(data):
        data[at] ^= 1 << draw.randrange(8)
    elif kind == 1 and at < len(data):
        data[at] = draw.randrange(256)
    elif kind == 2:
        data[at:at] = draw.choice(TOKENS)
    elif kind == 3:
        data[span] = draw.choice(TOKENS)
    elif kind == 4:
        del data[span]
    elif kind == 5:
        data[at:at] = data[span] * draw.choice((1, 2, 16))
    else:
        other = draw.choice(seeds)
        begin = draw.randrange(len(other) + 1)
        data[span] = other[begin : begin + 64]
