import { Notice } from "../ui/Notice";
import { useLocale, useWords } from "../words/words";
import type { useVerify } from "./audit";

/** What came of checking every hash of the chain. */
export function Verified({ verify }: { verify: ReturnType<typeof useVerify> }) {
  const words = useWords();
  const w = words.audit;
  const locale = useLocale();
  const found = verify.data;
  return (
    <>
      {found?.valid ? <Notice>{w.valid(new Intl.NumberFormat(locale).format(found.entries))} {found.unsealed > 0 ? w.unsealed(found.unsealed) : ""}</Notice> : null}
      {found && !found.valid ? <Notice kind="bad" alert>{w.broken(found.problem?.seq ?? 0)} {found.problem?.detail}</Notice> : null}
      {verify.error ? <Notice kind="bad" alert>{verify.error.message}</Notice> : null}
    </>
  );
}
