import unittest
from typing import Any, Dict, List

from workload_case import WORKLOADS, WorkloadCase

import cpu_matmul


class CpuMatmul(WorkloadCase):
    def run_with(self, config: Dict[str, Any], steps: int = 3) -> "List[Dict[str, Any]]":
        self.configure(config)
        self.events.unlink(missing_ok=True)
        ended = self.start(WORKLOADS / "cpu_matmul.py", {"BENCH_STEPS": str(steps)})
        self.assertEqual([ended.returncode, ended.stderr], [0, ""])
        return [event for event in self.written() if event["event"] == "step"]

    def fastest(self, config: Dict[str, Any]) -> float:
        return min(step["seconds"] for step in self.run_with(config, steps=10))

    def test_counts_the_rows_it_multiplied(self) -> None:
        steps = self.run_with({"model_name": "m", "batch_size": 2, "seq_len": 50, "extras": {"size": 4}})
        self.assertEqual([step["tokens"] for step in steps], [100] * 4)

    def test_takes_a_whole_config_and_its_defaults(self) -> None:
        self.assertEqual([step["tokens"] for step in self.run_with({"model_name": "m", "lr": 1})], [1024] * 4)

    def test_takes_longer_for_more_work(self) -> None:
        small = {"seq_len": 200, "extras": {"size": 16}}
        large = {"seq_len": 200, "extras": {"size": 64}}
        self.assertGreater(self.fastest(large), 2 * self.fastest(small))
        self.assertGreater(self.fastest({**small, "batch_size": 8}), 2 * self.fastest(small))

    def test_takes_longer_with_the_loop_written_out(self) -> None:
        config = {"seq_len": 200, "extras": {"size": 48}}
        slow = {"seq_len": 200, "extras": {"size": 48, "inner_product": "loop"}}
        self.assertGreater(self.fastest(slow), self.fastest(config))

    def test_both_loops_give_the_product(self) -> None:
        left, columns = [[1.0, 2.0], [3.0, 4.0]], [[5.0, 7.0], [6.0, 8.0]]
        for product in cpu_matmul.PRODUCTS.values():
            self.assertEqual(product(left, columns), [[19.0, 22.0], [43.0, 50.0]])

    def test_refuses_what_it_cannot_do(self) -> None:
        for config, message in (
            ({"extras": {"size": 0}}, "extras.size must be a whole number from 1 to 1024"),
            ({"extras": {"size": True}}, "extras.size must be a whole number"),
            ({"extras": {"inner_product": "gpu"}}, "extras.inner_product must be one of map, loop"),
            ({"batch_size": 100_000}, "batch_size must be a whole number"),
        ):
            with self.subTest(config=config):
                self.configure(config)
                ended = self.start(WORKLOADS / "cpu_matmul.py")
                self.assertIn(message, ended.stderr)
                self.assertEqual(ended.returncode, 1)


if __name__ == "__main__":
    unittest.main()
