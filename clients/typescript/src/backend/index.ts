export { Backend } from "./backend.js";
export type { Progress, ToolContext } from "./context.js";
export type { ToolDeclaration, ToolFunction } from "./declaration.js";
export { type Awaiting, awaiting, type Fate, landed, notLanded, ToolFailure, type ToolResult } from "./outcome.js";
export type { RunningBackend, ServeOptions } from "./server.js";
export type { ErrorListener } from "./service.js";
