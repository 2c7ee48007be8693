/** The value with its members in the order that they have in another one, as far as both have them; new ones follow. */
export function inOrderOf(model: unknown, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item, i) => inOrderOf(Array.isArray(model) ? model[i] : undefined, item));
  if (!isObject(value)) return value;
  const like = isObject(model) ? model : {};
  const keys = [...Object.keys(like).filter((key) => Object.hasOwn(value, key)), ...Object.keys(value).filter((key) => !Object.hasOwn(like, key)).sort()];
  return Object.fromEntries(keys.map((key) => [key, inOrderOf(like[key], value[key])]));
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
