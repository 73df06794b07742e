package dev.toolbatch.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * A task's life, its variables, and the record of every step taken in it.
 * A task begins with its first batch, direct step or variable, and belongs to the tenant that began it. Its steps,
 * results, variables and keys are dropped together once the server's retention has passed since it ended, or since its
 * last activity.
 * The statuses are those described at BatchService, with their google.rpc.ErrorInfo. NOT_FOUND answers for a task that
 * has not begun and for a step that does not exist, and with the same text for those of another tenant.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class TaskServiceGrpc {

  private TaskServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "toolbatch.v1.TaskService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.toolbatch.v1.EndTaskRequest,
      dev.toolbatch.v1.EndTaskResponse> getEndTaskMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "EndTask",
      requestType = dev.toolbatch.v1.EndTaskRequest.class,
      responseType = dev.toolbatch.v1.EndTaskResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.toolbatch.v1.EndTaskRequest,
      dev.toolbatch.v1.EndTaskResponse> getEndTaskMethod() {
    io.grpc.MethodDescriptor<dev.toolbatch.v1.EndTaskRequest, dev.toolbatch.v1.EndTaskResponse> getEndTaskMethod;
    if ((getEndTaskMethod = TaskServiceGrpc.getEndTaskMethod) == null) {
      synchronized (TaskServiceGrpc.class) {
        if ((getEndTaskMethod = TaskServiceGrpc.getEndTaskMethod) == null) {
          TaskServiceGrpc.getEndTaskMethod = getEndTaskMethod =
              io.grpc.MethodDescriptor.<dev.toolbatch.v1.EndTaskRequest, dev.toolbatch.v1.EndTaskResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "EndTask"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.EndTaskRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.EndTaskResponse.getDefaultInstance()))
              .setSchemaDescriptor(new TaskServiceMethodDescriptorSupplier("EndTask"))
              .build();
        }
      }
    }
    return getEndTaskMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.toolbatch.v1.SetVariableRequest,
      dev.toolbatch.v1.SetVariableResponse> getSetVariableMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SetVariable",
      requestType = dev.toolbatch.v1.SetVariableRequest.class,
      responseType = dev.toolbatch.v1.SetVariableResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.toolbatch.v1.SetVariableRequest,
      dev.toolbatch.v1.SetVariableResponse> getSetVariableMethod() {
    io.grpc.MethodDescriptor<dev.toolbatch.v1.SetVariableRequest, dev.toolbatch.v1.SetVariableResponse> getSetVariableMethod;
    if ((getSetVariableMethod = TaskServiceGrpc.getSetVariableMethod) == null) {
      synchronized (TaskServiceGrpc.class) {
        if ((getSetVariableMethod = TaskServiceGrpc.getSetVariableMethod) == null) {
          TaskServiceGrpc.getSetVariableMethod = getSetVariableMethod =
              io.grpc.MethodDescriptor.<dev.toolbatch.v1.SetVariableRequest, dev.toolbatch.v1.SetVariableResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SetVariable"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.SetVariableRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.SetVariableResponse.getDefaultInstance()))
              .setSchemaDescriptor(new TaskServiceMethodDescriptorSupplier("SetVariable"))
              .build();
        }
      }
    }
    return getSetVariableMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.toolbatch.v1.GetStepRequest,
      dev.toolbatch.v1.GetStepResponse> getGetStepMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetStep",
      requestType = dev.toolbatch.v1.GetStepRequest.class,
      responseType = dev.toolbatch.v1.GetStepResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.toolbatch.v1.GetStepRequest,
      dev.toolbatch.v1.GetStepResponse> getGetStepMethod() {
    io.grpc.MethodDescriptor<dev.toolbatch.v1.GetStepRequest, dev.toolbatch.v1.GetStepResponse> getGetStepMethod;
    if ((getGetStepMethod = TaskServiceGrpc.getGetStepMethod) == null) {
      synchronized (TaskServiceGrpc.class) {
        if ((getGetStepMethod = TaskServiceGrpc.getGetStepMethod) == null) {
          TaskServiceGrpc.getGetStepMethod = getGetStepMethod =
              io.grpc.MethodDescriptor.<dev.toolbatch.v1.GetStepRequest, dev.toolbatch.v1.GetStepResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetStep"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.GetStepRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.GetStepResponse.getDefaultInstance()))
              .setSchemaDescriptor(new TaskServiceMethodDescriptorSupplier("GetStep"))
              .build();
        }
      }
    }
    return getGetStepMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.toolbatch.v1.ReadStepResultRequest,
      dev.toolbatch.v1.ReadStepResultResponse> getReadStepResultMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReadStepResult",
      requestType = dev.toolbatch.v1.ReadStepResultRequest.class,
      responseType = dev.toolbatch.v1.ReadStepResultResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.toolbatch.v1.ReadStepResultRequest,
      dev.toolbatch.v1.ReadStepResultResponse> getReadStepResultMethod() {
    io.grpc.MethodDescriptor<dev.toolbatch.v1.ReadStepResultRequest, dev.toolbatch.v1.ReadStepResultResponse> getReadStepResultMethod;
    if ((getReadStepResultMethod = TaskServiceGrpc.getReadStepResultMethod) == null) {
      synchronized (TaskServiceGrpc.class) {
        if ((getReadStepResultMethod = TaskServiceGrpc.getReadStepResultMethod) == null) {
          TaskServiceGrpc.getReadStepResultMethod = getReadStepResultMethod =
              io.grpc.MethodDescriptor.<dev.toolbatch.v1.ReadStepResultRequest, dev.toolbatch.v1.ReadStepResultResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReadStepResult"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.ReadStepResultRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.ReadStepResultResponse.getDefaultInstance()))
              .setSchemaDescriptor(new TaskServiceMethodDescriptorSupplier("ReadStepResult"))
              .build();
        }
      }
    }
    return getReadStepResultMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.toolbatch.v1.ListStepsRequest,
      dev.toolbatch.v1.ListStepsResponse> getListStepsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListSteps",
      requestType = dev.toolbatch.v1.ListStepsRequest.class,
      responseType = dev.toolbatch.v1.ListStepsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.toolbatch.v1.ListStepsRequest,
      dev.toolbatch.v1.ListStepsResponse> getListStepsMethod() {
    io.grpc.MethodDescriptor<dev.toolbatch.v1.ListStepsRequest, dev.toolbatch.v1.ListStepsResponse> getListStepsMethod;
    if ((getListStepsMethod = TaskServiceGrpc.getListStepsMethod) == null) {
      synchronized (TaskServiceGrpc.class) {
        if ((getListStepsMethod = TaskServiceGrpc.getListStepsMethod) == null) {
          TaskServiceGrpc.getListStepsMethod = getListStepsMethod =
              io.grpc.MethodDescriptor.<dev.toolbatch.v1.ListStepsRequest, dev.toolbatch.v1.ListStepsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListSteps"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.ListStepsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.ListStepsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new TaskServiceMethodDescriptorSupplier("ListSteps"))
              .build();
        }
      }
    }
    return getListStepsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.toolbatch.v1.ListUsageRequest,
      dev.toolbatch.v1.ListUsageResponse> getListUsageMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListUsage",
      requestType = dev.toolbatch.v1.ListUsageRequest.class,
      responseType = dev.toolbatch.v1.ListUsageResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.toolbatch.v1.ListUsageRequest,
      dev.toolbatch.v1.ListUsageResponse> getListUsageMethod() {
    io.grpc.MethodDescriptor<dev.toolbatch.v1.ListUsageRequest, dev.toolbatch.v1.ListUsageResponse> getListUsageMethod;
    if ((getListUsageMethod = TaskServiceGrpc.getListUsageMethod) == null) {
      synchronized (TaskServiceGrpc.class) {
        if ((getListUsageMethod = TaskServiceGrpc.getListUsageMethod) == null) {
          TaskServiceGrpc.getListUsageMethod = getListUsageMethod =
              io.grpc.MethodDescriptor.<dev.toolbatch.v1.ListUsageRequest, dev.toolbatch.v1.ListUsageResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListUsage"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.ListUsageRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.ListUsageResponse.getDefaultInstance()))
              .setSchemaDescriptor(new TaskServiceMethodDescriptorSupplier("ListUsage"))
              .build();
        }
      }
    }
    return getListUsageMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.toolbatch.v1.ListKeysRequest,
      dev.toolbatch.v1.ListKeysResponse> getListKeysMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListKeys",
      requestType = dev.toolbatch.v1.ListKeysRequest.class,
      responseType = dev.toolbatch.v1.ListKeysResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.toolbatch.v1.ListKeysRequest,
      dev.toolbatch.v1.ListKeysResponse> getListKeysMethod() {
    io.grpc.MethodDescriptor<dev.toolbatch.v1.ListKeysRequest, dev.toolbatch.v1.ListKeysResponse> getListKeysMethod;
    if ((getListKeysMethod = TaskServiceGrpc.getListKeysMethod) == null) {
      synchronized (TaskServiceGrpc.class) {
        if ((getListKeysMethod = TaskServiceGrpc.getListKeysMethod) == null) {
          TaskServiceGrpc.getListKeysMethod = getListKeysMethod =
              io.grpc.MethodDescriptor.<dev.toolbatch.v1.ListKeysRequest, dev.toolbatch.v1.ListKeysResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListKeys"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.ListKeysRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.ListKeysResponse.getDefaultInstance()))
              .setSchemaDescriptor(new TaskServiceMethodDescriptorSupplier("ListKeys"))
              .build();
        }
      }
    }
    return getListKeysMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.toolbatch.v1.SettleKeyRequest,
      dev.toolbatch.v1.SettleKeyResponse> getSettleKeyMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SettleKey",
      requestType = dev.toolbatch.v1.SettleKeyRequest.class,
      responseType = dev.toolbatch.v1.SettleKeyResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.toolbatch.v1.SettleKeyRequest,
      dev.toolbatch.v1.SettleKeyResponse> getSettleKeyMethod() {
    io.grpc.MethodDescriptor<dev.toolbatch.v1.SettleKeyRequest, dev.toolbatch.v1.SettleKeyResponse> getSettleKeyMethod;
    if ((getSettleKeyMethod = TaskServiceGrpc.getSettleKeyMethod) == null) {
      synchronized (TaskServiceGrpc.class) {
        if ((getSettleKeyMethod = TaskServiceGrpc.getSettleKeyMethod) == null) {
          TaskServiceGrpc.getSettleKeyMethod = getSettleKeyMethod =
              io.grpc.MethodDescriptor.<dev.toolbatch.v1.SettleKeyRequest, dev.toolbatch.v1.SettleKeyResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SettleKey"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.SettleKeyRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.SettleKeyResponse.getDefaultInstance()))
              .setSchemaDescriptor(new TaskServiceMethodDescriptorSupplier("SettleKey"))
              .build();
        }
      }
    }
    return getSettleKeyMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.toolbatch.v1.WatchTaskRequest,
      dev.toolbatch.v1.WatchTaskResponse> getWatchTaskMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "WatchTask",
      requestType = dev.toolbatch.v1.WatchTaskRequest.class,
      responseType = dev.toolbatch.v1.WatchTaskResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.toolbatch.v1.WatchTaskRequest,
      dev.toolbatch.v1.WatchTaskResponse> getWatchTaskMethod() {
    io.grpc.MethodDescriptor<dev.toolbatch.v1.WatchTaskRequest, dev.toolbatch.v1.WatchTaskResponse> getWatchTaskMethod;
    if ((getWatchTaskMethod = TaskServiceGrpc.getWatchTaskMethod) == null) {
      synchronized (TaskServiceGrpc.class) {
        if ((getWatchTaskMethod = TaskServiceGrpc.getWatchTaskMethod) == null) {
          TaskServiceGrpc.getWatchTaskMethod = getWatchTaskMethod =
              io.grpc.MethodDescriptor.<dev.toolbatch.v1.WatchTaskRequest, dev.toolbatch.v1.WatchTaskResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "WatchTask"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.WatchTaskRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.WatchTaskResponse.getDefaultInstance()))
              .setSchemaDescriptor(new TaskServiceMethodDescriptorSupplier("WatchTask"))
              .build();
        }
      }
    }
    return getWatchTaskMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static TaskServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<TaskServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<TaskServiceStub>() {
        @java.lang.Override
        public TaskServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new TaskServiceStub(channel, callOptions);
        }
      };
    return TaskServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static TaskServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<TaskServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<TaskServiceBlockingV2Stub>() {
        @java.lang.Override
        public TaskServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new TaskServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return TaskServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static TaskServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<TaskServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<TaskServiceBlockingStub>() {
        @java.lang.Override
        public TaskServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new TaskServiceBlockingStub(channel, callOptions);
        }
      };
    return TaskServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static TaskServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<TaskServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<TaskServiceFutureStub>() {
        @java.lang.Override
        public TaskServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new TaskServiceFutureStub(channel, callOptions);
        }
      };
    return TaskServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * A task's life, its variables, and the record of every step taken in it.
   * A task begins with its first batch, direct step or variable, and belongs to the tenant that began it. Its steps,
   * results, variables and keys are dropped together once the server's retention has passed since it ended, or since its
   * last activity.
   * The statuses are those described at BatchService, with their google.rpc.ErrorInfo. NOT_FOUND answers for a task that
   * has not begun and for a step that does not exist, and with the same text for those of another tenant.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Ends a task: once this returns, its batches start no further call and are not resumed, and new work in it is refused
     * with FAILED_PRECONDITION. Running calls finish and are recorded. What is on record stays readable.
     * A batch in which a call was left out ends with STOP_REASON_TASK_ENDED. Where the server is interrupted while calls of an
     * ended task are running, the next start closes their batches: those calls fail with IN_DOUBT, whatever the policy.
     * Safe to repeat: an ended task stays as it is, its `reason` too, and the answer is OK. Statuses: those of the service;
     * INVALID_ARGUMENT for a `reason` that breaks its rule.
     * </pre>
     */
    default void endTask(dev.toolbatch.v1.EndTaskRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.EndTaskResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getEndTaskMethod(), responseObserver);
    }

    /**
     * <pre>
     * Stores an output that was made elsewhere under a name that references can use (ExecuteBatchRequest.calls_ref).
     * It is durable once this returns, and a batch that is asked for afterwards finds it. An earlier value under the name is
     * replaced; a batch that was started from it goes on with the list that it had. The task begins with its first variable,
     * if nothing began it before, and counts as active. The record says who stored it, and when.
     * A repeat with a name stores the same once more; one without a name stores it under one name more.
     * Besides the statuses of the service:
     * - INVALID_ARGUMENT: a task id, name or value that breaks its rule. Nothing was recorded.
     * - FAILED_PRECONDITION: the task has ended.
     * - RESOURCE_EXHAUSTED: the server is short of room for new work; a google.rpc.RetryInfo says when to come back.
     * </pre>
     */
    default void setVariable(dev.toolbatch.v1.SetVariableRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.SetVariableResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSetVariableMethod(), responseObserver);
    }

    /**
     * <pre>
     * Gives a step's full record, its result included up to 1 MiB. Statuses: those of the service.
     * </pre>
     */
    default void getStep(dev.toolbatch.v1.GetStepRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.GetStepResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetStepMethod(), responseObserver);
    }

    /**
     * <pre>
     * Streams a step's full result, whatever its size (up to 64 MiB), in pieces that fit into any client's message limit.
     * The pieces in order are the JSON text, byte for byte; then the stream ends with OK. A step that has no result, as it
     * failed or still runs, is FAILED_PRECONDITION.
     * Safe to repeat: after a lost connection, go on with `offset` at the number of bytes received. Statuses: those of the
     * service; OUT_OF_RANGE where `offset` is past the result's end, DATA_LOSS where what is stored is damaged.
     * </pre>
     */
    default void readStepResult(dev.toolbatch.v1.ReadStepResultRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.ReadStepResultResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReadStepResultMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists a task's steps, oldest first, a page at a time, without args and results.
     * Statuses: those of the service; INVALID_ARGUMENT for a negative `page_size` and for a `page_token` that was not given
     * out for the same request.
     * </pre>
     */
    default void listSteps(dev.toolbatch.v1.ListStepsRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.ListStepsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListStepsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists what was used, one row per step and unit, priced under the called tool's name, a page at a time. A view over
     * the steps: a call is counted once, whatever was resumed, with what its last attempt reported, and from the moment
     * that it ended.
     * A call whose tool reports no usage has one row, of one of "calls", where it reached its tool or may have: also one
     * that the tool answered with a failure, and one with `outcome_unknown`. A call that was skipped or refused, or whose
     * request never left, has none; nor has a batch's own step.
     * Prices are those of the server's configuration at the time of the request. Statuses: as ListSteps.
     * </pre>
     */
    default void listUsage(dev.toolbatch.v1.ListUsageRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.ListUsageResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListUsageMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists the task's keys and their state, a page at a time. Statuses: as ListSteps; INVALID_ARGUMENT also for an unknown
     * state.
     * </pre>
     */
    default void listKeys(dev.toolbatch.v1.ListKeysRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.ListKeysResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListKeysMethod(), responseObserver);
    }

    /**
     * <pre>
     * Records what became of a key whose outcome is unknown. For operators. The record says who did it, and when. Every call
     * that comes to the key from then on goes by it, also one of a batch that is running.
     * Landed: the key is COMPLETED, and a later call under it is skipped. The step that ran it is completed with the result
     * given here; the batch that it belongs to keeps its own account, in which the call failed.
     * Not landed: the key is FAILED, and a later call under it runs. As the call never took effect, one with the same tool and
     * args is the same logical call still and has the same idempotency key; one with others has another.
     * A repeat is answered FAILED_PRECONDITION, as the key is settled by then. Also in a task that has ended.
     * Besides the statuses of the service:
     * - PERMISSION_DENIED: the caller is no operator.
     * - NOT_FOUND: also where no call of the task had this key.
     * - INVALID_ARGUMENT: also for a result that is not JSON or is over 64 MiB, and where no fate is given.
     * - FAILED_PRECONDITION: the key's outcome is not unknown; the message says what it is. A key that a call runs under is
     *   RUNNING, whatever became of the call before.
     * </pre>
     */
    default void settleKey(dev.toolbatch.v1.SettleKeyRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.SettleKeyResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSettleKeyMethod(), responseObserver);
    }

    /**
     * <pre>
     * Streams the task's feed: a card for each step, nested under its batch's card; replayed, then live. A card is sent
     * when its step starts, and again when it ends: the newest of a step holds. A call that is refused before it reaches a
     * tool has the second card only; one that is skipped, as another step did it, or is not run has none, and stands in the
     * summary of its batch's card. A key that is settled brings no card.
     * Every reader gets the same cards: a step's in their order, a batch's first card before those of its calls, and its
     * last one after them. Cards of batches that run side by side come in any order. At most 256 batches are followed at
     * once; what begins beyond that is shown when one of them is over. The stream ends with OK once the task has ended and
     * all its batches are over.
     * Resume with the `resume_token` of the last card seen; safe to repeat. Statuses: those of the service;
     * INVALID_ARGUMENT for a token that was not given out for this task; OUT_OF_RANGE for one that is of a later state than
     * the server's, which was brought back from a backup.
     * </pre>
     */
    default void watchTask(dev.toolbatch.v1.WatchTaskRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.WatchTaskResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWatchTaskMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service TaskService.
   * <pre>
   * A task's life, its variables, and the record of every step taken in it.
   * A task begins with its first batch, direct step or variable, and belongs to the tenant that began it. Its steps,
   * results, variables and keys are dropped together once the server's retention has passed since it ended, or since its
   * last activity.
   * The statuses are those described at BatchService, with their google.rpc.ErrorInfo. NOT_FOUND answers for a task that
   * has not begun and for a step that does not exist, and with the same text for those of another tenant.
   * </pre>
   */
  public static abstract class TaskServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return TaskServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service TaskService.
   * <pre>
   * A task's life, its variables, and the record of every step taken in it.
   * A task begins with its first batch, direct step or variable, and belongs to the tenant that began it. Its steps,
   * results, variables and keys are dropped together once the server's retention has passed since it ended, or since its
   * last activity.
   * The statuses are those described at BatchService, with their google.rpc.ErrorInfo. NOT_FOUND answers for a task that
   * has not begun and for a step that does not exist, and with the same text for those of another tenant.
   * </pre>
   */
  public static final class TaskServiceStub
      extends io.grpc.stub.AbstractAsyncStub<TaskServiceStub> {
    private TaskServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected TaskServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new TaskServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Ends a task: once this returns, its batches start no further call and are not resumed, and new work in it is refused
     * with FAILED_PRECONDITION. Running calls finish and are recorded. What is on record stays readable.
     * A batch in which a call was left out ends with STOP_REASON_TASK_ENDED. Where the server is interrupted while calls of an
     * ended task are running, the next start closes their batches: those calls fail with IN_DOUBT, whatever the policy.
     * Safe to repeat: an ended task stays as it is, its `reason` too, and the answer is OK. Statuses: those of the service;
     * INVALID_ARGUMENT for a `reason` that breaks its rule.
     * </pre>
     */
    public void endTask(dev.toolbatch.v1.EndTaskRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.EndTaskResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getEndTaskMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Stores an output that was made elsewhere under a name that references can use (ExecuteBatchRequest.calls_ref).
     * It is durable once this returns, and a batch that is asked for afterwards finds it. An earlier value under the name is
     * replaced; a batch that was started from it goes on with the list that it had. The task begins with its first variable,
     * if nothing began it before, and counts as active. The record says who stored it, and when.
     * A repeat with a name stores the same once more; one without a name stores it under one name more.
     * Besides the statuses of the service:
     * - INVALID_ARGUMENT: a task id, name or value that breaks its rule. Nothing was recorded.
     * - FAILED_PRECONDITION: the task has ended.
     * - RESOURCE_EXHAUSTED: the server is short of room for new work; a google.rpc.RetryInfo says when to come back.
     * </pre>
     */
    public void setVariable(dev.toolbatch.v1.SetVariableRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.SetVariableResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSetVariableMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Gives a step's full record, its result included up to 1 MiB. Statuses: those of the service.
     * </pre>
     */
    public void getStep(dev.toolbatch.v1.GetStepRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.GetStepResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetStepMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Streams a step's full result, whatever its size (up to 64 MiB), in pieces that fit into any client's message limit.
     * The pieces in order are the JSON text, byte for byte; then the stream ends with OK. A step that has no result, as it
     * failed or still runs, is FAILED_PRECONDITION.
     * Safe to repeat: after a lost connection, go on with `offset` at the number of bytes received. Statuses: those of the
     * service; OUT_OF_RANGE where `offset` is past the result's end, DATA_LOSS where what is stored is damaged.
     * </pre>
     */
    public void readStepResult(dev.toolbatch.v1.ReadStepResultRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.ReadStepResultResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getReadStepResultMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists a task's steps, oldest first, a page at a time, without args and results.
     * Statuses: those of the service; INVALID_ARGUMENT for a negative `page_size` and for a `page_token` that was not given
     * out for the same request.
     * </pre>
     */
    public void listSteps(dev.toolbatch.v1.ListStepsRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.ListStepsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListStepsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists what was used, one row per step and unit, priced under the called tool's name, a page at a time. A view over
     * the steps: a call is counted once, whatever was resumed, with what its last attempt reported, and from the moment
     * that it ended.
     * A call whose tool reports no usage has one row, of one of "calls", where it reached its tool or may have: also one
     * that the tool answered with a failure, and one with `outcome_unknown`. A call that was skipped or refused, or whose
     * request never left, has none; nor has a batch's own step.
     * Prices are those of the server's configuration at the time of the request. Statuses: as ListSteps.
     * </pre>
     */
    public void listUsage(dev.toolbatch.v1.ListUsageRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.ListUsageResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListUsageMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists the task's keys and their state, a page at a time. Statuses: as ListSteps; INVALID_ARGUMENT also for an unknown
     * state.
     * </pre>
     */
    public void listKeys(dev.toolbatch.v1.ListKeysRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.ListKeysResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListKeysMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Records what became of a key whose outcome is unknown. For operators. The record says who did it, and when. Every call
     * that comes to the key from then on goes by it, also one of a batch that is running.
     * Landed: the key is COMPLETED, and a later call under it is skipped. The step that ran it is completed with the result
     * given here; the batch that it belongs to keeps its own account, in which the call failed.
     * Not landed: the key is FAILED, and a later call under it runs. As the call never took effect, one with the same tool and
     * args is the same logical call still and has the same idempotency key; one with others has another.
     * A repeat is answered FAILED_PRECONDITION, as the key is settled by then. Also in a task that has ended.
     * Besides the statuses of the service:
     * - PERMISSION_DENIED: the caller is no operator.
     * - NOT_FOUND: also where no call of the task had this key.
     * - INVALID_ARGUMENT: also for a result that is not JSON or is over 64 MiB, and where no fate is given.
     * - FAILED_PRECONDITION: the key's outcome is not unknown; the message says what it is. A key that a call runs under is
     *   RUNNING, whatever became of the call before.
     * </pre>
     */
    public void settleKey(dev.toolbatch.v1.SettleKeyRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.SettleKeyResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSettleKeyMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Streams the task's feed: a card for each step, nested under its batch's card; replayed, then live. A card is sent
     * when its step starts, and again when it ends: the newest of a step holds. A call that is refused before it reaches a
     * tool has the second card only; one that is skipped, as another step did it, or is not run has none, and stands in the
     * summary of its batch's card. A key that is settled brings no card.
     * Every reader gets the same cards: a step's in their order, a batch's first card before those of its calls, and its
     * last one after them. Cards of batches that run side by side come in any order. At most 256 batches are followed at
     * once; what begins beyond that is shown when one of them is over. The stream ends with OK once the task has ended and
     * all its batches are over.
     * Resume with the `resume_token` of the last card seen; safe to repeat. Statuses: those of the service;
     * INVALID_ARGUMENT for a token that was not given out for this task; OUT_OF_RANGE for one that is of a later state than
     * the server's, which was brought back from a backup.
     * </pre>
     */
    public void watchTask(dev.toolbatch.v1.WatchTaskRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.WatchTaskResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getWatchTaskMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service TaskService.
   * <pre>
   * A task's life, its variables, and the record of every step taken in it.
   * A task begins with its first batch, direct step or variable, and belongs to the tenant that began it. Its steps,
   * results, variables and keys are dropped together once the server's retention has passed since it ended, or since its
   * last activity.
   * The statuses are those described at BatchService, with their google.rpc.ErrorInfo. NOT_FOUND answers for a task that
   * has not begun and for a step that does not exist, and with the same text for those of another tenant.
   * </pre>
   */
  public static final class TaskServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<TaskServiceBlockingV2Stub> {
    private TaskServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected TaskServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new TaskServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Ends a task: once this returns, its batches start no further call and are not resumed, and new work in it is refused
     * with FAILED_PRECONDITION. Running calls finish and are recorded. What is on record stays readable.
     * A batch in which a call was left out ends with STOP_REASON_TASK_ENDED. Where the server is interrupted while calls of an
     * ended task are running, the next start closes their batches: those calls fail with IN_DOUBT, whatever the policy.
     * Safe to repeat: an ended task stays as it is, its `reason` too, and the answer is OK. Statuses: those of the service;
     * INVALID_ARGUMENT for a `reason` that breaks its rule.
     * </pre>
     */
    public dev.toolbatch.v1.EndTaskResponse endTask(dev.toolbatch.v1.EndTaskRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getEndTaskMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Stores an output that was made elsewhere under a name that references can use (ExecuteBatchRequest.calls_ref).
     * It is durable once this returns, and a batch that is asked for afterwards finds it. An earlier value under the name is
     * replaced; a batch that was started from it goes on with the list that it had. The task begins with its first variable,
     * if nothing began it before, and counts as active. The record says who stored it, and when.
     * A repeat with a name stores the same once more; one without a name stores it under one name more.
     * Besides the statuses of the service:
     * - INVALID_ARGUMENT: a task id, name or value that breaks its rule. Nothing was recorded.
     * - FAILED_PRECONDITION: the task has ended.
     * - RESOURCE_EXHAUSTED: the server is short of room for new work; a google.rpc.RetryInfo says when to come back.
     * </pre>
     */
    public dev.toolbatch.v1.SetVariableResponse setVariable(dev.toolbatch.v1.SetVariableRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSetVariableMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Gives a step's full record, its result included up to 1 MiB. Statuses: those of the service.
     * </pre>
     */
    public dev.toolbatch.v1.GetStepResponse getStep(dev.toolbatch.v1.GetStepRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetStepMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Streams a step's full result, whatever its size (up to 64 MiB), in pieces that fit into any client's message limit.
     * The pieces in order are the JSON text, byte for byte; then the stream ends with OK. A step that has no result, as it
     * failed or still runs, is FAILED_PRECONDITION.
     * Safe to repeat: after a lost connection, go on with `offset` at the number of bytes received. Statuses: those of the
     * service; OUT_OF_RANGE where `offset` is past the result's end, DATA_LOSS where what is stored is damaged.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, dev.toolbatch.v1.ReadStepResultResponse>
        readStepResult(dev.toolbatch.v1.ReadStepResultRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getReadStepResultMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists a task's steps, oldest first, a page at a time, without args and results.
     * Statuses: those of the service; INVALID_ARGUMENT for a negative `page_size` and for a `page_token` that was not given
     * out for the same request.
     * </pre>
     */
    public dev.toolbatch.v1.ListStepsResponse listSteps(dev.toolbatch.v1.ListStepsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListStepsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists what was used, one row per step and unit, priced under the called tool's name, a page at a time. A view over
     * the steps: a call is counted once, whatever was resumed, with what its last attempt reported, and from the moment
     * that it ended.
     * A call whose tool reports no usage has one row, of one of "calls", where it reached its tool or may have: also one
     * that the tool answered with a failure, and one with `outcome_unknown`. A call that was skipped or refused, or whose
     * request never left, has none; nor has a batch's own step.
     * Prices are those of the server's configuration at the time of the request. Statuses: as ListSteps.
     * </pre>
     */
    public dev.toolbatch.v1.ListUsageResponse listUsage(dev.toolbatch.v1.ListUsageRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListUsageMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the task's keys and their state, a page at a time. Statuses: as ListSteps; INVALID_ARGUMENT also for an unknown
     * state.
     * </pre>
     */
    public dev.toolbatch.v1.ListKeysResponse listKeys(dev.toolbatch.v1.ListKeysRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListKeysMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Records what became of a key whose outcome is unknown. For operators. The record says who did it, and when. Every call
     * that comes to the key from then on goes by it, also one of a batch that is running.
     * Landed: the key is COMPLETED, and a later call under it is skipped. The step that ran it is completed with the result
     * given here; the batch that it belongs to keeps its own account, in which the call failed.
     * Not landed: the key is FAILED, and a later call under it runs. As the call never took effect, one with the same tool and
     * args is the same logical call still and has the same idempotency key; one with others has another.
     * A repeat is answered FAILED_PRECONDITION, as the key is settled by then. Also in a task that has ended.
     * Besides the statuses of the service:
     * - PERMISSION_DENIED: the caller is no operator.
     * - NOT_FOUND: also where no call of the task had this key.
     * - INVALID_ARGUMENT: also for a result that is not JSON or is over 64 MiB, and where no fate is given.
     * - FAILED_PRECONDITION: the key's outcome is not unknown; the message says what it is. A key that a call runs under is
     *   RUNNING, whatever became of the call before.
     * </pre>
     */
    public dev.toolbatch.v1.SettleKeyResponse settleKey(dev.toolbatch.v1.SettleKeyRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSettleKeyMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Streams the task's feed: a card for each step, nested under its batch's card; replayed, then live. A card is sent
     * when its step starts, and again when it ends: the newest of a step holds. A call that is refused before it reaches a
     * tool has the second card only; one that is skipped, as another step did it, or is not run has none, and stands in the
     * summary of its batch's card. A key that is settled brings no card.
     * Every reader gets the same cards: a step's in their order, a batch's first card before those of its calls, and its
     * last one after them. Cards of batches that run side by side come in any order. At most 256 batches are followed at
     * once; what begins beyond that is shown when one of them is over. The stream ends with OK once the task has ended and
     * all its batches are over.
     * Resume with the `resume_token` of the last card seen; safe to repeat. Statuses: those of the service;
     * INVALID_ARGUMENT for a token that was not given out for this task; OUT_OF_RANGE for one that is of a later state than
     * the server's, which was brought back from a backup.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, dev.toolbatch.v1.WatchTaskResponse>
        watchTask(dev.toolbatch.v1.WatchTaskRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getWatchTaskMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service TaskService.
   * <pre>
   * A task's life, its variables, and the record of every step taken in it.
   * A task begins with its first batch, direct step or variable, and belongs to the tenant that began it. Its steps,
   * results, variables and keys are dropped together once the server's retention has passed since it ended, or since its
   * last activity.
   * The statuses are those described at BatchService, with their google.rpc.ErrorInfo. NOT_FOUND answers for a task that
   * has not begun and for a step that does not exist, and with the same text for those of another tenant.
   * </pre>
   */
  public static final class TaskServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<TaskServiceBlockingStub> {
    private TaskServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected TaskServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new TaskServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Ends a task: once this returns, its batches start no further call and are not resumed, and new work in it is refused
     * with FAILED_PRECONDITION. Running calls finish and are recorded. What is on record stays readable.
     * A batch in which a call was left out ends with STOP_REASON_TASK_ENDED. Where the server is interrupted while calls of an
     * ended task are running, the next start closes their batches: those calls fail with IN_DOUBT, whatever the policy.
     * Safe to repeat: an ended task stays as it is, its `reason` too, and the answer is OK. Statuses: those of the service;
     * INVALID_ARGUMENT for a `reason` that breaks its rule.
     * </pre>
     */
    public dev.toolbatch.v1.EndTaskResponse endTask(dev.toolbatch.v1.EndTaskRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getEndTaskMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Stores an output that was made elsewhere under a name that references can use (ExecuteBatchRequest.calls_ref).
     * It is durable once this returns, and a batch that is asked for afterwards finds it. An earlier value under the name is
     * replaced; a batch that was started from it goes on with the list that it had. The task begins with its first variable,
     * if nothing began it before, and counts as active. The record says who stored it, and when.
     * A repeat with a name stores the same once more; one without a name stores it under one name more.
     * Besides the statuses of the service:
     * - INVALID_ARGUMENT: a task id, name or value that breaks its rule. Nothing was recorded.
     * - FAILED_PRECONDITION: the task has ended.
     * - RESOURCE_EXHAUSTED: the server is short of room for new work; a google.rpc.RetryInfo says when to come back.
     * </pre>
     */
    public dev.toolbatch.v1.SetVariableResponse setVariable(dev.toolbatch.v1.SetVariableRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSetVariableMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Gives a step's full record, its result included up to 1 MiB. Statuses: those of the service.
     * </pre>
     */
    public dev.toolbatch.v1.GetStepResponse getStep(dev.toolbatch.v1.GetStepRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetStepMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Streams a step's full result, whatever its size (up to 64 MiB), in pieces that fit into any client's message limit.
     * The pieces in order are the JSON text, byte for byte; then the stream ends with OK. A step that has no result, as it
     * failed or still runs, is FAILED_PRECONDITION.
     * Safe to repeat: after a lost connection, go on with `offset` at the number of bytes received. Statuses: those of the
     * service; OUT_OF_RANGE where `offset` is past the result's end, DATA_LOSS where what is stored is damaged.
     * </pre>
     */
    public java.util.Iterator<dev.toolbatch.v1.ReadStepResultResponse> readStepResult(
        dev.toolbatch.v1.ReadStepResultRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getReadStepResultMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists a task's steps, oldest first, a page at a time, without args and results.
     * Statuses: those of the service; INVALID_ARGUMENT for a negative `page_size` and for a `page_token` that was not given
     * out for the same request.
     * </pre>
     */
    public dev.toolbatch.v1.ListStepsResponse listSteps(dev.toolbatch.v1.ListStepsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListStepsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists what was used, one row per step and unit, priced under the called tool's name, a page at a time. A view over
     * the steps: a call is counted once, whatever was resumed, with what its last attempt reported, and from the moment
     * that it ended.
     * A call whose tool reports no usage has one row, of one of "calls", where it reached its tool or may have: also one
     * that the tool answered with a failure, and one with `outcome_unknown`. A call that was skipped or refused, or whose
     * request never left, has none; nor has a batch's own step.
     * Prices are those of the server's configuration at the time of the request. Statuses: as ListSteps.
     * </pre>
     */
    public dev.toolbatch.v1.ListUsageResponse listUsage(dev.toolbatch.v1.ListUsageRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListUsageMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the task's keys and their state, a page at a time. Statuses: as ListSteps; INVALID_ARGUMENT also for an unknown
     * state.
     * </pre>
     */
    public dev.toolbatch.v1.ListKeysResponse listKeys(dev.toolbatch.v1.ListKeysRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListKeysMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Records what became of a key whose outcome is unknown. For operators. The record says who did it, and when. Every call
     * that comes to the key from then on goes by it, also one of a batch that is running.
     * Landed: the key is COMPLETED, and a later call under it is skipped. The step that ran it is completed with the result
     * given here; the batch that it belongs to keeps its own account, in which the call failed.
     * Not landed: the key is FAILED, and a later call under it runs. As the call never took effect, one with the same tool and
     * args is the same logical call still and has the same idempotency key; one with others has another.
     * A repeat is answered FAILED_PRECONDITION, as the key is settled by then. Also in a task that has ended.
     * Besides the statuses of the service:
     * - PERMISSION_DENIED: the caller is no operator.
     * - NOT_FOUND: also where no call of the task had this key.
     * - INVALID_ARGUMENT: also for a result that is not JSON or is over 64 MiB, and where no fate is given.
     * - FAILED_PRECONDITION: the key's outcome is not unknown; the message says what it is. A key that a call runs under is
     *   RUNNING, whatever became of the call before.
     * </pre>
     */
    public dev.toolbatch.v1.SettleKeyResponse settleKey(dev.toolbatch.v1.SettleKeyRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSettleKeyMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Streams the task's feed: a card for each step, nested under its batch's card; replayed, then live. A card is sent
     * when its step starts, and again when it ends: the newest of a step holds. A call that is refused before it reaches a
     * tool has the second card only; one that is skipped, as another step did it, or is not run has none, and stands in the
     * summary of its batch's card. A key that is settled brings no card.
     * Every reader gets the same cards: a step's in their order, a batch's first card before those of its calls, and its
     * last one after them. Cards of batches that run side by side come in any order. At most 256 batches are followed at
     * once; what begins beyond that is shown when one of them is over. The stream ends with OK once the task has ended and
     * all its batches are over.
     * Resume with the `resume_token` of the last card seen; safe to repeat. Statuses: those of the service;
     * INVALID_ARGUMENT for a token that was not given out for this task; OUT_OF_RANGE for one that is of a later state than
     * the server's, which was brought back from a backup.
     * </pre>
     */
    public java.util.Iterator<dev.toolbatch.v1.WatchTaskResponse> watchTask(
        dev.toolbatch.v1.WatchTaskRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getWatchTaskMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service TaskService.
   * <pre>
   * A task's life, its variables, and the record of every step taken in it.
   * A task begins with its first batch, direct step or variable, and belongs to the tenant that began it. Its steps,
   * results, variables and keys are dropped together once the server's retention has passed since it ended, or since its
   * last activity.
   * The statuses are those described at BatchService, with their google.rpc.ErrorInfo. NOT_FOUND answers for a task that
   * has not begun and for a step that does not exist, and with the same text for those of another tenant.
   * </pre>
   */
  public static final class TaskServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<TaskServiceFutureStub> {
    private TaskServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected TaskServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new TaskServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Ends a task: once this returns, its batches start no further call and are not resumed, and new work in it is refused
     * with FAILED_PRECONDITION. Running calls finish and are recorded. What is on record stays readable.
     * A batch in which a call was left out ends with STOP_REASON_TASK_ENDED. Where the server is interrupted while calls of an
     * ended task are running, the next start closes their batches: those calls fail with IN_DOUBT, whatever the policy.
     * Safe to repeat: an ended task stays as it is, its `reason` too, and the answer is OK. Statuses: those of the service;
     * INVALID_ARGUMENT for a `reason` that breaks its rule.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.toolbatch.v1.EndTaskResponse> endTask(
        dev.toolbatch.v1.EndTaskRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getEndTaskMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Stores an output that was made elsewhere under a name that references can use (ExecuteBatchRequest.calls_ref).
     * It is durable once this returns, and a batch that is asked for afterwards finds it. An earlier value under the name is
     * replaced; a batch that was started from it goes on with the list that it had. The task begins with its first variable,
     * if nothing began it before, and counts as active. The record says who stored it, and when.
     * A repeat with a name stores the same once more; one without a name stores it under one name more.
     * Besides the statuses of the service:
     * - INVALID_ARGUMENT: a task id, name or value that breaks its rule. Nothing was recorded.
     * - FAILED_PRECONDITION: the task has ended.
     * - RESOURCE_EXHAUSTED: the server is short of room for new work; a google.rpc.RetryInfo says when to come back.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.toolbatch.v1.SetVariableResponse> setVariable(
        dev.toolbatch.v1.SetVariableRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSetVariableMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Gives a step's full record, its result included up to 1 MiB. Statuses: those of the service.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.toolbatch.v1.GetStepResponse> getStep(
        dev.toolbatch.v1.GetStepRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetStepMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists a task's steps, oldest first, a page at a time, without args and results.
     * Statuses: those of the service; INVALID_ARGUMENT for a negative `page_size` and for a `page_token` that was not given
     * out for the same request.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.toolbatch.v1.ListStepsResponse> listSteps(
        dev.toolbatch.v1.ListStepsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListStepsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists what was used, one row per step and unit, priced under the called tool's name, a page at a time. A view over
     * the steps: a call is counted once, whatever was resumed, with what its last attempt reported, and from the moment
     * that it ended.
     * A call whose tool reports no usage has one row, of one of "calls", where it reached its tool or may have: also one
     * that the tool answered with a failure, and one with `outcome_unknown`. A call that was skipped or refused, or whose
     * request never left, has none; nor has a batch's own step.
     * Prices are those of the server's configuration at the time of the request. Statuses: as ListSteps.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.toolbatch.v1.ListUsageResponse> listUsage(
        dev.toolbatch.v1.ListUsageRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListUsageMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists the task's keys and their state, a page at a time. Statuses: as ListSteps; INVALID_ARGUMENT also for an unknown
     * state.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.toolbatch.v1.ListKeysResponse> listKeys(
        dev.toolbatch.v1.ListKeysRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListKeysMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Records what became of a key whose outcome is unknown. For operators. The record says who did it, and when. Every call
     * that comes to the key from then on goes by it, also one of a batch that is running.
     * Landed: the key is COMPLETED, and a later call under it is skipped. The step that ran it is completed with the result
     * given here; the batch that it belongs to keeps its own account, in which the call failed.
     * Not landed: the key is FAILED, and a later call under it runs. As the call never took effect, one with the same tool and
     * args is the same logical call still and has the same idempotency key; one with others has another.
     * A repeat is answered FAILED_PRECONDITION, as the key is settled by then. Also in a task that has ended.
     * Besides the statuses of the service:
     * - PERMISSION_DENIED: the caller is no operator.
     * - NOT_FOUND: also where no call of the task had this key.
     * - INVALID_ARGUMENT: also for a result that is not JSON or is over 64 MiB, and where no fate is given.
     * - FAILED_PRECONDITION: the key's outcome is not unknown; the message says what it is. A key that a call runs under is
     *   RUNNING, whatever became of the call before.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.toolbatch.v1.SettleKeyResponse> settleKey(
        dev.toolbatch.v1.SettleKeyRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSettleKeyMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_END_TASK = 0;
  private static final int METHODID_SET_VARIABLE = 1;
  private static final int METHODID_GET_STEP = 2;
  private static final int METHODID_READ_STEP_RESULT = 3;
  private static final int METHODID_LIST_STEPS = 4;
  private static final int METHODID_LIST_USAGE = 5;
  private static final int METHODID_LIST_KEYS = 6;
  private static final int METHODID_SETTLE_KEY = 7;
  private static final int METHODID_WATCH_TASK = 8;

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
        case METHODID_END_TASK:
          serviceImpl.endTask((dev.toolbatch.v1.EndTaskRequest) request,
              (io.grpc.stub.StreamObserver<dev.toolbatch.v1.EndTaskResponse>) responseObserver);
          break;
        case METHODID_SET_VARIABLE:
          serviceImpl.setVariable((dev.toolbatch.v1.SetVariableRequest) request,
              (io.grpc.stub.StreamObserver<dev.toolbatch.v1.SetVariableResponse>) responseObserver);
          break;
        case METHODID_GET_STEP:
          serviceImpl.getStep((dev.toolbatch.v1.GetStepRequest) request,
              (io.grpc.stub.StreamObserver<dev.toolbatch.v1.GetStepResponse>) responseObserver);
          break;
        case METHODID_READ_STEP_RESULT:
          serviceImpl.readStepResult((dev.toolbatch.v1.ReadStepResultRequest) request,
              (io.grpc.stub.StreamObserver<dev.toolbatch.v1.ReadStepResultResponse>) responseObserver);
          break;
        case METHODID_LIST_STEPS:
          serviceImpl.listSteps((dev.toolbatch.v1.ListStepsRequest) request,
              (io.grpc.stub.StreamObserver<dev.toolbatch.v1.ListStepsResponse>) responseObserver);
          break;
        case METHODID_LIST_USAGE:
          serviceImpl.listUsage((dev.toolbatch.v1.ListUsageRequest) request,
              (io.grpc.stub.StreamObserver<dev.toolbatch.v1.ListUsageResponse>) responseObserver);
          break;
        case METHODID_LIST_KEYS:
          serviceImpl.listKeys((dev.toolbatch.v1.ListKeysRequest) request,
              (io.grpc.stub.StreamObserver<dev.toolbatch.v1.ListKeysResponse>) responseObserver);
          break;
        case METHODID_SETTLE_KEY:
          serviceImpl.settleKey((dev.toolbatch.v1.SettleKeyRequest) request,
              (io.grpc.stub.StreamObserver<dev.toolbatch.v1.SettleKeyResponse>) responseObserver);
          break;
        case METHODID_WATCH_TASK:
          serviceImpl.watchTask((dev.toolbatch.v1.WatchTaskRequest) request,
              (io.grpc.stub.StreamObserver<dev.toolbatch.v1.WatchTaskResponse>) responseObserver);
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
          getEndTaskMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.toolbatch.v1.EndTaskRequest,
              dev.toolbatch.v1.EndTaskResponse>(
                service, METHODID_END_TASK)))
        .addMethod(
          getSetVariableMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.toolbatch.v1.SetVariableRequest,
              dev.toolbatch.v1.SetVariableResponse>(
                service, METHODID_SET_VARIABLE)))
        .addMethod(
          getGetStepMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.toolbatch.v1.GetStepRequest,
              dev.toolbatch.v1.GetStepResponse>(
                service, METHODID_GET_STEP)))
        .addMethod(
          getReadStepResultMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.toolbatch.v1.ReadStepResultRequest,
              dev.toolbatch.v1.ReadStepResultResponse>(
                service, METHODID_READ_STEP_RESULT)))
        .addMethod(
          getListStepsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.toolbatch.v1.ListStepsRequest,
              dev.toolbatch.v1.ListStepsResponse>(
                service, METHODID_LIST_STEPS)))
        .addMethod(
          getListUsageMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.toolbatch.v1.ListUsageRequest,
              dev.toolbatch.v1.ListUsageResponse>(
                service, METHODID_LIST_USAGE)))
        .addMethod(
          getListKeysMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.toolbatch.v1.ListKeysRequest,
              dev.toolbatch.v1.ListKeysResponse>(
                service, METHODID_LIST_KEYS)))
        .addMethod(
          getSettleKeyMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.toolbatch.v1.SettleKeyRequest,
              dev.toolbatch.v1.SettleKeyResponse>(
                service, METHODID_SETTLE_KEY)))
        .addMethod(
          getWatchTaskMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.toolbatch.v1.WatchTaskRequest,
              dev.toolbatch.v1.WatchTaskResponse>(
                service, METHODID_WATCH_TASK)))
        .build();
  }

  private static abstract class TaskServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    TaskServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.toolbatch.v1.Task.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("TaskService");
    }
  }

  private static final class TaskServiceFileDescriptorSupplier
      extends TaskServiceBaseDescriptorSupplier {
    TaskServiceFileDescriptorSupplier() {}
  }

  private static final class TaskServiceMethodDescriptorSupplier
      extends TaskServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    TaskServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (TaskServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new TaskServiceFileDescriptorSupplier())
              .addMethod(getEndTaskMethod())
              .addMethod(getSetVariableMethod())
              .addMethod(getGetStepMethod())
              .addMethod(getReadStepResultMethod())
              .addMethod(getListStepsMethod())
              .addMethod(getListUsageMethod())
              .addMethod(getListKeysMethod())
              .addMethod(getSettleKeyMethod())
              .addMethod(getWatchTaskMethod())
              .build();
        }
      }
    }
    return result;
  }
}
