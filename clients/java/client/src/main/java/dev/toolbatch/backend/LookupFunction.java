package dev.toolbatch.backend;

/**
 * Tells what became of an earlier attempt.
 *
 * @param <A> the type of the tool's arguments
 */
@FunctionalInterface
public interface LookupFunction<A> {
  /**
   * Looks an attempt up. It changes nothing and is safe to repeat.
   *
   * @param args the arguments, as the attempt had them
   * @param context the attempt's; {@link CallContext#idempotencyKey()} names the logical call
   * @return what became of it
   * @throws Exception where that cannot be told
   */
  Fate lookUp(A args, CallContext context) throws Exception;
}
