"""One run of Libero in a container: its command, its limits, and what its events say. Needs neither Harbor nor Docker."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

# The variables with keys, by the provider that a model names before the slash.
KEYS: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "google": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "cerebras": ("CEREBRAS_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "xai": ("XAI_API_KEY",),
}

# Providers that Harbor calls otherwise.
PROVIDERS: Mapping[str, str] = {"gemini": "google"}

LEVELS = ("off", "minimal", "low", "medium", "high")


@dataclass(frozen=True)
class Limits:
    """What bounds a run, beside Harbor's own time limit."""

    max_turns: int = 200
    max_cost: float | None = None
    thinking: str | None = None

    def __post_init__(self) -> None:
        if self.max_turns < 1:
            raise ValueError(f"max_turns must be at least 1, got {self.max_turns}")
        if self.max_cost is not None and self.max_cost <= 0:
            raise ValueError(f"max_cost must be above 0, got {self.max_cost}")
        if self.thinking is not None and self.thinking not in LEVELS:
            raise ValueError(f"thinking must be one of {', '.join(LEVELS)}, got {self.thinking!r}")

    def flags(self) -> list[str]:
        flags = ["--max-turns", str(self.max_turns)]
        if self.max_cost is not None:
            flags += ["--max-cost", str(self.max_cost)]
        if self.thinking is not None:
            flags += ["--thinking", self.thinking]
        return flags


def split_model(name: str) -> tuple[str, str]:
    """`anthropic/claude-sonnet-4-5` as provider and model; a model may have slashes of its own."""
    provider, slash, model = name.partition("/")
    if not slash or not provider or not model:
        raise ValueError(f"the model must be written as provider/model, such as anthropic/claude-sonnet-4-5, got {name!r}")
    return PROVIDERS.get(provider, provider), model


def keys_of(name: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The keys that the container gets: those of the model's provider alone."""
    provider = name.partition("/")[0]
    return {key: environment[key] for key in KEYS.get(provider, ()) if environment.get(key)}


def run_command(instruction: str, model: str, limits: Limits, logs: str) -> str:
    """The line that the container's shell runs. The exit code is that of Libero, not of `tee`."""
    provider, name = split_model(model)
    words = ["libero", "run", "--events", "--yolo", "--sandbox", "off", "--provider", provider, "--model", name]
    words += [*limits.flags(), "--prompt", instruction]
    return f"{shlex.join(words)} </dev/null 2>{shlex.quote(f'{logs}/libero.err')} | tee {shlex.quote(f'{logs}/libero.jsonl')}"


@dataclass
class Outcome:
    """What the events of a run add up to."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_tokens: int = 0
    cost: float | None = None
    model_calls: int = 0
    tool_calls: int = 0
    status: str | None = None
    stop: str | None = None
    error: str | None = None
    version: str | None = None

    def add_usage(self, usage: Mapping[str, object]) -> None:
        read = _number(usage.get("cacheRead"))
        self.input_tokens += int(_number(usage.get("input")) + read + _number(usage.get("cacheCreation")))
        self.output_tokens += int(_number(usage.get("output")))
        self.cache_tokens += int(read)
        self.model_calls += 1
        if isinstance(usage.get("cost"), (int, float)):
            self.cost = (self.cost or 0.0) + _number(usage["cost"])


def read_outcome(lines: Iterable[str]) -> Outcome:
    """Adds up a log. A line that was cut off, because the container was ended, is skipped."""
    outcome = Outcome()
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if not isinstance(event, dict):
            continue
        if event.get("type") == "hello":
            outcome.version = event.get("version")
        entry = event.get("entry")
        if isinstance(entry, dict):
            _read_entry(outcome, entry)
    return outcome


def read_outcome_file(path: Path) -> Outcome:
    if not path.exists():
        return Outcome()
    with path.open(encoding="utf-8", errors="replace") as lines:
        return read_outcome(lines)


def _read_entry(outcome: Outcome, entry: Mapping[str, object]) -> None:
    kind = entry.get("type")
    if kind == "turn":
        turn = entry.get("turn")
        usage = turn.get("usage") if isinstance(turn, dict) else None
        if isinstance(usage, dict):
            outcome.add_usage(usage)
    elif kind == "usage" and isinstance(entry.get("usage"), dict):
        outcome.add_usage(entry["usage"])  # type: ignore[arg-type]
    elif kind == "call_result":
        outcome.tool_calls += 1
    elif kind == "run_ended":
        outcome.status = str(entry.get("status"))
        outcome.stop = str(entry.get("stop"))
        error = entry.get("error")
        outcome.error = str(error.get("message")) if isinstance(error, dict) else None


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0
