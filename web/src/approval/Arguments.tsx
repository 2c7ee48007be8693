// Arguments in full, as they will run. Nothing is folded, shortened or left to the font: what
// could deceive the eye (control characters, invisible ones, reversed text) is spelt out.
import { isObject, type Json } from "../schemaform/schema";
import { useWords } from "../words/words";
import css from "./Arguments.module.css";

// eslint-disable-next-line no-control-regex
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]/g;

/** A text in which nothing hides. */
export const spelt = (text: string) => text.replace(hidden, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

export function Arguments({ value, label }: { value: Json; label?: string }) {
  const words = useWords();
  const empty = isObject(value) && Object.keys(value).length === 0;
  return (
    <div className={css.arguments} role="group" aria-label={label ?? words.approval.arguments}>
      {empty ? <p className={css.none}>{words.approval.noArguments}</p> : <Value value={value} />}
    </div>
  );
}

function Value({ value }: { value: Json }) {
  if (Array.isArray(value)) {
    if (value.length === 0) return <span className={css.literal}>[]</span>;
    return <ol className={css.list}>{value.map((item, i) => <li key={i}><Value value={item} /></li>)}</ol>;
  }
  if (isObject(value)) {
    const entries = Object.entries(value);
    if (entries.length === 0) return <span className={css.literal}>{"{}"}</span>;
    return (
      <dl className={css.object}>
        {entries.map(([key, part]) => (
          <div key={key} className={nested(part) ? css.nested : css.pair}>
            <dt>{spelt(key)}</dt>
            <dd><Value value={part} /></dd>
          </div>
        ))}
      </dl>
    );
  }
  if (typeof value === "string") return <span className={css.string}>“{spelt(value)}”</span>;
  return <span className={css.literal}>{JSON.stringify(value)}</span>;
}

const nested = (value: Json) => typeof value === "object" && value !== null && Object.keys(value).length > 0;

/** Whether the browser's numbers hold all digits of the value's; it rounds integers beyond 2⁵³. */
export function exact(value: Json): boolean {
  if (typeof value === "number") return !Number.isInteger(value) || Number.isSafeInteger(value);
  if (typeof value === "object" && value !== null) return Object.values(value).every(exact);
  return true;
}
