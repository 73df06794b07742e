package dev.toolbatch;

import dev.toolbatch.v1.CallList;
import dev.toolbatch.v1.ExecuteBatchRequest;
import java.time.Duration;
import java.util.UUID;

/**
 * What to run. It has an id from the time that it is built, so running the same object again never
 * doubles anything: it attaches to the batch that the first time began. What is not set is left to
 * the server's defaults.
 */
public final class Batch {
  private final ExecuteBatchRequest request;

  private Batch(ExecuteBatchRequest request) {
    this.request = request;
  }

  /**
   * Begins a batch.
   *
   * @param taskId the task that it belongs to, the scope of keys and variables: 1 to 256 bytes
   * @return a builder without calls
   */
  public static Builder builder(String taskId) {
    return new Builder(taskId);
  }

  /**
   * The task that it belongs to.
   *
   * @return its id
   */
  public String taskId() {
    return request.getTaskId();
  }

  /**
   * The batch's identity.
   *
   * @return the id that was set, or the one that was made
   */
  public String batchId() {
    return request.getBatchId();
  }

  ExecuteBatchRequest request() {
    return request;
  }

  /** Says what is in a batch, step by step. */
  public static final class Builder {
    private final ExecuteBatchRequest.Builder request = ExecuteBatchRequest.newBuilder();
    private final CallList.Builder calls = CallList.newBuilder();
    private String callsRef;

    private Builder(String taskId) {
      request.setTaskId(Json.requireUnicode(taskId, "the task's id"));
    }

    /**
     * Names the batch.
     *
     * @param batchId at most 128 bytes, unique in the tenant; left out, a UUID is made
     * @return this
     */
    public Builder batchId(String batchId) {
      request.setBatchId(Json.requireUnicode(batchId, "the batch's id"));
      return this;
    }

    /**
     * Acts for another agent; for operators.
     *
     * @param agentId the agent whose tool list is the allowlist
     * @return this
     */
    public Builder agentId(String agentId) {
      request.setAgentId(Json.requireUnicode(agentId, "the agent's id"));
      return this;
    }

    /**
     * Adds a call.
     *
     * @param call the next in order; 1 to 200 in all
     * @return this
     */
    public Builder call(Call call) {
      calls.addCalls(call.toProto());
      return this;
    }

    /**
     * Adds a call.
     *
     * @param tool as it appears in the agent's tool list
     * @param args what is written as a JSON object, or a {@link RawJson}
     * @return this
     * @throws IllegalArgumentException where the arguments cannot be written as JSON, or are no
     *     object
     */
    public Builder call(String tool, Object args) {
      return call(Call.of(tool, args));
    }

    /**
     * Adds calls.
     *
     * @param all the next in order; 1 to 200 in all
     * @return this
     */
    public Builder calls(Iterable<Call> all) {
      all.forEach(this::call);
      return this;
    }

    /**
     * Takes the calls from a variable of the task.
     *
     * @param reference such as <code>${VAR_1}.calls</code>; it takes the place of calls given here
     * @return this
     */
    public Builder callsRef(String reference) {
      callsRef = Json.requireUnicode(reference, "the reference to calls");
      return this;
    }

    /**
     * Sets how calls run.
     *
     * @param mode one after another (the default), or side by side
     * @return this
     */
    public Builder mode(BatchMode mode) {
      request.getOptionsBuilder().setModeValue(mode.number());
      return this;
    }

    /**
     * Bounds how many calls run at once.
     *
     * @param calls 1 to 16; the server's default is 4. For parallel mode
     * @return this
     */
    public Builder maxConcurrency(int calls) {
      request.getOptionsBuilder().setMaxConcurrency(calls);
      return this;
    }

    /**
     * Makes lanes: calls with an equal value there run one at a time, in order. For parallel mode.
     *
     * @param path dotted ({@code order.contract}) or a JSON Pointer ({@code /order/contract}) into
     *     each call's args
     * @return this
     */
    public Builder serializeOn(String path) {
      request.getOptionsBuilder().setSerializeOn(Json.requireUnicode(path, "the path of lanes"));
      return this;
    }

    /**
     * Sets what a failure does to the rest.
     *
     * @param stop whether no call starts after the first failure; the server's default is true
     * @return this
     */
    public Builder stopOnError(boolean stop) {
      request.getOptionsBuilder().setStopOnError(stop);
      return this;
    }

    /**
     * Sets whether results come with the events.
     *
     * @param include whether results under 4 KiB are inlined, up to 256 KiB a batch; the server's
     *     default is true
     * @return this
     */
    public Builder includeResults(boolean include) {
      request.getOptionsBuilder().setIncludeResults(include);
      return this;
    }

    /**
     * Bounds one attempt of one call.
     *
     * @param timeout above 0, at most 24 h; the default is the tool's own, else the server's
     * @return this
     */
    public Builder callTimeout(Duration timeout) {
      request.getOptionsBuilder().setCallTimeout(Times.toProto(timeout));
      return this;
    }

    /**
     * Repeats attempts that failed.
     *
     * @param policy when, and how often
     * @return this
     */
    public Builder retry(RetryPolicy policy) {
      request.getOptionsBuilder().setRetry(policy.toProto());
      return this;
    }

    /**
     * Sets what becomes of a call whose outcome an interruption left unknown.
     *
     * @param policy the server's default is {@link InDoubtPolicy#RERUN}
     * @return this
     */
    public Builder inDoubt(InDoubtPolicy policy) {
      request.getOptionsBuilder().setInDoubtValue(policy.number());
      return this;
    }

    /**
     * Asks for the plan alone: nothing runs, and the stream is one {@link BatchEvent.BatchPlanned}.
     *
     * @return this
     */
    public Builder validateOnly() {
      request.setValidateOnly(true);
      return this;
    }

    /**
     * Ends the description.
     *
     * @return the batch; what breaks a rule of the contract is told by the server, all of it at
     *     once
     * @throws IllegalStateException where there are both calls and a reference to calls
     */
    public Batch build() {
      if (callsRef != null && calls.getCallsCount() > 0) {
        throw new IllegalStateException(
            "a batch has calls or a reference to calls: found %d calls and the reference %s"
                .formatted(calls.getCallsCount(), callsRef));
      }
      ExecuteBatchRequest.Builder whole = request.clone();
      if (callsRef == null) {
        whole.setCallList(calls);
      } else {
        whole.setCallsRef(callsRef);
      }
      if (whole.getBatchId().isEmpty()) {
        whole.setBatchId(UUID.randomUUID().toString());
      }
      return new Batch(whole.build());
    }
  }

  @Override
  public String toString() {
    return "Batch[taskId=" + taskId() + ", batchId=" + batchId() + "]";
  }
}
