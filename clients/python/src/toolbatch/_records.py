"""What is on record: batches, steps, usage, tools, and the outcome of a direct call."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from toolbatch._enums import CallStatus
from toolbatch._events import BatchSummary, CallError, parsed
from toolbatch._json import Json, loads
from toolbatch._request import Options


@dataclass(frozen=True, slots=True)
class BatchState:
    """A batch and its state."""

    batch_id: str
    task_id: str
    agent_id: str
    options: Options
    start_time: datetime | None
    end_time: datetime | None
    """None while it runs."""
    summary: BatchSummary
    last_sequence: int
    """The sequence of its newest event."""


@dataclass(frozen=True, slots=True)
class UsageRow:
    """What one step used of one unit."""

    step_id: str
    tool: str
    unit: str
    quantity: float
    cost_nanos: int
    """In thousand-millionths of the currency; 0 where the unit has no price."""
    currency: str
    """An ISO 4217 code; empty where the unit has no price."""


@dataclass(frozen=True, slots=True)
class Step:
    """The record of one call, of a direct step or of a batch."""

    step_id: str
    parent_step_id: str
    task_id: str
    agent_id: str
    tool: str
    base_tool: str
    backend: str
    key: str
    index: int
    status: CallStatus
    attempts: int
    args_json: str
    """The arguments, byte for byte as they came; empty in lists."""
    result_json: str
    """The result, byte for byte; left out over 1 MiB, where `Client.step_result` reads it, and in lists."""
    result_bytes: int
    """The length of the result's text, left out or not; 0 where there is none."""
    error: CallError | None
    await_id: str
    start_time: datetime | None
    end_time: datetime | None
    """None while it runs."""
    usage: tuple[UsageRow, ...]
    trace_id: str

    @property
    def args(self) -> Json:
        """The arguments as a native value, as `loads` gives it."""
        return loads(self.args_json or "{}")

    @property
    def value(self) -> Json:
        """The result as a native value, as `loads` gives it. ValueError where there is none here."""
        return parsed(self.result_json, f"step {self.step_id}")


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool that can be called."""

    name: str
    description: str
    input_schema_json: str
    """JSON Schema of the arguments, as text; empty: any object."""
    pauses: bool
    """It can stop an agent or wait for somebody, so no batch may call it."""
    reports_progress: bool
    timeout: timedelta | None
    """Bound on one attempt, where a batch sets none; None: the server's."""


@dataclass(frozen=True, slots=True)
class Completed:
    """The call did it."""

    result_json: str
    """The result's text, byte for byte; empty means null, or `result_omitted`."""
    result_omitted: bool
    """The result is over 3 MiB: `Client.step_result(step_id)` reads it."""

    @property
    def value(self) -> Json:
        """The result as a native value, as `loads` gives it. ValueError where it is omitted."""
        if self.result_omitted:
            raise ValueError("the result is over 3 MiB: read it with step_result")
        return loads(self.result_json or "null")


@dataclass(frozen=True, slots=True)
class Failed:
    """The call failed; with `outcome_unknown` it may have taken effect all the same."""

    message: str
    code: str
    retryable: bool
    outcome_unknown: bool


@dataclass(frozen=True, slots=True)
class Awaiting:
    """The call ran and waits for a person's review."""

    await_id: str
    result_json: str


Outcome: TypeAlias = Completed | Failed | Awaiting


@dataclass(frozen=True, slots=True)
class DirectCall:
    """A direct step: its outcome, and where it is on record."""

    outcome: Outcome
    step_id: str
    variable: str
    """The task's variable that holds the result; empty where there is none."""
    skipped: bool
    """The key was completed before, and this is that call's outcome."""
    args_changed: bool
    """A skipped call whose tool or args differ from those that its key ran with."""
