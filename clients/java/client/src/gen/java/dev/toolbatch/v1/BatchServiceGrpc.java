package dev.toolbatch.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Runs a prepared list of tool calls as one durable step and streams each call's result as it lands.
 * A batch whose calls fail is still a successful RPC: what became of each call stands in its CallResult. A status other
 * than OK is about the request or the stream, never about a call.
 * Every status carries a google.rpc.ErrorInfo (domain "toolbatch.v1" and a stable reason in UPPER_SNAKE_CASE). These
 * can answer any RPC of this service:
 * - INVALID_ARGUMENT: the request breaks a rule. A google.rpc.BadRequest lists every violation by its field path
 *   (`call_list.calls[3].key`), as many as fit into 5 KiB. Nothing was recorded.
 * - UNAUTHENTICATED: the server asks for a bearer token, and none or an unknown one came.
 * - PERMISSION_DENIED: the caller may not do this.
 * - NOT_FOUND: no such batch or task, or it belongs to another tenant; a google.rpc.ResourceInfo names it.
 *   An agent's tenant is that of its token; an operator names one in the metadata `toolbatch-tenant` ("default" if left
 *   out).
 * - RESOURCE_EXHAUSTED: the request is over 16 MiB, or the server is short of room for new work; in the second case a
 *   google.rpc.RetryInfo says when to come back.
 * - UNAVAILABLE: the server is stopping; with a google.rpc.RetryInfo. Safe to repeat.
 * - DEADLINE_EXCEEDED, CANCELLED: the client's own deadline or cancellation. A batch that was accepted goes on.
 * - DATA_LOSS: what is stored of this task is damaged; nothing is made of it.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class BatchServiceGrpc {

  private BatchServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "toolbatch.v1.BatchService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.toolbatch.v1.ExecuteBatchRequest,
      dev.toolbatch.v1.ExecuteBatchResponse> getExecuteBatchMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ExecuteBatch",
      requestType = dev.toolbatch.v1.ExecuteBatchRequest.class,
      responseType = dev.toolbatch.v1.ExecuteBatchResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.toolbatch.v1.ExecuteBatchRequest,
      dev.toolbatch.v1.ExecuteBatchResponse> getExecuteBatchMethod() {
    io.grpc.MethodDescriptor<dev.toolbatch.v1.ExecuteBatchRequest, dev.toolbatch.v1.ExecuteBatchResponse> getExecuteBatchMethod;
    if ((getExecuteBatchMethod = BatchServiceGrpc.getExecuteBatchMethod) == null) {
      synchronized (BatchServiceGrpc.class) {
        if ((getExecuteBatchMethod = BatchServiceGrpc.getExecuteBatchMethod) == null) {
          BatchServiceGrpc.getExecuteBatchMethod = getExecuteBatchMethod =
              io.grpc.MethodDescriptor.<dev.toolbatch.v1.ExecuteBatchRequest, dev.toolbatch.v1.ExecuteBatchResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ExecuteBatch"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.ExecuteBatchRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.ExecuteBatchResponse.getDefaultInstance()))
              .setSchemaDescriptor(new BatchServiceMethodDescriptorSupplier("ExecuteBatch"))
              .build();
        }
      }
    }
    return getExecuteBatchMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.toolbatch.v1.WatchBatchRequest,
      dev.toolbatch.v1.WatchBatchResponse> getWatchBatchMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "WatchBatch",
      requestType = dev.toolbatch.v1.WatchBatchRequest.class,
      responseType = dev.toolbatch.v1.WatchBatchResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.toolbatch.v1.WatchBatchRequest,
      dev.toolbatch.v1.WatchBatchResponse> getWatchBatchMethod() {
    io.grpc.MethodDescriptor<dev.toolbatch.v1.WatchBatchRequest, dev.toolbatch.v1.WatchBatchResponse> getWatchBatchMethod;
    if ((getWatchBatchMethod = BatchServiceGrpc.getWatchBatchMethod) == null) {
      synchronized (BatchServiceGrpc.class) {
        if ((getWatchBatchMethod = BatchServiceGrpc.getWatchBatchMethod) == null) {
          BatchServiceGrpc.getWatchBatchMethod = getWatchBatchMethod =
              io.grpc.MethodDescriptor.<dev.toolbatch.v1.WatchBatchRequest, dev.toolbatch.v1.WatchBatchResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "WatchBatch"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.WatchBatchRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.WatchBatchResponse.getDefaultInstance()))
              .setSchemaDescriptor(new BatchServiceMethodDescriptorSupplier("WatchBatch"))
              .build();
        }
      }
    }
    return getWatchBatchMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.toolbatch.v1.GetBatchRequest,
      dev.toolbatch.v1.GetBatchResponse> getGetBatchMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetBatch",
      requestType = dev.toolbatch.v1.GetBatchRequest.class,
      responseType = dev.toolbatch.v1.GetBatchResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.toolbatch.v1.GetBatchRequest,
      dev.toolbatch.v1.GetBatchResponse> getGetBatchMethod() {
    io.grpc.MethodDescriptor<dev.toolbatch.v1.GetBatchRequest, dev.toolbatch.v1.GetBatchResponse> getGetBatchMethod;
    if ((getGetBatchMethod = BatchServiceGrpc.getGetBatchMethod) == null) {
      synchronized (BatchServiceGrpc.class) {
        if ((getGetBatchMethod = BatchServiceGrpc.getGetBatchMethod) == null) {
          BatchServiceGrpc.getGetBatchMethod = getGetBatchMethod =
              io.grpc.MethodDescriptor.<dev.toolbatch.v1.GetBatchRequest, dev.toolbatch.v1.GetBatchResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetBatch"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.GetBatchRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.GetBatchResponse.getDefaultInstance()))
              .setSchemaDescriptor(new BatchServiceMethodDescriptorSupplier("GetBatch"))
              .build();
        }
      }
    }
    return getGetBatchMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.toolbatch.v1.ListBatchesRequest,
      dev.toolbatch.v1.ListBatchesResponse> getListBatchesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListBatches",
      requestType = dev.toolbatch.v1.ListBatchesRequest.class,
      responseType = dev.toolbatch.v1.ListBatchesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.toolbatch.v1.ListBatchesRequest,
      dev.toolbatch.v1.ListBatchesResponse> getListBatchesMethod() {
    io.grpc.MethodDescriptor<dev.toolbatch.v1.ListBatchesRequest, dev.toolbatch.v1.ListBatchesResponse> getListBatchesMethod;
    if ((getListBatchesMethod = BatchServiceGrpc.getListBatchesMethod) == null) {
      synchronized (BatchServiceGrpc.class) {
        if ((getListBatchesMethod = BatchServiceGrpc.getListBatchesMethod) == null) {
          BatchServiceGrpc.getListBatchesMethod = getListBatchesMethod =
              io.grpc.MethodDescriptor.<dev.toolbatch.v1.ListBatchesRequest, dev.toolbatch.v1.ListBatchesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListBatches"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.ListBatchesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.ListBatchesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new BatchServiceMethodDescriptorSupplier("ListBatches"))
              .build();
        }
      }
    }
    return getListBatchesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.toolbatch.v1.CancelBatchRequest,
      dev.toolbatch.v1.CancelBatchResponse> getCancelBatchMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CancelBatch",
      requestType = dev.toolbatch.v1.CancelBatchRequest.class,
      responseType = dev.toolbatch.v1.CancelBatchResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.toolbatch.v1.CancelBatchRequest,
      dev.toolbatch.v1.CancelBatchResponse> getCancelBatchMethod() {
    io.grpc.MethodDescriptor<dev.toolbatch.v1.CancelBatchRequest, dev.toolbatch.v1.CancelBatchResponse> getCancelBatchMethod;
    if ((getCancelBatchMethod = BatchServiceGrpc.getCancelBatchMethod) == null) {
      synchronized (BatchServiceGrpc.class) {
        if ((getCancelBatchMethod = BatchServiceGrpc.getCancelBatchMethod) == null) {
          BatchServiceGrpc.getCancelBatchMethod = getCancelBatchMethod =
              io.grpc.MethodDescriptor.<dev.toolbatch.v1.CancelBatchRequest, dev.toolbatch.v1.CancelBatchResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CancelBatch"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.CancelBatchRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.CancelBatchResponse.getDefaultInstance()))
              .setSchemaDescriptor(new BatchServiceMethodDescriptorSupplier("CancelBatch"))
              .build();
        }
      }
    }
    return getCancelBatchMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static BatchServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<BatchServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<BatchServiceStub>() {
        @java.lang.Override
        public BatchServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new BatchServiceStub(channel, callOptions);
        }
      };
    return BatchServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static BatchServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<BatchServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<BatchServiceBlockingV2Stub>() {
        @java.lang.Override
        public BatchServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new BatchServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return BatchServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static BatchServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<BatchServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<BatchServiceBlockingStub>() {
        @java.lang.Override
        public BatchServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new BatchServiceBlockingStub(channel, callOptions);
        }
      };
    return BatchServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static BatchServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<BatchServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<BatchServiceFutureStub>() {
        @java.lang.Override
        public BatchServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new BatchServiceFutureStub(channel, callOptions);
        }
      };
    return BatchServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Runs a prepared list of tool calls as one durable step and streams each call's result as it lands.
   * A batch whose calls fail is still a successful RPC: what became of each call stands in its CallResult. A status other
   * than OK is about the request or the stream, never about a call.
   * Every status carries a google.rpc.ErrorInfo (domain "toolbatch.v1" and a stable reason in UPPER_SNAKE_CASE). These
   * can answer any RPC of this service:
   * - INVALID_ARGUMENT: the request breaks a rule. A google.rpc.BadRequest lists every violation by its field path
   *   (`call_list.calls[3].key`), as many as fit into 5 KiB. Nothing was recorded.
   * - UNAUTHENTICATED: the server asks for a bearer token, and none or an unknown one came.
   * - PERMISSION_DENIED: the caller may not do this.
   * - NOT_FOUND: no such batch or task, or it belongs to another tenant; a google.rpc.ResourceInfo names it.
   *   An agent's tenant is that of its token; an operator names one in the metadata `toolbatch-tenant` ("default" if left
   *   out).
   * - RESOURCE_EXHAUSTED: the request is over 16 MiB, or the server is short of room for new work; in the second case a
   *   google.rpc.RetryInfo says when to come back.
   * - UNAVAILABLE: the server is stopping; with a google.rpc.RetryInfo. Safe to repeat.
   * - DEADLINE_EXCEEDED, CANCELLED: the client's own deadline or cancellation. A batch that was accepted goes on.
   * - DATA_LOSS: what is stored of this task is damaged; nothing is made of it.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Starts a batch and streams its events from the first, or attaches to one that was started before.
     * The request is checked whole before anything runs. A known `batch_id` with the same content (after the defaults of
     * the fields are filled in) attaches: the stream is that batch's, from sequence 1. So a client that sets `batch_id`
     * can repeat the request after any failure, and the batch runs once. Without one, a repeat is a new batch; calls with
     * a `key` still run at most once in their task.
     * Order of events: BatchStarted is sequence 1 and BatchFinished the last; after it the stream ends with OK. For a call
     * that reaches its tool: a CallStarted for every attempt, a CallRetrying after each attempt that will be repeated, and
     * one CallFinished. A call that is skipped, or fails before it reaches a tool, has its CallFinished alone. A call that
     * is not run stands in the summary only. A call's events and the calls of a lane come in order; other calls of a
     * parallel batch finish in any order. An event is sent once it is durable: no crash takes it back.
     * The batch outlives the stream. A client whose stream ended before BatchFinished goes on with WatchBatch, from the
     * last sequence that it saw. Clients must expect unknown kinds of events and unknown enum values.
     * Metadata `traceparent` and `tracestate` (W3C Trace Context): the batch's calls go on in the caller's trace, over
     * restarts, too. Without them, or where they are not as that recommendation has them, a trace begins with the batch.
     * Besides the statuses of the service:
     * - INVALID_ARGUMENT: also a `calls_ref` that leads to no list of calls.
     * - PERMISSION_DENIED: the agent's tool list has no `execute_tool_batch`, or `agent_id` names an agent that the caller
     *   may not act for.
     * - ALREADY_EXISTS: `batch_id` is known with another content, or is the id of another step.
     * - FAILED_PRECONDITION: the task has ended.
     * </pre>
     */
    default void executeBatch(dev.toolbatch.v1.ExecuteBatchRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.ExecuteBatchResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getExecuteBatchMethod(), responseObserver);
    }

    /**
     * <pre>
     * Replays a batch's events after `after_sequence`, then follows it live until it finishes.
     * For any number of clients, live or long after. Every client sees the same events with the same sequences, none lost
     * and none doubled; only CallProgress is live only. After BatchFinished the stream ends with OK, at once where nothing
     * was left to send. Safe to repeat: after UNAVAILABLE or a lost connection, ask again with the last sequence seen.
     * Statuses: those of the service; OUT_OF_RANGE where `after_sequence` is past the batch's newest event.
     * </pre>
     */
    default void watchBatch(dev.toolbatch.v1.WatchBatchRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.WatchBatchResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWatchBatchMethod(), responseObserver);
    }

    /**
     * <pre>
     * Gives a batch's state: while it runs what is known so far, then its end. Statuses: those of the service.
     * </pre>
     */
    default void getBatch(dev.toolbatch.v1.GetBatchRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.GetBatchResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetBatchMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists batches, newest first, a page at a time.
     * Statuses: those of the service; INVALID_ARGUMENT also for a negative `page_size` and for a `page_token` that was not
     * given out for the same request.
     * </pre>
     */
    default void listBatches(dev.toolbatch.v1.ListBatchesRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.ListBatchesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListBatchesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Stops a batch: once this returns, no further call starts. Calls that are running finish and are recorded, unless
     * `abort_running` is set; calls in backoff are not repeated. The batch ends with STOP_REASON_CANCELLED where a call
     * was left out.
     * Safe to repeat: a batch that was stopped or has finished stays as it is, and the answer is OK. Statuses: those of the
     * service.
     * </pre>
     */
    default void cancelBatch(dev.toolbatch.v1.CancelBatchRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.CancelBatchResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCancelBatchMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service BatchService.
   * <pre>
   * Runs a prepared list of tool calls as one durable step and streams each call's result as it lands.
   * A batch whose calls fail is still a successful RPC: what became of each call stands in its CallResult. A status other
   * than OK is about the request or the stream, never about a call.
   * Every status carries a google.rpc.ErrorInfo (domain "toolbatch.v1" and a stable reason in UPPER_SNAKE_CASE). These
   * can answer any RPC of this service:
   * - INVALID_ARGUMENT: the request breaks a rule. A google.rpc.BadRequest lists every violation by its field path
   *   (`call_list.calls[3].key`), as many as fit into 5 KiB. Nothing was recorded.
   * - UNAUTHENTICATED: the server asks for a bearer token, and none or an unknown one came.
   * - PERMISSION_DENIED: the caller may not do this.
   * - NOT_FOUND: no such batch or task, or it belongs to another tenant; a google.rpc.ResourceInfo names it.
   *   An agent's tenant is that of its token; an operator names one in the metadata `toolbatch-tenant` ("default" if left
   *   out).
   * - RESOURCE_EXHAUSTED: the request is over 16 MiB, or the server is short of room for new work; in the second case a
   *   google.rpc.RetryInfo says when to come back.
   * - UNAVAILABLE: the server is stopping; with a google.rpc.RetryInfo. Safe to repeat.
   * - DEADLINE_EXCEEDED, CANCELLED: the client's own deadline or cancellation. A batch that was accepted goes on.
   * - DATA_LOSS: what is stored of this task is damaged; nothing is made of it.
   * </pre>
   */
  public static abstract class BatchServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return BatchServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service BatchService.
   * <pre>
   * Runs a prepared list of tool calls as one durable step and streams each call's result as it lands.
   * A batch whose calls fail is still a successful RPC: what became of each call stands in its CallResult. A status other
   * than OK is about the request or the stream, never about a call.
   * Every status carries a google.rpc.ErrorInfo (domain "toolbatch.v1" and a stable reason in UPPER_SNAKE_CASE). These
   * can answer any RPC of this service:
   * - INVALID_ARGUMENT: the request breaks a rule. A google.rpc.BadRequest lists every violation by its field path
   *   (`call_list.calls[3].key`), as many as fit into 5 KiB. Nothing was recorded.
   * - UNAUTHENTICATED: the server asks for a bearer token, and none or an unknown one came.
   * - PERMISSION_DENIED: the caller may not do this.
   * - NOT_FOUND: no such batch or task, or it belongs to another tenant; a google.rpc.ResourceInfo names it.
   *   An agent's tenant is that of its token; an operator names one in the metadata `toolbatch-tenant` ("default" if left
   *   out).
   * - RESOURCE_EXHAUSTED: the request is over 16 MiB, or the server is short of room for new work; in the second case a
   *   google.rpc.RetryInfo says when to come back.
   * - UNAVAILABLE: the server is stopping; with a google.rpc.RetryInfo. Safe to repeat.
   * - DEADLINE_EXCEEDED, CANCELLED: the client's own deadline or cancellation. A batch that was accepted goes on.
   * - DATA_LOSS: what is stored of this task is damaged; nothing is made of it.
   * </pre>
   */
  public static final class BatchServiceStub
      extends io.grpc.stub.AbstractAsyncStub<BatchServiceStub> {
    private BatchServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected BatchServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new BatchServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Starts a batch and streams its events from the first, or attaches to one that was started before.
     * The request is checked whole before anything runs. A known `batch_id` with the same content (after the defaults of
     * the fields are filled in) attaches: the stream is that batch's, from sequence 1. So a client that sets `batch_id`
     * can repeat the request after any failure, and the batch runs once. Without one, a repeat is a new batch; calls with
     * a `key` still run at most once in their task.
     * Order of events: BatchStarted is sequence 1 and BatchFinished the last; after it the stream ends with OK. For a call
     * that reaches its tool: a CallStarted for every attempt, a CallRetrying after each attempt that will be repeated, and
     * one CallFinished. A call that is skipped, or fails before it reaches a tool, has its CallFinished alone. A call that
     * is not run stands in the summary only. A call's events and the calls of a lane come in order; other calls of a
     * parallel batch finish in any order. An event is sent once it is durable: no crash takes it back.
     * The batch outlives the stream. A client whose stream ended before BatchFinished goes on with WatchBatch, from the
     * last sequence that it saw. Clients must expect unknown kinds of events and unknown enum values.
     * Metadata `traceparent` and `tracestate` (W3C Trace Context): the batch's calls go on in the caller's trace, over
     * restarts, too. Without them, or where they are not as that recommendation has them, a trace begins with the batch.
     * Besides the statuses of the service:
     * - INVALID_ARGUMENT: also a `calls_ref` that leads to no list of calls.
     * - PERMISSION_DENIED: the agent's tool list has no `execute_tool_batch`, or `agent_id` names an agent that the caller
     *   may not act for.
     * - ALREADY_EXISTS: `batch_id` is known with another content, or is the id of another step.
     * - FAILED_PRECONDITION: the task has ended.
     * </pre>
     */
    public void executeBatch(dev.toolbatch.v1.ExecuteBatchRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.ExecuteBatchResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getExecuteBatchMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Replays a batch's events after `after_sequence`, then follows it live until it finishes.
     * For any number of clients, live or long after. Every client sees the same events with the same sequences, none lost
     * and none doubled; only CallProgress is live only. After BatchFinished the stream ends with OK, at once where nothing
     * was left to send. Safe to repeat: after UNAVAILABLE or a lost connection, ask again with the last sequence seen.
     * Statuses: those of the service; OUT_OF_RANGE where `after_sequence` is past the batch's newest event.
     * </pre>
     */
    public void watchBatch(dev.toolbatch.v1.WatchBatchRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.WatchBatchResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getWatchBatchMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Gives a batch's state: while it runs what is known so far, then its end. Statuses: those of the service.
     * </pre>
     */
    public void getBatch(dev.toolbatch.v1.GetBatchRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.GetBatchResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetBatchMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists batches, newest first, a page at a time.
     * Statuses: those of the service; INVALID_ARGUMENT also for a negative `page_size` and for a `page_token` that was not
     * given out for the same request.
     * </pre>
     */
    public void listBatches(dev.toolbatch.v1.ListBatchesRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.ListBatchesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListBatchesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Stops a batch: once this returns, no further call starts. Calls that are running finish and are recorded, unless
     * `abort_running` is set; calls in backoff are not repeated. The batch ends with STOP_REASON_CANCELLED where a call
     * was left out.
     * Safe to repeat: a batch that was stopped or has finished stays as it is, and the answer is OK. Statuses: those of the
     * service.
     * </pre>
     */
    public void cancelBatch(dev.toolbatch.v1.CancelBatchRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.CancelBatchResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCancelBatchMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service BatchService.
   * <pre>
   * Runs a prepared list of tool calls as one durable step and streams each call's result as it lands.
   * A batch whose calls fail is still a successful RPC: what became of each call stands in its CallResult. A status other
   * than OK is about the request or the stream, never about a call.
   * Every status carries a google.rpc.ErrorInfo (domain "toolbatch.v1" and a stable reason in UPPER_SNAKE_CASE). These
   * can answer any RPC of this service:
   * - INVALID_ARGUMENT: the request breaks a rule. A google.rpc.BadRequest lists every violation by its field path
   *   (`call_list.calls[3].key`), as many as fit into 5 KiB. Nothing was recorded.
   * - UNAUTHENTICATED: the server asks for a bearer token, and none or an unknown one came.
   * - PERMISSION_DENIED: the caller may not do this.
   * - NOT_FOUND: no such batch or task, or it belongs to another tenant; a google.rpc.ResourceInfo names it.
   *   An agent's tenant is that of its token; an operator names one in the metadata `toolbatch-tenant` ("default" if left
   *   out).
   * - RESOURCE_EXHAUSTED: the request is over 16 MiB, or the server is short of room for new work; in the second case a
   *   google.rpc.RetryInfo says when to come back.
   * - UNAVAILABLE: the server is stopping; with a google.rpc.RetryInfo. Safe to repeat.
   * - DEADLINE_EXCEEDED, CANCELLED: the client's own deadline or cancellation. A batch that was accepted goes on.
   * - DATA_LOSS: what is stored of this task is damaged; nothing is made of it.
   * </pre>
   */
  public static final class BatchServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<BatchServiceBlockingV2Stub> {
    private BatchServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected BatchServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new BatchServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Starts a batch and streams its events from the first, or attaches to one that was started before.
     * The request is checked whole before anything runs. A known `batch_id` with the same content (after the defaults of
     * the fields are filled in) attaches: the stream is that batch's, from sequence 1. So a client that sets `batch_id`
     * can repeat the request after any failure, and the batch runs once. Without one, a repeat is a new batch; calls with
     * a `key` still run at most once in their task.
     * Order of events: BatchStarted is sequence 1 and BatchFinished the last; after it the stream ends with OK. For a call
     * that reaches its tool: a CallStarted for every attempt, a CallRetrying after each attempt that will be repeated, and
     * one CallFinished. A call that is skipped, or fails before it reaches a tool, has its CallFinished alone. A call that
     * is not run stands in the summary only. A call's events and the calls of a lane come in order; other calls of a
     * parallel batch finish in any order. An event is sent once it is durable: no crash takes it back.
     * The batch outlives the stream. A client whose stream ended before BatchFinished goes on with WatchBatch, from the
     * last sequence that it saw. Clients must expect unknown kinds of events and unknown enum values.
     * Metadata `traceparent` and `tracestate` (W3C Trace Context): the batch's calls go on in the caller's trace, over
     * restarts, too. Without them, or where they are not as that recommendation has them, a trace begins with the batch.
     * Besides the statuses of the service:
     * - INVALID_ARGUMENT: also a `calls_ref` that leads to no list of calls.
     * - PERMISSION_DENIED: the agent's tool list has no `execute_tool_batch`, or `agent_id` names an agent that the caller
     *   may not act for.
     * - ALREADY_EXISTS: `batch_id` is known with another content, or is the id of another step.
     * - FAILED_PRECONDITION: the task has ended.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, dev.toolbatch.v1.ExecuteBatchResponse>
        executeBatch(dev.toolbatch.v1.ExecuteBatchRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getExecuteBatchMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Replays a batch's events after `after_sequence`, then follows it live until it finishes.
     * For any number of clients, live or long after. Every client sees the same events with the same sequences, none lost
     * and none doubled; only CallProgress is live only. After BatchFinished the stream ends with OK, at once where nothing
     * was left to send. Safe to repeat: after UNAVAILABLE or a lost connection, ask again with the last sequence seen.
     * Statuses: those of the service; OUT_OF_RANGE where `after_sequence` is past the batch's newest event.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, dev.toolbatch.v1.WatchBatchResponse>
        watchBatch(dev.toolbatch.v1.WatchBatchRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getWatchBatchMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Gives a batch's state: while it runs what is known so far, then its end. Statuses: those of the service.
     * </pre>
     */
    public dev.toolbatch.v1.GetBatchResponse getBatch(dev.toolbatch.v1.GetBatchRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetBatchMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists batches, newest first, a page at a time.
     * Statuses: those of the service; INVALID_ARGUMENT also for a negative `page_size` and for a `page_token` that was not
     * given out for the same request.
     * </pre>
     */
    public dev.toolbatch.v1.ListBatchesResponse listBatches(dev.toolbatch.v1.ListBatchesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListBatchesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Stops a batch: once this returns, no further call starts. Calls that are running finish and are recorded, unless
     * `abort_running` is set; calls in backoff are not repeated. The batch ends with STOP_REASON_CANCELLED where a call
     * was left out.
     * Safe to repeat: a batch that was stopped or has finished stays as it is, and the answer is OK. Statuses: those of the
     * service.
     * </pre>
     */
    public dev.toolbatch.v1.CancelBatchResponse cancelBatch(dev.toolbatch.v1.CancelBatchRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCancelBatchMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service BatchService.
   * <pre>
   * Runs a prepared list of tool calls as one durable step and streams each call's result as it lands.
   * A batch whose calls fail is still a successful RPC: what became of each call stands in its CallResult. A status other
   * than OK is about the request or the stream, never about a call.
   * Every status carries a google.rpc.ErrorInfo (domain "toolbatch.v1" and a stable reason in UPPER_SNAKE_CASE). These
   * can answer any RPC of this service:
   * - INVALID_ARGUMENT: the request breaks a rule. A google.rpc.BadRequest lists every violation by its field path
   *   (`call_list.calls[3].key`), as many as fit into 5 KiB. Nothing was recorded.
   * - UNAUTHENTICATED: the server asks for a bearer token, and none or an unknown one came.
   * - PERMISSION_DENIED: the caller may not do this.
   * - NOT_FOUND: no such batch or task, or it belongs to another tenant; a google.rpc.ResourceInfo names it.
   *   An agent's tenant is that of its token; an operator names one in the metadata `toolbatch-tenant` ("default" if left
   *   out).
   * - RESOURCE_EXHAUSTED: the request is over 16 MiB, or the server is short of room for new work; in the second case a
   *   google.rpc.RetryInfo says when to come back.
   * - UNAVAILABLE: the server is stopping; with a google.rpc.RetryInfo. Safe to repeat.
   * - DEADLINE_EXCEEDED, CANCELLED: the client's own deadline or cancellation. A batch that was accepted goes on.
   * - DATA_LOSS: what is stored of this task is damaged; nothing is made of it.
   * </pre>
   */
  public static final class BatchServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<BatchServiceBlockingStub> {
    private BatchServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected BatchServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new BatchServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Starts a batch and streams its events from the first, or attaches to one that was started before.
     * The request is checked whole before anything runs. A known `batch_id` with the same content (after the defaults of
     * the fields are filled in) attaches: the stream is that batch's, from sequence 1. So a client that sets `batch_id`
     * can repeat the request after any failure, and the batch runs once. Without one, a repeat is a new batch; calls with
     * a `key` still run at most once in their task.
     * Order of events: BatchStarted is sequence 1 and BatchFinished the last; after it the stream ends with OK. For a call
     * that reaches its tool: a CallStarted for every attempt, a CallRetrying after each attempt that will be repeated, and
     * one CallFinished. A call that is skipped, or fails before it reaches a tool, has its CallFinished alone. A call that
     * is not run stands in the summary only. A call's events and the calls of a lane come in order; other calls of a
     * parallel batch finish in any order. An event is sent once it is durable: no crash takes it back.
     * The batch outlives the stream. A client whose stream ended before BatchFinished goes on with WatchBatch, from the
     * last sequence that it saw. Clients must expect unknown kinds of events and unknown enum values.
     * Metadata `traceparent` and `tracestate` (W3C Trace Context): the batch's calls go on in the caller's trace, over
     * restarts, too. Without them, or where they are not as that recommendation has them, a trace begins with the batch.
     * Besides the statuses of the service:
     * - INVALID_ARGUMENT: also a `calls_ref` that leads to no list of calls.
     * - PERMISSION_DENIED: the agent's tool list has no `execute_tool_batch`, or `agent_id` names an agent that the caller
     *   may not act for.
     * - ALREADY_EXISTS: `batch_id` is known with another content, or is the id of another step.
     * - FAILED_PRECONDITION: the task has ended.
     * </pre>
     */
    public java.util.Iterator<dev.toolbatch.v1.ExecuteBatchResponse> executeBatch(
        dev.toolbatch.v1.ExecuteBatchRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getExecuteBatchMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Replays a batch's events after `after_sequence`, then follows it live until it finishes.
     * For any number of clients, live or long after. Every client sees the same events with the same sequences, none lost
     * and none doubled; only CallProgress is live only. After BatchFinished the stream ends with OK, at once where nothing
     * was left to send. Safe to repeat: after UNAVAILABLE or a lost connection, ask again with the last sequence seen.
     * Statuses: those of the service; OUT_OF_RANGE where `after_sequence` is past the batch's newest event.
     * </pre>
     */
    public java.util.Iterator<dev.toolbatch.v1.WatchBatchResponse> watchBatch(
        dev.toolbatch.v1.WatchBatchRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getWatchBatchMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Gives a batch's state: while it runs what is known so far, then its end. Statuses: those of the service.
     * </pre>
     */
    public dev.toolbatch.v1.GetBatchResponse getBatch(dev.toolbatch.v1.GetBatchRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetBatchMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists batches, newest first, a page at a time.
     * Statuses: those of the service; INVALID_ARGUMENT also for a negative `page_size` and for a `page_token` that was not
     * given out for the same request.
     * </pre>
     */
    public dev.toolbatch.v1.ListBatchesResponse listBatches(dev.toolbatch.v1.ListBatchesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListBatchesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Stops a batch: once this returns, no further call starts. Calls that are running finish and are recorded, unless
     * `abort_running` is set; calls in backoff are not repeated. The batch ends with STOP_REASON_CANCELLED where a call
     * was left out.
     * Safe to repeat: a batch that was stopped or has finished stays as it is, and the answer is OK. Statuses: those of the
     * service.
     * </pre>
     */
    public dev.toolbatch.v1.CancelBatchResponse cancelBatch(dev.toolbatch.v1.CancelBatchRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCancelBatchMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service BatchService.
   * <pre>
   * Runs a prepared list of tool calls as one durable step and streams each call's result as it lands.
   * A batch whose calls fail is still a successful RPC: what became of each call stands in its CallResult. A status other
   * than OK is about the request or the stream, never about a call.
   * Every status carries a google.rpc.ErrorInfo (domain "toolbatch.v1" and a stable reason in UPPER_SNAKE_CASE). These
   * can answer any RPC of this service:
   * - INVALID_ARGUMENT: the request breaks a rule. A google.rpc.BadRequest lists every violation by its field path
   *   (`call_list.calls[3].key`), as many as fit into 5 KiB. Nothing was recorded.
   * - UNAUTHENTICATED: the server asks for a bearer token, and none or an unknown one came.
   * - PERMISSION_DENIED: the caller may not do this.
   * - NOT_FOUND: no such batch or task, or it belongs to another tenant; a google.rpc.ResourceInfo names it.
   *   An agent's tenant is that of its token; an operator names one in the metadata `toolbatch-tenant` ("default" if left
   *   out).
   * - RESOURCE_EXHAUSTED: the request is over 16 MiB, or the server is short of room for new work; in the second case a
   *   google.rpc.RetryInfo says when to come back.
   * - UNAVAILABLE: the server is stopping; with a google.rpc.RetryInfo. Safe to repeat.
   * - DEADLINE_EXCEEDED, CANCELLED: the client's own deadline or cancellation. A batch that was accepted goes on.
   * - DATA_LOSS: what is stored of this task is damaged; nothing is made of it.
   * </pre>
   */
  public static final class BatchServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<BatchServiceFutureStub> {
    private BatchServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected BatchServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new BatchServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Gives a batch's state: while it runs what is known so far, then its end. Statuses: those of the service.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.toolbatch.v1.GetBatchResponse> getBatch(
        dev.toolbatch.v1.GetBatchRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetBatchMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists batches, newest first, a page at a time.
     * Statuses: those of the service; INVALID_ARGUMENT also for a negative `page_size` and for a `page_token` that was not
     * given out for the same request.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.toolbatch.v1.ListBatchesResponse> listBatches(
        dev.toolbatch.v1.ListBatchesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListBatchesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Stops a batch: once this returns, no further call starts. Calls that are running finish and are recorded, unless
     * `abort_running` is set; calls in backoff are not repeated. The batch ends with STOP_REASON_CANCELLED where a call
     * was left out.
     * Safe to repeat: a batch that was stopped or has finished stays as it is, and the answer is OK. Statuses: those of the
     * service.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.toolbatch.v1.CancelBatchResponse> cancelBatch(
        dev.toolbatch.v1.CancelBatchRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCancelBatchMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_EXECUTE_BATCH = 0;
  private static final int METHODID_WATCH_BATCH = 1;
  private static final int METHODID_GET_BATCH = 2;
  private static final int METHODID_LIST_BATCHES = 3;
  private static final int METHODID_CANCEL_BATCH = 4;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_EXECUTE_BATCH:
          serviceImpl.executeBatch((dev.toolbatch.v1.ExecuteBatchRequest) request,
              (io.grpc.stub.StreamObserver<dev.toolbatch.v1.ExecuteBatchResponse>) responseObserver);
          break;
        case METHODID_WATCH_BATCH:
          serviceImpl.watchBatch((dev.toolbatch.v1.WatchBatchRequest) request,
              (io.grpc.stub.StreamObserver<dev.toolbatch.v1.WatchBatchResponse>) responseObserver);
          break;
        case METHODID_GET_BATCH:
          serviceImpl.getBatch((dev.toolbatch.v1.GetBatchRequest) request,
              (io.grpc.stub.StreamObserver<dev.toolbatch.v1.GetBatchResponse>) responseObserver);
          break;
        case METHODID_LIST_BATCHES:
          serviceImpl.listBatches((dev.toolbatch.v1.ListBatchesRequest) request,
              (io.grpc.stub.StreamObserver<dev.toolbatch.v1.ListBatchesResponse>) responseObserver);
          break;
        case METHODID_CANCEL_BATCH:
          serviceImpl.cancelBatch((dev.toolbatch.v1.CancelBatchRequest) request,
              (io.grpc.stub.StreamObserver<dev.toolbatch.v1.CancelBatchResponse>) responseObserver);
          break;
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getExecuteBatchMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.toolbatch.v1.ExecuteBatchRequest,
              dev.toolbatch.v1.ExecuteBatchResponse>(
                service, METHODID_EXECUTE_BATCH)))
        .addMethod(
          getWatchBatchMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.toolbatch.v1.WatchBatchRequest,
              dev.toolbatch.v1.WatchBatchResponse>(
                service, METHODID_WATCH_BATCH)))
        .addMethod(
          getGetBatchMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.toolbatch.v1.GetBatchRequest,
              dev.toolbatch.v1.GetBatchResponse>(
                service, METHODID_GET_BATCH)))
        .addMethod(
          getListBatchesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.toolbatch.v1.ListBatchesRequest,
              dev.toolbatch.v1.ListBatchesResponse>(
                service, METHODID_LIST_BATCHES)))
        .addMethod(
          getCancelBatchMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.toolbatch.v1.CancelBatchRequest,
              dev.toolbatch.v1.CancelBatchResponse>(
                service, METHODID_CANCEL_BATCH)))
        .build();
  }

  private static abstract class BatchServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    BatchServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.toolbatch.v1.BatchOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("BatchService");
    }
  }

  private static final class BatchServiceFileDescriptorSupplier
      extends BatchServiceBaseDescriptorSupplier {
    BatchServiceFileDescriptorSupplier() {}
  }

  private static final class BatchServiceMethodDescriptorSupplier
      extends BatchServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    BatchServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (BatchServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new BatchServiceFileDescriptorSupplier())
              .addMethod(getExecuteBatchMethod())
              .addMethod(getWatchBatchMethod())
              .addMethod(getGetBatchMethod())
              .addMethod(getListBatchesMethod())
              .addMethod(getCancelBatchMethod())
              .build();
        }
      }
    }
    return result;
  }
}
