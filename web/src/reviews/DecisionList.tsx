import { useId } from "react";
import { isRefusal } from "../approval/ReviewCard";
import css from "./ReviewRequest.module.css";

interface Props<T extends string> {
  label: string;
  value: T | undefined;
  options: { value: T; text: string; disabled?: boolean }[];
  onChange(value: T): void;
}

/** Exactly the decisions that are allowed. */
export function DecisionList<T extends string>({ label, value, options, onChange }: Props<T>) {
  const name = useId();
  return (
    <fieldset className={css.choices}>
      <legend>{label}</legend>
      {options.map((option, i) => (
        <label key={option.value} className={css.choice}>
          <input type="radio" name={name} checked={option.value === value} disabled={option.disabled} onChange={() => onChange(option.value)}
            data-shortcut={isRefusal(option.value) ? "r" : i === 0 || option.value.toLowerCase() === "approve" ? "a" : undefined} />
          {option.text}
        </label>
      ))}
    </fieldset>
  );
}
