// A JSON value as a tree that can be folded, or, where all of it has to be seen, unfolded for good.
import { JsonView as Tree, type Props } from "react-json-view-lite";
import css from "./JsonView.module.css";

const looks: Props["style"] = {
  container: css.container!, basicChildStyle: css.child!, label: css.label!, clickableLabel: css.label!,
  nullValue: css.none!, undefinedValue: css.none!, numberValue: css.number!, stringValue: css.string!, booleanValue: css.boolean!, otherValue: css.none!,
  punctuation: css.mark!, collapseIcon: css.fold!, expandIcon: css.unfold!, collapsedContent: css.folded!, childFieldsContainer: css.children!,
  noQuotesForStringValues: false, quotesForFieldNames: false,
  ariaLables: { collapseJson: "−", expandJson: "+" },
  stringifyStringValues: true,
};

interface ViewProps {
  value: unknown;
  label: string;
  /** How many levels are open at first. */
  open?: number;
}

export function JsonView({ value, label, open = 2 }: ViewProps) {
  if (typeof value !== "object" || value === null) return <pre className={css.plain} aria-label={label} tabIndex={0}>{JSON.stringify(value, null, 2)}</pre>;
  return (
    <div className={css.view}>
      <Tree data={value} style={looks} shouldExpandNode={(level) => level < open} aria-label={label} />
    </div>
  );
}
