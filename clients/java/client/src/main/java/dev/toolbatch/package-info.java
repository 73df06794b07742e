/**
 * Runs batches of tool calls on a toolbatch server.
 *
 * <p>{@link dev.toolbatch.ToolbatchClient} connects and runs, {@link dev.toolbatch.Batch} says what
 * to run, and {@link dev.toolbatch.EventStream} gives the {@linkplain dev.toolbatch.BatchEvent
 * events} as they come.
 */
package dev.toolbatch;
