// Checks a value against a schema; the interpreter needs no eval, which the page's policy forbids.
import { Validator, type Schema as Given } from "@cfworker/json-schema";
import type { Words } from "../words/en";
import { at, resolved, type Json, type Schema } from "./schema";

/** What is wrong, by JSON Pointer into the value: "" for the whole, "/to/0" for a part. */
export type Errors = ReadonlyMap<string, string>;

export function validate(value: Json, schema: Schema, words: Words): Errors {
  const errors = new Map<string, string>();
  const add = (path: string, text: string) => {
    if (!errors.has(path)) errors.set(path, text);
  };
  const { errors: found } = new Validator(schema as Given, "2020-12", false).validate(value);
  for (const { instanceLocation, keyword, keywordLocation, error } of found) {
    const path = instanceLocation.slice(1);
    const limit = keywordValue(schema, keywordLocation);
    switch (keyword) {
      case "properties": case "items": case "prefixItems": case "allOf": case "$ref": case "if": case "then": case "additionalProperties":
        break; // the cause follows with a place of its own
      case "required":
        for (const key of Array.isArray(limit) ? limit : []) if (!present(at(value, `#${path}`), key)) add(`${path}/${key}`, words.form.missing);
        break;
      default:
        add(path, sentence(keyword, limit, words) ?? error);
    }
  }
  if (found.length > 0 && errors.size === 0) for (const { instanceLocation, error } of found) add(instanceLocation.slice(1), error);
  return errors;
}

const present = (object: unknown, key: string) => typeof object === "object" && object !== null && key in object;

/** The value of the keyword that failed; its location may lead over references. */
function keywordValue(root: Schema, location: string): unknown {
  let here: unknown = root;
  for (const part of location.split("/").slice(1)) {
    if (typeof here !== "object" || here === null) return undefined;
    if (part === "$ref") here = resolved(here as Schema, root);
    else here = at(here, `#/${part}`);
  }
  return here;
}

function sentence(keyword: string, limit: unknown, words: Words): string | undefined {
  const w = words.form;
  switch (keyword) {
    case "type": {
      const types = (Array.isArray(limit) ? limit : [limit]).map(String).filter((type) => type !== "null");
      if (types.includes("number")) return w.notNumber;
      return types.includes("integer") ? w.notInteger : w.wrongType(types.join(" / "));
    }
    case "minimum": return w.min(String(limit));
    case "maximum": return w.max(String(limit));
    case "exclusiveMinimum": return w.above(String(limit));
    case "exclusiveMaximum": return w.below(String(limit));
    case "minLength": return limit === 1 ? w.missing : w.minLength(Number(limit));
    case "maxLength": return w.maxLength(Number(limit));
    case "pattern": return w.pattern(String(limit));
    case "enum": case "const": return w.oneOf;
    case "multipleOf": return limit === 0.01 ? w.decimals : undefined;
    default: return undefined;
  }
}
