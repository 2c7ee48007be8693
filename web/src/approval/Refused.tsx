import { Notice } from "../ui/Notice";
import { useWords } from "../words/words";
import type { Refusal } from "./refusal";

/** Why an answer wasn't taken. What was chosen stays chosen: the card's own buttons send it again. */
export function Refused({ refusal }: { refusal: Refusal | null }) {
  const w = useWords().approval;
  if (!refusal) return null;
  return <Notice kind="bad" alert>{refusal.lost ? w.lost(refusal.message) : `${w.refused}: ${refusal.message}`}</Notice>;
}
