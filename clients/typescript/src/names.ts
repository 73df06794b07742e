import { BatchMode, BatchStatus, CallErrorReason, CallStatus, InDoubtPolicy, StopReason } from "./gen/toolbatch/v1/batch_pb.js";

type NamesOf<Enum extends object> = Exclude<Lowercase<keyof Enum & string>, "unspecified">;

/** An enum value in lower case. `unknown` stands for a value that this version of the package has no name for. */
export type Named<Enum extends object> = NamesOf<Enum> | "unknown";

/** One after another, or side by side. */
export type BatchModeName = Named<typeof BatchMode>;
/** What becomes of a call whose outcome an interruption left unknown. */
export type InDoubtPolicyName = Named<typeof InDoubtPolicy>;
/** How a batch went, or that it runs. */
export type BatchStatusName = Named<typeof BatchStatus>;
/** Why a batch left calls out. */
export type StopReasonName = Named<typeof StopReason>;
/** Where a call stands. */
export type CallStatusName = Named<typeof CallStatus>;
/** The kind of failure of a call. */
export type CallErrorReasonName = Named<typeof CallErrorReason>;

/** Makes the reader of an enum: the name of a value, `undefined` for the unspecified one. */
function reader<Enum extends object>(values: Enum): (value: number) => Named<Enum> | undefined {
  const names = new Map<number, string>();
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === "number") names.set(value, name.toLowerCase());
  }
  return (value) => (value === 0 ? undefined : ((names.get(value) ?? "unknown") as Named<Enum>));
}

export const batchModeName = reader(BatchMode);
export const inDoubtPolicyName = reader(InDoubtPolicy);
export const batchStatusName = reader(BatchStatus);
export const stopReasonName = reader(StopReason);
export const callStatusName = reader(CallStatus);
export const callErrorReasonName = reader(CallErrorReason);
