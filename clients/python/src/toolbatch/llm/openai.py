"""OpenAI's Chat Completions API, and what speaks like it."""

from collections.abc import Collection, Mapping
from typing import Any

from toolbatch._client import Client
from toolbatch._json import RawJson
from toolbatch.llm._glue import answer, expect_type, listed, member, schema, text

_LONGEST_NAME = 64


async def definitions(
    client: Client, *, names: Collection[str] | None = None, timeout: float | None = None
) -> list[dict[str, Any]]:
    """Give the agent's tools, or only `names`, for the request's `tools`. ValueError where the API does not take a tool's name."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": schema(tool)},
        }
        for tool in await listed(client, names, _LONGEST_NAME, timeout)
    ]


async def tool_call(
    client: Client, task_id: str, call: Mapping[str, Any] | object, *, timeout: float | None = None
) -> dict[str, Any]:
    """Run an entry of `tool_calls` in a task and give the message of role `tool`.

    The entry's id is the call's key, so repeating it after a lost answer finds the outcome instead of running it twice. A failure of the tool
    is told in the content; what the client raises (`Refused`, `Unavailable`, `DeadlineExceeded`) is not for the model.

    Args:
        client: The connection.
        task_id: The task that the conversation belongs to.
        call: A mapping, or the SDK's object.
        timeout: Seconds for the whole call.

    Raises:
        ValueError: It is no call: a member is missing, or it is of another type than `function`.
    """
    expect_type(call, "function")
    call_id = text(call, "id")
    function = member(call, "function")
    args = RawJson(member(function, "arguments") or "{}")
    content, _ = await answer(client, task_id, call_id, text(function, "name"), args, timeout)
    return {"role": "tool", "tool_call_id": call_id, "content": content}
