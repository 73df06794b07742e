package dev.toolbatch.backend;

import dev.toolbatch.v1.CallToolRequest;
import dev.toolbatch.v1.CallToolResponse;
import dev.toolbatch.v1.CallToolWithProgressRequest;
import dev.toolbatch.v1.CallToolWithProgressResponse;
import dev.toolbatch.v1.ListToolsRequest;
import dev.toolbatch.v1.ListToolsResponse;
import dev.toolbatch.v1.LookupCallRequest;
import dev.toolbatch.v1.LookupCallResponse;
import dev.toolbatch.v1.ToolProgress;
import dev.toolbatch.v1.ToolServiceGrpc;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.lang.System.Logger.Level;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;

/** Answers a server's calls with the declared tools. */
final class ToolService extends ToolServiceGrpc.ToolServiceImplBase {
  private static final System.Logger LOG = System.getLogger("dev.toolbatch.backend");

  private final Map<String, Tool<?>> tools;
  private final ExecutorService executor;

  ToolService(Map<String, Tool<?>> tools, ExecutorService executor) {
    this.tools = tools;
    this.executor = executor;
  }

  @Override
  public void listTools(ListToolsRequest request, StreamObserver<ListToolsResponse> answer) {
    if (!request.getPageToken().isEmpty()) {
      String message = "page_token: expected none, as all tools are on one page, and found \"%s\"";
      answer.onError(
          Status.INVALID_ARGUMENT
              .withDescription(message.formatted(request.getPageToken()))
              .asRuntimeException());
      return;
    }
    ListToolsResponse.Builder response = ListToolsResponse.newBuilder();
    tools.values().forEach(tool -> response.addTools(tool.toProto()));
    answer.onNext(response.build());
    answer.onCompleted();
  }

  @Override
  public void callTool(CallToolRequest request, StreamObserver<CallToolResponse> answer) {
    start(request.getTool(), answer, response -> response, tool -> call(tool, request, told -> {}));
  }

  @Override
  public void callToolWithProgress(
      CallToolWithProgressRequest request, StreamObserver<CallToolWithProgressResponse> answer) {
    var stream = (ServerCallStreamObserver<CallToolWithProgressResponse>) answer;
    Consumer<ToolProgress> progress =
        told -> {
          synchronized (stream) {
            if (stream.isReady()) {
              stream.onNext(CallToolWithProgressResponse.newBuilder().setProgress(told).build());
            }
          }
        };
    start(
        request.getCall().getTool(),
        answer,
        response -> CallToolWithProgressResponse.newBuilder().setResponse(response).build(),
        tool -> call(tool, request.getCall(), progress));
  }

  @Override
  public void lookupCall(LookupCallRequest request, StreamObserver<LookupCallResponse> answer) {
    start(request.getTool(), answer, response -> response, tool -> lookUp(tool, request));
  }

  private interface Work<R> {
    R on(Tool<?> tool) throws Exception;
  }

  private interface Wrapping<R, M> {
    M wrap(R response);
  }

  /**
   * Does the work on a thread of its own, which is interrupted where the call is cancelled, and
   * answers.
   */
  private <R, M> void start(
      String name, StreamObserver<M> answer, Wrapping<R, M> wrapping, Work<R> work) {
    Tool<?> tool = tools.get(name);
    if (tool == null) {
      answer.onError(
          Status.UNIMPLEMENTED
              .withDescription("there is no tool \"" + name + "\" here")
              .asRuntimeException());
      return;
    }
    // Without it, answering a call that was cancelled would throw.
    ((ServerCallStreamObserver<M>) answer).setOnCancelHandler(() -> {});
    Context context = Context.current();
    FutureTask<R> task = new FutureTask<>(context.wrap((Callable<R>) () -> work.on(tool)));
    Context.CancellationListener interrupt = cancelled -> task.cancel(true);
    context.addListener(interrupt, Runnable::run);
    Runnable whole =
        () -> {
          task.run();
          context.removeListener(interrupt);
          answer(name, answer, wrapping, task);
        };
    try {
      executor.execute(whole);
    } catch (RejectedExecutionException full) {
      // Nothing ran: of all statuses, only this one says so.
      answer.onError(
          Status.UNIMPLEMENTED
              .withDescription("no thread takes the call now")
              .asRuntimeException());
    }
  }

  private static <R, M> void answer(
      String name, StreamObserver<M> answer, Wrapping<R, M> wrapping, FutureTask<R> task) {
    synchronized (answer) {
      try {
        answer.onNext(wrapping.wrap(task.get()));
        answer.onCompleted();
      } catch (java.util.concurrent.CancellationException cancelled) {
        answer.onError(
            Status.CANCELLED.withDescription("the call was cancelled").asRuntimeException());
      } catch (java.util.concurrent.ExecutionException failed) {
        answer.onError(unknown(name, failed.getCause()));
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
        answer.onError(unknown(name, interrupted));
      }
    }
  }

  private static RuntimeException unknown(String name, Throwable thrown) {
    if (thrown instanceof Unimplemented absent) {
      return Status.UNIMPLEMENTED.withDescription(absent.getMessage()).asRuntimeException();
    }
    LOG.log(
        Level.ERROR,
        "the tool " + name + " threw what is no ToolFailure: its outcome is unknown",
        thrown);
    return Status.UNKNOWN
        .withDescription("the tool " + name + " broke off; its log says why")
        .asRuntimeException();
  }

  private static <A> CallToolResponse call(
      Tool<A> tool, CallToolRequest request, Consumer<ToolProgress> progress) throws Exception {
    A args;
    try {
      args = tool.args(request.getArgsJson());
    } catch (IllegalArgumentException misfit) {
      String message =
          "the args of %s do not fit, and nothing ran: %s"
              .formatted(tool.name(), misfit.getMessage());
      return Outcomes.of(new ToolFailure(message, "INVALID_ARGS", false)).build();
    }
    CallContext context = new CallContext(request.getContext(), Context.current(), progress);
    CallToolResponse.Builder response;
    try {
      response = Outcomes.of(tool.call(args, context));
    } catch (ToolFailure failure) {
      response = Outcomes.of(failure);
    }
    return response.addAllUsage(context.used()).build();
  }

  private static <A> LookupCallResponse lookUp(Tool<A> tool, LookupCallRequest request)
      throws Exception {
    if (!tool.hasLookup()) {
      throw new Unimplemented(
          "the tool " + tool.name() + " cannot be asked about earlier attempts");
    }
    CallContext context = new CallContext(request.getContext(), Context.current(), told -> {});
    return tool.lookUp(tool.args(request.getArgsJson()), context).toProto();
  }

  private static final class Unimplemented extends Exception {
    private static final long serialVersionUID = 1L;

    Unimplemented(String message) {
      super(message);
    }
  }
}
