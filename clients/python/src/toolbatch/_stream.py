"""A batch's events, as one stream that comes back by itself."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from grpc import aio

from toolbatch import _decode
from toolbatch._events import BatchFinished, BatchPlanned, Event
from toolbatch._recovery import Recovery
from toolbatch._status import Trouble, lost, trouble
from toolbatch._transport import Transport, closed, opened, was_cancelled
from toolbatch.v1 import batch_pb2, batch_pb2_grpc

if TYPE_CHECKING:
    from grpc.aio import UnaryStreamCall

_LAST_WORD = 0.5  # seconds that the status after the last event may take


class EventStream(AsyncIterator[Event]):
    """The events of one batch, each once and in order, over lost connections and restarts of the server.

    Leaving `async for` ends the stream, as nothing holds it any more, and so does cancelling the task; the batch goes on. Who keeps
    the stream in a variable ends it with `aclose`, or by `async with`.
    """

    def __init__(
        self,
        transport: Transport,
        recovery: Recovery,
        request: batch_pb2.ExecuteBatchRequest | None,
        after_sequence: int,
    ) -> None:
        self._transport = transport
        self._recovery = recovery
        self._request = request
        self._after = after_sequence
        self._loop = asyncio.get_running_loop()
        self._call: UnaryStreamCall[Any, Any] | None = None
        self._is_open = False
        self._begun = False
        self._came = False
        self._careful = False
        self._planned = False
        self._ended = False

    @property
    def batch_id(self) -> str:
        """The batch; where the caller gave no id, the one that the client made."""
        return self._recovery.batch_id

    @property
    def last_sequence(self) -> int:
        """The last event above 0 that was given out or passed over; `watch` goes on after it."""
        return self._recovery.last_sequence

    def __repr__(self) -> str:
        state = "ended" if self._ended else "open" if self._is_open else "not open"
        return f"<EventStream of batch {self.batch_id or '(plan)'}, {state}, last sequence {self.last_sequence}>"

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        """Give the next event. Refused, Unavailable or DeadlineExceeded end the stream."""
        if self._ended:
            await self._hear_out()
            raise StopAsyncIteration
        try:
            event = await self._next()
        except asyncio.CancelledError:
            ended_elsewhere = self._ended
            await self.aclose()
            if was_cancelled():
                raise
            if ended_elsewhere:
                raise StopAsyncIteration from None
            raise closed() from None
        except BaseException:
            await self.aclose()
            raise
        if event is None:
            await self.aclose()
            raise StopAsyncIteration
        self._ended = isinstance(event, BatchFinished)
        return event

    async def aclose(self) -> None:
        """End the stream; the batch goes on."""
        self._ended = True
        self._drop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __del__(self) -> None:
        call = getattr(self, "_call", None)
        if call is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and the call with it
                self._loop.call_soon_threadsafe(call.cancel)

    async def _next(self) -> Event | None:
        if not self._begun:
            self._begun = True
            self._recovery.was_alive()
        while True:
            if self._call is None:
                self._call = self._transport.track(self._ask())
                self._came = False
                self._is_open = await opened(self._call, self._recovery)
            try:
                message = await self._call.read()
            except aio.AioRpcError as error:
                if self._planned:  # that was all there is to come
                    return None
                why = trouble(error)
                self._careful = not self._came and self._transport.needs_care(careful=self._careful)
            else:
                if message is aio.EOF and (self._planned or self._nothing_is_left()):
                    return None
                self._came = True
                given = self._take(message)
                if isinstance(given, Trouble):
                    why = given
                elif given is None:
                    continue
                else:
                    return given
            if self._is_open:
                self._recovery.was_alive()
            self._drop()
            await self._recovery.pause(why)

    def _ask(self) -> "UnaryStreamCall[Any, Any]":
        """Ask for the batch where nothing of it was seen, else for what comes after the last event."""
        left = self._recovery.remaining()
        metadata = self._transport.metadata
        batches = batch_pb2_grpc.BatchServiceStub(self._transport.channel_of(careful=self._careful))
        if self._request is not None and self.last_sequence == self._after:
            return batches.ExecuteBatch(self._request, timeout=left, metadata=metadata)
        request = batch_pb2.WatchBatchRequest(batch_id=self.batch_id, after_sequence=self.last_sequence)
        return batches.WatchBatch(request, timeout=left, metadata=metadata)

    def _nothing_is_left(self) -> bool:
        """Tell whether a watch that came to its end was to begin after the last event."""
        return self._request is None and not self._came and self._after > 0 and self.last_sequence == self._after

    def _take(self, message: Any) -> Event | Trouble | None:
        """Give the event of a message; None where it is to be passed over, Trouble where the stream is not whole."""
        if message is aio.EOF:
            return lost("the stream ended without the batch's last event")
        if message is None or not message.HasField("event"):
            return lost("the stream holds a message that is no event")
        sequence = message.event.sequence
        if sequence > 0:
            if sequence <= self.last_sequence:
                return None
            if sequence != self.last_sequence + 1:
                return lost(f"event {self.last_sequence + 1} is missing: {sequence} came")
            self._recovery.last_sequence = sequence
        self._recovery.moved_on()
        event = _decode.event(message.event)
        self._planned = self._planned or isinstance(event, BatchPlanned)
        return event

    async def _hear_out(self) -> None:
        """Let a stream whose last event was given out come to its own end."""
        if self._call is None:
            return
        try:
            async with asyncio.timeout(_LAST_WORD):
                await self._call.read()
        except (aio.AioRpcError, TimeoutError):
            return
        except asyncio.CancelledError:
            if was_cancelled():
                raise
        finally:
            self._drop()

    def _drop(self) -> None:
        call, self._call, self._is_open = self._call, None, False
        if call is not None:
            call.cancel()
