package dev.toolbatch.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * The tool backends that calls are dispatched to. For operators.
 * A backend comes from the server's configuration file or from RegisterBackend; only the second kind can be changed here.
 * A tool name is served by one backend only.
 * The statuses are those described at BatchService, with their google.rpc.ErrorInfo; PERMISSION_DENIED where the caller
 * is no operator.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class RegistryServiceGrpc {

  private RegistryServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "toolbatch.v1.RegistryService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.toolbatch.v1.RegisterBackendRequest,
      dev.toolbatch.v1.RegisterBackendResponse> getRegisterBackendMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RegisterBackend",
      requestType = dev.toolbatch.v1.RegisterBackendRequest.class,
      responseType = dev.toolbatch.v1.RegisterBackendResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.toolbatch.v1.RegisterBackendRequest,
      dev.toolbatch.v1.RegisterBackendResponse> getRegisterBackendMethod() {
    io.grpc.MethodDescriptor<dev.toolbatch.v1.RegisterBackendRequest, dev.toolbatch.v1.RegisterBackendResponse> getRegisterBackendMethod;
    if ((getRegisterBackendMethod = RegistryServiceGrpc.getRegisterBackendMethod) == null) {
      synchronized (RegistryServiceGrpc.class) {
        if ((getRegisterBackendMethod = RegistryServiceGrpc.getRegisterBackendMethod) == null) {
          RegistryServiceGrpc.getRegisterBackendMethod = getRegisterBackendMethod =
              io.grpc.MethodDescriptor.<dev.toolbatch.v1.RegisterBackendRequest, dev.toolbatch.v1.RegisterBackendResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RegisterBackend"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.RegisterBackendRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.RegisterBackendResponse.getDefaultInstance()))
              .setSchemaDescriptor(new RegistryServiceMethodDescriptorSupplier("RegisterBackend"))
              .build();
        }
      }
    }
    return getRegisterBackendMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.toolbatch.v1.DeregisterBackendRequest,
      dev.toolbatch.v1.DeregisterBackendResponse> getDeregisterBackendMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeregisterBackend",
      requestType = dev.toolbatch.v1.DeregisterBackendRequest.class,
      responseType = dev.toolbatch.v1.DeregisterBackendResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.toolbatch.v1.DeregisterBackendRequest,
      dev.toolbatch.v1.DeregisterBackendResponse> getDeregisterBackendMethod() {
    io.grpc.MethodDescriptor<dev.toolbatch.v1.DeregisterBackendRequest, dev.toolbatch.v1.DeregisterBackendResponse> getDeregisterBackendMethod;
    if ((getDeregisterBackendMethod = RegistryServiceGrpc.getDeregisterBackendMethod) == null) {
      synchronized (RegistryServiceGrpc.class) {
        if ((getDeregisterBackendMethod = RegistryServiceGrpc.getDeregisterBackendMethod) == null) {
          RegistryServiceGrpc.getDeregisterBackendMethod = getDeregisterBackendMethod =
              io.grpc.MethodDescriptor.<dev.toolbatch.v1.DeregisterBackendRequest, dev.toolbatch.v1.DeregisterBackendResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeregisterBackend"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.DeregisterBackendRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.DeregisterBackendResponse.getDefaultInstance()))
              .setSchemaDescriptor(new RegistryServiceMethodDescriptorSupplier("DeregisterBackend"))
              .build();
        }
      }
    }
    return getDeregisterBackendMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.toolbatch.v1.ListBackendsRequest,
      dev.toolbatch.v1.ListBackendsResponse> getListBackendsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListBackends",
      requestType = dev.toolbatch.v1.ListBackendsRequest.class,
      responseType = dev.toolbatch.v1.ListBackendsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.toolbatch.v1.ListBackendsRequest,
      dev.toolbatch.v1.ListBackendsResponse> getListBackendsMethod() {
    io.grpc.MethodDescriptor<dev.toolbatch.v1.ListBackendsRequest, dev.toolbatch.v1.ListBackendsResponse> getListBackendsMethod;
    if ((getListBackendsMethod = RegistryServiceGrpc.getListBackendsMethod) == null) {
      synchronized (RegistryServiceGrpc.class) {
        if ((getListBackendsMethod = RegistryServiceGrpc.getListBackendsMethod) == null) {
          RegistryServiceGrpc.getListBackendsMethod = getListBackendsMethod =
              io.grpc.MethodDescriptor.<dev.toolbatch.v1.ListBackendsRequest, dev.toolbatch.v1.ListBackendsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListBackends"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.ListBackendsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.toolbatch.v1.ListBackendsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new RegistryServiceMethodDescriptorSupplier("ListBackends"))
              .build();
        }
      }
    }
    return getListBackendsMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static RegistryServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<RegistryServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<RegistryServiceStub>() {
        @java.lang.Override
        public RegistryServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new RegistryServiceStub(channel, callOptions);
        }
      };
    return RegistryServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static RegistryServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<RegistryServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<RegistryServiceBlockingV2Stub>() {
        @java.lang.Override
        public RegistryServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new RegistryServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return RegistryServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static RegistryServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<RegistryServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<RegistryServiceBlockingStub>() {
        @java.lang.Override
        public RegistryServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new RegistryServiceBlockingStub(channel, callOptions);
        }
      };
    return RegistryServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static RegistryServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<RegistryServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<RegistryServiceFutureStub>() {
        @java.lang.Override
        public RegistryServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new RegistryServiceFutureStub(channel, callOptions);
        }
      };
    return RegistryServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * The tool backends that calls are dispatched to. For operators.
   * A backend comes from the server's configuration file or from RegisterBackend; only the second kind can be changed here.
   * A tool name is served by one backend only.
   * The statuses are those described at BatchService, with their google.rpc.ErrorInfo; PERMISSION_DENIED where the caller
   * is no operator.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Adds a backend, or replaces the one of that name; it outlives restarts. Its tools are listed before this returns.
     * Calls in flight end on their old connection, later ones use the new. Safe to repeat with the same content.
     * Besides the statuses of the service:
     * - INVALID_ARGUMENT: a field breaks its rule; a google.rpc.BadRequest lists all violations. Also a tool, which the message
     *   names, whose input schema cannot be used, or whose name is not 1 to 256 printable ASCII characters.
     * - PERMISSION_DENIED: also an address outside of what the configuration lets registrations point to.
     * - ALREADY_EXISTS: another backend serves a tool of the same name.
     * - FAILED_PRECONDITION: the backend of that name came from the configuration file, or the address leads back to this
     *   server.
     * - UNAVAILABLE: the backend could not be reached to list its tools.
     * </pre>
     */
    default void registerBackend(dev.toolbatch.v1.RegisterBackendRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.RegisterBackendResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRegisterBackendMethod(), responseObserver);
    }

    /**
     * <pre>
     * Removes a registered backend. Its calls in flight end; later calls of its tools fail with TOOL_NOT_FOUND.
     * Besides the statuses of the service:
     * - NOT_FOUND: there is no backend of that name.
     * - FAILED_PRECONDITION: it came from the configuration file.
     * </pre>
     */
    default void deregisterBackend(dev.toolbatch.v1.DeregisterBackendRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.DeregisterBackendResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeregisterBackendMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists the backends by name, a page at a time, with their health and tools.
     * Statuses: those of the service; INVALID_ARGUMENT for a negative `page_size` and for a `page_token` that was not given
     * out here.
     * </pre>
     */
    default void listBackends(dev.toolbatch.v1.ListBackendsRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.ListBackendsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListBackendsMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service RegistryService.
   * <pre>
   * The tool backends that calls are dispatched to. For operators.
   * A backend comes from the server's configuration file or from RegisterBackend; only the second kind can be changed here.
   * A tool name is served by one backend only.
   * The statuses are those described at BatchService, with their google.rpc.ErrorInfo; PERMISSION_DENIED where the caller
   * is no operator.
   * </pre>
   */
  public static abstract class RegistryServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return RegistryServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service RegistryService.
   * <pre>
   * The tool backends that calls are dispatched to. For operators.
   * A backend comes from the server's configuration file or from RegisterBackend; only the second kind can be changed here.
   * A tool name is served by one backend only.
   * The statuses are those described at BatchService, with their google.rpc.ErrorInfo; PERMISSION_DENIED where the caller
   * is no operator.
   * </pre>
   */
  public static final class RegistryServiceStub
      extends io.grpc.stub.AbstractAsyncStub<RegistryServiceStub> {
    private RegistryServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected RegistryServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new RegistryServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Adds a backend, or replaces the one of that name; it outlives restarts. Its tools are listed before this returns.
     * Calls in flight end on their old connection, later ones use the new. Safe to repeat with the same content.
     * Besides the statuses of the service:
     * - INVALID_ARGUMENT: a field breaks its rule; a google.rpc.BadRequest lists all violations. Also a tool, which the message
     *   names, whose input schema cannot be used, or whose name is not 1 to 256 printable ASCII characters.
     * - PERMISSION_DENIED: also an address outside of what the configuration lets registrations point to.
     * - ALREADY_EXISTS: another backend serves a tool of the same name.
     * - FAILED_PRECONDITION: the backend of that name came from the configuration file, or the address leads back to this
     *   server.
     * - UNAVAILABLE: the backend could not be reached to list its tools.
     * </pre>
     */
    public void registerBackend(dev.toolbatch.v1.RegisterBackendRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.RegisterBackendResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRegisterBackendMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Removes a registered backend. Its calls in flight end; later calls of its tools fail with TOOL_NOT_FOUND.
     * Besides the statuses of the service:
     * - NOT_FOUND: there is no backend of that name.
     * - FAILED_PRECONDITION: it came from the configuration file.
     * </pre>
     */
    public void deregisterBackend(dev.toolbatch.v1.DeregisterBackendRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.DeregisterBackendResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeregisterBackendMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists the backends by name, a page at a time, with their health and tools.
     * Statuses: those of the service; INVALID_ARGUMENT for a negative `page_size` and for a `page_token` that was not given
     * out here.
     * </pre>
     */
    public void listBackends(dev.toolbatch.v1.ListBackendsRequest request,
        io.grpc.stub.StreamObserver<dev.toolbatch.v1.ListBackendsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListBackendsMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service RegistryService.
   * <pre>
   * The tool backends that calls are dispatched to. For operators.
   * A backend comes from the server's configuration file or from RegisterBackend; only the second kind can be changed here.
   * A tool name is served by one backend only.
   * The statuses are those described at BatchService, with their google.rpc.ErrorInfo; PERMISSION_DENIED where the caller
   * is no operator.
   * </pre>
   */
  public static final class RegistryServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<RegistryServiceBlockingV2Stub> {
    private RegistryServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected RegistryServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new RegistryServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Adds a backend, or replaces the one of that name; it outlives restarts. Its tools are listed before this returns.
     * Calls in flight end on their old connection, later ones use the new. Safe to repeat with the same content.
     * Besides the statuses of the service:
     * - INVALID_ARGUMENT: a field breaks its rule; a google.rpc.BadRequest lists all violations. Also a tool, which the message
     *   names, whose input schema cannot be used, or whose name is not 1 to 256 printable ASCII characters.
     * - PERMISSION_DENIED: also an address outside of what the configuration lets registrations point to.
     * - ALREADY_EXISTS: another backend serves a tool of the same name.
     * - FAILED_PRECONDITION: the backend of that name came from the configuration file, or the address leads back to this
     *   server.
     * - UNAVAILABLE: the backend could not be reached to list its tools.
     * </pre>
     */
    public dev.toolbatch.v1.RegisterBackendResponse registerBackend(dev.toolbatch.v1.RegisterBackendRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRegisterBackendMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes a registered backend. Its calls in flight end; later calls of its tools fail with TOOL_NOT_FOUND.
     * Besides the statuses of the service:
     * - NOT_FOUND: there is no backend of that name.
     * - FAILED_PRECONDITION: it came from the configuration file.
     * </pre>
     */
    public dev.toolbatch.v1.DeregisterBackendResponse deregisterBackend(dev.toolbatch.v1.DeregisterBackendRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeregisterBackendMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the backends by name, a page at a time, with their health and tools.
     * Statuses: those of the service; INVALID_ARGUMENT for a negative `page_size` and for a `page_token` that was not given
     * out here.
     * </pre>
     */
    public dev.toolbatch.v1.ListBackendsResponse listBackends(dev.toolbatch.v1.ListBackendsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListBackendsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service RegistryService.
   * <pre>
   * The tool backends that calls are dispatched to. For operators.
   * A backend comes from the server's configuration file or from RegisterBackend; only the second kind can be changed here.
   * A tool name is served by one backend only.
   * The statuses are those described at BatchService, with their google.rpc.ErrorInfo; PERMISSION_DENIED where the caller
   * is no operator.
   * </pre>
   */
  public static final class RegistryServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<RegistryServiceBlockingStub> {
    private RegistryServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected RegistryServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new RegistryServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Adds a backend, or replaces the one of that name; it outlives restarts. Its tools are listed before this returns.
     * Calls in flight end on their old connection, later ones use the new. Safe to repeat with the same content.
     * Besides the statuses of the service:
     * - INVALID_ARGUMENT: a field breaks its rule; a google.rpc.BadRequest lists all violations. Also a tool, which the message
     *   names, whose input schema cannot be used, or whose name is not 1 to 256 printable ASCII characters.
     * - PERMISSION_DENIED: also an address outside of what the configuration lets registrations point to.
     * - ALREADY_EXISTS: another backend serves a tool of the same name.
     * - FAILED_PRECONDITION: the backend of that name came from the configuration file, or the address leads back to this
     *   server.
     * - UNAVAILABLE: the backend could not be reached to list its tools.
     * </pre>
     */
    public dev.toolbatch.v1.RegisterBackendResponse registerBackend(dev.toolbatch.v1.RegisterBackendRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRegisterBackendMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes a registered backend. Its calls in flight end; later calls of its tools fail with TOOL_NOT_FOUND.
     * Besides the statuses of the service:
     * - NOT_FOUND: there is no backend of that name.
     * - FAILED_PRECONDITION: it came from the configuration file.
     * </pre>
     */
    public dev.toolbatch.v1.DeregisterBackendResponse deregisterBackend(dev.toolbatch.v1.DeregisterBackendRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeregisterBackendMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the backends by name, a page at a time, with their health and tools.
     * Statuses: those of the service; INVALID_ARGUMENT for a negative `page_size` and for a `page_token` that was not given
     * out here.
     * </pre>
     */
    public dev.toolbatch.v1.ListBackendsResponse listBackends(dev.toolbatch.v1.ListBackendsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListBackendsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service RegistryService.
   * <pre>
   * The tool backends that calls are dispatched to. For operators.
   * A backend comes from the server's configuration file or from RegisterBackend; only the second kind can be changed here.
   * A tool name is served by one backend only.
   * The statuses are those described at BatchService, with their google.rpc.ErrorInfo; PERMISSION_DENIED where the caller
   * is no operator.
   * </pre>
   */
  public static final class RegistryServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<RegistryServiceFutureStub> {
    private RegistryServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected RegistryServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new RegistryServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Adds a backend, or replaces the one of that name; it outlives restarts. Its tools are listed before this returns.
     * Calls in flight end on their old connection, later ones use the new. Safe to repeat with the same content.
     * Besides the statuses of the service:
     * - INVALID_ARGUMENT: a field breaks its rule; a google.rpc.BadRequest lists all violations. Also a tool, which the message
     *   names, whose input schema cannot be used, or whose name is not 1 to 256 printable ASCII characters.
     * - PERMISSION_DENIED: also an address outside of what the configuration lets registrations point to.
     * - ALREADY_EXISTS: another backend serves a tool of the same name.
     * - FAILED_PRECONDITION: the backend of that name came from the configuration file, or the address leads back to this
     *   server.
     * - UNAVAILABLE: the backend could not be reached to list its tools.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.toolbatch.v1.RegisterBackendResponse> registerBackend(
        dev.toolbatch.v1.RegisterBackendRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRegisterBackendMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Removes a registered backend. Its calls in flight end; later calls of its tools fail with TOOL_NOT_FOUND.
     * Besides the statuses of the service:
     * - NOT_FOUND: there is no backend of that name.
     * - FAILED_PRECONDITION: it came from the configuration file.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.toolbatch.v1.DeregisterBackendResponse> deregisterBackend(
        dev.toolbatch.v1.DeregisterBackendRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeregisterBackendMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists the backends by name, a page at a time, with their health and tools.
     * Statuses: those of the service; INVALID_ARGUMENT for a negative `page_size` and for a `page_token` that was not given
     * out here.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.toolbatch.v1.ListBackendsResponse> listBackends(
        dev.toolbatch.v1.ListBackendsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListBackendsMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_REGISTER_BACKEND = 0;
  private static final int METHODID_DEREGISTER_BACKEND = 1;
  private static final int METHODID_LIST_BACKENDS = 2;

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
        case METHODID_REGISTER_BACKEND:
          serviceImpl.registerBackend((dev.toolbatch.v1.RegisterBackendRequest) request,
              (io.grpc.stub.StreamObserver<dev.toolbatch.v1.RegisterBackendResponse>) responseObserver);
          break;
        case METHODID_DEREGISTER_BACKEND:
          serviceImpl.deregisterBackend((dev.toolbatch.v1.DeregisterBackendRequest) request,
              (io.grpc.stub.StreamObserver<dev.toolbatch.v1.DeregisterBackendResponse>) responseObserver);
          break;
        case METHODID_LIST_BACKENDS:
          serviceImpl.listBackends((dev.toolbatch.v1.ListBackendsRequest) request,
              (io.grpc.stub.StreamObserver<dev.toolbatch.v1.ListBackendsResponse>) responseObserver);
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
          getRegisterBackendMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.toolbatch.v1.RegisterBackendRequest,
              dev.toolbatch.v1.RegisterBackendResponse>(
                service, METHODID_REGISTER_BACKEND)))
        .addMethod(
          getDeregisterBackendMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.toolbatch.v1.DeregisterBackendRequest,
              dev.toolbatch.v1.DeregisterBackendResponse>(
                service, METHODID_DEREGISTER_BACKEND)))
        .addMethod(
          getListBackendsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.toolbatch.v1.ListBackendsRequest,
              dev.toolbatch.v1.ListBackendsResponse>(
                service, METHODID_LIST_BACKENDS)))
        .build();
  }

  private static abstract class RegistryServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    RegistryServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.toolbatch.v1.Registry.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("RegistryService");
    }
  }

  private static final class RegistryServiceFileDescriptorSupplier
      extends RegistryServiceBaseDescriptorSupplier {
    RegistryServiceFileDescriptorSupplier() {}
  }

  private static final class RegistryServiceMethodDescriptorSupplier
      extends RegistryServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    RegistryServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (RegistryServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new RegistryServiceFileDescriptorSupplier())
              .addMethod(getRegisterBackendMethod())
              .addMethod(getDeregisterBackendMethod())
              .addMethod(getListBackendsMethod())
              .build();
        }
      }
    }
    return result;
  }
}
