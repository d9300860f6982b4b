"""A real CPU workload in the standard library: matrix products, so that the action can be tried anywhere.

One step multiplies `batch_size` matrices of `seq_len` rows by `extras.size` columns with a square matrix of
`extras.size`; each row counts as one token, so a step has `batch_size * seq_len` of them. The other keys of the
config are taken and change nothing.

extras.size           1 to 1024, default 16: columns; the work of a row grows with its square.
extras.inner_product  "map" (default) leaves the inner loop to the interpreter's C code, "loop" writes it out in
                      Python and is slower: a slowdown to try the comparison with.
"""

import platform
import random
from operator import mul
from typing import Any, Callable, Dict, List

from bench_protocol import Bench, load_config

Matrix = List[List[float]]


def matrix(rows: int, columns: int, source: random.Random) -> Matrix:
    return [[source.random() for _ in range(columns)] for _ in range(rows)]


def by_map(left: Matrix, columns: Matrix) -> Matrix:
    return [[sum(map(mul, row, column)) for column in columns] for row in left]


def by_loop(left: Matrix, columns: Matrix) -> Matrix:
    return [[sum(a * b for a, b in zip(row, column)) for column in columns] for row in left]


PRODUCTS: Dict[str, Callable[[Matrix, Matrix], Matrix]] = {"map": by_map, "loop": by_loop}


def whole(name: str, value: Any, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise SystemExit(f"{name} must be a whole number from 1 to {most}, but is {value!r}")
    return value


def main() -> None:
    config = load_config()
    extras = config.get("extras", {})
    batch = whole("batch_size", config.get("batch_size", 1), 4096)
    rows = whole("seq_len", config.get("seq_len", 1024), 1_000_000)
    size = whole("extras.size", extras.get("size", 16), 1024)
    kind = extras.get("inner_product", "map")
    if kind not in PRODUCTS:
        raise SystemExit(f"extras.inner_product must be one of {', '.join(PRODUCTS)}, but is {kind!r}")
    product = PRODUCTS[kind]
    # The same numbers in every trial: only the time may differ.
    source = random.Random(20260101)
    inputs = [matrix(rows, size, source) for _ in range(batch)]
    columns = matrix(size, size, source)
    with Bench(framework=f"python {platform.python_version()}") as bench:
        checksum = 0.0
        for step in bench.steps():
            for left in inputs:
                checksum += product(left, columns)[0][0]
            step.tokens(batch * rows)
    print(f"{bench.measured} steps of {batch} products {rows} x {size} x {size}, checksum {checksum:.6f}")


if __name__ == "__main__":
    main()
