"""What a tool's function gets, and what it gives."""

import asyncio
import inspect
import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar

from toolbatch._json import Json, RawJson

Args = ParamSpec("Args")
Result = TypeVar("Result")
_PENDING_PROGRESS = 1024  # reports that wait for a slow reader; the oldest give way


class ToolFailure(Exception):  # noqa: N818
    """Raise it to say that the tool knows that it did not do what it was asked: a definite failure."""

    def __init__(self, message: str, *, code: str = "", retryable: bool = False) -> None:
        """Say what went wrong.

        Args:
            message: For people and models; kept up to 64 KiB.
            code: The tool's own code, for programs.
            retryable: A repeat can succeed, and this attempt changed nothing.
        """
        super().__init__(message)
        self.message = message
        self.code = code
        self.retryable = retryable


@dataclass(frozen=True, slots=True)
class Await:
    """Return it where the tool ran and a person has to review what it did. The batch stops after it."""

    await_id: str
    """Names the review."""
    result: Json = None
    """What there is so far."""


@dataclass(frozen=True, slots=True)
class Landed:
    """A lookup's answer: the call took effect, with this result, `Await` or `ToolFailure`."""

    result: "Json | Await | ToolFailure" = None


@dataclass(frozen=True, slots=True)
class NotLanded:
    """A lookup's answer: the call never took effect and never will, so running it is safe."""


Fate: TypeAlias = Landed | NotLanded | None
"""What became of an earlier attempt; None: it cannot be told."""


class Progress:
    """Reports on their way from a tool's function to the stream, from whichever thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.reports: deque[tuple[float, float, str]] = deque(maxlen=_PENDING_PROGRESS)
        self.changed = asyncio.Event()

    def add(self, report: tuple[float, float, str]) -> None:
        """Take a report."""
        self.reports.append(report)
        self._loop.call_soon_threadsafe(self.changed.set)


@dataclass(slots=True, kw_only=True)
class Context:
    """Where a call belongs, and what its function can tell on the way. It may be used from any thread."""

    task_id: str
    agent_id: str
    key: str
    """The call's stable identity in its task; empty: none."""
    batch_id: str
    """The batch of the call; empty for a direct step."""
    step_id: str
    index: int
    """The call's place in its batch, from 0."""
    attempt: int
    """1 for the first attempt; retries and reruns count on."""
    idempotency_key: str
    """The same for every attempt of one logical call, across restarts, and for nothing else: never act twice under one."""
    in_doubt: bool
    """An earlier attempt was cut off: it may have taken effect."""
    args_json: RawJson
    """The arguments, byte for byte as the client wrote them."""
    metadata: Mapping[str, str] = field(repr=False)
    """What the call came with besides, such as `traceparent`, and the credential that the operator has set."""
    _cancelled: bool = field(default=False, repr=False)
    _used: dict[str, float] = field(default_factory=dict, repr=False)
    _progress: Progress | None = field(default=None, repr=False)

    @property
    def cancelled(self) -> bool:
        """The call was cancelled or timed out; a function that runs in a thread looks here, an async one is cancelled."""
        return self._cancelled

    def progress(self, progress: float, total: float = 0, message: str = "") -> None:
        """Tell how far the call is, in the tool's own unit; `total` 0: not known. Seen where the tool sets `reports_progress`."""
        if not (math.isfinite(progress) and math.isfinite(total)):
            raise ValueError(f"progress: expected finite numbers, got {progress!r} of {total!r}")
        if self._progress is not None:
            self._progress.add((progress, total, message))

    def usage(self, unit: str, quantity: float) -> None:
        """Tell that the call used so many of a unit; what is told of one unit adds up. ValueError unless finite and from 0."""
        if not (math.isfinite(quantity) and quantity >= 0):
            raise ValueError(f"usage of {unit}: expected a finite number from 0, got {quantity!r}")
        self._used[unit] = self._used.get(unit, 0) + quantity


class Function:
    """A function of a tool, with how it wants to be called."""

    def __init__(self, function: Callable[..., Any], what: str) -> None:
        """Look at the signature: `(args)` or `(args, context)`. TypeError where it has another."""
        self.call = function
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004
        )
        parameters = list(inspect.signature(function).parameters.values())
        positional = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
        needed = [
            one
            for one in parameters
            if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        ]
        if not positional or len(needed) > 2 or any(one not in positional for one in needed):
            raise TypeError(
                f"{what} is a function of {inspect.signature(function)}: expected (args) or (args, context)"
            )
        self.takes_context = len(positional) > 1
        self.takes_text = positional[0].annotation in (RawJson, "RawJson", "toolbatch.RawJson")


class Tool(Generic[Args, Result]):
    """A function that was declared as a tool; calling it calls the function."""

    def __init__(
        self,
        function: Callable[Args, Result],
        *,
        name: str,
        description: str,
        input_schema_json: str,
        pauses: bool,
        reports_progress: bool,
        timeout: float | None,
    ) -> None:
        self.name = name
        self.description = description
        self.input_schema_json = input_schema_json
        self.pauses = pauses
        self.reports_progress = reports_progress
        self.timeout = timeout
        self.function = Function(function, f"tool {name}")
        self.lookup_function: Function | None = None
        self.__doc__ = function.__doc__
        self._call = function

    def __repr__(self) -> str:
        return f"<Tool {self.name}>"

    def __call__(self, *args: Args.args, **kwargs: Args.kwargs) -> Result:
        return self._call(*args, **kwargs)

    def lookup(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Declare the function that tells what became of an earlier attempt, by `context.idempotency_key`.

        It takes `(args)` or `(args, context)`, changes nothing, and returns `Landed(result)`, `NotLanded()`, or None where it cannot
        tell.
        """
        self.lookup_function = Function(function, f"lookup of {self.name}")
        return function
