// Why the server did not take an answer, from either of its dialects.
import { ApiError } from "../api/request";
import { isObject } from "../schemaform/schema";

export interface Refusal {
  message: string;
  /** What is wrong with which part of the answer, by JSON Pointer. */
  issues: { path: string; message: string }[];
  /** The question was answered or withdrawn in the meantime. */
  gone: boolean;
}

export function refusalOf(error: unknown): Refusal {
  const message = error instanceof Error ? error.message : String(error);
  const body = error instanceof ApiError ? error.body : (error as { response?: { meta?: unknown } })?.response?.meta;
  const listed = isObject(body) && Array.isArray(body["issues"]) ? body["issues"] : [];
  const issues = listed.filter(isObject).map((i) => ({ path: String(i["path"] ?? ""), message: String(i["message"] ?? "") }));
  const code = (error as { code?: unknown })?.code;
  const gone = code === "no_such_interrupt" || (error instanceof ApiError && error.status === 409);
  return { message: issues.length > 0 ? message.replace(/: .*$/s, "") : message, issues, gone };
}

/** The issues below a part of the answer, by JSON Pointer into that part. */
export function issuesBelow(refusal: Refusal | null, prefixes: string[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const { path, message } of refusal?.issues ?? []) {
    const prefix = prefixes.find((p) => path === p || path.startsWith(`${p}/`));
    if (prefix !== undefined) found.set(path.slice(prefix.length), message);
  }
  return found;
}
