// Arguments of which all has to be seen, to the last digit, before anything is approved that they are part of.
import { useLayoutEffect, useMemo, useRef, useState } from "react";
import type { Json } from "../schemaform/schema";
import { Notice } from "../ui/Notice";
import { useWords } from "../words/words";
import { Arguments, exact } from "./Arguments";
import { useInSight, Whole } from "./Whole";

interface Props {
  value: Json;
  label?: string;
  /** Told whether all can be seen. */
  onWhole(whole: boolean): void;
}

export function WholeArguments({ value, label, onWhole }: Props) {
  const words = useWords();
  const precise = useMemo(() => exact(value), [value]);
  const around = useInSight();
  const [cut, setCut] = useState(true);
  const tell = useRef(onWhole);
  tell.current = onWhole;
  const whole = !cut && precise && around;
  useLayoutEffect(() => tell.current(whole), [whole]);
  return (
    <>
      <Whole onCutOff={setCut}><Arguments value={value} {...(label === undefined ? {} : { label })} /></Whole>
      {precise ? null : <Notice kind="wait">{words.approval.inexact}</Notice>}
    </>
  );
}
