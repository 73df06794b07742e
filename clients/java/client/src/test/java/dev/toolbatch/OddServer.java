package dev.toolbatch;

import dev.toolbatch.v1.BatchServiceGrpc;
import dev.toolbatch.v1.CallToolRequest;
import dev.toolbatch.v1.CallToolResponse;
import dev.toolbatch.v1.CancelBatchRequest;
import dev.toolbatch.v1.CancelBatchResponse;
import dev.toolbatch.v1.ExecuteBatchRequest;
import dev.toolbatch.v1.ExecuteBatchResponse;
import dev.toolbatch.v1.ListUsageRequest;
import dev.toolbatch.v1.ListUsageResponse;
import dev.toolbatch.v1.SetVariableRequest;
import dev.toolbatch.v1.SetVariableResponse;
import dev.toolbatch.v1.TaskServiceGrpc;
import dev.toolbatch.v1.ToolServiceGrpc;
import dev.toolbatch.v1.UsageRow;
import dev.toolbatch.v1.WatchBatchRequest;
import dev.toolbatch.v1.WatchBatchResponse;
import io.grpc.Server;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Answers as the real server never does. */
final class OddServer implements AutoCloseable {
  private static final long PAGE_MILLIS = 20;

  private final List<String> asked = Collections.synchronizedList(new ArrayList<>());
  private final Deque<List<dev.toolbatch.v1.BatchEvent>> streams = new ArrayDeque<>();
  private final StatusRuntimeException refusal;
  private final Server server;

  /** One that answers each stream with the next of these, and other requests with the refusal. */
  OddServer(List<List<dev.toolbatch.v1.BatchEvent>> streams, StatusRuntimeException refusal)
      throws IOException {
    this.streams.addAll(streams);
    this.refusal = refusal;
    this.server =
        NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0))
            .addService(new Batches())
            .addService(new Tasks())
            .addService(new Tools())
            .build()
            .start();
  }

  ToolbatchClient client() {
    return ToolbatchClient.builder().server("http://127.0.0.1:" + server.getPort()).build();
  }

  /** What came, in its order. */
  List<String> asked() {
    synchronized (asked) {
      return List.copyOf(asked);
    }
  }

  @Override
  public void close() {
    server.shutdownNow();
  }

  private synchronized List<dev.toolbatch.v1.BatchEvent> next(String request) {
    asked.add(request);
    return streams.isEmpty() ? List.of() : streams.pop();
  }

  private void refuse(String request, StreamObserver<?> answer) {
    asked.add(request);
    answer.onError(refusal);
  }

  private final class Batches extends BatchServiceGrpc.BatchServiceImplBase {
    @Override
    public void executeBatch(
        ExecuteBatchRequest request, StreamObserver<ExecuteBatchResponse> answer) {
      for (var event : next("execute " + request.getBatchId())) {
        answer.onNext(ExecuteBatchResponse.newBuilder().setEvent(event).build());
      }
      answer.onCompleted();
    }

    @Override
    public void watchBatch(WatchBatchRequest request, StreamObserver<WatchBatchResponse> answer) {
      for (var event : next("watch after " + request.getAfterSequence())) {
        answer.onNext(WatchBatchResponse.newBuilder().setEvent(event).build());
      }
      answer.onCompleted();
    }

    @Override
    public void cancelBatch(
        CancelBatchRequest request, StreamObserver<CancelBatchResponse> answer) {
      refuse("cancel", answer);
    }
  }

  private final class Tasks extends TaskServiceGrpc.TaskServiceImplBase {
    @Override
    public void setVariable(
        SetVariableRequest request, StreamObserver<SetVariableResponse> answer) {
      refuse("set", answer);
    }

    /** Pages that never end. */
    @Override
    public void listUsage(ListUsageRequest request, StreamObserver<ListUsageResponse> answer) {
      CountDownLatch never = new CountDownLatch(1);
      try {
        never.await(PAGE_MILLIS, TimeUnit.MILLISECONDS);
      } catch (InterruptedException stopped) {
        Thread.currentThread().interrupt();
      }
      answer.onNext(
          ListUsageResponse.newBuilder()
              .addRows(UsageRow.getDefaultInstance())
              .setNextPageToken("more")
              .build());
      answer.onCompleted();
    }
  }

  private final class Tools extends ToolServiceGrpc.ToolServiceImplBase {
    @Override
    public void callTool(CallToolRequest request, StreamObserver<CallToolResponse> answer) {
      refuse("call", answer);
    }
  }
}
