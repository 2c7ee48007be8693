// Times as people say them, kept up to date.
import { useSyncExternalStore } from "react";
import { useLocale, useWords } from "../words/words";
import type { Words } from "../words/en";

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let now = Date.now();

function subscribe(listener: () => void) {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const tell of listeners) tell();
  }, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The time, renewed every second, in ms; rounded down to whole steps so that few renders see a change. */
export function useNow(step = 1000): number {
  return useSyncExternalStore(subscribe, () => Math.floor((listeners.size > 0 ? now : (now = Date.now())) / step) * step);
}

/** A length of time in its largest unit, hours with their minutes. */
export function duration(ms: number, words: Words): string {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return words.time.seconds(s);
  if (s < 3600) return words.time.minutes(Math.floor(s / 60));
  if (s < 48 * 3600) return [words.time.hours(Math.floor(s / 3600)), s % 3600 < 60 ? "" : words.time.minutes(Math.floor((s % 3600) / 60))].join(" ").trim();
  return words.time.days(Math.floor(s / 86400));
}

/** A length of time to the millisecond, as measurements need it. */
export function exactDuration(ms: number, locale: string): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${new Intl.NumberFormat(locale, { maximumFractionDigits: 1 }).format(s)} s`;
  return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
}

/** How long ago something was; the exact time is its tooltip. */
export function Ago({ at }: { at: string | number | Date }) {
  const words = useWords();
  const locale = useLocale();
  const date = new Date(at);
  const ms = useNow() - date.getTime();
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString(locale)}>
      {ms < 10_000 ? words.time.now : words.time.ago(duration(ms, words))}
    </time>
  );
}

/** A date and time of day; to the second where the order of things matters. */
export function Moment({ at, precise }: { at: string | number | Date; precise?: boolean }) {
  const locale = useLocale();
  const date = new Date(at);
  return <time dateTime={date.toISOString()}>{date.toLocaleString(locale, { dateStyle: "medium", timeStyle: precise ? "medium" : "short" })}</time>;
}
