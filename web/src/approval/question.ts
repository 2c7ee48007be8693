// What an agent asks, read from an interrupt's value: each kind of question has its own card.
import { isObject, type Json, type JsonObject, type Schema } from "../schemaform/schema";
import { argsSchema } from "./argsSchema";

export type DecisionType = "approve" | "edit" | "reject" | "respond";

/** One tool call that needs consent. */
export interface Action {
  name: string;
  args: Json;
  description: string;
  allowed: DecisionType[];
  schema: Schema | undefined;
  callId?: string | undefined;
}

export interface FormField {
  name: string;
  label: string;
  type: string;
  help?: string;
  required?: boolean;
  default?: Json;
  options?: { value: string; label: string }[];
  currency?: string;
  min?: number;
  max?: number;
  maxLength?: number;
}

export interface FormPayload {
  formType: string;
  title?: string;
  description?: string;
  context?: Json;
  fields: FormField[];
  allowed: string[];
  approveLabel?: string;
  rejectLabel?: string;
}

export type Question =
  /** Tool calls; perCall is the question about one call alone, whose answer is its decision. */
  | { kind: "actions"; actions: Action[]; perCall: boolean }
  | { kind: "form"; form: FormPayload }
  /** agent.Review: a decision by name. Without names any text is one. */
  | { kind: "review"; reason: string; context: JsonObject; decisions: string[] }
  /** A step that may have run before a crash. */
  | { kind: "outcome"; step: string; idempotencyKey: string }
  | { kind: "plain"; value: Json };

export function readQuestion(value: unknown, responseSchema?: Schema): Question {
  if (isObject(value)) {
    const requests = value["actionRequests"] ?? value["action_requests"];
    if (Array.isArray(requests) && requests.some(isObject)) return batch(requests, value, responseSchema);
    if (value["type"] === "tool_approval") return { kind: "actions", perCall: true, actions: [perCall(value, responseSchema)] };
    if (typeof value["formType"] === "string") return { kind: "form", form: formOf(value) };
    if (value["type"] === "unknown_outcome") return { kind: "outcome", step: text(value["step"]), idempotencyKey: text(value["idempotency_key"]) };
    if (responseSchema?.$comment === "agent.Review" || strings(value["allowed_decisions"]).length > 0) return review(value);
  }
  return { kind: "plain", value: value as Json };
}

/** The names of the calls that a question is about, in their order; none of other questions. */
export const callNames = (question: Question): string[] => (question.kind === "actions" ? question.actions.map((a) => a.name) : []);

function batch(requests: Json[], value: JsonObject, responseSchema?: Schema): Question {
  const configs = (value["reviewConfigs"] ?? value["review_configs"] ?? []) as Json[];
  const config = (name: string, i: number): JsonObject => {
    const named = (c: Json) => isObject(c) && (c["actionName"] ?? c["action_name"]) === name;
    const own = configs[i];
    const found = own !== undefined && named(own) ? own : configs.find(named);
    return isObject(found) ? found : {};
  };
  const actions = requests.filter(isObject).map((request, i): Action => {
    const name = text(request["name"] ?? request["action"]);
    const c = config(name, i);
    const declared = c["argsSchema"] ?? c["args_schema"];
    return {
      name,
      args: request["args"] ?? request["arguments"] ?? {},
      description: text(request["description"]),
      allowed: decisions(c["allowedDecisions"] ?? c["allowed_decisions"]),
      schema: isObject(declared) ? (declared as Schema) : argsSchema(responseSchema, name),
    };
  });
  return { kind: "actions", actions, perCall: false };
}

function perCall(value: JsonObject, responseSchema?: Schema): Action {
  const branches = responseSchema?.oneOf ?? (responseSchema ? [responseSchema] : []);
  const allowed = branches.map((b) => b.properties?.["type"]?.const);
  return {
    name: text(value["name"]),
    args: value["args"] ?? {},
    description: text(value["description"]),
    allowed: responseSchema ? decisions([...new Set(allowed)] as Json) : ["approve", "reject"],
    schema: argsSchema(responseSchema, text(value["name"])),
    callId: text(value["tool_call_id"]),
  };
}

function formOf(value: JsonObject): FormPayload {
  const fields = (Array.isArray(value["fields"]) ? value["fields"] : []).filter(isObject) as unknown as FormField[];
  const given = strings(value["allowed_decisions"]);
  return { ...(value as unknown as FormPayload), fields, allowed: given.length > 0 ? given : ["approve", "reject"] };
}

function review(value: JsonObject): Question {
  const { allowed_decisions, reason, suspend_reason, ...rest } = value;
  const why = suspend_reason ?? reason;
  return { kind: "review", reason: text(why), context: suspend_reason === undefined ? rest : { ...rest, ...(reason === undefined ? {} : { reason }) }, decisions: strings(allowed_decisions) };
}

const known: readonly string[] = ["approve", "edit", "reject", "respond"];
const decisions = (list: Json | undefined): DecisionType[] => strings(list).filter((d): d is DecisionType => known.includes(d));
const strings = (list: Json | undefined): string[] => (Array.isArray(list) ? list.filter((d): d is string => typeof d === "string") : []);
const text = (value: Json | undefined): string => (typeof value === "string" ? value : "");
