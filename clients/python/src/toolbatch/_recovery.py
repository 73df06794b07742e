"""How long a client goes on where its server is away."""

import asyncio
import random
from dataclasses import dataclass, field

from toolbatch._status import Trouble
from toolbatch.errors import DeadlineExceeded, ToolbatchError, Unavailable

_FIRST_WAIT = 0.1
_LONGEST_WAIT = 5.0


@dataclass(slots=True)
class Recovery:
    """The waits between attempts, and the two bounds on them: the caller's deadline, and when to give up on a server."""

    give_up_after: float
    timeout: float | None
    batch_id: str = ""
    last_sequence: int = 0
    deadline: float | None = field(init=False)
    alive_at: float = field(init=False)
    wait: float = field(init=False, default=_FIRST_WAIT)

    def __post_init__(self) -> None:
        self.alive_at = _now()
        self.deadline = None if self.timeout is None else self.alive_at + self.timeout

    def remaining(self) -> float | None:
        """Seconds that are left for the next attempt. DeadlineExceeded where none are."""
        if self.deadline is None:
            return None
        left = self.deadline - _now()
        if left <= 0:
            raise self.deadline_exceeded()
        return left

    @property
    def give_up_at(self) -> float:
        """When to stop, if no stream opens and no event comes until then; by the loop's clock."""
        return self.alive_at + self.give_up_after

    def was_alive(self) -> None:
        """Note that a stream was open until now."""
        self.alive_at = _now()

    def moved_on(self) -> None:
        """Note that something new came."""
        self.alive_at = _now()
        self.wait = _FIRST_WAIT

    async def pause(self, trouble: Trouble) -> None:
        """Wait before the next attempt; raises where there is not to be one."""
        if trouble.deadline and self.deadline is not None:
            raise self.deadline_exceeded()
        if not trouble.repeat:
            raise trouble.error
        jitter = random.uniform(0, self.wait)  # noqa: S311
        self.wait = min(self.wait * 2, _LONGEST_WAIT)
        ends = [self.give_up_at] if self.deadline is None else [self.give_up_at, self.deadline]
        await asyncio.sleep(max(0.0, min(max(jitter, trouble.least_wait), min(ends) - _now())))
        self.remaining()
        if _now() >= self.give_up_at:
            raise self.gave_up(trouble)

    def gave_up(self, trouble: Trouble) -> ToolbatchError:
        """Give the error that says so."""
        last = f"{trouble.error.status}: {trouble.error.message}"
        message = f"no server for {self.give_up_after:g} s; the last attempt ended with {last}"
        if self.batch_id:
            message = f"batch {self.batch_id} may be running, seen up to sequence {self.last_sequence}: {message}"
        return Unavailable(message, batch_id=self.batch_id, last_sequence=self.last_sequence)

    def deadline_exceeded(self) -> DeadlineExceeded:
        """Give the error that says so."""
        message = f"the timeout of {self.timeout:g} s passed"
        if self.batch_id:
            message = f"{message}; batch {self.batch_id} may be running, seen up to sequence {self.last_sequence}"
        return DeadlineExceeded(message, batch_id=self.batch_id, last_sequence=self.last_sequence)


def _now() -> float:
    return asyncio.get_running_loop().time()
