import contextlib
import io
import json
import math
import os
import sys
import time
import types
import unittest
from fractions import Fraction
from typing import Sequence
from unittest import mock

from protocol_reader import read_events
from workload_case import WORKLOADS, WorkloadCase

from bench_protocol import DEFAULT_CONFIG, Bench, ProtocolError, load_config, synchronize_device, trace_steps


class Steps(WorkloadCase):
    def test_a_loop_writes_start_steps_and_end(self) -> None:
        with Bench(framework="torch 2.9.1") as bench:
            for step in bench.steps():
                time.sleep(0.01)
                step.tokens(40)
                step.tokens(2)
        events = self.written()
        self.assertEqual(events[0], {"event": "start", "schema": 1, "framework": "torch 2.9.1"})
        self.assertEqual(events[-1], {"event": "end"})
        steps = events[1:-1]
        self.assertEqual([step["index"] for step in steps], [0, 1, 2, 3])
        self.assertEqual([step["phase"] for step in steps], ["warmup", "measure", "measure", "measure"])
        self.assertEqual({step["tokens"] for step in steps}, {42})
        for step in steps:
            self.assertGreaterEqual(step["seconds"], 0.01)
            self.assertAlmostEqual(step["ended_at"], time.time(), delta=3600)

    def test_what_is_written_is_read_without_a_fault(self) -> None:
        with Bench() as bench:
            for step in bench.steps():
                step.tokens(7)
            bench.metric("mfu_pct", 41.5, "%", "higher")
        read = read_events(self.events.read_text(encoding="utf-8"))
        self.assertEqual([len(read["warmup"]), len(read["measured"])], [1, 3])
        self.assertEqual([read["tokens"], read["metrics"]], [28, {"mfu_pct": 41.5}])
        self.assertEqual([read["framework"], read["ended"], read["bad_steps"], read["ignored"]], [None, True, [], 0])

    def test_a_loop_of_somebody_else_times_each_step_by_itself(self) -> None:
        with Bench() as bench:
            for number in range(100):
                with bench.step() as step:
                    step.tokens(number + 1)
                if bench.done:
                    break
        self.assertEqual([event["tokens"] for event in self.written()[1:-1]], [1, 2, 3, 4])

    def test_a_second_bench_is_refused_nested_or_later(self) -> None:
        with Bench() as bench:
            with self.assertRaisesRegex(ProtocolError, "holds events already"):
                Bench().__enter__()
            for _ in bench.steps():
                pass
        with self.assertRaisesRegex(ProtocolError, "one Bench in one process"):
            Bench().__enter__()
        read = read_events(self.events.read_text(encoding="utf-8"))
        self.assertEqual([len(read["measured"]), read["ended"], read["bad_steps"]], [3, True, []])

    def test_only_rank_0_of_any_launcher_writes(self) -> None:
        for name in ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"):
            with mock.patch.dict(os.environ, {name: "1"}):
                with Bench() as bench:
                    for _ in bench.steps():
                        pass
            self.assertFalse(self.events.exists(), name)

    def test_leaving_with_success_is_an_end(self) -> None:
        with self.assertRaises(SystemExit):
            with Bench() as bench:
                for _ in bench.steps():
                    pass
                raise SystemExit(0)
        self.assertEqual(self.written()[-1], {"event": "end"})

    def test_leaving_with_an_error_is_none(self) -> None:
        with self.assertRaises(SystemExit):
            with Bench():
                raise SystemExit(3)
        self.assertEqual([event["event"] for event in self.written()], ["start"])

    def test_what_a_reader_would_refuse_is_refused_at_once(self) -> None:
        with self.assertRaisesRegex(ProtocolError, "framework must be a string of up to 200"):
            Bench(framework="x" * 201)
        with Bench() as bench:
            for unit in (None, 5, "x" * 51):
                with self.assertRaisesRegex(ProtocolError, "unit must be a string"):
                    bench.metric("mfu_pct", 1.0, unit)  # type: ignore[arg-type]
            with bench.step() as step:
                with self.assertRaisesRegex(ProtocolError, "must be a number above 0"):
                    step.tokens(10**400)

    def test_work_between_steps_is_not_timed(self) -> None:
        with Bench() as bench:
            while not bench.done:
                with bench.step():
                    pass
                time.sleep(0.02)
        for event in self.written()[1:-1]:
            self.assertLess(event["seconds"], 0.02)

    def test_each_line_is_there_before_the_next_step(self) -> None:
        with Bench() as bench:
            for step in bench.steps():
                self.assertEqual(len(self.written()), 1 + step.index)

    def test_a_step_without_tokens_says_nothing_of_them(self) -> None:
        with Bench() as bench:
            for _ in bench.steps():
                pass
        self.assertNotIn("tokens", self.written()[1])

    def test_a_crash_keeps_what_was_measured_and_says_no_end(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "out of memory"):
            with Bench() as bench:
                for step in bench.steps():
                    if step.index == 2:
                        raise RuntimeError("out of memory")
        self.assertEqual([event["event"] for event in self.written()], ["start", "step", "step"])

    def test_only_rank_0_writes(self) -> None:
        for rank in ("1", "0"):
            with mock.patch.dict(os.environ, {"RANK": rank}):
                with Bench() as bench:
                    self.assertEqual(sum(1 for _ in bench.steps()), 4)
        self.assertEqual(len(self.written()), 6)

    def test_numbers_of_other_types_become_plain_ones(self) -> None:
        with Bench() as bench:
            for step in bench.steps():
                step.tokens(Fraction(5, 2))
        self.assertEqual(self.written()[1]["tokens"], 2.5)


class BadUse(WorkloadCase):
    def test_tokens_that_are_none(self) -> None:
        with Bench() as bench:
            for step in bench.steps():
                for count in (0, -1, math.nan, math.inf, True, "8", None):
                    with self.assertRaisesRegex(ProtocolError, f"step {step.index}: tokens must be a number above 0"):
                        step.tokens(count)

    def test_a_tensor_is_told_how_to_become_a_number(self) -> None:
        with Bench() as bench:
            with bench.step() as step:
                with self.assertRaisesRegex(ProtocolError, r"call \.item\(\)"):
                    step.tokens(types.SimpleNamespace(item=lambda: 5))

    def test_tokens_after_the_step(self) -> None:
        with Bench() as bench:
            with bench.step() as step:
                pass
            with self.assertRaisesRegex(ProtocolError, "after the step had ended"):
                step.tokens(5)

    def test_a_step_in_a_step_and_one_too_many(self) -> None:
        with Bench() as bench:
            with bench.step():
                with self.assertRaisesRegex(ProtocolError, "inside another one"):
                    with bench.step():
                        self.fail("a step inside a step began")
            for _ in range(3):
                with bench.step():
                    pass
            with self.assertRaisesRegex(ProtocolError, "all 4 steps were taken"):
                with bench.step():
                    self.fail("a fifth step began")

    def test_steps_taken_twice(self) -> None:
        with Bench() as bench:
            self.assertEqual(sum(1 for _ in bench.steps()), 4)
            with self.assertRaisesRegex(ProtocolError, "taken before"):
                next(bench.steps())

    def test_without_with(self) -> None:
        bench = Bench()
        with self.assertRaisesRegex(ProtocolError, "open Bench"):
            next(bench.steps())
        with self.assertRaisesRegex(ProtocolError, "not open"):
            bench.metric("mfu_pct", 1)
        with bench:
            with self.assertRaisesRegex(ProtocolError, "already in use"):
                bench.__enter__()

    def test_metrics_that_are_none(self) -> None:
        with Bench() as bench:
            for name, value, better in (
                ("", 1, None),
                ("m" * 101, 1, None),
                ("mfu_pct", math.nan, None),
                ("mfu_pct", "41", None),
                ("mfu_pct", 41, "more"),
            ):
                with self.assertRaises(ProtocolError):
                    bench.metric(name, value, better=better)
        self.assertEqual([event["event"] for event in self.written()], ["start", "end"])

    def test_a_framework_that_is_no_string(self) -> None:
        with self.assertRaisesRegex(ProtocolError, "framework must be a string"):
            Bench(framework=2.9)  # type: ignore[arg-type]


class Variables(WorkloadCase):
    def test_counts_that_are_none(self) -> None:
        for name, text in (
            ("BENCH_STEPS", "0"),
            ("BENCH_STEPS", ""),
            ("BENCH_STEPS", "ten"),
            ("BENCH_STEPS", "\u0663"),
            ("BENCH_WARMUP_STEPS", "-1"),
        ):
            with self.subTest(name=name, text=text), mock.patch.dict(os.environ, {name: text}):
                with self.assertRaisesRegex(ProtocolError, f"{name} must be a whole number"):
                    Bench()

    def test_no_file_for_events(self) -> None:
        with mock.patch.dict(os.environ, {"BENCH_EVENTS": ""}):
            with self.assertRaisesRegex(ProtocolError, "BENCH_EVENTS is not set"):
                Bench()

    def test_the_config(self) -> None:
        self.configure({"model_name": "m\u00e4", "batch_size": 3})
        self.assertEqual(load_config(), {**DEFAULT_CONFIG, "model_name": "m\u00e4", "batch_size": 3})
        self.configure([1])
        with self.assertRaisesRegex(ProtocolError, "must hold a JSON object"):
            load_config()
        with mock.patch.dict(os.environ, {"BENCH_CONFIG": str(self.folder / "missing")}):
            with self.assertRaisesRegex(ProtocolError, "cannot be read"):
                load_config()
        with mock.patch.dict(os.environ, {"BENCH_CONFIG": ""}):
            with self.assertRaisesRegex(ProtocolError, "not set"):
                load_config()


class ByHand(WorkloadCase):
    """With none of the BENCH_ variables set."""

    def setUp(self) -> None:
        super().setUp()
        for name in ("BENCH_STEPS", "BENCH_WARMUP_STEPS", "BENCH_EVENTS", "BENCH_CONFIG"):
            os.environ.pop(name)

    def run_by_hand(self) -> str:
        said = io.StringIO()
        with contextlib.redirect_stderr(said), Bench() as bench:
            for step in bench.steps():
                step.tokens(50)
            bench.metric("ttft_ms", 1.25, "ms", "lower")
        self.assertEqual([step.index, bench.warmup, bench.measured], [11, 2, 10])
        return said.getvalue()

    def test_it_prints_a_summary_and_writes_nothing(self) -> None:
        said = self.run_by_hand()
        self.assertRegex(said, r"10 measured steps, median [0-9.]+ ms, [0-9,]+ tokens/s \(started by hand")
        self.assertIn("  ttft_ms 1.25 ms\n", said)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_other_ranks_are_silent(self) -> None:
        with mock.patch.dict(os.environ, {"RANK": "1"}):
            self.assertEqual(self.run_by_hand(), "")

    def test_a_run_that_failed_has_no_summary(self) -> None:
        said = io.StringIO()
        with self.assertRaises(RuntimeError), contextlib.redirect_stderr(said), Bench():
            raise RuntimeError
        self.assertEqual(said.getvalue(), "")

    def test_the_config_is_that_of_the_defaults(self) -> None:
        self.assertEqual(load_config(), {**DEFAULT_CONFIG, "model_name": "by-hand"})
        self.assertEqual(load_config({"model_name": "tiny"})["model_name"], "tiny")

    def test_a_config_may_be_given_alone(self) -> None:
        with mock.patch.dict(os.environ, {"BENCH_CONFIG": str(self.folder / "config.json")}):
            self.configure({"model_name": "m"})
            self.assertEqual(load_config({"model_name": "tiny"})["model_name"], "m")

    def test_half_of_the_variables_is_a_mistake(self) -> None:
        with mock.patch.dict(os.environ, {"BENCH_STEPS": "3"}):
            with self.assertRaisesRegex(ProtocolError, "BENCH_WARMUP_STEPS must be"):
                Bench()
            with self.assertRaisesRegex(ProtocolError, "BENCH_CONFIG is not set"):
                load_config()

    def test_the_defaults_are_those_of_the_schema(self) -> None:
        schema = WORKLOADS.parent / "docs" / "schema" / "workload-config.schema.json"
        fields = json.loads(schema.read_text(encoding="utf-8"))["properties"]
        self.assertEqual(DEFAULT_CONFIG, {name: field["default"] for name, field in fields.items() if "default" in field})


class Device(WorkloadCase):
    def torch(self, used: bool, contexts: "Sequence[bool]" = (True,)) -> types.SimpleNamespace:
        return types.SimpleNamespace(
            cuda=types.SimpleNamespace(
                is_initialized=lambda: used, device_count=lambda: len(contexts), synchronize=mock.Mock()
            ),
            _C=types.SimpleNamespace(_cuda_hasPrimaryContext=lambda device: contexts[device]),
        )

    def test_a_step_waits_for_the_device_before_and_after(self) -> None:
        torch = self.torch(True)
        with mock.patch.dict(sys.modules, {"torch": torch}), Bench() as bench:
            for _ in bench.steps():
                pass
        self.assertEqual(torch.cuda.synchronize.call_count, 8)

    def test_the_time_that_the_device_still_needs_counts(self) -> None:
        torch = self.torch(True)
        torch.cuda.synchronize = lambda: time.sleep(0.01)
        with mock.patch.dict(sys.modules, {"torch": torch}), Bench() as bench:
            for _ in bench.steps():
                pass
        for event in self.written()[1:-1]:
            self.assertGreaterEqual(event["seconds"], 0.01)

    def test_a_device_that_is_not_used_gets_no_context(self) -> None:
        torch = self.torch(False)
        with mock.patch.dict(sys.modules, {"torch": torch}):
            synchronize_device()
        torch.cuda.synchronize.assert_not_called()

    def test_of_several_devices_each_one_in_use_is_waited_for(self) -> None:
        torch = self.torch(True, (True, False, True))
        with mock.patch.dict(sys.modules, {"torch": torch}):
            synchronize_device()
        self.assertEqual([call.args for call in torch.cuda.synchronize.call_args_list], [(0,), (2,)])

    def test_other_devices_of_torch_and_cupy(self) -> None:
        waits = mock.Mock()
        torch = types.SimpleNamespace(
            xpu=types.SimpleNamespace(is_initialized=lambda: True, synchronize=waits.xpu),
            mps=types.SimpleNamespace(synchronize=waits.mps),
            backends=types.SimpleNamespace(mps=types.SimpleNamespace(is_available=lambda: True)),
        )
        runtime = types.SimpleNamespace(deviceSynchronize=waits.cupy)
        cupy = types.SimpleNamespace(cuda=types.SimpleNamespace(is_available=lambda: True, runtime=runtime))
        with mock.patch.dict(sys.modules, {"torch": torch, "cupy": cupy}):
            synchronize_device()
        self.assertEqual([call[0] for call in waits.mock_calls], ["xpu", "mps", "cupy"])

    def test_jax_waits_for_the_named_result_and_else_for_all_arrays(self) -> None:
        array = mock.Mock()
        jax = types.SimpleNamespace(live_arrays=lambda: [array], block_until_ready=mock.Mock())
        with mock.patch.dict(sys.modules, {"jax": jax}), Bench() as bench:
            with bench.step():
                pass
            self.assertEqual([array.block_until_ready.call_count, jax.block_until_ready.call_count], [2, 0])
            with bench.step() as step:
                step.wait_for({"loss": array})
            self.assertEqual([array.block_until_ready.call_count, jax.block_until_ready.call_count], [3, 1])
            with self.assertRaisesRegex(ProtocolError, "after the step had ended"):
                step.wait_for(array)

    def test_a_result_without_jax_is_refused(self) -> None:
        with Bench() as bench:
            with self.assertRaisesRegex(ProtocolError, "JAX, which was not imported"):
                with bench.step() as step:
                    step.wait_for(5)

    def test_torch_is_never_imported(self) -> None:
        script = self.folder / "w.py"
        (self.folder / "torch.py").write_text("raise SystemExit('torch was imported')\n", encoding="utf-8")
        script.write_text(
            "from bench_protocol import Bench\nwith Bench() as bench:\n    for step in bench.steps(): pass\n",
            encoding="utf-8",
        )
        ended = self.start(script)
        self.assertEqual([ended.returncode, ended.stderr], [0, ""])


class Traces(WorkloadCase):
    """Against a stand-in that keeps what torch.profiler is asked for."""

    def run_traced(self, variables: "dict[str, str]", imported: bool = True) -> "list[object]":
        asked: "list[object]" = []

        class Profile:
            def __init__(self, schedule: object, on_trace_ready: "object") -> None:
                asked.append(schedule)
                self.on_trace_ready = on_trace_ready

            def __enter__(self) -> "Profile":
                return self

            def __exit__(self, *_: object) -> None:
                self.on_trace_ready(self)

            def step(self) -> None:
                asked.append("step")

            def export_chrome_trace(self, path: str) -> None:
                asked.append(path)

        torch = types.ModuleType("torch")
        profiler = types.ModuleType("torch.profiler")
        profiler.profile = Profile  # type: ignore[attr-defined]
        profiler.schedule = lambda **plan: plan  # type: ignore[attr-defined]
        modules = {"torch": torch, "torch.profiler": profiler} if imported else {}
        with mock.patch.dict(sys.modules, modules), mock.patch.dict(os.environ, variables):
            with Bench() as bench, trace_steps(bench) as end_of_step:
                for _ in bench.steps():
                    end_of_step()
        return asked

    def test_a_profiled_trial_traces_its_measured_steps(self) -> None:
        asked = self.run_traced({"BENCH_PROFILE_DIR": "/folder", "RANK": "0"})
        self.assertEqual(asked[0], {"wait": 0, "warmup": 1, "active": 3, "repeat": 1})
        self.assertEqual(asked[1:], ["step"] * 4 + [os.path.join("/folder", "rank0.json.gz")])
        self.assertEqual(len(self.written()), 6)

    def test_a_measured_trial_is_not_traced(self) -> None:
        self.assertEqual(self.run_traced({"BENCH_PROFILE_DIR": ""}), [])

    def test_a_workload_without_torch_is_not_traced(self) -> None:
        self.assertEqual(self.run_traced({"BENCH_PROFILE_DIR": "/folder"}, imported=False), [])


if __name__ == "__main__":
    unittest.main()
