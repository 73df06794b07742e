package dev.toolbatch.backend;

import java.lang.reflect.Proxy;

/**
 * Handles SIGTERM and SIGINT, so that a program can end by itself and with its own code; the JVM's
 * own way is to exit with 143 and 130. {@code sun.misc.Signal} is no part of Java SE, hence it is
 * looked for by name.
 */
final class Signals implements AutoCloseable {
  private static final String[] NAMES = {"TERM", "INT"};

  private final Object[] earlier = new Object[NAMES.length];

  private Signals() {}

  /** Runs the task at each signal; null where this JVM cannot. */
  static Signals handle(Runnable task) {
    try {
      Class<?> handler = Class.forName("sun.misc.SignalHandler");
      Object proxy =
          Proxy.newProxyInstance(
              Signals.class.getClassLoader(),
              new Class<?>[] {handler},
              (self, method, args) ->
                  switch (method.getName()) {
                    case "handle" -> {
                      task.run();
                      yield null;
                    }
                    case "equals" -> self == args[0];
                    case "hashCode" -> System.identityHashCode(self);
                    default -> "toolbatch's signal handler";
                  });
      Signals signals = new Signals();
      for (int at = 0; at < NAMES.length; at++) {
        signals.earlier[at] = set(NAMES[at], proxy);
      }
      return signals;
    } catch (ReflectiveOperationException absent) {
      return null;
    }
  }

  /** Gives the signals back to who had them. */
  @Override
  public void close() {
    for (int at = 0; at < NAMES.length; at++) {
      try {
        set(NAMES[at], earlier[at]);
      } catch (ReflectiveOperationException absent) {
        throw new IllegalStateException(
            "a signal that could be handled cannot be given back", absent);
      }
    }
  }

  private static Object set(String name, Object handler) throws ReflectiveOperationException {
    Class<?> signal = Class.forName("sun.misc.Signal");
    Class<?> handlers = Class.forName("sun.misc.SignalHandler");
    Object named = signal.getConstructor(String.class).newInstance(name);
    return signal.getMethod("handle", signal, handlers).invoke(null, named, handler);
  }
}
