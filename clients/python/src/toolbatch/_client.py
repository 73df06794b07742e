"""The client of an agent backend."""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from grpc import aio

from toolbatch import _connect, _decode
from toolbatch._events import BatchFinished, BatchPlanned, BatchSummary
from toolbatch._json import Json, RawJson, text_of
from toolbatch._records import BatchState, DirectCall, Step, ToolDefinition, UsageRow
from toolbatch._request import Batch, assign
from toolbatch._results import whole_result
from toolbatch._stream import EventStream
from toolbatch._transport import Transport
from toolbatch.v1 import batch_pb2, task_pb2, tool_pb2


class Client:
    """A connection to a toolbatch server, for one event loop; any number of requests at once.

    ```python
    async with Client("http://127.0.0.1:50051") as client:
        async for event in client.run(Batch(task_id="T1", calls=[Call("greet", {"name": "Ada"})])):
            print(event)
    ```

    Every method raises `Refused` where the server refuses, `Unavailable` where it stays away for `give_up_after`, and `DeadlineExceeded`
    where its `timeout` (seconds, over all attempts) passes. `asyncio.timeout` and cancelling the task work as everywhere.
    """

    def __init__(
        self,
        server: str | None = None,
        token: str | None = None,
        *,
        ca: str | os.PathLike[str] | None = None,
        cert: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        metadata: Sequence[tuple[str, str]] = (),
        give_up_after: float = 60.0,
    ) -> None:
        """Say where the server is; the first request connects. ValueError where an argument cannot be right, OSError for a file.

        Args:
            server: `http://HOST:PORT`, `https://HOST:PORT` or `unix:/PATH`; else `TOOLBATCH_SERVER`, else `http://127.0.0.1:50051`.
            token: The bearer token; else `TOOLBATCH_TOKEN`, else none is sent.
            ca: PEM file of the authority to trust, for https; else the common ones.
            cert: PEM file of the client's certificate chain, where the server asks for one; with `key`.
            key: PEM file of the certificate's private key.
            metadata: What every request carries besides, such as `("toolbatch-tenant", "acme")` for an operator.
            give_up_after: Seconds without an open stream and without an event after which the client stops coming back.
        """
        if not give_up_after >= 0:
            raise ValueError(f"give_up_after: expected seconds from 0, got {give_up_after!r}")
        target = _connect.target(server, ca, cert, key)
        self._transport = Transport(target, _connect.metadata(token, metadata), give_up_after)

    def __repr__(self) -> str:
        return f"<Client of {self._transport.target.address}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def channel(self) -> aio.Channel:
        """The connection, for the stubs in `toolbatch.v1`: `TaskServiceStub(client.channel).ListVariables(…, metadata=client.metadata)`."""
        return self._transport.channel

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What every request carries, the token above all."""
        return self._transport.metadata

    async def close(self) -> None:
        """End what is open and close the connection. Batches go on."""
        await self._transport.close()

    def run(self, batch: Batch, *, timeout: float | None = None) -> EventStream:
        """Run a batch, or attach to the one of its id, and give its events until `BatchFinished`."""
        request = batch.with_id().to_proto()
        runs = "" if batch.validate_only else request.batch_id
        return EventStream(self._transport, self._transport.recovery(timeout, runs), request, 0)

    def watch(self, batch_id: str, *, after_sequence: int = 0, timeout: float | None = None) -> EventStream:
        """Give a batch's events after `after_sequence`, then follow it live until it finishes; none where that was its last event."""
        assign(batch_pb2.WatchBatchRequest(), "watch", batch_id=batch_id, after_sequence=after_sequence)
        recovery = self._transport.recovery(timeout, batch_id, after_sequence)
        return EventStream(self._transport, recovery, None, after_sequence)

    async def result(self, batch: Batch, *, timeout: float | None = None) -> BatchSummary:
        """Run a batch, or attach to the one of its id, and give its summary once it is over."""
        if batch.validate_only:
            raise ValueError("a batch with validate_only has no result; use plan()")
        async with self.run(batch, timeout=timeout) as stream:
            async for event in stream:
                if isinstance(event, BatchFinished):
                    return event.summary
        raise RuntimeError("the stream ended without the batch's last event")

    async def plan(self, batch: Batch, *, timeout: float | None = None) -> BatchPlanned:
        """Check a batch and give what it would do; nothing runs."""
        async with self.run(replace(batch, validate_only=True), timeout=timeout) as stream:
            async for event in stream:
                if isinstance(event, BatchPlanned):
                    return event
        raise RuntimeError("the stream ended without the plan")

    async def get_batch(self, batch_id: str, *, timeout: float | None = None) -> BatchState:
        """Give a batch's state: while it runs what is known so far, then its end."""
        request = batch_pb2.GetBatchRequest(batch_id=batch_id)
        answer: batch_pb2.GetBatchResponse = await self._transport.read(
            self._transport.batches.GetBatch, request, timeout
        )
        return _decode.batch(answer.batch)

    async def cancel_batch(
        self, batch_id: str, *, abort_running: bool = False, timeout: float | None = None
    ) -> BatchState:
        """Stop a batch: no further call starts. Running ones finish, or are cancelled too with `abort_running`."""
        request = batch_pb2.CancelBatchRequest(batch_id=batch_id, abort_running=abort_running)
        method = self._transport.batches.CancelBatch
        answer: batch_pb2.CancelBatchResponse = await self._transport.once(method, request, timeout)
        return _decode.batch(answer.batch)

    async def end_task(self, task_id: str, *, reason: str = "", timeout: float | None = None) -> None:
        """End a task: its batches start no further call, and new work in it is refused."""
        request = task_pb2.EndTaskRequest(task_id=task_id, reason=reason)
        await self._transport.once(self._transport.tasks.EndTask, request, timeout)

    async def set_variable(self, task_id: str, value: Json, *, name: str = "", timeout: float | None = None) -> str:
        """Store a value in a task for `calls_ref`; gives its name, the next free `VAR_<n>` where none is given."""
        value_json = text_of(value, "value of the variable")
        request = task_pb2.SetVariableRequest(task_id=task_id, name=name, value_json=value_json)
        answer: task_pb2.SetVariableResponse = await self._transport.once(
            self._transport.tasks.SetVariable, request, timeout
        )
        return answer.name

    async def get_step(self, step_id: str, *, timeout: float | None = None) -> Step:
        """Give a step's full record, its result included up to 1 MiB."""
        request = task_pb2.GetStepRequest(step_id=step_id)
        answer: task_pb2.GetStepResponse = await self._transport.read(self._transport.tasks.GetStep, request, timeout)
        return _decode.step(answer.step)

    async def step_result(self, step_id: str, *, timeout: float | None = None) -> RawJson:
        """Read a step's whole result, up to 64 MiB: its JSON text, byte for byte."""
        return RawJson(await whole_result(self._transport, step_id, timeout))

    async def steps(self, task_id: str, *, batch_id: str = "", timeout: float | None = None) -> AsyncIterator[Step]:
        """Give a task's steps, or only a batch's calls, oldest first, without args and results; `timeout` is for each page."""
        request = task_pb2.ListStepsRequest(task_id=task_id, parent_step_id=batch_id)
        while True:
            page: task_pb2.ListStepsResponse = await self._transport.read(
                self._transport.tasks.ListSteps, request, timeout
            )
            for step in page.steps:
                yield _decode.step(step)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def usage(self, task_id: str, *, timeout: float | None = None) -> AsyncIterator[UsageRow]:
        """Give what a task used, one row per step and unit; `timeout` is for each page."""
        request = task_pb2.ListUsageRequest(task_id=task_id)
        while True:
            page: task_pb2.ListUsageResponse = await self._transport.read(
                self._transport.tasks.ListUsage, request, timeout
            )
            for row in page.rows:
                yield _decode.usage(row)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def tools(self, *, agent_id: str = "", timeout: float | None = None) -> AsyncIterator[ToolDefinition]:
        """Give the tools that the caller may call, or another agent's for an operator; `timeout` is for each page."""
        request = tool_pb2.ListToolsRequest(agent_id=agent_id)
        while True:
            page: tool_pb2.ListToolsResponse = await self._transport.read(
                self._transport.tools.ListTools, request, timeout
            )
            for tool in page.tools:
                yield _decode.tool(tool)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def call_tool(
        self,
        task_id: str,
        tool: str,
        args: Mapping[str, Json] | RawJson,
        *,
        key: str = "",
        agent_id: str = "",
        timeout: float | None = None,
    ) -> DirectCall:
        """Run one tool as a direct step of a task. With a `key`, repeating it finds the outcome instead of running it twice."""
        request = tool_pb2.CallToolRequest()
        assign(request, "call_tool", tool=tool, args_json=text_of(args, f"args of {tool}"))
        assign(request.context, "call_tool", task_id=task_id, key=key, agent_id=agent_id)
        answer: tool_pb2.CallToolResponse = await self._transport.once(self._transport.tools.CallTool, request, timeout)
        return _decode.direct_call(answer)
