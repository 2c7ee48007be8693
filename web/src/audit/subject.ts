// What an entry is about, and what was decided about it.
import { callNames, readQuestion } from "../approval/question";
import type { Entry } from "./audit";

/** The tools of the calls that were asked about, each call in its place; empty where it is about none. */
export function toolsOf({ body }: Entry): string[] {
  // What was shown has every call; a claim or a comment only names the tools.
  const shown = body.shown === undefined ? [] : callNames(readQuestion(body.shown));
  if (shown.length > 0) return shown;
  return body.tools ?? (body.tool ? [body.tool] : []);
}

/** Names with how often each is there, in the order of the first. */
export function counted(names: readonly string[]): [name: string, times: number][] {
  const times = new Map<string, number>();
  for (const name of names) times.set(name, (times.get(name) ?? 0) + 1);
  return [...times];
}

/** A key that was made or ended, as its entry tells of it. */
export function keyOf({ action, body }: Entry): { name: string; roles: string[] } | undefined {
  if (!action.startsWith("key.") || typeof body.detail !== "object" || body.detail === null) return undefined;
  const { name, id, roles } = body.detail as { name?: string; id?: string; roles?: string[] };
  return { name: name || id || "", roles: roles ?? [] };
}
