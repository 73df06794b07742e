"""What a caller asks for: calls, a batch and how it runs."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Self

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message

from toolbatch._enums import BatchMode, InDoubtPolicy
from toolbatch._json import Json, RawJson, text_of
from toolbatch.v1 import batch_pb2

Seconds = float | timedelta
"""A span of time: a timedelta, or a number of seconds."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a batch."""

    tool: str
    """As it stands in the agent's tool list; 1 to 256 bytes."""
    args: Mapping[str, Json] | RawJson = field(default_factory=dict)
    """A mapping, or `RawJson` for text that goes byte for byte; a JSON object of at most 1 MiB and 100 levels."""
    key: str = ""
    """Stable identity, at most 512 bytes: a keyed call runs at most once per task. Empty: none."""

    def __post_init__(self) -> None:
        if isinstance(self.args, Mapping | RawJson):
            return
        hint = "; wrap JSON text as RawJson(text)" if isinstance(self.args, str) else ""
        raise TypeError(f"args of {self.tool}: expected a mapping or RawJson, got a {type(self.args).__name__}{hint}")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When and how often a failed attempt is repeated. None: the server's default."""

    max_attempts: int | None = None
    """1 to 10, the first included; the server's default is 1."""
    initial_backoff: Seconds | None = None
    """The wait before the second attempt, 0 to 10 min; the server's default is 100 ms."""
    max_backoff: Seconds | None = None
    """The longest wait, 0 to 10 min; the server's default is 10 s."""
    backoff_multiplier: float | None = None
    """How each wait grows from the one before, 1 to 10; the server's default is 2."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a batch runs. None: the server's default; only what is set is sent."""

    mode: BatchMode | None = None
    """SEQUENTIAL (the server's default) or PARALLEL."""
    max_concurrency: int | None = None
    """Parallel mode: calls running at once, 1 to 16; the server's default is 4."""
    serialize_on: str | None = None
    """Parallel mode: path into the args ("order.contract"); calls with an equal value there run one at a time, in order."""
    stop_on_error: bool | None = None
    """No call starts after the first failure; the server's default is True."""
    include_results: bool | None = None
    """Results under 4 KiB are inlined in events and summary; the server's default is True."""
    call_timeout: Seconds | None = None
    """Bound on one attempt of one call, above 0 and at most 24 h; else the tool's own, else the server's."""
    retry: RetryPolicy | None = None
    """When a failed attempt is repeated; the server's default is never."""
    in_doubt: InDoubtPolicy | None = None
    """What becomes of a call whose outcome an interruption left unknown; the server's default is RERUN."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What to run: either `calls` or `calls_ref`."""

    task_id: str
    """The scope of keys and variables, 1 to 256 bytes."""
    calls: Sequence[Call] | None = None
    """1 to 200 calls, in the order to run them."""
    calls_ref: str | None = None
    """A reference to a list that the task has as a variable, such as "${VAR_1}.calls"."""
    batch_id: str = ""
    """Makes the request repeatable, at most 128 bytes. Empty: the client makes a UUID."""
    agent_id: str = ""
    """The agent that it is for; only operators may name another than the caller."""
    options: Options | None = None
    """How to run it."""
    validate_only: bool = False
    """Check it and stream the plan alone; nothing runs."""

    def __post_init__(self) -> None:
        if self.calls is not None and self.calls_ref is not None:
            raise ValueError("a batch has calls or calls_ref, not both")

    def with_id(self) -> Self:
        """Give the same batch with an id: its own, or a new UUID."""
        return self if self.batch_id else replace(self, batch_id=str(uuid.uuid4()))

    def to_proto(self) -> batch_pb2.ExecuteBatchRequest:
        """Give the contract's message. TypeError or ValueError, naming the field, where a value does not fit into it."""
        request = batch_pb2.ExecuteBatchRequest()
        assign(
            request,
            "Batch",
            task_id=self.task_id,
            batch_id=self.batch_id,
            agent_id=self.agent_id,
            calls_ref=self.calls_ref,
        )
        assign(request, "Batch", validate_only=self.validate_only)
        if self.calls is not None:
            request.call_list.SetInParent()
            for index, call in enumerate(self.calls):
                args_json = text_of(call.args, f"args of calls[{index}] ({call.tool})")
                assign(
                    request.call_list.calls.add(), f"calls[{index}]", tool=call.tool, args_json=args_json, key=call.key
                )
        if self.options is not None:
            request.options.SetInParent()
            _fill_options(request.options, self.options)
        return request


def _fill_options(message: batch_pb2.BatchOptions, options: Options) -> None:
    assign(
        message,
        "Options",
        mode=options.mode,
        max_concurrency=options.max_concurrency,
        serialize_on=options.serialize_on,
    )
    assign(message, "Options", stop_on_error=options.stop_on_error, include_results=options.include_results)
    assign(message, "Options", in_doubt=options.in_doubt)
    set_duration(message.call_timeout, options.call_timeout, "Options.call_timeout")
    retry = options.retry
    if retry is not None:
        message.retry.SetInParent()
        assign(
            message.retry, "RetryPolicy", max_attempts=retry.max_attempts, backoff_multiplier=retry.backoff_multiplier
        )
        set_duration(message.retry.initial_backoff, retry.initial_backoff, "RetryPolicy.initial_backoff")
        set_duration(message.retry.max_backoff, retry.max_backoff, "RetryPolicy.max_backoff")


def assign(message: Message, what: str, **values: Any) -> None:
    """Set the fields of a message that are not None; TypeError or ValueError names the field that a value does not fit."""
    for name, value in values.items():
        if value is None:
            continue
        try:
            setattr(message, name, value)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{what}.{name}: {error}") from None


def set_duration(message: Duration, value: Seconds | None, what: str) -> None:
    """Set a span of time where it is not None."""
    if value is None:
        return
    try:
        message.FromTimedelta(value if isinstance(value, timedelta) else timedelta(seconds=value))
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{what}: expected a timedelta or a number of seconds, got {value!r} ({error})") from None
    message.SetInParent()
