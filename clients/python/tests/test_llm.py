import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import Server, free_port

from toolbatch import Backend, Client, RawJson, loads
from toolbatch.llm import anthropic, openai


async def test_definitions_are_those_of_the_api(client: Client) -> None:
    tools = {tool["name"]: tool for tool in await anthropic.definitions(client)}
    assert tools["echo"] == {
        "name": "echo",
        "description": "Gives its args back as they are",
        "input_schema": {"type": "object", "properties": {}},
    }
    assert tools["post_order"]["input_schema"]["required"] == ["contract"]
    assert {"execute_tool_batch", "batch_tool"} <= tools.keys()
    assert json.loads(json.dumps(list(tools.values()))) == list(tools.values())
    (function,) = await openai.definitions(client, names=["post_order"])
    assert function["type"] == "function"
    assert function["function"]["parameters"] == tools["post_order"]["input_schema"]
    assert function["function"]["description"] == "Posts an order"


async def test_names_that_an_api_does_not_take_are_named(tmp_path: Path) -> None:
    odd_ones = Backend()
    odd_ones.tool("post order", "Has a blank")(_nothing)
    odd_ones.tool("x" * 100, "Is long")(_nothing)
    async with await odd_ones.start("127.0.0.1:0") as running:
        config = f'[[backends]]\nname = "odd"\naddresses = ["http://{running.address}"]\n'
        server = Server(tmp_path, f"127.0.0.1:{free_port()}", config)
        await server.start()
        async with Client(server.url) as client:
            with pytest.raises(ValueError, match="1 to 128 letters, digits, _ and -, which 'post order' are not"):
                await anthropic.definitions(client)
            with pytest.raises(ValueError, match=r"'post order', 'x{100}'"):
                await openai.definitions(client)
            assert len(await anthropic.definitions(client, names=["x" * 100, "batch_tool"])) == 2
        await server.stop()


async def _nothing(_args: dict[str, Any]) -> None: ...


async def test_tool_use_blocks_are_answered(client: Client) -> None:
    done: dict[str, Any] = {"type": "tool_use", "id": "a-1", "name": "echo", "input": RawJson('{ "n": 1.10 }')}
    failed = {"type": "tool_use", "id": "a-2", "name": "fail", "input": {"message": "no <lück>"}}
    waits = {"type": "tool_use", "id": "a-3", "name": "review", "input": {"await_id": "r-1"}}
    large = {"type": "tool_use", "id": "a-4", "name": "large", "input": {"bytes": 4_000_000}}
    for _ in range(2):  # the second time the id finds what was done
        answer = await anthropic.tool_call(client, "T", done)
        assert answer == {"type": "tool_result", "tool_use_id": "a-1", "content": '{ "n": 1.10 }'}
    answer = await anthropic.tool_call(client, "T", failed)
    assert answer == {"type": "tool_result", "tool_use_id": "a-2", "content": "no <lück>", "is_error": True}
    assert (await anthropic.tool_call(client, "T", waits))["content"] == "waits for review r-1"
    assert len((await anthropic.tool_call(client, "T", large))["content"]) == 4_000_002
    assert len([step async for step in client.steps("T")]) == 4
    other = await anthropic.tool_call(client, "T", {**done, "input": {"n": 2}})
    assert other["is_error"]


async def test_entries_of_tool_calls_are_answered(client: Client) -> None:
    call = {"id": "o-1", "type": "function", "function": {"name": "echo", "arguments": '{ "n": 1.10 }'}}
    assert await openai.tool_call(client, "T", call) == {
        "role": "tool",
        "tool_call_id": "o-1",
        "content": '{ "n": 1.10 }',
    }
    of_an_sdk = SimpleNamespace(
        id="o-2", type="function", function=SimpleNamespace(name="fail", arguments='{"message":"no"}')
    )
    assert (await openai.tool_call(client, "T", of_an_sdk))["content"] == "no"
    empty = {"id": "o-3", "function": {"name": "native", "arguments": ""}}
    assert (await openai.tool_call(client, "T", empty))["content"] == "{}"
    wrong = {"id": "o-4", "function": {"name": "post_order", "arguments": '{"quantity": "many"}'}}
    assert "contract" in (await openai.tool_call(client, "T", wrong))["content"]


async def test_a_models_batch(client: Client) -> None:
    calls = [{"tool": "echo", "args": {"n": 12345678901234567890}, "key": "k"}]
    block = {"type": "tool_use", "id": "b-1", "name": "execute_tool_batch", "input": {"calls": calls}}
    answer = await anthropic.tool_call(client, "T", block)
    assert loads(answer["content"])["results"][0]["result"] == {"n": 12345678901234567890}


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"type": "text", "text": "hi"}, "is of type 'text': expected 'tool_use'"),
        ({"type": "tool_use", "name": "echo", "input": {}}, "has no 'id'"),
        ({"type": "tool_use", "id": "", "name": "echo", "input": {}}, "expected a text that is not empty"),
        ({"type": "tool_use", "id": "a", "input": {}}, "has no 'name'"),
        ({"type": "tool_use", "id": "a", "name": "echo"}, "has no 'input'"),
    ],
)
async def test_blocks_that_are_none_are_refused(block: dict[str, Any], words: str) -> None:
    async with Client() as client:
        with pytest.raises(ValueError, match=words):
            await anthropic.tool_call(client, "T", block)


async def test_calls_that_are_none_are_refused() -> None:
    async with Client() as client:
        with pytest.raises(TypeError, match="expected an object, got a str"):
            await anthropic.tool_call(client, "T", {"id": "a", "name": "echo", "input": "{}"})
        with pytest.raises(ValueError, match="is of type 'custom': expected 'function'"):
            await openai.tool_call(client, "T", {"type": "custom", "id": "a"})
        with pytest.raises(ValueError, match="has no 'function'"):
            await openai.tool_call(client, "T", {"id": "a"})
