package dev.toolbatch;

import io.grpc.MethodDescriptor;
import io.grpc.stub.ClientCalls;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Function;

/** Requests with one answer, and those whose answer comes in pages. */
final class Requests {
  private final Connection connection;
  private final Duration deadline;

  Requests(Connection connection, Duration deadline) {
    this.connection = connection;
    this.deadline = deadline;
  }

  /** Asks until it is answered: for what is safe to repeat. */
  <Q, A> A read(MethodDescriptor<Q, A> method, Q request, String what) {
    return ask(attempts(what), method, request);
  }

  /** Asks for one page after the other; the deadline is over all of them. */
  <Q, A> void readPages(
      MethodDescriptor<Q, A> method,
      Function<String, Q> request,
      Function<A, String> nextToken,
      Consumer<A> page,
      String what) {
    Attempts attempts = attempts(what);
    String token = "";
    do {
      A answer = ask(attempts, method, request.apply(token));
      attempts.progressed();
      page.accept(answer);
      token = nextToken.apply(answer);
    } while (!token.isEmpty());
  }

  /** Asks once: for what must not be repeated. */
  <Q, A> A once(MethodDescriptor<Q, A> method, Q request, String what) {
    return attempts(what)
        .once(
            (channel, options) -> ClientCalls.blockingUnaryCall(channel, method, options, request));
  }

  private Attempts attempts(String what) {
    return new Attempts(connection, deadline, what);
  }

  private static <Q, A> A ask(Attempts attempts, MethodDescriptor<Q, A> method, Q request) {
    return attempts.repeated(
        (channel, options) -> ClientCalls.blockingUnaryCall(channel, method, options, request));
  }
}
