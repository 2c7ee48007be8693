// The values of a form: what they are at first, and what is wrong with them.
import type { JsonObject } from "../schemaform/schema";
import type { Words } from "../words/en";
import { shownAmount } from "./amounts";
import type { FormField, FormPayload } from "./question";

export function initialValues(form: FormPayload): JsonObject {
  const values: JsonObject = {};
  for (const field of form.fields) {
    if (field.default !== undefined && field.default !== null) values[field.name] = field.default;
    else if (field.type === "checkbox") values[field.name] = false;
  }
  return values;
}

/** What is wrong, by the field's name; the same rules as the server's. */
export function fieldErrors(form: FormPayload, values: JsonObject, words: Words, locale: string): Map<string, string> {
  const errors = new Map<string, string>();
  for (const field of form.fields) {
    const error = errorOf(field, values[field.name], words, locale);
    if (error) errors.set(field.name, error);
  }
  return errors;
}

function errorOf(field: FormField, value: JsonObject[string] | undefined, words: Words, locale: string): string | undefined {
  if (value === undefined || value === "") return field.required ? words.form.missing : undefined;
  if (field.type === "number" || field.type === "currency") {
    const shown = (n: number) => shownAmount(n, locale, field.type === "currency" ? field.currency : undefined);
    if (typeof value !== "number") return words.form.notNumber;
    if (field.min !== undefined && value < field.min) return words.form.min(shown(field.min));
    if (field.max !== undefined && value > field.max) return words.form.max(shown(field.max));
    if (field.type === "currency" && Math.abs(value * 100 - Math.round(value * 100)) > 1e-6) return words.form.decimals;
  }
  if (typeof value === "string" && field.maxLength && [...value].length > field.maxLength) return words.form.maxLength(field.maxLength);
  return undefined;
}
