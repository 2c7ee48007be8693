// What the server tells the model of a call that was not run, told to people in a word.
import type { Call } from "./entries";

/** How the server's answers to such calls begin, behind which stand a name and an id (agent/hitl). */
const beginnings = {
  rejected: ["The user rejected the tool call for `", ". The tool was not executed."],
  expired: ["Nobody decided on the tool call for `", " before the deadline of its review. The tool was not executed"],
} as const;

/** Why a call was not run: somebody rejected it, or nobody decided in time. Its own result may say anything else. */
export function notRun(call: Pick<Call, "id" | "name">, result: string): keyof typeof beginnings | undefined {
  for (const [why, [before, after]] of Object.entries(beginnings)) {
    if (result.startsWith(`${before}${call.name}\` with id ${call.id}${after}`)) return why as keyof typeof beginnings;
  }
  return undefined;
}
