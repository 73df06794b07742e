import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio
from conftest import Server
from grpc import aio
from tools import backend, held

from toolbatch import (
    Awaiting,
    Backend,
    Batch,
    Call,
    CallErrorReason,
    CallProgress,
    CallResult,
    CallStatus,
    Client,
    Completed,
    Failed,
    InDoubtPolicy,
    Options,
    RawJson,
    RetryPolicy,
)
from toolbatch.v1 import tool_pb2, tool_pb2_grpc


async def one(client: Client, tool: str, args: dict[str, Any], options: Options | None = None) -> CallResult:
    summary = await client.result(Batch(task_id="T", calls=[Call(tool, args)], options=options))
    return summary.results[0]


@pytest_asyncio.fixture
async def stub() -> AsyncIterator[tool_pb2_grpc.ToolServiceStub]:
    async with await backend.start("127.0.0.1:0") as running, aio.insecure_channel(running.address) as channel:
        yield tool_pb2_grpc.ToolServiceStub(channel)


async def test_a_declared_failure_is_definite(client: Client) -> None:
    for tool in ("fail", "threaded"):
        error = (await one(client, tool, {"message": "it is löcked", "code": "T"})).error
        assert error is not None
        assert (error.reason, error.message, error.code) == (CallErrorReason.TOOL_FAILED, "it is löcked", "T")
        assert (error.retryable, error.outcome_unknown) == (False, False)


async def test_a_retryable_failure_is_repeated(client: Client) -> None:
    retry = Options(retry=RetryPolicy(max_attempts=3, initial_backoff=0.001))
    result = await one(client, "fail", {"message": "later", "retryable": True, "times": 2}, retry)
    assert (result.status, result.attempts, result.value) == (CallStatus.COMPLETED, 3, {"attempt": 3})
    result = await one(client, "fail", {"message": "never", "times": 2}, retry)
    assert (result.status, result.attempts) == (CallStatus.FAILED, 1)


@pytest.mark.parametrize(("tool", "why"), [("crash", "crashed with {'a': 1}"), ("nonsense", "which JSON has no form")])
async def test_any_other_error_says_nothing_certain(
    client: Client, caplog: pytest.LogCaptureFixture, tool: str, why: str
) -> None:
    with caplog.at_level(logging.ERROR, "toolbatch.backend"):
        error = (await one(client, tool, {"a": 1})).error
    assert error is not None
    assert error.outcome_unknown
    assert why not in error.message
    assert why in caplog.text
    assert "see the backend's log" in error.message


async def test_waiting_for_a_review(client: Client) -> None:
    result = await one(client, "review", {"await_id": "r-1"})
    assert (result.status, result.await_id, result.value) == (CallStatus.AWAITING, "r-1", {"draft": True})


async def test_progress_of_async_functions_and_threads(client: Client) -> None:
    calls = [Call("count", {"to": 3}), Call("threaded")]
    events = [event async for event in client.run(Batch(task_id="T", calls=calls))]
    told = [(event.index, event.message) for event in events if isinstance(event, CallProgress)]
    assert told == [(0, "1 of 3"), (0, "2 of 3"), (0, "3 of 3"), (1, "done")]


async def test_a_lookup_tells_what_landed(client: Client, server: Server, gate: Path) -> None:
    lookup = Options(in_doubt=InDoubtPolicy.LOOKUP)
    calls = [Call("ledger", {"entry": "a", "gate": str(gate)})]
    stream = client.run(Batch(task_id="T", calls=calls, options=lookup))
    async with stream:
        await anext(stream)
        await held(Path(f"{gate}.held"))
        await server.restart(9)
        events = [event async for event in stream]
    assert events[-1].summary.results[0].value == {"entry": "a", "looked_up": True}  # type: ignore[union-attr]


async def test_the_context_says_where_a_call_belongs(client: Client) -> None:
    batch = Batch(task_id="T", batch_id="b", calls=[Call("echo"), Call("context", {}, "k")])
    result = (await client.result(batch)).results[1]
    told = result.value
    assert (told["task_id"], told["batch_id"], told["key"]) == ("T", "b", "k")
    assert (told["step_id"], told["index"], told["attempt"]) == (result.step_id, 1, 1)
    assert told["idempotency_key"]
    assert told["in_doubt"] is False


async def test_args_are_checked_by_the_schema(client: Client) -> None:
    error = (await one(client, "post_order", {"contract": "a", "quantity": 0})).error
    assert error is not None
    assert error.reason is CallErrorReason.INVALID_ARGS
    assert (await one(client, "post_order", {"contract": "a"})).value == {"posted": "a", "quantity": 1}


async def test_direct_calls(client: Client) -> None:
    done = await client.call_tool("T", "echo", RawJson('{"n":1.10}'), key="k")
    assert done.outcome == Completed('{"n":1.10}', result_omitted=False)
    assert (await client.call_tool("T", "echo", RawJson('{"n":1.10}'), key="k")).skipped
    failed = (await client.call_tool("T", "fail", {"message": "no", "code": "C"})).outcome
    assert failed == Failed("no", "C", retryable=False, outcome_unknown=False)
    crashed = (await client.call_tool("T", "crash", {})).outcome
    assert isinstance(crashed, Failed)
    assert crashed.outcome_unknown
    assert (await client.call_tool("T", "review", {"await_id": "r"})).outcome == Awaiting("r", '{"draft":true}')


async def test_definitions_reach_the_server(client: Client) -> None:
    tools = {tool.name: tool async for tool in client.tools()}
    assert tools["wait"].pauses
    assert tools["count"].reports_progress
    assert not tools["echo"].pauses
    assert tools["echo"].timeout is None


async def test_definitions_come_in_pages(stub: tool_pb2_grpc.ToolServiceStub) -> None:
    names: list[str] = []
    token = ""
    while True:
        page = await stub.ListTools(tool_pb2.ListToolsRequest(page_size=4, page_token=token))
        assert len(page.tools) <= 4
        names += [tool.name for tool in page.tools]
        token = page.next_page_token
        if not token:
            break
    assert names == [tool.name for tool in (await stub.ListTools(tool_pb2.ListToolsRequest())).tools]
    for bad in (tool_pb2.ListToolsRequest(page_size=-1), tool_pb2.ListToolsRequest(page_token="x")):
        with pytest.raises(aio.AioRpcError) as raised:
            await stub.ListTools(bad)
        assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_what_is_not_served_is_unimplemented(stub: tool_pb2_grpc.ToolServiceStub) -> None:
    for ask in (
        stub.CallTool(tool_pb2.CallToolRequest(tool="nothing")),
        stub.LookupCall(tool_pb2.LookupCallRequest(tool="nothing")),
        stub.LookupCall(tool_pb2.LookupCallRequest(tool="echo")),
    ):
        with pytest.raises(aio.AioRpcError) as raised:
            await ask
        assert raised.value.code() is grpc.StatusCode.UNIMPLEMENTED
    with pytest.raises(aio.AioRpcError) as raised:
        call = tool_pb2.CallToolRequest(tool="nothing")
        await stub.CallToolWithProgress(tool_pb2.CallToolWithProgressRequest(call=call)).read()
    assert raised.value.code() is grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize("args", ["{", "[1]", '{"a":1e' + "9" * 30 + "}"])
async def test_args_that_cannot_be_read_are_a_definite_failure(stub: tool_pb2_grpc.ToolServiceStub, args: str) -> None:
    answer = await stub.CallTool(tool_pb2.CallToolRequest(tool="native", args_json=args))
    assert answer.failure.code == "INVALID_ARGS"


async def test_a_call_that_is_cancelled_reaches_a_thread(stub: tool_pb2_grpc.ToolServiceStub, gate: Path) -> None:
    call = stub.CallTool(tool_pb2.CallToolRequest(tool="blocking", args_json=f'{{"gate":"{gate}"}}'))
    await held(gate.with_suffix(".held"))
    call.cancel()
    await held(gate.with_suffix(".cancelled"))


def test_tools_that_cannot_be_declared_are_named() -> None:
    some = Backend()
    some.tool("a", "")(lambda _args: None)
    with pytest.raises(ValueError, match="'a' is declared already"):
        some.tool("a", "")
    for name in ("", " a", "a\n", "ä", "a" * 257):
        with pytest.raises(ValueError, match="printable ASCII"):
            some.tool(name, "")
    with pytest.raises(ValueError, match="timeout of tool 'b'"):
        some.tool("b", "", timeout=0)
    with pytest.raises(ValueError, match="expected a JSON object"):
        some.tool("b", "", input_schema=RawJson("true"))
    with pytest.raises(TypeError, match="tool b is a function of"):
        some.tool("b", "")(lambda: None)
    with pytest.raises(TypeError, match="lookup of c is a function of"):
        some.tool("c", "")(lambda _args: None).lookup(lambda _a, _b, _c: None)
    assert repr(some) == "<Backend of a, c>"


async def test_usage_and_progress_have_to_be_numbers() -> None:
    some = Backend()

    @some.tool("numbers", "Tells what is none")
    async def numbers(_args: dict[str, Any], context: Any) -> str:
        with pytest.raises(ValueError, match="usage of pages: expected a finite number from 0, got -1"):
            context.usage("pages", -1)
        with pytest.raises(ValueError, match="progress: expected finite numbers"):
            context.progress(float("nan"))
        context.usage("pages", 1)
        context.usage("pages", 1.5)
        return "told"

    async with await some.start("127.0.0.1:0") as running, aio.insecure_channel(running.address) as channel:
        answer = await tool_pb2_grpc.ToolServiceStub(channel).CallTool(tool_pb2.CallToolRequest(tool="numbers"))
    assert [(row.unit, row.quantity) for row in answer.usage] == [("pages", 2.5)]
    assert answer.result_json == '"told"'
