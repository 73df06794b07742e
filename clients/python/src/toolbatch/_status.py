"""What a gRPC status says: refused, or lost on the way."""

from dataclasses import dataclass
from datetime import timedelta

import grpc
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc.aio import AioRpcError

from toolbatch.errors import Refused, Violation

_DOMAIN = "toolbatch.v1"
_DETAILS = "grpc-status-details-bin"
# What a lost connection is called, besides UNAVAILABLE. The server's own statuses come with its ErrorInfo.
_LOST = {grpc.StatusCode.CANCELLED, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN}


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why an attempt ended, and whether to make another."""

    error: Refused
    repeat: bool
    """The connection was lost, the server is stopping, or it is short of room and says when to come back."""
    deadline: bool
    """The attempt's own deadline passed."""

    @property
    def least_wait(self) -> float:
        """Seconds that the server asks to wait before a repeat, at least."""
        return self.error.retry_after.total_seconds() if self.error.retry_after is not None else 0.0


def trouble(error: AioRpcError) -> Trouble:
    """Read a status and its details."""
    code = error.code()
    info, violations, retry_after = _details(error)
    ours = info is not None and info.domain == _DOMAIN
    refused = Refused(
        code.name,
        error.details() or "",
        reason=info.reason if info is not None else "",
        metadata=info.metadata if info is not None else None,
        violations=violations,
        retry_after=retry_after,
    )
    repeat = (
        code is grpc.StatusCode.UNAVAILABLE
        or (code in _LOST and not ours)
        or (code is grpc.StatusCode.RESOURCE_EXHAUSTED and retry_after is not None)
    )
    return Trouble(refused, repeat, deadline=code is grpc.StatusCode.DEADLINE_EXCEEDED)


def lost(message: str) -> Trouble:
    """Describe an attempt that ended without a status that says so."""
    return Trouble(Refused("UNAVAILABLE", message), repeat=True, deadline=False)


def _details(error: AioRpcError) -> tuple[ErrorInfo | None, tuple[Violation, ...], timedelta | None]:
    info: ErrorInfo | None = None
    violations: tuple[Violation, ...] = ()
    retry_after: timedelta | None = None
    try:
        for any_message in _packed(error).details:
            if any_message.Is(ErrorInfo.DESCRIPTOR):
                info = ErrorInfo.FromString(any_message.value)
            elif any_message.Is(BadRequest.DESCRIPTOR):
                fields = BadRequest.FromString(any_message.value).field_violations
                violations = tuple(Violation(field.field, field.description) for field in fields)
            elif any_message.Is(RetryInfo.DESCRIPTOR):
                delay = RetryInfo.FromString(any_message.value).retry_delay
                retry_after = timedelta(seconds=delay.seconds, microseconds=delay.nanos // 1000)
    except (DecodeError, OverflowError):
        return info, violations, retry_after
    return info, violations, retry_after


def _packed(error: AioRpcError) -> Status:
    for name, value in error.trailing_metadata() or ():
        if name == _DETAILS:
            return Status.FromString(value if isinstance(value, bytes) else value.encode())
    return Status()
