import { useWords } from "../words/words";
import css from "./Loading.module.css";

/** Stands where something is being read, once that takes longer than a moment. */
export function Loading() {
  return <p className={css.loading} role="status">{useWords().app.loading}</p>;
}
