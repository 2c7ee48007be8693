import type { Json } from "../schemaform/schema";

/** What a person typed: JSON where it is JSON, else the text itself. */
export function typedValue(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
