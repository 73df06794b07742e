import asyncio
import gc
import pickle
from pathlib import Path

import pytest
from conftest import Server
from odd import events, odd
from tools import held

from toolbatch import (
    Batch,
    BatchFinished,
    BatchStarted,
    Call,
    Client,
    DeadlineExceeded,
    EventStream,
    Refused,
    Unavailable,
    Violation,
)

BATCH = Batch(task_id="T", batch_id="b", calls=[Call("echo")])


async def test_asyncio_timeout_and_cancellation(client: Client, gate: Path) -> None:
    batch = Batch(task_id="T", batch_id="b", calls=[Call("hold", {"gate": str(gate)})])
    with pytest.raises(TimeoutError) as raised:
        async with asyncio.timeout(0.5):
            await client.result(batch)
    assert not isinstance(raised.value, DeadlineExceeded)
    running = asyncio.create_task(client.result(batch))
    await held(Path(f"{gate}.held"))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    gate.touch()
    assert (await client.result(batch)).succeeded == 1


async def test_leaving_the_loop_ends_the_stream_at_once() -> None:
    async with odd(events(1, hang=True)) as server, Client(server.url) as client:
        async for _ in client.run(BATCH):
            break
        async with asyncio.timeout(2):
            await server.ended.wait()


async def test_an_error_in_the_loop_ends_the_stream_too() -> None:
    async with odd(events(1, hang=True)) as server, Client(server.url) as client:
        with pytest.raises(KeyError):
            async for _ in client.run(BATCH):
                raise KeyError
        async with asyncio.timeout(2):
            await server.ended.wait()


async def test_a_closed_client_says_so(client: Client) -> None:
    async for event_ in client.run(BATCH):
        assert isinstance(event_, BatchStarted)
        break
    await client.close()
    with pytest.raises(RuntimeError, match="closed"):
        await client.result(BATCH)


async def test_closing_the_client_ends_what_waits(server: Server, client: Client, gate: Path) -> None:
    other = Client(server.url)
    running = asyncio.create_task(
        other.result(Batch(task_id="T", batch_id="b", calls=[Call("hold", {"gate": str(gate)})]))
    )
    direct_gate = gate.with_name("direct")
    direct = asyncio.create_task(other.call_tool("T", "hold", {"gate": str(direct_gate)}))
    await held(Path(f"{gate}.held"))
    await held(Path(f"{direct_gate}.held"))
    await other.close()
    with pytest.raises(RuntimeError, match="was closed"):
        await running
    with pytest.raises(RuntimeError, match="was closed"):
        await direct
    gate.touch()
    assert [event.sequence async for event in client.watch("b")] == [1, 2, 3, 4]


async def test_closing_the_client_at_the_last_event_is_no_error(server: Server) -> None:
    client = Client(server.url)
    seen = []
    async for event in client.run(Batch(task_id="T", calls=[Call("echo")])):
        seen.append(event.sequence)
        if isinstance(event, BatchFinished):
            await client.close()
    assert seen == [1, 2, 3, 4]


async def test_a_stream_that_is_closed_from_elsewhere_ends(client: Client, gate: Path) -> None:
    stream = client.run(Batch(task_id="T", calls=[Call("hold", {"gate": str(gate)})]))
    listening = asyncio.create_task(_count(stream))
    await held(Path(f"{gate}.held"))
    assert "open" in repr(stream)
    await stream.aclose()
    assert await listening == 2
    assert "ended" in repr(stream)


async def _count(stream: EventStream) -> int:
    return len([event async for event in stream])


async def test_nothing_is_left_behind(server: Server) -> None:
    async def use() -> int:
        async with Client(server.url) as client:
            await asyncio.gather(*(client.result(Batch(task_id="T", calls=[Call("echo")])) for _ in range(8)))
            async for _ in client.run(Batch(task_id="T", calls=[Call("echo")])):
                break
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0):
                    await client.result(Batch(task_id="T", calls=[Call("echo")]))
        gc.collect()
        if left := asyncio.all_tasks() - {asyncio.current_task()}:  # those that gRPC is about to end
            _, left = await asyncio.wait(left, timeout=5)
        return len(left)

    assert await asyncio.to_thread(asyncio.run, use()) == 0


def test_errors_survive_pickling() -> None:
    refused = Refused("NOT_FOUND", "no batch", reason="BATCH_NOT_FOUND", violations=(Violation("f", "d"),))
    for error in (refused, Unavailable("gone", batch_id="b", last_sequence=3), DeadlineExceeded("late", batch_id="b")):
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301
        assert (str(copy), vars(copy)) == (str(error), vars(error))
