"""The channel to a server, and single requests over it."""

import asyncio
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from grpc import ChannelConnectivity, aio

from toolbatch._connect import Target
from toolbatch._recovery import Recovery
from toolbatch._status import lost, trouble
from toolbatch.errors import Unavailable
from toolbatch.v1 import batch_pb2_grpc, task_pb2_grpc, tool_pb2_grpc

if TYPE_CHECKING:
    from grpc.aio import UnaryStreamCall

AnyCall = TypeVar("AnyCall", bound=aio.Call)


class Transport:
    """A channel that is opened with the first request, as it belongs to the event loop that runs then."""

    def __init__(self, target: Target, metadata: tuple[tuple[str, str], ...], give_up_after: float) -> None:
        self.target = target
        self._channels: dict[bool, aio.Channel] = {}
        self._closed = False
        self._calls: weakref.WeakSet[aio.Call] = weakref.WeakSet()
        self.metadata = metadata
        self.give_up_after = give_up_after

    @property
    def channel(self) -> aio.Channel:
        """The channel; RuntimeError where the client is closed."""
        return self.channel_of(careful=False)

    def channel_of(self, *, careful: bool) -> aio.Channel:
        """Give the usual channel, or the one that `needs_care` speaks of."""
        if self._closed:
            raise RuntimeError("this client is closed")
        if careful not in self._channels:
            self._channels[careful] = self.target.open(careful=careful)
        return self._channels[careful]

    def needs_care(self, *, careful: bool) -> bool:
        """Tell how to ask again after a stream that was lost before its first message, on the channel that it was lost on.

        gRPC drops a message that came and was not read yet where the connection ends right behind it. A server, or what is between,
        whose connections all end so is read from by a channel on which the server waits with each message until it is read.
        """
        lost_while_connecting = (ChannelConnectivity.TRANSIENT_FAILURE, ChannelConnectivity.CONNECTING)
        return self.channel_of(careful=careful).get_state() not in lost_while_connecting

    @property
    def batches(self) -> batch_pb2_grpc.BatchServiceStub:
        """The stub for batches."""
        return batch_pb2_grpc.BatchServiceStub(self.channel)

    @property
    def tasks(self) -> task_pb2_grpc.TaskServiceStub:
        """The stub for tasks."""
        return task_pb2_grpc.TaskServiceStub(self.channel)

    @property
    def tools(self) -> tool_pb2_grpc.ToolServiceStub:
        """The stub for tools."""
        return tool_pb2_grpc.ToolServiceStub(self.channel)

    def recovery(self, timeout: float | None, batch_id: str = "", last_sequence: int = 0) -> Recovery:
        """Begin to count a request's time."""
        return Recovery(self.give_up_after, timeout, batch_id, last_sequence)

    async def read(self, method: Callable[..., Any], request: object, timeout: float | None) -> Any:
        """Send a request that changes nothing, again and again where its answer is lost."""
        recovery = self.recovery(timeout)
        while True:
            left = recovery.remaining()
            try:
                async with asyncio.timeout_at(recovery.give_up_at) as bound:
                    return await self._ask(method, request, left)
            except aio.AioRpcError as error:
                why = trouble(error)
            except TimeoutError:
                if not bound.expired():
                    raise
                raise recovery.gave_up(lost("no answer came")) from None
            await recovery.pause(why)

    async def once(self, method: Callable[..., Any], request: object, timeout: float | None) -> Any:
        """Send a request that a repeat could do twice: once."""
        recovery = self.recovery(timeout)
        try:
            return await self._ask(method, request, recovery.remaining())
        except aio.AioRpcError as error:
            why = trouble(error)
        if why.deadline and timeout is not None:
            raise recovery.deadline_exceeded()
        if why.repeat and why.error.status != "RESOURCE_EXHAUSTED":
            raise Unavailable(f"the request's answer was lost; it may have been carried out ({why.error})")
        raise why.error

    async def close(self) -> None:
        """End every stream and request, and close the channel."""
        self._closed = True
        for call in list(self._calls):  # the channel of grpcio 1.80 does not find them all
            call.cancel()
        while self._channels:
            _, channel = self._channels.popitem()
            await channel.close()

    def track(self, call: AnyCall) -> AnyCall:
        """Have a call end when the channel is closed."""
        self._calls.add(call)
        return call

    async def _ask(self, method: Callable[..., Any], request: object, timeout: float | None) -> Any:
        try:
            return await self.track(method(request, timeout=timeout, metadata=self.metadata))
        except asyncio.CancelledError:
            if was_cancelled():
                raise
            raise closed() from None


def was_cancelled() -> bool:
    """Tell whether the running task was cancelled; a call that was ended from elsewhere raises CancelledError, too."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def closed() -> RuntimeError:
    """Give the error of what was open when its client was closed."""
    return RuntimeError("the client was closed while this waited for an answer; a batch that was accepted goes on")


async def opened(call: "UnaryStreamCall[Any, Any]", recovery: Recovery) -> bool:
    """Wait until a stream is open; False where it ended instead, and its next read says why."""
    try:
        async with asyncio.timeout_at(recovery.give_up_at) as bound:
            await call.initial_metadata()
    except TimeoutError:
        if not bound.expired():
            raise
        raise recovery.gave_up(lost("no answer came")) from None
    return not call.done()
