package dev.toolbatch.backend;

import dev.toolbatch.v1.LookupCallResponse;

/** What became of an earlier attempt of a call. */
public final class Fate {
  private static final Fate NOT_LANDED =
      new Fate(
          LookupCallResponse.newBuilder()
              .setNotLanded(LookupCallResponse.NotLanded.getDefaultInstance())
              .build());
  private static final Fate UNKNOWN =
      new Fate(
          LookupCallResponse.newBuilder()
              .setUnknown(LookupCallResponse.Unknown.getDefaultInstance())
              .build());

  private final LookupCallResponse response;

  private Fate(LookupCallResponse response) {
    this.response = response;
  }

  /**
   * It took effect.
   *
   * @param result its result, as the function would have returned it
   * @return the fate
   * @throws IllegalArgumentException where the result cannot be written as JSON
   */
  public static Fate landed(Object result) {
    return new Fate(LookupCallResponse.newBuilder().setLanded(Outcomes.of(result)).build());
  }

  /**
   * It failed for certain.
   *
   * @param failure as the function would have thrown it
   * @return the fate
   */
  public static Fate failed(ToolFailure failure) {
    return new Fate(LookupCallResponse.newBuilder().setLanded(Outcomes.of(failure)).build());
  }

  /**
   * It never took effect and never will: running it is safe.
   *
   * @return the fate
   */
  public static Fate notLanded() {
    return NOT_LANDED;
  }

  /**
   * That cannot be told.
   *
   * @return the fate
   */
  public static Fate unknown() {
    return UNKNOWN;
  }

  LookupCallResponse toProto() {
    return response;
  }
}
