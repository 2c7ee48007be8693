import { isObject, resolved, type Schema } from "../schemaform/schema";

/**
 * The schema of a tool's arguments, as a question's response schema describes an edited
 * action: by the tool's name in a batch, in the branch of the edit for a single call.
 */
export function argsSchema(response: Schema | undefined, tool: string): Schema | undefined {
  if (!response) return undefined;
  const found = ofBatch(response, tool) ?? ofCall(response, tool);
  if (!found) return undefined;
  const own = resolved(found, response);
  // References inside of it are to the document's definitions.
  return { ...own, ...(response.$defs ? { $defs: { ...response.$defs, ...own.$defs } } : {}) };
}

function ofBatch(response: Schema, tool: string): Schema | undefined {
  const action = response.$defs?.["action"] ?? response.definitions?.["action"];
  if (!action) return undefined;
  const own = action.allOf?.find((c) => c.if?.properties?.["name"]?.const === tool);
  return own?.then?.properties?.["args"] ?? (action.allOf ? undefined : action.properties?.["args"]);
}

function ofCall(response: Schema, tool: string): Schema | undefined {
  for (const branch of response.oneOf ?? [response]) {
    const action = branch.properties?.["edited_action"] ?? branch.properties?.["editedAction"];
    if (isObject(action) && (action as Schema).properties?.["name"]?.const === tool) return (action as Schema).properties?.["args"];
  }
  return undefined;
}
