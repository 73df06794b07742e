package dev.toolbatch.backend;

import com.fasterxml.jackson.databind.JsonNode;
import dev.toolbatch.Json;
import dev.toolbatch.RawJson;
import java.time.Duration;
import java.util.Objects;

/**
 * A function, declared as a tool.
 *
 * @param <A> the type of its arguments
 */
public final class Tool<A> {
  private static final int NAME_MAX = 256;

  private final dev.toolbatch.v1.Tool proto;
  private final Class<A> type;
  private final ToolFunction<A> function;
  private final LookupFunction<A> lookup;

  private Tool(Builder<A> from) {
    this.proto = from.proto.build();
    this.type = from.type;
    this.function = from.function;
    this.lookup = from.lookup;
  }

  /**
   * Begins a declaration.
   *
   * @param <A> the type of the arguments
   * @param name 1 to 256 printable ASCII characters, single blanks inside at most
   * @param type a record or class that Jackson makes from the arguments, {@link JsonNode} for any,
   *     or {@link RawJson} for their text
   * @param function what the tool does
   * @return a builder
   * @throws IllegalArgumentException where the name cannot be a tool's
   */
  public static <A> Builder<A> builder(String name, Class<A> type, ToolFunction<A> function) {
    return new Builder<>(name, type, function);
  }

  /**
   * The tool's name.
   *
   * @return as calls name it
   */
  public String name() {
    return proto.getName();
  }

  dev.toolbatch.v1.Tool toProto() {
    return proto;
  }

  boolean hasLookup() {
    return lookup != null;
  }

  Object call(A args, CallContext context) throws Exception {
    return function.call(args, context);
  }

  Fate lookUp(A args, CallContext context) throws Exception {
    return lookup.lookUp(args, context);
  }

  /** Throws IllegalArgumentException where the text does not fit the type. */
  A args(String text) {
    String object = text.isBlank() ? "{}" : text;
    return type == RawJson.class ? type.cast(new RawJson(object)) : Json.read(object, type);
  }

  /**
   * Declares a tool, step by step.
   *
   * @param <A> the type of its arguments
   */
  public static final class Builder<A> {
    private final dev.toolbatch.v1.Tool.Builder proto = dev.toolbatch.v1.Tool.newBuilder();
    private final Class<A> type;
    private final ToolFunction<A> function;
    private LookupFunction<A> lookup;

    private Builder(String name, Class<A> type, ToolFunction<A> function) {
      this.type = Objects.requireNonNull(type, "type");
      this.function = Objects.requireNonNull(function, "function");
      proto.setName(requireName(name));
    }

    /**
     * Says what the tool is for.
     *
     * @param text for models and people
     * @return this
     */
    public Builder<A> description(String text) {
      proto.setDescription(text);
      return this;
    }

    /**
     * Says what its arguments are. The server checks them before it calls.
     *
     * @param json a JSON Schema of an object, as text; left out, any object
     * @return this
     * @throws IllegalArgumentException where the text is no JSON object
     */
    public Builder<A> schema(String json) {
      JsonNode parsed = Json.parse(json);
      if (!parsed.isObject()) {
        throw new IllegalArgumentException(
            "the schema of %s has to be a JSON object, but is %s".formatted(proto.getName(), json));
      }
      proto.setInputSchemaJson(json);
      return this;
    }

    /**
     * Says that it can stop an agent or wait for a person or another agent, so that no batch may
     * call it.
     *
     * @return this
     */
    public Builder<A> pauses() {
      proto.setPauses(true);
      return this;
    }

    /**
     * Says that it tells how far it is, by {@link CallContext#progress(double, double, String)}.
     *
     * @return this
     */
    public Builder<A> reportsProgress() {
      proto.setReportsProgress(true);
      return this;
    }

    /**
     * Bounds one attempt, where the batch does not.
     *
     * @param duration above zero; left out, the server's
     * @return this
     * @throws IllegalArgumentException where it is not above zero
     */
    public Builder<A> timeout(Duration duration) {
      if (duration.isZero() || duration.isNegative()) {
        throw new IllegalArgumentException(
            "the timeout of %s has to be above zero, but is %s"
                .formatted(proto.getName(), duration));
      }
      proto.getTimeoutBuilder().setSeconds(duration.getSeconds()).setNanos(duration.getNano());
      return this;
    }

    /**
     * Tells what became of earlier attempts; with it, a batch whose policy is {@link
     * dev.toolbatch.InDoubtPolicy#LOOKUP} repeats nothing.
     *
     * @param function looks one up
     * @return this
     */
    public Builder<A> lookup(LookupFunction<A> function) {
      lookup = Objects.requireNonNull(function, "function");
      return this;
    }

    /**
     * Ends the declaration.
     *
     * @return the tool
     */
    public Tool<A> build() {
      return new Tool<>(this);
    }

    private static String requireName(String name) {
      boolean fits =
          !name.isEmpty()
              && name.length() <= NAME_MAX
              && name.chars().allMatch(unit -> unit >= ' ' && unit < 0x7f)
              && !name.startsWith(" ")
              && !name.endsWith(" ")
              && !name.contains("  ");
      if (!fits) {
        throw new IllegalArgumentException(
            "a tool's name has to be 1 to 256 printable ASCII characters with single blanks inside at most, but is \"%s\""
                .formatted(name));
      }
      return name;
    }
  }
}
