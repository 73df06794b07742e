"""The contract's enums. A number that this version does not know is kept, and reads as unknown."""

from enum import IntEnum
from typing import Self


class OpenEnum(IntEnum):
    """An enum whose numbers may be newer than this package: `CallStatus(77)` is a value named UNKNOWN that keeps its 77."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, int):
            return None
        member = int.__new__(cls, value)
        member._name_ = "UNKNOWN"
        member._value_ = value
        return member

    @property
    def is_known(self) -> bool:
        """False where the server is newer than this package and the value has no name here."""
        return self.name != "UNKNOWN"

    def __str__(self) -> str:
        return self.name.lower()

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


class BatchMode(OpenEnum):
    """One call after another, or side by side."""

    UNSPECIFIED = 0
    SEQUENTIAL = 1
    PARALLEL = 2


class InDoubtPolicy(OpenEnum):
    """What becomes of a call whose outcome an interruption left unknown."""

    UNSPECIFIED = 0
    RERUN = 1
    LOOKUP = 2
    FAIL = 3


class BatchStatus(OpenEnum):
    """How a batch went."""

    UNSPECIFIED = 0
    RUNNING = 1
    COMPLETED = 2
    PARTIAL = 3
    FAILED = 4


class StopReason(OpenEnum):
    """Why a batch started no further calls before its list's end."""

    UNSPECIFIED = 0
    CALL_FAILED = 1
    AWAITING_REVIEW = 2
    CANCELLED = 3
    TASK_ENDED = 4
    PARKED = 5


class CallStatus(OpenEnum):
    """Where a call stands."""

    UNSPECIFIED = 0
    COMPLETED = 1
    FAILED = 2
    SKIPPED = 3
    NOT_RUN = 4
    AWAITING = 5
    RUNNING = 6


class CallErrorReason(OpenEnum):
    """Why a call failed."""

    UNSPECIFIED = 0
    TOOL_FAILED = 1
    TOOL_NOT_ALLOWED = 2
    TOOL_NOT_FOUND = 3
    TOOL_NOT_BATCHABLE = 4
    INVALID_ARGS = 5
    BACKEND_UNAVAILABLE = 6
    TIMED_OUT = 7
    CANCELLED = 8
    IN_DOUBT = 9
    BAD_RESPONSE = 10
