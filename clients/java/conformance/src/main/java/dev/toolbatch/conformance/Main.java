package dev.toolbatch.conformance;

/** The conformance suite's client and backend, by the toolbatch client for Java. */
public final class Main {
  private Main() {}

  public static void main(String[] args) throws Exception {
    if (args.length == 1 && args[0].equals("client")) {
      ClientProgram.run();
    } else if (args.length == 2 && args[0].equals("backend")) {
      BackendProgram.run(args[1]);
    } else {
      System.err.println("usage: run client | run backend HOST:PORT");
      System.exit(2);
    }
  }
}
