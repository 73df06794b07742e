package dev.toolbatch;

import com.google.protobuf.Timestamp;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;

/** Between the contract's times and Java's. */
final class Times {
  private Times() {}

  /** The longest there is where it is longer. */
  static Duration of(com.google.protobuf.Duration duration) {
    try {
      return Duration.ofSeconds(duration.getSeconds(), duration.getNanos());
    } catch (ArithmeticException beyond) {
      return Duration.ofSeconds(duration.getSeconds());
    }
  }

  /** The first or last that there is where it lies beyond. */
  static Instant of(Timestamp time) {
    try {
      return Instant.ofEpochSecond(time.getSeconds(), time.getNanos());
    } catch (DateTimeException | ArithmeticException beyond) {
      return time.getSeconds() < 0 ? Instant.MIN : Instant.MAX;
    }
  }

  static com.google.protobuf.Duration toProto(Duration duration) {
    return com.google.protobuf.Duration.newBuilder()
        .setSeconds(duration.getSeconds())
        .setNanos(duration.getNano())
        .build();
  }

  /** In nanoseconds, the longest that fit where it is longer. */
  static long nanos(Duration duration) {
    try {
      return duration.toNanos();
    } catch (ArithmeticException tooLong) {
      return Long.MAX_VALUE / 4;
    }
  }

  /** For people: in seconds where they are whole, else in milliseconds. */
  static String text(Duration duration) {
    boolean whole = duration.getNano() == 0;
    return whole ? duration.getSeconds() + " s" : duration.toMillis() + " ms";
  }

  static Duration requirePositive(Duration duration, String what) {
    if (duration.isZero() || duration.isNegative()) {
      throw new IllegalArgumentException(what + " has to be above zero, but is " + duration);
    }
    return duration;
  }
}
