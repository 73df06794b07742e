"""OpenAI's Chat Completions API, and what speaks like it."""

from collections.abc import Collection, Mapping
from typing import Any

from toolbatch._client import Client
from toolbatch._json import RawJson
from toolbatch.llm._glue import answer, listed, member, schema


async def definitions(client: Client, *, names: Collection[str] | None = None) -> list[dict[str, Any]]:
    """Give the agent's tools, or only `names`, for the request's `tools`."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": schema(tool)},
        }
        for tool in await listed(client, names)
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
    """
    call_id: str = member(call, "id")
    function = member(call, "function")
    args = RawJson(member(function, "arguments"))
    content, _ = await answer(client, task_id, call_id, member(function, "name"), args, timeout)
    return {"role": "tool", "tool_call_id": call_id, "content": content}
