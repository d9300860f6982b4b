"""Reports the steps of a benchmark, as JSON lines, to whoever started it. Standard library only, Python 3.9 or newer.

Three lines make a training loop a workload:

    from bench_protocol import Bench

    with Bench(framework=f"torch {torch.__version__}") as bench:
        for step in bench.steps():
            loss = train_one_step()
            step.tokens(batch_size * seq_len)

A loop that somebody else turns, such as one over a data loader, times each step by itself:

    with Bench() as bench:
        for batch in loader:
            with bench.step() as step:
                loss = train_one_step(batch)
                step.tokens(batch["attention_mask"].sum().item())
            if bench.done:
                break

In the profiled trial, and only there, this writes a torch.profiler trace of the measured steps:

    with Bench() as bench, trace_steps(bench) as end_of_step:
        for step in bench.steps():
            train_one_step()
            end_of_step()

JAX computes behind the back of its caller, so a step names what it waits for:

            state, loss = update(state, batch)
            step.wait_for((state, loss))

Started by hand, with no BENCH_ variable set, a script runs 2 warm-up and 10 measured steps, prints a summary to
standard error and writes no file. BENCH_CONFIG alone may be set: the path of a config as JSON.

The protocol is described in docs/protocol.md.
"""

import json
import math
import numbers
import os
import statistics
import sys
import time
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional

SCHEMA = 1

# What the action fills in (docs/schema/workload-config.schema.json), so that a script by hand runs as under it.
DEFAULT_CONFIG: Dict[str, Any] = {
    "batch_size": 1,
    "grad_accum_steps": 1,
    "seq_len": 1024,
    "precision": "fp16",
    "optimizer": "adamw_torch",
    "attention_impl": "unknown",
    "gradient_checkpointing": False,
    "lora_rank": None,
    "dataloader_workers": 0,
    "dataloader_pin_memory": False,
    "dataloader_prefetch_factor": None,
    "dataloader_persistent_workers": False,
    "torch_compile": False,
    "lr": 5e-5,
    "warmup_steps": 0,
    "env_vars": {},
    "extras": {},
}

BY_HAND_STEPS = 10
BY_HAND_WARMUP_STEPS = 2


class ProtocolError(Exception):
    """The workload, or whoever started it, uses the protocol wrongly."""


def started_by_hand() -> bool:
    """Whether nobody asked for events: none of the variables is set that tell how many steps, and where to."""
    return not any(os.environ.get(name) for name in ("BENCH_STEPS", "BENCH_WARMUP_STEPS", "BENCH_EVENTS"))


def _count(name: str, least: int) -> int:
    text = os.environ.get(name, "")
    if not text.isascii() or not text.isdigit() or int(text) < least:
        raise ProtocolError(
            f"{name} must be a whole number of at least {least}, but is {text!r}; "
            "start the workload through runner/bench_runner.sh, or set the BENCH_ variables by hand"
        )
    return int(text)


def _finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _text(what: str, value: Any, most: int) -> str:
    if not isinstance(value, str) or len(value) > most:
        raise ProtocolError(f"{what} must be a string of up to {most} characters, but is {value!r}")
    return value


def _rank() -> str:
    """Rank as torchrun and accelerate, srun, and mpirun tell it; the first that speaks is believed."""
    names = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
    return next((os.environ[name] for name in names if os.environ.get(name)), "0")


def _number(what: str, value: Any, wanted: str = "a finite number") -> Any:
    """The value as a plain number: NumPy's scalars are numbers too, but json cannot write them."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and _finite(value):
        return int(value) if isinstance(value, numbers.Integral) else float(value)
    hint = "; call .item() on a tensor first" if hasattr(value, "item") else ""
    raise ProtocolError(f"{what} must be {wanted}, but is {value!r}{hint}")


def load_config(by_hand: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    """The benchmark's config, defaults filled: the JSON object in the file that BENCH_CONFIG names.

    Started by hand without that file, it is the defaults with `by_hand` laid over them.
    """
    path = os.environ.get("BENCH_CONFIG", "")
    if path:
        return {**DEFAULT_CONFIG, **_read_config(path)}
    if started_by_hand():
        return {**DEFAULT_CONFIG, "model_name": "by-hand", **(by_hand or {})}
    raise ProtocolError("BENCH_CONFIG is not set; it is the path of the config's JSON file")


def _read_config(path: str) -> Dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
    except (OSError, ValueError) as error:
        raise ProtocolError(f"BENCH_CONFIG cannot be read: {error}") from error
    if not isinstance(config, dict):
        raise ProtocolError(f"{path} must hold a JSON object, but holds a {type(config).__name__}")
    return config


def synchronize_device() -> None:
    """Waits until the GPUs have done all that this process asked of them; else a step ends before its work.

    Only frameworks that the workload itself imported are asked, and of torch only devices that it already uses:
    the first call to an idle one would open a context there, which telemetry would take for work.
    """
    _wait_for_torch_and_cupy()
    # What is still computed is alive, unless its result was thrown away; `Step.wait_for` has neither flaw.
    live_arrays = getattr(sys.modules.get("jax"), "live_arrays", None)
    for array in live_arrays() if live_arrays is not None else ():
        array.block_until_ready()


def _wait_for_torch_and_cupy() -> None:
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is not None and cuda.is_initialized():
        _wait_for_cuda(torch, cuda)
    xpu = getattr(torch, "xpu", None)
    if xpu is not None and xpu.is_initialized():
        xpu.synchronize()
    mps = getattr(getattr(torch, "backends", None), "mps", None)
    if mps is not None and mps.is_available():
        torch.mps.synchronize()  # type: ignore[union-attr]
    cupy = getattr(sys.modules.get("cupy"), "cuda", None)
    if cupy is not None and cupy.is_available():
        cupy.runtime.deviceSynchronize()


def _wait_for_cuda(torch: Any, cuda: Any) -> None:
    """Waits for each device in use; `synchronize` alone waits for the current one, which may have been idle."""
    in_use = getattr(getattr(torch, "_C", None), "_cuda_hasPrimaryContext", None)
    devices = cuda.device_count()
    if in_use is None or devices < 2:
        cuda.synchronize()
        return
    for device in range(devices):
        if in_use(device):
            cuda.synchronize(device)


class Step:
    """One step of the loop; `seconds` is known once it ended."""

    def __init__(self, index: int, phase: str) -> None:
        self.index = index
        self.phase = phase
        self.seconds: Optional[float] = None
        self._tokens: Optional[float] = None
        self._results: List[Any] = []

    def wait_for(self, value: Any) -> None:
        """Makes the step last until this result is computed: a JAX array, or any nesting of them."""
        if self.seconds is not None:
            raise ProtocolError(f"step {self.index}: wait_for was called after the step had ended; call it inside it")
        self._results.append(value)

    def _await(self) -> None:
        if not self._results:
            synchronize_device()
            return
        _wait_for_torch_and_cupy()
        jax = sys.modules.get("jax")
        if jax is None:
            raise ProtocolError(f"step {self.index}: wait_for takes results of JAX, which was not imported")
        jax.block_until_ready(self._results)
        # Kept results would hold the device's memory.
        self._results.clear()

    def tokens(self, count: float) -> None:
        """Adds to the tokens that this step really processed, on all GPUs together; padding does not count.

        May be called for each micro-batch of a step that accumulates gradients.
        """
        what = f"step {self.index}: tokens"
        number = _number(what, count, "a number above 0")
        if number <= 0:
            raise ProtocolError(f"{what} must be a number above 0, but is {count!r}")
        if self.seconds is not None:
            raise ProtocolError(f"{what} were counted after the step had ended; count them inside it")
        self._tokens = (self._tokens or 0) + number

    def _event(self) -> Dict[str, Any]:
        event: Dict[str, Any] = {
            "event": "step",
            "index": self.index,
            "phase": self.phase,
            "seconds": self.seconds,
        }
        if self._tokens is not None:
            event["tokens"] = self._tokens
        # Tells which telemetry belongs to the step; its length is told by `seconds` alone.
        event["ended_at"] = time.time()
        return event


class Bench:
    """Writes the events of one trial. Use it as a context manager, so that only a whole run says that it ended.

    Of several processes that torchrun, accelerate, srun or mpirun started, only rank 0 writes; the others take the
    same steps.
    """

    def __init__(self, framework: Optional[str] = None) -> None:
        """`framework` names what does the work, with its version, for instance "torch 2.9.1+rocm7.0"."""
        if framework is not None:
            _text("framework", framework, 200)
        self.by_hand = started_by_hand()
        self.measured = BY_HAND_STEPS if self.by_hand else _count("BENCH_STEPS", 1)
        self.warmup = BY_HAND_WARMUP_STEPS if self.by_hand else _count("BENCH_WARMUP_STEPS", 0)
        self._path = os.environ.get("BENCH_EVENTS", "")
        if not self._path and not self.by_hand:
            raise ProtocolError("BENCH_EVENTS is not set; it is the path of the file that events are appended to")
        self._framework = framework
        self._writes = _rank() == "0"
        self._told: List[Dict[str, Any]] = []
        self._file: Any = None
        self._open = False
        self._inside = False
        self._next = 0

    def __enter__(self) -> "Bench":
        if self._open:
            raise ProtocolError("this Bench is already in use; one trial needs one Bench")
        if self._writes and not self.by_hand:
            # Line buffered: what was measured before a crash is kept.
            self._file = open(self._path, "a", buffering=1, encoding="utf-8")  # noqa: SIM115
            if self._file.tell() > 0:
                self._file.close()
                self._file = None
                raise ProtocolError(
                    f"{self._path} holds events already: one trial needs one Bench in one process, and a fresh file"
                )
        self._open = True
        start: Dict[str, Any] = {"event": "start", "schema": SCHEMA}
        if self._framework is not None:
            start["framework"] = self._framework
        self._write(start)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            if kind is None or (kind is SystemExit and error.code in (None, 0)):
                self._write({"event": "end"})
                if self._told:
                    print(_summary(self._told), file=sys.stderr)
        finally:
            self._open = False
            if self._file is not None:
                self._file.close()
                self._file = None

    @property
    def total(self) -> int:
        """Steps to take in all: the warm-up ones and the measured ones."""
        return self.warmup + self.measured

    @property
    def done(self) -> bool:
        """Whether all steps were taken."""
        return self._next >= self.total

    @contextmanager
    def step(self) -> Iterator[Step]:
        """Times its body as the next step. A body that raises is not reported."""
        if not self._open:
            raise ProtocolError("a step needs an open Bench: write `with Bench() as bench:` around the loop")
        if self._inside:
            raise ProtocolError("a step cannot begin inside another one")
        if self.done:
            raise ProtocolError(f"all {self.total} steps were taken; leave the loop when `bench.done` is true")
        step = Step(self._next, "warmup" if self._next < self.warmup else "measure")
        self._inside = True
        try:
            synchronize_device()
            started = time.perf_counter()
            yield step
            step._await()
            step.seconds = time.perf_counter() - started
        finally:
            self._inside = False
        self._next += 1
        self._write(step._event())

    def steps(self) -> Iterator[Step]:
        """Yields the warm-up steps, then the measured ones, and times the body of the loop for each."""
        if self._next > 0:
            raise ProtocolError("the steps were taken before; one trial takes them once")
        while not self.done:
            with self.step() as step:
                yield step

    def metric(self, name: str, value: float, unit: str = "", better: Optional[str] = None) -> None:
        """Reports a number of the whole trial, such as `mfu_pct`. `better` is "higher", "lower" or None."""
        if not isinstance(name, str) or not 1 <= len(name) <= 100:
            raise ProtocolError(f"a metric's name must be a string of 1 to 100 characters, but is {name!r}")
        number = _number(f"metric {name!r}", value)
        if better not in (None, "higher", "lower"):
            raise ProtocolError(f"metric {name!r}: better must be 'higher' or 'lower', but is {better!r}")
        unit = _text(f"metric {name!r}: unit", unit, 50)
        event: Dict[str, Any] = {"event": "metric", "name": name, "value": number, "unit": unit}
        if better is not None:
            event["better"] = better
        self._write(event)

    def _write(self, event: Dict[str, Any]) -> None:
        if not self._open:
            raise ProtocolError("this Bench is not open: write `with Bench() as bench:` around the loop")
        if self.by_hand and self._writes:
            self._told.append(event)
        if self._file is not None:
            self._file.write(json.dumps(event, allow_nan=False) + "\n")


def _summary(events: List[Dict[str, Any]]) -> str:
    """What a person who started the script by hand wants to know of it."""
    steps = [event for event in events if event.get("phase") == "measure"]
    text = f"bench_protocol: {len(steps)} measured steps"
    if steps:
        text += f", median {statistics.median(step['seconds'] for step in steps) * 1000:.3f} ms"
    if steps and all("tokens" in step for step in steps):
        rate = sum(step["tokens"] for step in steps) / sum(step["seconds"] for step in steps)
        text += f", {rate:,.0f} tokens/s"
    metrics = [event for event in events if event["event"] == "metric"]
    lines = [f"  {metric['name']} {metric['value']:.6g} {metric['unit']}".rstrip() for metric in metrics]
    return "\n".join([text + " (started by hand: nothing was written)", *lines])


@contextmanager
def trace_steps(bench: Bench) -> Iterator[Callable[[], None]]:
    """Lets torch.profiler trace the measured steps into BENCH_PROFILE_DIR; does nothing in a measured trial.

    What it gives is called at the end of each step. The workload itself must have imported torch.
    """
    folder = os.environ.get("BENCH_PROFILE_DIR", "")
    torch = sys.modules.get("torch")
    if not folder or torch is None:
        yield lambda: None
        return
    from torch.profiler import profile, schedule  # type: ignore[import-not-found]

    path = os.path.join(folder, f"rank{_rank()}.json.gz")
    steps = schedule(wait=0, warmup=bench.warmup, active=bench.measured, repeat=1)
    with profile(schedule=steps, on_trace_ready=lambda trace: trace.export_chrome_trace(path)) as profiler:
        yield profiler.step
