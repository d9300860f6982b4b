"""A second reader of event files, written from docs/protocol.md, that the golden files are held against."""

import json
import math
from typing import Any, Dict, Optional


def number(value: Any, least: float, most: float) -> bool:
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return plain and math.isfinite(value) and least <= value <= most


def whole(value: Any, least: float, most: float) -> bool:
    return number(value, least, most) and value == int(value)


def text(value: Any, least: int, most: int) -> bool:
    return isinstance(value, str) and least <= len(value) <= most


def optional(event: Dict[str, Any], key: str, good: bool) -> bool:
    return key not in event or good


def valid(event: Dict[str, Any]) -> bool:
    kind = event["event"]
    if kind == "start":
        framework = event.get("framework")
        return event.get("schema") == 1 and optional(event, "framework", text(framework, 0, 200))
    if kind == "step":
        return (
            whole(event.get("index"), 0, 1e9)
            and event.get("phase") in ("warmup", "measure")
            and number(event.get("seconds"), 1e-9, 1e6)
            and optional(event, "tokens", number(event.get("tokens"), 5e-324, 1e15))
            and optional(event, "ended_at", number(event.get("ended_at"), 5e-324, 1e11))
        )
    if kind == "metric":
        return (
            text(event.get("name"), 1, 100)
            and number(event.get("value"), -math.inf, math.inf)
            and optional(event, "unit", text(event.get("unit"), 0, 50))
            and optional(event, "better", event.get("better") in ("higher", "lower"))
        )
    return kind == "end"


def parse(line: str) -> Optional[Dict[str, Any]]:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and "event" in event else None


def read_events(content: str) -> Dict[str, Any]:
    """What tests/protocol/expected.json says of a file."""
    steps: Dict[int, Dict[str, Any]] = {}
    metrics: Dict[str, float] = {}
    framework, ended, ignored, bad_steps = None, False, 0, []
    for position, line in enumerate(content.split("\n"), start=1):
        if line.strip() == "":
            continue
        event = parse(line)
        if event is None:
            ignored += 1
        elif not valid(event):
            other_schema = event["event"] == "start" and event.get("schema", 1) != 1
            if event["event"] == "step" or other_schema:
                bad_steps.append(position)
            else:
                ignored += 1
        elif event["event"] == "start":
            framework = event.get("framework")
        elif event["event"] == "metric":
            metrics[event["name"]] = event["value"]
        elif event["event"] == "end":
            ended = True
        elif event["index"] in steps:
            bad_steps.append(position)
        else:
            steps[event["index"]] = event
    ordered = [steps[index] for index in sorted(steps)]
    return {
        "warmup": [step["seconds"] for step in ordered if step["phase"] == "warmup"],
        "measured": [step["seconds"] for step in ordered if step["phase"] == "measure"],
        "tokens": sum(step.get("tokens", 0) for step in ordered),
        "metrics": metrics,
        "framework": framework,
        "ended": ended,
        "bad_steps": bad_steps,
        "ignored": ignored,
    }
