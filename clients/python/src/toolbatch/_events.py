"""What a batch tells: typed events and the results in them."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from toolbatch._enums import BatchStatus, CallErrorReason, CallStatus, StopReason
from toolbatch._json import Json, loads
from toolbatch._request import Options


@dataclass(frozen=True, slots=True)
class CallError:
    """Why a call failed."""

    reason: CallErrorReason
    message: str
    """For people and models; cut at 2 KiB in events."""
    outcome_unknown: bool
    """The call may have taken effect: its answer never arrived, or could not be used."""
    retryable: bool
    """A repeat can succeed, and this attempt changed nothing."""
    code: str
    """The tool's own error code, where it gave one."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """What became of one call."""

    index: int
    tool: str
    key: str
    status: CallStatus
    step_id: str
    """The step that holds the full record; empty for a call that was not run."""
    duration: timedelta
    """From the first attempt to the end, backoff included."""
    result_json: str
    """The result's JSON text, byte for byte, where it is inlined; empty where there is none."""
    result_omitted: bool
    """There is a result that is not inlined: `Client.step_result(step_id)` reads it."""
    error: CallError | None
    await_id: str
    """Names the review that an awaiting call paused for."""
    attempts: int
    args_changed: bool
    """A skipped call whose tool or args differ from those that its key ran with."""

    @property
    def value(self) -> Json:
        """The inlined result as a native value, as `loads` gives it. ValueError where there is none here."""
        return parsed(self.result_json, f"call {self.index} ({self.tool})")


@dataclass(frozen=True, slots=True)
class BatchSummary:
    """How a batch went, or goes. The counts of a finished batch add up to `total`."""

    status: BatchStatus
    total: int
    succeeded: int
    failed: int
    skipped: int
    awaiting: int
    not_run: int
    stop_reason: StopReason
    results: tuple[CallResult, ...]
    """One entry per call, by index; while the batch runs those that are known so far."""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """What one call would do."""

    index: int
    tool: str
    base_tool: str
    backend: str
    key: str
    lane: str
    """Calls that share a non-empty lane run one at a time, in order."""
    skipped_step_id: str
    """Set where the key is completed already: the step that did it."""
    error: CallError | None
    """Set where the call would fail before it reaches a tool."""


@dataclass(frozen=True, slots=True)
class BatchEvent:
    """What every event has."""

    batch_id: str
    sequence: int
    """1 for the first event, then without gaps; 0 on `CallProgress` and `BatchPlanned`, which are no part of the log."""
    time: datetime | None
    """When it was recorded, in UTC, by the server's wall clock."""


@dataclass(frozen=True, slots=True)
class BatchPlanned(BatchEvent):
    """The answer to `validate_only`."""

    calls: tuple[PlannedCall, ...]


@dataclass(frozen=True, slots=True)
class BatchStarted(BatchEvent):
    """The batch was accepted: it runs to its end, whatever becomes of the client."""

    task_id: str
    agent_id: str
    total: int
    options: Options
    """The options that are in force, with their defaults filled in."""


@dataclass(frozen=True, slots=True)
class CallStarted(BatchEvent):
    """An attempt of a call is about to leave."""

    index: int
    tool: str
    key: str
    step_id: str
    attempt: int
    """1 for the first attempt; retries and reruns count on."""


@dataclass(frozen=True, slots=True)
class CallRetrying(BatchEvent):
    """An attempt failed and will be repeated."""

    index: int
    step_id: str
    attempt: int
    error: CallError
    retry_time: datetime | None
    """When the next attempt is due, in UTC."""


@dataclass(frozen=True, slots=True)
class CallProgress(BatchEvent):
    """How far a running call is; live only."""

    index: int
    step_id: str
    progress: float
    """How much is done, in the tool's own unit."""
    total: float
    """How much there is to do; 0: not known."""
    message: str


@dataclass(frozen=True, slots=True)
class CallFinished(BatchEvent):
    """A call has come to its end and never runs again in this batch."""

    result: CallResult


@dataclass(frozen=True, slots=True)
class BatchResumed(BatchEvent):
    """A server that restarted took the batch up again."""

    in_doubt: tuple[int, ...]
    """Calls that were in flight at the interruption."""


@dataclass(frozen=True, slots=True)
class BatchFinished(BatchEvent):
    """The batch is over; always the last event."""

    summary: BatchSummary


Event: TypeAlias = (
    BatchPlanned
    | BatchStarted
    | CallStarted
    | CallRetrying
    | CallProgress
    | CallFinished
    | BatchResumed
    | BatchFinished
)
"""Every kind of event; kinds that a newer server adds are passed over."""


def parsed(result_json: str, what: str) -> Json:
    """Parse a result's text; ValueError where there is none."""
    if not result_json:
        raise ValueError(f"{what} has no result here: it failed, still runs, or is too large and is read from its step")
    return loads(result_json)
