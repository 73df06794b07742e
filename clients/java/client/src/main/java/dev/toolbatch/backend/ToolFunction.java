package dev.toolbatch.backend;

/**
 * What a tool does.
 *
 * @param <A> the type of its arguments
 */
@FunctionalInterface
public interface ToolFunction<A> {
  /**
   * Runs one attempt of one call. Where the call is cancelled or takes longer than its timeout, the
   * thread is interrupted.
   *
   * @param args the arguments
   * @param context where the call belongs, and what it can tell on the way
   * @return the result: null, text, a number, a map, a record or whatever else is written as JSON;
   *     a {@link dev.toolbatch.RawJson}, which goes byte for byte; or an {@link Awaiting}. At most
   *     64 MiB as text
   * @throws ToolFailure where the tool knows that it did not do it
   * @throws Exception where that is not certain: the call's outcome is unknown, and the exception
   *     is logged and not sent
   */
  Object call(A args, CallContext context) throws Exception;
}
