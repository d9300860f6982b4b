"""What the tests of the workloads share: a folder, the BENCH_ variables, and what was written."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, Dict, List, Optional
from unittest import mock

WORKLOADS = Path(__file__).resolve().parents[2] / "workloads"
if str(WORKLOADS) not in sys.path:
    sys.path.insert(0, str(WORKLOADS))


class WorkloadCase(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.events = self.folder / "events.jsonl"
        self.variables = {
            "BENCH_STEPS": "3",
            "BENCH_WARMUP_STEPS": "1",
            "BENCH_EVENTS": str(self.events),
            "BENCH_CONFIG": str(self.folder / "config.json"),
            "RANK": "",
        }
        patcher = mock.patch.dict(os.environ, self.variables)
        patcher.start()
        self.addCleanup(patcher.stop)

    def written(self) -> List[Dict[str, Any]]:
        return [json.loads(line) for line in self.events.read_text(encoding="utf-8").splitlines()]

    def configure(self, config: Any) -> None:
        Path(os.environ["BENCH_CONFIG"]).write_text(json.dumps(config), encoding="utf-8")

    def start(self, script: Path, variables: Optional[Dict[str, str]] = None) -> "subprocess.CompletedProcess[str]":
        env = {**os.environ, "PYTHONPATH": str(WORKLOADS), "PYTHONDONTWRITEBYTECODE": "1", **(variables or {})}
        return subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True, check=False)
