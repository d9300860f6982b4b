"""Reports the steps of a benchmark, as JSON lines, to whoever started it. Standard library only.

Three lines make a training loop a workload:

    from bench_protocol import Bench

    with Bench(framework="torch 2.9.1+rocm7.0") as bench:
        for step in bench.steps():
            loss = train_one_step()
            step.tokens(batch_size * seq_len)

The protocol is described in docs/protocol.md.
"""

import json
import math
import os
import sys
import time
from typing import Any, Dict, Iterator, Optional

SCHEMA = 1


class ProtocolError(Exception):
    """The workload, or whoever started it, uses the protocol wrongly."""


def _count(name: str, least: int) -> int:
    text = os.environ.get(name, "")
    if not text.isascii() or not text.isdigit() or int(text) < least:
        raise ProtocolError(
            f"{name} must be a whole number of at least {least}, but is {text!r}; "
            "start the workload through runner/bench_runner.sh, or set the BENCH_ variables by hand"
        )
    return int(text)


def load_config() -> Dict[str, Any]:
    """The benchmark's config, defaults filled: the JSON object in the file that BENCH_CONFIG names."""
    path = os.environ.get("BENCH_CONFIG", "")
    if not path:
        raise ProtocolError("BENCH_CONFIG is not set; it is the path of the config's JSON file")
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    if not isinstance(config, dict):
        raise ProtocolError(f"{path} must hold a JSON object, but holds a {type(config).__name__}")
    return config


def synchronize_device() -> None:
    """Waits until the GPU has done all that was asked of it; without that, a step ends before its work.

    Does nothing unless the workload itself imported torch and torch sees a device.
    """
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is not None and cuda.is_available():
        cuda.synchronize()


class Step:
    """One step of the loop; `seconds` is known once it ended."""

    def __init__(self, index: int, phase: str) -> None:
        self.index = index
        self.phase = phase
        self.seconds: Optional[float] = None
        self._tokens: Optional[float] = None

    def tokens(self, count: float) -> None:
        """Adds to the tokens that this step really processed; padding does not count."""
        if isinstance(count, bool) or not isinstance(count, (int, float)) or not math.isfinite(count) or count <= 0:
            raise ProtocolError(f"step {self.index}: tokens must be a number above 0, but are {count!r}")
        self._tokens = (self._tokens or 0) + count

    def _event(self) -> Dict[str, Any]:
        event: Dict[str, Any] = {
            "event": "step",
            "index": self.index,
            "phase": self.phase,
            "seconds": self.seconds,
        }
        if self._tokens is not None:
            event["tokens"] = self._tokens
        return event


class Bench:
    """Writes the events of one trial. Use it as a context manager, so that only a whole run says that it ended."""

    def __init__(self, framework: Optional[str] = None) -> None:
        """`framework` names what does the work, with its version, for instance "torch 2.9.1+rocm7.0"."""
        self.measured = _count("BENCH_STEPS", 1)
        self.warmup = _count("BENCH_WARMUP_STEPS", 0)
        path = os.environ.get("BENCH_EVENTS", "")
        if not path:
            raise ProtocolError("BENCH_EVENTS is not set; it is the path of the file that events are appended to")
        self._framework = framework
        # Line buffered: what was measured before a crash is kept.
        self._file = open(path, "a", buffering=1, encoding="utf-8")  # noqa: SIM115

    def __enter__(self) -> "Bench":
        start: Dict[str, Any] = {"event": "start", "schema": SCHEMA}
        if self._framework is not None:
            start["framework"] = self._framework
        self._write(start)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self._write({"event": "end"})
        self._file.close()

    def steps(self) -> Iterator[Step]:
        """Yields the warm-up steps, then the measured ones, and times the body of the loop for each."""
        for index in range(self.warmup + self.measured):
            step = Step(index, "warmup" if index < self.warmup else "measure")
            synchronize_device()
            started = time.perf_counter()
            yield step
            synchronize_device()
            step.seconds = time.perf_counter() - started
            self._write(step._event())

    def metric(self, name: str, value: float, unit: str = "", better: Optional[str] = None) -> None:
        """Reports a number of the whole trial, such as `mfu_pct`. `better` is "higher", "lower" or None."""
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ProtocolError(f"metric {name!r} must be a finite number, but is {value!r}")
        if better not in (None, "higher", "lower"):
            raise ProtocolError(f"metric {name!r}: better must be 'higher' or 'lower', but is {better!r}")
        event: Dict[str, Any] = {"event": "metric", "name": name, "value": value, "unit": unit}
        if better is not None:
            event["better"] = better
        self._write(event)

    def _write(self, event: Dict[str, Any]) -> None:
        self._file.write(json.dumps(event, allow_nan=False) + "\n")
