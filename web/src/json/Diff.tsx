// Two JSON values, line by line. The order of an object's members is no change.
import { diffLines } from "diff";
import { useWords } from "../words/words";
import css from "./Diff.module.css";
import { inOrderOf } from "./order";

export function Diff({ before, after }: { before: unknown; after: unknown }) {
  const words = useWords();
  const parts = diffLines(pretty(before), pretty(inOrderOf(before, after)));
  if (parts.every((p) => !p.added && !p.removed)) return <p className={css.none}>{words.review.noDiff}</p>;
  return (
    <pre className={css.diff} role="group" aria-label={words.review.diff} tabIndex={0}>
      {parts.flatMap((part, i) =>
        part.value.replace(/\n$/, "").split("\n").map((line, k) => {
          const key = `${i}-${k}`;
          if (part.added) return <ins key={key}><span className={css.said}>{words.review.added}: </span>{`+ ${line}\n`}</ins>;
          if (part.removed) return <del key={key}><span className={css.said}>{words.review.removed}: </span>{`- ${line}\n`}</del>;
          return <span key={key}>{`  ${line}\n`}</span>;
        }),
      )}
    </pre>
  );
}

const pretty = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
