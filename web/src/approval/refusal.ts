// Why the server did not take an answer, from either of its dialects.
import { ApiError } from "../api/request";
import { isObject, type JsonObject } from "../schemaform/schema";

export type Gone = "decided" | "expired" | "superseded";

export interface Refusal {
  message: string;
  /** What is wrong with which part of the answer, by JSON Pointer. */
  issues: { path: string; message: string }[];
  /** The server said nothing about it: it may not have arrived. */
  lost?: boolean;
  /** Why the question is no longer open, if it isn't: somebody answered it, its deadline passed, or the conversation went on. */
  gone?: Gone;
  /** Who answered it, and what they chose, where the server says so. */
  faster?: { by: string | null; decision: string | null };
}

export function refusalOf(error: unknown): Refusal {
  const message = error instanceof Error ? error.message : String(error);
  const body = error instanceof ApiError ? error.body : (error as { response?: { meta?: unknown } })?.response?.meta;
  const listed = isObject(body) && Array.isArray(body["issues"]) ? body["issues"] : [];
  const issues = listed.filter(isObject).map((i) => ({ path: String(i["path"] ?? ""), message: String(i["message"] ?? "") }));
  issues.push(...badFields(body));
  const lost = silent(error);
  const gone = goneOf((error as { code?: unknown })?.code, isObject(body) ? body : {});
  const faster = isObject(body) && isObject(body["decided"]) ? { by: textOr(body["by"]), decision: textOr(body["decision"]) } : undefined;
  return { message: issues.length > 0 ? message.replace(/: .*$/s, "") : message, issues, ...(lost ? { lost } : {}), ...(gone ? { gone } : {}), ...(faster ? { faster } : {}) };
}

/** Whether nobody answered; a proxy's word for that is no answer. */
function silent(error: unknown): boolean {
  const { status, code, response } = (error ?? {}) as { status?: unknown; code?: unknown; response?: unknown };
  if (typeof status === "number") return status === 0 || status >= 502;
  return code === undefined && response === undefined;
}

/** The same from a command's error; a run that waits for nothing has the code of any wrong answer. */
function goneOf(code: unknown, meta: JsonObject): Gone | undefined {
  const pending = meta["pending_ids"];
  if (meta["expired_at"] !== undefined) return "expired";
  if (meta["interrupt_id"] !== undefined && meta["at"] !== undefined) return "decided";
  return code === "no_such_interrupt" || (Array.isArray(pending) && pending.length === 0) ? "superseded" : undefined;
}

/** The issues as the reviews' API tells them: "answer/decisions/0/…". */
function badFields(body: unknown): { path: string; message: string }[] {
  const detail = isObject(body) ? body["badRequestDetail"] : undefined;
  const fields = isObject(detail) && Array.isArray(detail["fields"]) ? detail["fields"] : [];
  return fields.filter(isObject).map((f) => ({ path: String(f["field"] ?? "").replace(/^answer(?=\/|$)/, ""), message: String(f["description"] ?? "") }));
}

const textOr = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** The issues below a part of the answer, by JSON Pointer into that part. */
export function issuesBelow(refusal: Refusal | null, prefixes: string[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const { path, message } of refusal?.issues ?? []) {
    const prefix = prefixes.find((p) => path === p || path.startsWith(`${p}/`));
    if (prefix !== undefined) found.set(path.slice(prefix.length), message);
  }
  return found;
}
