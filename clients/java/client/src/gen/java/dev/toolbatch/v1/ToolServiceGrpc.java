package dev.toolbatch.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * What a tool backend serves, and what toolbatch itself serves to agents: there ListTools lists the agent's tools,
 * CallTool runs one as a direct step, and `execute_tool_batch` and `batch_tool` are tools like any other.
 * For a backend: serve ListTools and CallTool; CallToolWithProgress where a tool sets `reports_progress`, and LookupCall
 * where an earlier attempt can be told. A failure of the tool is a ToolFailure under status OK. Another status tells
 * nothing of what happened, so the call fails with outcome_unknown; only UNIMPLEMENTED says that nothing ran. The RPC's
 * deadline is the call's timeout; toolbatch cancels what takes longer.
 * From toolbatch: the statuses are those described at BatchService, with their google.rpc.ErrorInfo.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class ToolServiceGrpc {

  private ToolServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "toolbatch.v1.ToolService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.toolbatch.v1.ListToolsRequest,
      dev.toolbatch.v1.ListToolsResponse> getListToolsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListTools",
      requestType = dev.toolbatch.v1.ListToolsRequest.class,
      responseType = dev.toolbatch.v1.ListToolsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.toolbatch.v1.ListToolsRequest,
      dev.toolbatch.v1.ListToolsResponse> getListToolsMethod() {
    io.grpc.MethodDescriptor<dev.toolbatch.v1.ListToolsRequest, dev.toolbatch.v1.ListToolsResponse> getListToolsMethod;
    if ((getListToolsMethod = ToolServiceGrpc.getListToolsMethod) == null) {
      synchronized (ToolServiceGrpc.class) {
        if ((getListToolsMethod = ToolServiceGrpc.getListToolsMethod) == null) {
          ToolServiceGrpc.getListToolsMethod = getListToolsMethod =
              io.grpc.MethodDescriptor.<dev.toolbatch.v1.ListToolsRequest, dev.toolbatch.v1.ListToolsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListTools"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.ListToolsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.ListToolsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ToolServiceMethodDescriptorSupplier("ListTools"))
              .build();
        }
      }
    }
    return getListToolsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.toolbatch.v1.CallToolRequest,
      dev.toolbatch.v1.CallToolResponse> getCallToolMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CallTool",
      requestType = dev.toolbatch.v1.CallToolRequest.class,
      responseType = dev.toolbatch.v1.CallToolResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.toolbatch.v1.CallToolRequest,
      dev.toolbatch.v1.CallToolResponse> getCallToolMethod() {
    io.grpc.MethodDescriptor<dev.toolbatch.v1.CallToolRequest, dev.toolbatch.v1.CallToolResponse> getCallToolMethod;
    if ((getCallToolMethod = ToolServiceGrpc.getCallToolMethod) == null) {
      synchronized (ToolServiceGrpc.class) {
        if ((getCallToolMethod = ToolServiceGrpc.getCallToolMethod) == null) {
          ToolServiceGrpc.getCallToolMethod = getCallToolMethod =
              io.grpc.MethodDescriptor.<dev.toolbatch.v1.CallToolRequest, dev.toolbatch.v1.CallToolResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CallTool"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.CallToolRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.CallToolResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ToolServiceMethodDescriptorSupplier("CallTool"))
              .build();
        }
      }
    }
    return getCallToolMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.toolbatch.v1.CallToolWithProgressRequest,
      dev.toolbatch.v1.CallToolWithProgressResponse> getCallToolWithProgressMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CallToolWithProgress",
      requestType = dev.toolbatch.v1.CallToolWithProgressRequest.class,
      responseType = dev.toolbatch.v1.CallToolWithProgressResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.toolbatch.v1.CallToolWithProgressRequest,
      dev.toolbatch.v1.CallToolWithProgressResponse> getCallToolWithProgressMethod() {
    io.grpc.MethodDescriptor<dev.toolbatch.v1.CallToolWithProgressRequest, dev.toolbatch.v1.CallToolWithProgressResponse> getCallToolWithProgressMethod;
    if ((getCallToolWithProgressMethod = ToolServiceGrpc.getCallToolWithProgressMethod) == null) {
      synchronized (ToolServiceGrpc.class) {
        if ((getCallToolWithProgressMethod = ToolServiceGrpc.getCallToolWithProgressMethod) == null) {
          ToolServiceGrpc.getCallToolWithProgressMethod = getCallToolWithProgressMethod =
              io.grpc.MethodDescriptor.<dev.toolbatch.v1.CallToolWithProgressRequest, dev.toolbatch.v1.CallToolWithProgressResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CallToolWithProgress"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.CallToolWithProgressRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.CallToolWithProgressResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ToolServiceMethodDescriptorSupplier("CallToolWithProgress"))
              .build();
        }
      }
    }
    return getCallToolWithProgressMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.toolbatch.v1.LookupCallRequest,
      dev.toolbatch.v1.LookupCallResponse> getLookupCallMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "LookupCall",
      requestType = dev.toolbatch.v1.LookupCallRequest.class,
      responseType = dev.toolbatch.v1.LookupCallResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.toolbatch.v1.LookupCallRequest,
      dev.toolbatch.v1.LookupCallResponse> getLookupCallMethod() {
    io.grpc.MethodDescriptor<dev.toolbatch.v1.LookupCallRequest, dev.toolbatch.v1.LookupCallResponse> getLookupCallMethod;
    if ((getLookupCallMethod = ToolServiceGrpc.getLookupCallMethod) == null) {
      synchronized (ToolServiceGrpc.class) {
        if ((getLookupCallMethod = ToolServiceGrpc.getLookupCallMethod) == null) {
          ToolServiceGrpc.getLookupCallMethod = getLookupCallMethod =
              io.grpc.MethodDescriptor.<dev.toolbatch.v1.LookupCallRequest, dev.toolbatch.v1.LookupCallResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "LookupCall"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.LookupCallRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.LookupCallResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ToolServiceMethodDescriptorSupplier("LookupCall"))
              .build();
        }
      }
    }
    return getLookupCallMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static ToolServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ToolServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ToolServiceStub>() {
        @java.lang.Override
        public ToolServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ToolServiceStub(channel, callOptions);
        }
      };
    return ToolServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static ToolServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ToolServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ToolServiceBlockingV2Stub>() {
        @java.lang.Override
        public ToolServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ToolServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return ToolServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static ToolServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ToolServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ToolServiceBlockingStub>() {
        @java.lang.Override
        public ToolServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ToolServiceBlockingStub(channel, callOptions);
        }
      };
    return ToolServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static ToolServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ToolServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ToolServiceFutureStub>() {
        @java.lang.Override
        public ToolServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ToolServiceFutureStub(channel, callOptions);
        }
      };
    return ToolServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * What a tool backend serves, and what toolbatch itself serves to agents: there ListTools lists the agent's tools,
   * CallTool runs one as a direct step, and `execute_tool_batch` and `batch_tool` are tools like any other.
   * For a backend: serve ListTools and CallTool; CallToolWithProgress where a tool sets `reports_progress`, and LookupCall
   * where an earlier attempt can be told. A failure of the tool is a ToolFailure under status OK. Another status tells
   * nothing of what happened, so the call fails with outcome_unknown; only UNIMPLEMENTED says that nothing ran. The RPC's
   * deadline is the call's timeout; toolbatch cancels what takes longer.
   * From toolbatch: the statuses are those described at BatchService, with their google.rpc.ErrorInfo.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Lists the tools, a page at a time. Toolbatch asks a backend when it connects, and follows the pages to the end.
     * Statuses: PERMISSION_DENIED where `agent_id` names an agent that the caller may not act for; INVALID_ARGUMENT for a
     * negative `page_size` and for a `page_token` that was not given out here.
     * </pre>
     */
    default void listTools(dev.toolbatch.v1.ListToolsRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.ListToolsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListToolsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Runs a tool and answers with exactly one outcome.
     * At a backend: `context.idempotency_key` names the logical call. A backend that keeps it can answer a repeat with the
     * first outcome, and must not act twice under one; `context.in_doubt` says that an earlier attempt may have. Metadata
     * `traceparent` and `tracestate` (W3C Trace Context): the attempt's own span, in the trace of whoever sent the call.
     * At toolbatch: runs the tool as a direct step of the task in `context`. With a `context.key` it is repeatable: a
     * completed key is answered with its outcome and `skipped`. What a rule refuses is a ToolFailure whose code is the
     * CallErrorReason's name without its prefix (INVALID_REQUEST where the request itself breaks a rule). Statuses: those
     * described at BatchService; FAILED_PRECONDITION where the task has ended, ALREADY_EXISTS as for ExecuteBatch. A call that
     * a crash of toolbatch cut off is not run again by itself: its step fails with `outcome_unknown`, and a repeat under its
     * key runs with `context.in_doubt`.
     * For `execute_tool_batch` and `batch_tool`, `context.key` names the batch in its task: a repeat with the same content
     * attaches, one with another is ALREADY_EXISTS. `step_id` is the batch's id. A caller that goes away leaves it running.
     * </pre>
     */
    default void callTool(dev.toolbatch.v1.CallToolRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.CallToolResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCallToolMethod(), responseObserver);
    }

    /**
     * <pre>
     * CallTool with progress on the way; called for tools that set `reports_progress`. Any number of ToolProgress, then
     * the outcome as the last message. A stream that ends without one leaves the outcome unknown. Statuses: as CallTool.
     * At toolbatch: for `execute_tool_batch` and `batch_tool` one ToolProgress for each call that ends.
     * </pre>
     */
    default void callToolWithProgress(dev.toolbatch.v1.CallToolWithProgressRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.CallToolWithProgressResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCallToolWithProgressMethod(), responseObserver);
    }

    /**
     * <pre>
     * Tells what became of an earlier attempt, named by `context.idempotency_key`. It changes nothing and is safe to
     * repeat. Optional: UNIMPLEMENTED, like any other status, reads as unknown.
     * </pre>
     */
    default void lookupCall(dev.toolbatch.v1.LookupCallRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.LookupCallResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getLookupCallMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service ToolService.
   * <pre>
   * What a tool backend serves, and what toolbatch itself serves to agents: there ListTools lists the agent's tools,
   * CallTool runs one as a direct step, and `execute_tool_batch` and `batch_tool` are tools like any other.
   * For a backend: serve ListTools and CallTool; CallToolWithProgress where a tool sets `reports_progress`, and LookupCall
   * where an earlier attempt can be told. A failure of the tool is a ToolFailure under status OK. Another status tells
   * nothing of what happened, so the call fails with outcome_unknown; only UNIMPLEMENTED says that nothing ran. The RPC's
   * deadline is the call's timeout; toolbatch cancels what takes longer.
   * From toolbatch: the statuses are those described at BatchService, with their google.rpc.ErrorInfo.
   * </pre>
   */
  public static abstract class ToolServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return ToolServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service ToolService.
   * <pre>
   * What a tool backend serves, and what toolbatch itself serves to agents: there ListTools lists the agent's tools,
   * CallTool runs one as a direct step, and `execute_tool_batch` and `batch_tool` are tools like any other.
   * For a backend: serve ListTools and CallTool; CallToolWithProgress where a tool sets `reports_progress`, and LookupCall
   * where an earlier attempt can be told. A failure of the tool is a ToolFailure under status OK. Another status tells
   * nothing of what happened, so the call fails with outcome_unknown; only UNIMPLEMENTED says that nothing ran. The RPC's
   * deadline is the call's timeout; toolbatch cancels what takes longer.
   * From toolbatch: the statuses are those described at BatchService, with their google.rpc.ErrorInfo.
   * </pre>
   */
  public static final class ToolServiceStub
      extends io.grpc.stub.AbstractAsyncStub<ToolServiceStub> {
    private ToolServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ToolServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ToolServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists the tools, a page at a time. Toolbatch asks a backend when it connects, and follows the pages to the end.
     * Statuses: PERMISSION_DENIED where `agent_id` names an agent that the caller may not act for; INVALID_ARGUMENT for a
     * negative `page_size` and for a `page_token` that was not given out here.
     * </pre>
     */
    public void listTools(dev.toolbatch.v1.ListToolsRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.ListToolsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListToolsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Runs a tool and answers with exactly one outcome.
     * At a backend: `context.idempotency_key` names the logical call. A backend that keeps it can answer a repeat with the
     * first outcome, and must not act twice under one; `context.in_doubt` says that an earlier attempt may have. Metadata
     * `traceparent` and `tracestate` (W3C Trace Context): the attempt's own span, in the trace of whoever sent the call.
     * At toolbatch: runs the tool as a direct step of the task in `context`. With a `context.key` it is repeatable: a
     * completed key is answered with its outcome and `skipped`. What a rule refuses is a ToolFailure whose code is the
     * CallErrorReason's name without its prefix (INVALID_REQUEST where the request itself breaks a rule). Statuses: those
     * described at BatchService; FAILED_PRECONDITION where the task has ended, ALREADY_EXISTS as for ExecuteBatch. A call that
     * a crash of toolbatch cut off is not run again by itself: its step fails with `outcome_unknown`, and a repeat under its
     * key runs with `context.in_doubt`.
     * For `execute_tool_batch` and `batch_tool`, `context.key` names the batch in its task: a repeat with the same content
     * attaches, one with another is ALREADY_EXISTS. `step_id` is the batch's id. A caller that goes away leaves it running.
     * </pre>
     */
    public void callTool(dev.toolbatch.v1.CallToolRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.CallToolResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCallToolMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * CallTool with progress on the way; called for tools that set `reports_progress`. Any number of ToolProgress, then
     * the outcome as the last message. A stream that ends without one leaves the outcome unknown. Statuses: as CallTool.
     * At toolbatch: for `execute_tool_batch` and `batch_tool` one ToolProgress for each call that ends.
     * </pre>
     */
    public void callToolWithProgress(dev.toolbatch.v1.CallToolWithProgressRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.CallToolWithProgressResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getCallToolWithProgressMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Tells what became of an earlier attempt, named by `context.idempotency_key`. It changes nothing and is safe to
     * repeat. Optional: UNIMPLEMENTED, like any other status, reads as unknown.
     * </pre>
     */
    public void lookupCall(dev.toolbatch.v1.LookupCallRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.LookupCallResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getLookupCallMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service ToolService.
   * <pre>
   * What a tool backend serves, and what toolbatch itself serves to agents: there ListTools lists the agent's tools,
   * CallTool runs one as a direct step, and `execute_tool_batch` and `batch_tool` are tools like any other.
   * For a backend: serve ListTools and CallTool; CallToolWithProgress where a tool sets `reports_progress`, and LookupCall
   * where an earlier attempt can be told. A failure of the tool is a ToolFailure under status OK. Another status tells
   * nothing of what happened, so the call fails with outcome_unknown; only UNIMPLEMENTED says that nothing ran. The RPC's
   * deadline is the call's timeout; toolbatch cancels what takes longer.
   * From toolbatch: the statuses are those described at BatchService, with their google.rpc.ErrorInfo.
   * </pre>
   */
  public static final class ToolServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<ToolServiceBlockingV2Stub> {
    private ToolServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ToolServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ToolServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists the tools, a page at a time. Toolbatch asks a backend when it connects, and follows the pages to the end.
     * Statuses: PERMISSION_DENIED where `agent_id` names an agent that the caller may not act for; INVALID_ARGUMENT for a
     * negative `page_size` and for a `page_token` that was not given out here.
     * </pre>
     */
    public dev.toolbatch.v1.ListToolsResponse listTools(dev.toolbatch.v1.ListToolsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListToolsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Runs a tool and answers with exactly one outcome.
     * At a backend: `context.idempotency_key` names the logical call. A backend that keeps it can answer a repeat with the
     * first outcome, and must not act twice under one; `context.in_doubt` says that an earlier attempt may have. Metadata
     * `traceparent` and `tracestate` (W3C Trace Context): the attempt's own span, in the trace of whoever sent the call.
     * At toolbatch: runs the tool as a direct step of the task in `context`. With a `context.key` it is repeatable: a
     * completed key is answered with its outcome and `skipped`. What a rule refuses is a ToolFailure whose code is the
     * CallErrorReason's name without its prefix (INVALID_REQUEST where the request itself breaks a rule). Statuses: those
     * described at BatchService; FAILED_PRECONDITION where the task has ended, ALREADY_EXISTS as for ExecuteBatch. A call that
     * a crash of toolbatch cut off is not run again by itself: its step fails with `outcome_unknown`, and a repeat under its
     * key runs with `context.in_doubt`.
     * For `execute_tool_batch` and `batch_tool`, `context.key` names the batch in its task: a repeat with the same content
     * attaches, one with another is ALREADY_EXISTS. `step_id` is the batch's id. A caller that goes away leaves it running.
     * </pre>
     */
    public dev.toolbatch.v1.CallToolResponse callTool(dev.toolbatch.v1.CallToolRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCallToolMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * CallTool with progress on the way; called for tools that set `reports_progress`. Any number of ToolProgress, then
     * the outcome as the last message. A stream that ends without one leaves the outcome unknown. Statuses: as CallTool.
     * At toolbatch: for `execute_tool_batch` and `batch_tool` one ToolProgress for each call that ends.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, dev.toolbatch.v1.CallToolWithProgressResponse>
        callToolWithProgress(dev.toolbatch.v1.CallToolWithProgressRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getCallToolWithProgressMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Tells what became of an earlier attempt, named by `context.idempotency_key`. It changes nothing and is safe to
     * repeat. Optional: UNIMPLEMENTED, like any other status, reads as unknown.
     * </pre>
     */
    public dev.toolbatch.v1.LookupCallResponse lookupCall(dev.toolbatch.v1.LookupCallRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getLookupCallMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service ToolService.
   * <pre>
   * What a tool backend serves, and what toolbatch itself serves to agents: there ListTools lists the agent's tools,
   * CallTool runs one as a direct step, and `execute_tool_batch` and `batch_tool` are tools like any other.
   * For a backend: serve ListTools and CallTool; CallToolWithProgress where a tool sets `reports_progress`, and LookupCall
   * where an earlier attempt can be told. A failure of the tool is a ToolFailure under status OK. Another status tells
   * nothing of what happened, so the call fails with outcome_unknown; only UNIMPLEMENTED says that nothing ran. The RPC's
   * deadline is the call's timeout; toolbatch cancels what takes longer.
   * From toolbatch: the statuses are those described at BatchService, with their google.rpc.ErrorInfo.
   * </pre>
   */
  public static final class ToolServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<ToolServiceBlockingStub> {
    private ToolServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ToolServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ToolServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists the tools, a page at a time. Toolbatch asks a backend when it connects, and follows the pages to the end.
     * Statuses: PERMISSION_DENIED where `agent_id` names an agent that the caller may not act for; INVALID_ARGUMENT for a
     * negative `page_size` and for a `page_token` that was not given out here.
     * </pre>
     */
    public dev.toolbatch.v1.ListToolsResponse listTools(dev.toolbatch.v1.ListToolsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListToolsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Runs a tool and answers with exactly one outcome.
     * At a backend: `context.idempotency_key` names the logical call. A backend that keeps it can answer a repeat with the
     * first outcome, and must not act twice under one; `context.in_doubt` says that an earlier attempt may have. Metadata
     * `traceparent` and `tracestate` (W3C Trace Context): the attempt's own span, in the trace of whoever sent the call.
     * At toolbatch: runs the tool as a direct step of the task in `context`. With a `context.key` it is repeatable: a
     * completed key is answered with its outcome and `skipped`. What a rule refuses is a ToolFailure whose code is the
     * CallErrorReason's name without its prefix (INVALID_REQUEST where the request itself breaks a rule). Statuses: those
     * described at BatchService; FAILED_PRECONDITION where the task has ended, ALREADY_EXISTS as for ExecuteBatch. A call that
     * a crash of toolbatch cut off is not run again by itself: its step fails with `outcome_unknown`, and a repeat under its
     * key runs with `context.in_doubt`.
     * For `execute_tool_batch` and `batch_tool`, `context.key` names the batch in its task: a repeat with the same content
     * attaches, one with another is ALREADY_EXISTS. `step_id` is the batch's id. A caller that goes away leaves it running.
     * </pre>
     */
    public dev.toolbatch.v1.CallToolResponse callTool(dev.toolbatch.v1.CallToolRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCallToolMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * CallTool with progress on the way; called for tools that set `reports_progress`. Any number of ToolProgress, then
     * the outcome as the last message. A stream that ends without one leaves the outcome unknown. Statuses: as CallTool.
     * At toolbatch: for `execute_tool_batch` and `batch_tool` one ToolProgress for each call that ends.
     * </pre>
     */
    public java.util.Iterator<dev.toolbatch.v1.CallToolWithProgressResponse> callToolWithProgress(
        dev.toolbatch.v1.CallToolWithProgressRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getCallToolWithProgressMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Tells what became of an earlier attempt, named by `context.idempotency_key`. It changes nothing and is safe to
     * repeat. Optional: UNIMPLEMENTED, like any other status, reads as unknown.
     * </pre>
     */
    public dev.toolbatch.v1.LookupCallResponse lookupCall(dev.toolbatch.v1.LookupCallRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getLookupCallMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service ToolService.
   * <pre>
   * What a tool backend serves, and what toolbatch itself serves to agents: there ListTools lists the agent's tools,
   * CallTool runs one as a direct step, and `execute_tool_batch` and `batch_tool` are tools like any other.
   * For a backend: serve ListTools and CallTool; CallToolWithProgress where a tool sets `reports_progress`, and LookupCall
   * where an earlier attempt can be told. A failure of the tool is a ToolFailure under status OK. Another status tells
   * nothing of what happened, so the call fails with outcome_unknown; only UNIMPLEMENTED says that nothing ran. The RPC's
   * deadline is the call's timeout; toolbatch cancels what takes longer.
   * From toolbatch: the statuses are those described at BatchService, with their google.rpc.ErrorInfo.
   * </pre>
   */
  public static final class ToolServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<ToolServiceFutureStub> {
    private ToolServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ToolServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ToolServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists the tools, a page at a time. Toolbatch asks a backend when it connects, and follows the pages to the end.
     * Statuses: PERMISSION_DENIED where `agent_id` names an agent that the caller may not act for; INVALID_ARGUMENT for a
     * negative `page_size` and for a `page_token` that was not given out here.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.toolbatch.v1.ListToolsResponse> listTools(
        dev.toolbatch.v1.ListToolsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListToolsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Runs a tool and answers with exactly one outcome.
     * At a backend: `context.idempotency_key` names the logical call. A backend that keeps it can answer a repeat with the
     * first outcome, and must not act twice under one; `context.in_doubt` says that an earlier attempt may have. Metadata
     * `traceparent` and `tracestate` (W3C Trace Context): the attempt's own span, in the trace of whoever sent the call.
     * At toolbatch: runs the tool as a direct step of the task in `context`. With a `context.key` it is repeatable: a
     * completed key is answered with its outcome and `skipped`. What a rule refuses is a ToolFailure whose code is the
     * CallErrorReason's name without its prefix (INVALID_REQUEST where the request itself breaks a rule). Statuses: those
     * described at BatchService; FAILED_PRECONDITION where the task has ended, ALREADY_EXISTS as for ExecuteBatch. A call that
     * a crash of toolbatch cut off is not run again by itself: its step fails with `outcome_unknown`, and a repeat under its
     * key runs with `context.in_doubt`.
     * For `execute_tool_batch` and `batch_tool`, `context.key` names the batch in its task: a repeat with the same content
     * attaches, one with another is ALREADY_EXISTS. `step_id` is the batch's id. A caller that goes away leaves it running.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.toolbatch.v1.CallToolResponse> callTool(
        dev.toolbatch.v1.CallToolRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCallToolMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Tells what became of an earlier attempt, named by `context.idempotency_key`. It changes nothing and is safe to
     * repeat. Optional: UNIMPLEMENTED, like any other status, reads as unknown.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.toolbatch.v1.LookupCallResponse> lookupCall(
        dev.toolbatch.v1.LookupCallRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getLookupCallMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_LIST_TOOLS = 0;
  private static final int METHODID_CALL_TOOL = 1;
  private static final int METHODID_CALL_TOOL_WITH_PROGRESS = 2;
  private static final int METHODID_LOOKUP_CALL = 3;

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
        case METHODID_LIST_TOOLS:
          serviceImpl.listTools((dev.toolbatch.v1.ListToolsRequest) request,
              (io.grpc.stub.StreamObserver<dev.toolbatch.v1.ListToolsResponse>) responseObserver);
          break;
        case METHODID_CALL_TOOL:
          serviceImpl.callTool((dev.toolbatch.v1.CallToolRequest) request,
              (io.grpc.stub.StreamObserver<dev.toolbatch.v1.CallToolResponse>) responseObserver);
          break;
        case METHODID_CALL_TOOL_WITH_PROGRESS:
          serviceImpl.callToolWithProgress((dev.toolbatch.v1.CallToolWithProgressRequest) request,
              (io.grpc.stub.StreamObserver<dev.toolbatch.v1.CallToolWithProgressResponse>) responseObserver);
          break;
        case METHODID_LOOKUP_CALL:
          serviceImpl.lookupCall((dev.toolbatch.v1.LookupCallRequest) request,
              (io.grpc.stub.StreamObserver<dev.toolbatch.v1.LookupCallResponse>) responseObserver);
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
          getListToolsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.toolbatch.v1.ListToolsRequest,
              dev.toolbatch.v1.ListToolsResponse>(
                service, METHODID_LIST_TOOLS)))
        .addMethod(
          getCallToolMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.toolbatch.v1.CallToolRequest,
              dev.toolbatch.v1.CallToolResponse>(
                service, METHODID_CALL_TOOL)))
        .addMethod(
          getCallToolWithProgressMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.toolbatch.v1.CallToolWithProgressRequest,
              dev.toolbatch.v1.CallToolWithProgressResponse>(
                service, METHODID_CALL_TOOL_WITH_PROGRESS)))
        .addMethod(
          getLookupCallMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.toolbatch.v1.LookupCallRequest,
              dev.toolbatch.v1.LookupCallResponse>(
                service, METHODID_LOOKUP_CALL)))
        .build();
  }

  private static abstract class ToolServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    ToolServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.toolbatch.v1.ToolOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("ToolService");
    }
  }

  private static final class ToolServiceFileDescriptorSupplier
      extends ToolServiceBaseDescriptorSupplier {
    ToolServiceFileDescriptorSupplier() {}
  }

  private static final class ToolServiceMethodDescriptorSupplier
      extends ToolServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    ToolServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (ToolServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new ToolServiceFileDescriptorSupplier())
              .addMethod(getListToolsMethod())
              .addMethod(getCallToolMethod())
              .addMethod(getCallToolWithProgressMethod())
              .addMethod(getLookupCallMethod())
              .build();
        }
      }
    }
    return result;
  }
}
