"""The gRPC service of a tool backend."""

import asyncio
import contextvars
import logging
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import grpc
from grpc import aio

from toolbatch._json import RawJson, loads, text_of
from toolbatch._tool import Await, Context, Function, Landed, NotLanded, Progress, Tool, ToolFailure
from toolbatch.v1 import tool_pb2, tool_pb2_grpc

_LOG = logging.getLogger("toolbatch.backend")
_PAGE = 500
_Grpc = aio.ServicerContext[Any, Any]


class Servicer(tool_pb2_grpc.ToolServiceServicer):
    """Lists the tools of a backend and runs them."""

    def __init__(self, tools: Mapping[str, Tool[..., Any]], threads: ThreadPoolExecutor) -> None:
        self._tools = tools
        self._threads = threads

    async def ListTools(self, request: tool_pb2.ListToolsRequest, context: _Grpc) -> tool_pb2.ListToolsResponse:  # noqa: N802
        """List the tools, a page at a time; a page's token is the place of its first tool."""
        token = request.page_token or "0"
        tools = list(self._tools.values())
        if request.page_size < 0 or not (
            token.isascii() and token.isdigit() and len(token) < 10 and int(token) <= len(tools)
        ):
            await context.abort(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"page_size {request.page_size} and page_token {request.page_token!r}: expected a size from 0 and a token from the page before",
            )
        begin = int(token)
        end = begin + min(request.page_size or _PAGE, _PAGE)
        answer = tool_pb2.ListToolsResponse(next_page_token=str(end) if end < len(tools) else "")
        for tool in tools[begin:end]:
            answer.tools.append(_definition(tool))
        return answer

    async def CallTool(self, request: tool_pb2.CallToolRequest, context: _Grpc) -> tool_pb2.CallToolResponse:  # noqa: N802
        """Run a tool."""
        tool = await self._tool(request.tool, context)
        call = _context(request.context, request.args_json, context, None)
        try:
            return await self._run(tool, call)
        except Exception as error:  # noqa: BLE001
            await _unknown(error, f"tool {tool.name}", call, context)

    async def CallToolWithProgress(  # noqa: N802
        self, request: tool_pb2.CallToolWithProgressRequest, context: _Grpc
    ) -> AsyncIterator[tool_pb2.CallToolWithProgressResponse]:
        """Run a tool and tell of its progress on the way."""
        tool = await self._tool(request.call.tool, context)
        progress = Progress()
        call = _context(request.call.context, request.call.args_json, context, progress)
        running = asyncio.create_task(self._run(tool, call))
        running.add_done_callback(lambda _: progress.changed.set())
        try:
            while not running.done() or progress.reports:
                if not progress.reports:
                    await progress.changed.wait()
                progress.changed.clear()
                while progress.reports:
                    done, total, message = progress.reports.popleft()
                    told = tool_pb2.ToolProgress(progress=done, total=total, message=message)
                    yield tool_pb2.CallToolWithProgressResponse(progress=told)
            try:
                response = await running
            except Exception as error:  # noqa: BLE001
                await _unknown(error, f"tool {tool.name}", call, context)
            yield tool_pb2.CallToolWithProgressResponse(response=response)
        finally:
            if not running.done():
                running.cancel()
                await asyncio.wait([running])

    async def LookupCall(self, request: tool_pb2.LookupCallRequest, context: _Grpc) -> tool_pb2.LookupCallResponse:  # noqa: N802
        """Tell what became of an earlier attempt."""
        tool = await self._tool(request.tool, context)
        if tool.lookup_function is None:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, f"tool {tool.name} has no lookup")
        call = _context(request.context, request.args_json, context, None)
        answer = tool_pb2.LookupCallResponse()
        try:
            match await self._call(tool.lookup_function, call):
                case Landed(result):
                    answer.landed.CopyFrom(_outcome(result, call, f"lookup of {tool.name}"))
                case NotLanded():
                    answer.not_landed.SetInParent()
                case None:
                    answer.unknown.SetInParent()
                case other:
                    expected = "expected Landed, NotLanded or None"
                    raise TypeError(f"the lookup of {tool.name} gave a {type(other).__name__}: {expected}")  # noqa: TRY301
        except Exception as error:  # noqa: BLE001
            await _unknown(error, f"lookup of {tool.name}", call, context)
        return answer

    async def _tool(self, name: str, context: _Grpc) -> Tool[..., Any]:
        tool = self._tools.get(name)
        if tool is None:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, f"no tool {name!r} here; nothing ran")
        return tool

    async def _run(self, tool: Tool[..., Any], call: Context) -> tool_pb2.CallToolResponse:
        try:
            result = await self._call(tool.function, call)
        except ToolFailure as failure:
            result = failure
        return _outcome(result, call, f"result of {tool.name}")

    async def _call(self, function: Function, call: Context) -> Any:
        arguments: list[Any] = [call.args_json if function.takes_text else _native(call.args_json)]
        if function.takes_context:
            arguments.append(call)
        try:
            if function.is_async:
                return await function.call(*arguments)
            run = contextvars.copy_context().run
            return await asyncio.get_running_loop().run_in_executor(self._threads, run, function.call, *arguments)
        except asyncio.CancelledError:
            call._cancelled = True  # noqa: SLF001
            raise


def _native(args_json: str) -> dict[str, Any]:
    """Read the arguments; where that cannot be done nothing ran, so it is a definite failure."""
    try:
        args = loads(args_json)
    except ValueError as error:
        raise ToolFailure(f"the arguments cannot be read: {error}", code="INVALID_ARGS") from error
    if not isinstance(args, dict):
        raise ToolFailure(f"the arguments are a {type(args).__name__}: expected a JSON object", code="INVALID_ARGS")
    return args


def _outcome(result: Any, call: Context, what: str) -> tool_pb2.CallToolResponse:
    response = tool_pb2.CallToolResponse()
    match result:
        case ToolFailure():
            response.failure.message = result.message
            response.failure.code = result.code
            response.failure.retryable = result.retryable
        case Await(await_id, so_far):
            response.awaiting.await_id = await_id
            response.awaiting.result_json = text_of(so_far, what)
        case _:
            response.result_json = text_of(result, what)
    for unit, quantity in call._used.items():  # noqa: SLF001
        response.usage.add(unit=unit, quantity=quantity)
    return response


def _context(message: tool_pb2.CallContext, args_json: str, context: _Grpc, progress: Progress | None) -> Context:
    return Context(
        task_id=message.task_id,
        agent_id=message.agent_id,
        key=message.key,
        batch_id=message.batch_id,
        step_id=message.step_id,
        index=message.index,
        attempt=message.attempt,
        idempotency_key=message.idempotency_key,
        in_doubt=message.in_doubt,
        args_json=RawJson(args_json if args_json.strip() else "{}"),
        metadata={name: value for name, value in context.invocation_metadata() or () if isinstance(value, str)},
        _progress=progress,
    )


def _definition(tool: Tool[..., Any]) -> tool_pb2.Tool:
    message = tool_pb2.Tool(
        name=tool.name,
        description=tool.description,
        input_schema_json=tool.input_schema_json,
        pauses=tool.pauses,
        reports_progress=tool.reports_progress,
    )
    if tool.timeout is not None:
        message.timeout.FromNanoseconds(round(tool.timeout * 1_000_000_000))
    return message


async def _unknown(error: Exception, what: str, call: Context, context: _Grpc) -> NoReturn:
    """Answer that nobody knows what happened. Why stands in the log, which the caller does not see."""
    _LOG.error("%s, step %s, attempt %d: the outcome is unknown", what, call.step_id, call.attempt, exc_info=error)
    await context.abort(
        grpc.StatusCode.UNKNOWN, f"{what} ended with an error that it does not declare; see the backend's log"
    )
    raise AssertionError  # abort never returns
