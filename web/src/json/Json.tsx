import { lazy, Suspense } from "react";

const Tree = lazy(() => import("./JsonView").then((m) => ({ default: m.JsonView })));

interface Props {
  value: unknown;
  label: string;
  /** How many levels are open at first. */
  open?: number;
}

/** A JSON value as a tree that can be folded; its code is fetched when the first one is shown. */
export function Json(props: Props) {
  return <Suspense fallback={<pre>{JSON.stringify(props.value, null, 2)}</pre>}><Tree {...props} /></Suspense>;
}
