package dev.toolbatch;

import dev.toolbatch.v1.BatchServiceGrpc;
import dev.toolbatch.v1.CallContext;
import dev.toolbatch.v1.CallToolRequest;
import dev.toolbatch.v1.CancelBatchRequest;
import dev.toolbatch.v1.GetBatchRequest;
import dev.toolbatch.v1.GetStepRequest;
import dev.toolbatch.v1.ListToolsRequest;
import dev.toolbatch.v1.ListToolsResponse;
import dev.toolbatch.v1.ListUsageRequest;
import dev.toolbatch.v1.ListUsageResponse;
import dev.toolbatch.v1.SetVariableRequest;
import dev.toolbatch.v1.TaskServiceGrpc;
import dev.toolbatch.v1.ToolServiceGrpc;
import io.grpc.Channel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;

/**
 * A connection to a toolbatch server, for any number of threads.
 *
 * <p>Batches and reads come back by themselves where the connection is lost or the server starts
 * anew. Methods throw {@link RefusedException}, {@link UnavailableException}, {@link
 * DeadlineExceededException} or, where the thread is interrupted or its {@link io.grpc.Context} is
 * cancelled, {@link CancelledException}; all are {@link ToolbatchException}. After {@link #close()}
 * they throw {@link IllegalStateException}.
 */
public final class ToolbatchClient implements AutoCloseable {
  private final Connection connection;
  private final Duration deadline;
  private final Requests requests;

  ToolbatchClient(Connection connection, Duration deadline) {
    this.connection = connection;
    this.deadline = deadline;
    this.requests = new Requests(connection, deadline);
  }

  /**
   * Says how to connect.
   *
   * @return a builder with the defaults of the environment
   */
  public static ToolbatchClientBuilder builder() {
    return new ToolbatchClientBuilder();
  }

  /**
   * The same client with a deadline, as gRPC's stubs have it. Where the {@link io.grpc.Context}
   * that a request is made in has one too, the earlier counts.
   *
   * @param duration how long each run, result, watch or other request may take from its beginning,
   *     over all its attempts; above zero
   * @return a client on the same connection, which closing either closes
   */
  public ToolbatchClient withDeadline(Duration duration) {
    return new ToolbatchClient(connection, Times.requirePositive(duration, "the deadline"));
  }

  /**
   * Runs a batch, or comes back to it where it was run before.
   *
   * @param batch what to run
   * @return its events from the first; closing them leaves the batch running
   */
  public EventStream run(Batch batch) {
    connection.requireOpen();
    return new EventStream(
        batch.batchId(), 0, reader -> BatchStream.run(connection, batch, deadline, reader));
  }

  /**
   * Follows a batch that was begun before, by anyone.
   *
   * @param batchId its id
   * @param afterSequence the last event that is not wanted any more; 0 for all
   * @return its events after that one
   */
  public EventStream watch(String batchId, long afterSequence) {
    requireSequence(batchId, afterSequence);
    connection.requireOpen();
    return new EventStream(
        batchId,
        afterSequence,
        reader -> BatchStream.watch(connection, batchId, afterSequence, deadline, reader));
  }

  /**
   * Runs a batch and waits for its end.
   *
   * @param batch what to run, not {@link Batch.Builder#validateOnly()}
   * @return how it went
   */
  public BatchSummary result(Batch batch) {
    requireRun(batch);
    try (EventStream events = run(batch)) {
      for (BatchEvent event : events) {
        if (event instanceof BatchEvent.BatchFinished finished) {
          return finished.summary();
        }
      }
    }
    throw new IllegalStateException("batch " + batch.batchId() + " ended without a summary");
  }

  /**
   * Runs a batch without a thread that waits.
   *
   * @param batch what to run, not {@link Batch.Builder#validateOnly()}
   * @return how it went; cancelling it ends the stream and leaves the batch running. What continues
   *     it must not block: it runs on the connection's threads
   */
  public CompletableFuture<BatchSummary> resultAsync(Batch batch) {
    requireRun(batch);
    SummaryFuture future = new SummaryFuture();
    BatchStream.run(connection, batch, deadline, future);
    return future.summary();
  }

  /**
   * The events of a batch for reactive code; it is run, or come back to, with each subscription.
   *
   * @param batch what to run
   * @return its events, as many as are asked for; subscribers must not block: they run on the
   *     connection's threads
   */
  public Flow.Publisher<BatchEvent> publisher(Batch batch) {
    return subscriber ->
        BatchStream.run(
            connection, batch, deadline, Objects.requireNonNull(subscriber, "subscriber"));
  }

  /**
   * How a batch stands.
   *
   * @param batchId its id
   * @return while it runs what is known so far, then its end
   */
  public BatchSummary batch(String batchId) {
    GetBatchRequest request = GetBatchRequest.newBuilder().setBatchId(batchId).build();
    var answer = requests.read(BatchServiceGrpc.getGetBatchMethod(), request, "batch " + batchId);
    return new BatchSummary(answer.getBatch().getSummary());
  }

  /**
   * Stops a batch: once this returns, no further call of it starts. Safe to repeat.
   *
   * @param batchId its id
   * @param abortRunning whether running calls are cancelled, which leaves their outcome unknown;
   *     else they finish
   * @return how it stands; still running where calls are
   */
  public BatchSummary cancelBatch(String batchId, boolean abortRunning) {
    CancelBatchRequest request =
        CancelBatchRequest.newBuilder().setBatchId(batchId).setAbortRunning(abortRunning).build();
    var answer =
        requests.once(
            BatchServiceGrpc.getCancelBatchMethod(), request, "cancelling batch " + batchId);
    return new BatchSummary(answer.getBatch().getSummary());
  }

  /**
   * Stores a value in a task, for {@link Batch.Builder#callsRef(String)}.
   *
   * @param taskId the task; it begins with this where it has not begun
   * @param name letters, digits and {@code _}, no digit first; empty for the next free {@code
   *     VAR_n}
   * @param value what is written as JSON, at most 16 MiB; or a {@link RawJson}
   * @return the name
   */
  public String setVariable(String taskId, String name, Object value) {
    SetVariableRequest request =
        SetVariableRequest.newBuilder()
            .setTaskId(taskId)
            .setName(name)
            .setValueJson(Json.write(value))
            .build();
    return requests
        .once(TaskServiceGrpc.getSetVariableMethod(), request, "setting a variable of " + taskId)
        .getName();
  }

  /**
   * The record of a call.
   *
   * @param stepId the step's id, from an event or a result
   * @return the step, its result included up to 1 MiB
   */
  public Step step(String stepId) {
    GetStepRequest request = GetStepRequest.newBuilder().setStepId(stepId).build();
    return new Step(
        requests.read(TaskServiceGrpc.getGetStepMethod(), request, "step " + stepId).getStep());
  }

  /**
   * A call's whole result, whatever its size.
   *
   * @param stepId the step's id
   * @return the JSON text byte for byte, up to 64 MiB
   */
  public String stepResult(String stepId) {
    return ResultReader.read(connection, deadline, stepId);
  }

  /**
   * What a task used.
   *
   * @param taskId the task's id
   * @return a row for each step and unit, all pages of them
   */
  public List<UsageRow> usage(String taskId) {
    List<UsageRow> rows = new ArrayList<>();
    requests.readPages(
        TaskServiceGrpc.getListUsageMethod(),
        token -> ListUsageRequest.newBuilder().setTaskId(taskId).setPageToken(token).build(),
        ListUsageResponse::getNextPageToken,
        page -> page.getRowsList().forEach(row -> rows.add(UsageRow.of(row))),
        "the usage of " + taskId);
    return List.copyOf(rows);
  }

  /**
   * The tools that the caller can use.
   *
   * @return all pages of them, in the server's order
   */
  public List<ToolDefinition> tools() {
    List<ToolDefinition> tools = new ArrayList<>();
    requests.readPages(
        ToolServiceGrpc.getListToolsMethod(),
        token -> ListToolsRequest.newBuilder().setPageToken(token).build(),
        ListToolsResponse::getNextPageToken,
        page -> page.getToolsList().forEach(tool -> tools.add(ToolDefinition.of(tool))),
        "the tools");
    return List.copyOf(tools);
  }

  /**
   * Calls one tool directly, as a step of a task. It is not repeated where its answer is lost: with
   * a key it is safe to call again.
   *
   * @param taskId the task
   * @param call the tool, its arguments, and a key that finds the call's outcome again
   * @return what came of it; a tool's failure is no exception
   */
  public ToolReply callTool(String taskId, Call call) {
    CallContext context = CallContext.newBuilder().setTaskId(taskId).setKey(call.key()).build();
    CallToolRequest request =
        CallToolRequest.newBuilder()
            .setTool(call.tool())
            .setArgsJson(call.argsJson())
            .setContext(context)
            .build();
    return new ToolReply(
        requests.once(ToolServiceGrpc.getCallToolMethod(), request, "the call of " + call.tool()));
  }

  /**
   * The channel, for what this class does not have: give it to the stubs of {@code
   * dev.toolbatch.v1}. The token goes with their requests; nothing is repeated, and errors are
   * gRPC's.
   *
   * @return the channel, which this client closes
   */
  public Channel channel() {
    return connection.channel();
  }

  /** Closes the connection; what is being followed ends with an error, and batches go on. */
  @Override
  public void close() {
    connection.close();
  }

  private static void requireRun(Batch batch) {
    if (batch.request().getValidateOnly()) {
      throw new IllegalArgumentException(
          "a batch that is only validated has no result: run it, and read its plan");
    }
  }

  private static void requireSequence(String batchId, long afterSequence) {
    Objects.requireNonNull(batchId, "batchId");
    if (afterSequence < 0) {
      throw new IllegalArgumentException(
          "the sequence to go on after has to be 0 or above, but is " + afterSequence);
    }
  }
}
