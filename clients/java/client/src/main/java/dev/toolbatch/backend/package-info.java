/**
 * Makes Java functions tools that a toolbatch server calls.
 *
 * <p>{@link dev.toolbatch.backend.ToolBackend} serves them, and {@link
 * dev.toolbatch.backend.CallContext} is what a function learns about its call.
 */
package dev.toolbatch.backend;
