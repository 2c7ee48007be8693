// The parts of JSON Schema that a form looks at.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  definitions?: Record<string, Schema>;
  $comment?: string;
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: Json[];
  const?: Json;
  default?: Json;
  examples?: Json[];
  format?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema | boolean;
  prefixItems?: Schema[];
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
  if?: Schema;
  then?: Schema;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  [keyword: string]: unknown;
}

export const isObject = (value: unknown): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

/** Follows a JSON Pointer such as "#/properties/amount"; undefined when it leads nowhere. */
export function at(root: unknown, pointer: string): unknown {
  let here: unknown = root;
  for (const part of pointer.replace(/^#/, "").split("/").slice(1)) {
    if (typeof here !== "object" || here === null) return undefined;
    here = (here as Record<string, unknown>)[decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~")];
  }
  return here;
}

/** The schema itself, or the one of the same document that it refers to. */
export function resolved(schema: Schema, root: Schema): Schema {
  let here = schema;
  for (let hops = 0; here.$ref !== undefined && hops < 20; hops++) {
    const target = here.$ref.startsWith("#") ? at(root, here.$ref) : undefined;
    if (!isObject(target)) return {};
    here = target as Schema;
  }
  return here;
}

/** The type of a field: the first that isn't null, or what the other keywords tell. */
export function typeOf(schema: Schema): string | undefined {
  const named = Array.isArray(schema.type) ? schema.type.find((t) => t !== "null") : schema.type;
  if (named) return named;
  if (schema.properties) return "object";
  if (schema.items || schema.prefixItems) return "array";
  return undefined;
}

export const nullable = (schema: Schema): boolean => Array.isArray(schema.type) && schema.type.includes("null");

/** A schema that fits a value and what may become of it, for values that come without one. */
export function inferred(value: Json): Schema {
  if (Array.isArray(value)) return { type: "array", items: value[0] === undefined ? {} : inferred(value[0]) };
  if (isObject(value)) return { type: "object", properties: Object.fromEntries(Object.entries(value).map(([k, v]) => [k, inferred(v)])) };
  if (value === null) return {};
  return { type: typeof value };
}

/** The value that a new, required part of a form begins with. */
export function initial(schema: Schema, root: Schema): Json {
  const s = resolved(schema, root);
  if (s.default !== undefined) return s.default;
  if (s.const !== undefined) return s.const;
  if (s.enum?.length) return s.enum[0]!;
  switch (typeOf(s)) {
    case "object":
      return Object.fromEntries((s.required ?? []).map((key) => [key, initial(s.properties?.[key] ?? {}, root)]));
    case "array":
      return [];
    case "boolean":
      return false;
    case "number":
    case "integer":
      return 0;
    default:
      return "";
  }
}
