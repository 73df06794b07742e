"""What can go wrong between a client and its server. A call that fails is no error here: it is a result of its batch."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta


class ToolbatchError(Exception):
    """What all errors of this package's clients derive from."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A field of a request that breaks a rule."""

    field: str
    """Its path, such as `call_list.calls[3].key`."""
    description: str


class Refused(ToolbatchError):
    """The server refused a request. For status INVALID_ARGUMENT nothing was recorded."""

    def __init__(
        self,
        status: str,
        message: str,
        *,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        violations: tuple[Violation, ...] = (),
        retry_after: timedelta | None = None,
    ) -> None:
        super().__init__(status, message)
        self.status = status
        """The gRPC status' name, such as INVALID_ARGUMENT."""
        self.message = message
        self.reason = reason
        """The stable reason in UPPER_SNAKE_CASE; empty where the answer came from no toolbatch server."""
        self.metadata: Mapping[str, str] = dict(metadata or {})
        """What the reason speaks of, by name."""
        self.violations = violations
        """Every field that breaks a rule, as far as the server could tell them."""
        self.retry_after = retry_after
        """When a repeat can succeed; None where the server does not say."""

    def __str__(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        fields = "".join(f"\n- {violation.field}: {violation.description}" for violation in self.violations)
        return f"{self.status}{reason}: {self.message}{fields}"


class Unavailable(ToolbatchError):
    """The server could not be reached, or was lost, for as long as the client goes on. What was asked for may be running.

    `client.watch(error.batch_id, after_sequence=error.last_sequence)` goes on with a batch once the server is back; where no event
    was seen the batch may not have begun, and `run` with the same batch and id begins it or finds it.
    """

    def __init__(self, message: str, *, batch_id: str = "", last_sequence: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.batch_id = batch_id
        """The batch that may be running; empty where none was asked for."""
        self.last_sequence = last_sequence
        """The last event of the batch that was given out; 0: none."""


class DeadlineExceeded(ToolbatchError, TimeoutError):
    """The `timeout` passed. A batch that was accepted goes on; `watch` comes back to it."""

    def __init__(self, message: str, *, batch_id: str = "", last_sequence: int = 0) -> None:
        super().__init__(message)
        self.batch_id = batch_id
        """The batch that may be running; empty where none was asked for."""
        self.last_sequence = last_sequence
        """The last event of the batch that was given out; 0: none."""
