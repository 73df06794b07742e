"""From the contract's messages to this package's types."""

from datetime import UTC, datetime, timedelta

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from toolbatch import _events as events
from toolbatch import _records as records
from toolbatch._enums import BatchMode, BatchStatus, CallErrorReason, CallStatus, InDoubtPolicy, StopReason
from toolbatch._request import Options, RetryPolicy
from toolbatch.v1 import batch_pb2, task_pb2, tool_pb2


def event(message: batch_pb2.BatchEvent) -> events.Event | None:
    """Give the typed event; None for a kind that this package does not know."""
    base = (message.batch_id, message.sequence, _time(message.time) if message.HasField("time") else None)
    match message.WhichOneof("event"):
        case "batch_planned":
            return events.BatchPlanned(*base, tuple(_planned(call) for call in message.batch_planned.calls))
        case "batch_started":
            started = message.batch_started
            return events.BatchStarted(
                *base, started.task_id, started.agent_id, started.total, options(started.options)
            )
        case "call_started":
            call = message.call_started
            return events.CallStarted(*base, call.index, call.tool, call.key, call.step_id, call.attempt)
        case "call_retrying":
            retrying = message.call_retrying
            due = _time(retrying.retry_time) if retrying.HasField("retry_time") else None
            return events.CallRetrying(
                *base, retrying.index, retrying.step_id, retrying.attempt, _error(retrying.error), due
            )
        case "call_progress":
            told = message.call_progress
            return events.CallProgress(*base, told.index, told.step_id, told.progress, told.total, told.message)
        case "call_finished":
            return events.CallFinished(*base, _result(message.call_finished.result))
        case "batch_resumed":
            return events.BatchResumed(*base, tuple(message.batch_resumed.in_doubt))
        case "batch_finished":
            return events.BatchFinished(*base, summary(message.batch_finished.summary))
        case _:
            return None


def summary(message: batch_pb2.BatchSummary) -> events.BatchSummary:
    """Give a batch's summary."""
    return events.BatchSummary(
        status=BatchStatus(message.status),
        total=message.total,
        succeeded=message.succeeded,
        failed=message.failed,
        skipped=message.skipped,
        awaiting=message.awaiting,
        not_run=message.not_run,
        stop_reason=StopReason(message.stop_reason),
        results=tuple(_result(result) for result in message.results),
    )


def options(message: batch_pb2.BatchOptions) -> Options:
    """Give the options that are in force."""
    retry = message.retry
    return Options(
        mode=BatchMode(message.mode),
        max_concurrency=message.max_concurrency,
        serialize_on=message.serialize_on,
        stop_on_error=message.stop_on_error if message.HasField("stop_on_error") else None,
        include_results=message.include_results if message.HasField("include_results") else None,
        call_timeout=_span(message.call_timeout) if message.HasField("call_timeout") else None,
        retry=RetryPolicy(
            max_attempts=retry.max_attempts,
            initial_backoff=_span(retry.initial_backoff) if retry.HasField("initial_backoff") else None,
            max_backoff=_span(retry.max_backoff) if retry.HasField("max_backoff") else None,
            backoff_multiplier=retry.backoff_multiplier,
        )
        if message.HasField("retry")
        else None,
        in_doubt=InDoubtPolicy(message.in_doubt),
    )


def batch(message: batch_pb2.Batch) -> records.BatchState:
    """Give a batch and its state."""
    return records.BatchState(
        batch_id=message.batch_id,
        task_id=message.task_id,
        agent_id=message.agent_id,
        options=options(message.options),
        start_time=_time(message.start_time) if message.HasField("start_time") else None,
        end_time=_time(message.end_time) if message.HasField("end_time") else None,
        summary=summary(message.summary),
        last_sequence=message.last_sequence,
    )


def step(message: task_pb2.Step) -> records.Step:
    """Give a step's record."""
    return records.Step(
        step_id=message.step_id,
        parent_step_id=message.parent_step_id,
        task_id=message.task_id,
        agent_id=message.agent_id,
        tool=message.tool,
        base_tool=message.base_tool,
        backend=message.backend,
        key=message.key,
        index=message.index,
        status=CallStatus(message.status),
        attempts=message.attempts,
        args_json=message.args_json,
        result_json=message.result_json,
        result_bytes=message.result_bytes,
        error=_error(message.error) if message.HasField("error") else None,
        await_id=message.await_id,
        start_time=_time(message.start_time) if message.HasField("start_time") else None,
        end_time=_time(message.end_time) if message.HasField("end_time") else None,
        usage=tuple(usage(row) for row in message.usage),
        trace_id=message.trace_id,
    )


def usage(row: task_pb2.UsageRow) -> records.UsageRow:
    """Give one row of usage."""
    return records.UsageRow(row.step_id, row.tool, row.unit, row.quantity, row.cost_nanos, row.currency)


def tool(message: tool_pb2.Tool) -> records.ToolDefinition:
    """Give a tool's definition."""
    return records.ToolDefinition(
        name=message.name,
        description=message.description,
        input_schema_json=message.input_schema_json,
        pauses=message.pauses,
        reports_progress=message.reports_progress,
        timeout=_span(message.timeout) if message.HasField("timeout") else None,
    )


def direct_call(message: tool_pb2.CallToolResponse) -> records.DirectCall:
    """Give a direct step and its outcome."""
    outcome: records.Outcome
    match message.WhichOneof("outcome"):
        case "failure":
            failure = message.failure
            outcome = records.Failed(failure.message, failure.code, failure.retryable, message.outcome_unknown)
        case "awaiting":
            outcome = records.Awaiting(message.awaiting.await_id, message.awaiting.result_json)
        case "result_json":
            outcome = records.Completed(message.result_json, message.result_omitted)
        case _ if message.result_omitted:
            outcome = records.Completed("", result_omitted=True)
        case _:
            outcome = records.Failed("the answer has no outcome", "", retryable=False, outcome_unknown=True)
    return records.DirectCall(outcome, message.step_id, message.variable, message.skipped, message.args_changed)


def _result(message: batch_pb2.CallResult) -> events.CallResult:
    return events.CallResult(
        index=message.index,
        tool=message.tool,
        key=message.key,
        status=CallStatus(message.status),
        step_id=message.step_id,
        duration=_span(message.duration),
        result_json=message.result_json,
        result_omitted=message.result_omitted,
        error=_error(message.error) if message.HasField("error") else None,
        await_id=message.await_id,
        attempts=message.attempts,
        args_changed=message.args_changed,
    )


def _error(message: batch_pb2.CallError) -> events.CallError:
    return events.CallError(
        reason=CallErrorReason(message.reason),
        message=message.message,
        outcome_unknown=message.outcome_unknown,
        retryable=message.retryable,
        code=message.code,
    )


def _planned(call: batch_pb2.PlannedCall) -> events.PlannedCall:
    return events.PlannedCall(
        index=call.index,
        tool=call.tool,
        base_tool=call.base_tool,
        backend=call.backend,
        key=call.key,
        lane=call.lane,
        skipped_step_id=call.skipped_step_id,
        error=_error(call.error) if call.HasField("error") else None,
    )


def _time(message: Timestamp) -> datetime:
    return datetime.fromtimestamp(message.seconds, UTC) + timedelta(microseconds=message.nanos // 1000)


def _span(message: Duration) -> timedelta:
    return timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)
