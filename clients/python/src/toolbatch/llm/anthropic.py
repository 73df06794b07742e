"""Anthropic's Messages API."""

from collections.abc import Collection, Mapping
from typing import Any

from toolbatch._client import Client
from toolbatch._json import RawJson
from toolbatch.llm._glue import answer, expect_type, listed, member, schema, text

_LONGEST_NAME = 128


async def definitions(
    client: Client, *, names: Collection[str] | None = None, timeout: float | None = None
) -> list[dict[str, Any]]:
    """Give the agent's tools, or only `names`, for the request's `tools`. ValueError where the API does not take a tool's name."""
    return [
        {"name": tool.name, "description": tool.description, "input_schema": schema(tool)}
        for tool in await listed(client, names, _LONGEST_NAME, timeout)
    ]


async def tool_call(
    client: Client, task_id: str, block: Mapping[str, Any] | object, *, timeout: float | None = None
) -> dict[str, Any]:
    """Run a `tool_use` block in a task and give the `tool_result` block.

    The block's id is the call's key, so repeating it after a lost answer finds the outcome instead of running it twice. A failure of the tool
    is `is_error`; what the client raises (`Refused`, `Unavailable`, `DeadlineExceeded`) is not for the model.

    Args:
        client: The connection.
        task_id: The task that the conversation belongs to.
        block: A mapping, or the SDK's object. `input` may be `RawJson`.
        timeout: Seconds for the whole call.

    Raises:
        ValueError: It is no call: a member is missing, or it is of another type than `tool_use`.
        TypeError: The input is no object.
    """
    expect_type(block, "tool_use")
    call_id = text(block, "id")
    args = member(block, "input")
    if not isinstance(args, Mapping | RawJson):
        raise TypeError(f"input of the tool_use block {call_id}: expected an object, got a {type(args).__name__}")
    content, is_error = await answer(client, task_id, call_id, text(block, "name"), args, timeout)
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return {**result, "is_error": True} if is_error else result
