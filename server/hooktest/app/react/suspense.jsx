// A stream that suspends until its thread is read.
import { useSuspenseStream } from "@langchain/react";
import { Suspense } from "react";
import { Fields, useOptions } from "./chat.jsx";
import { Boundary } from "./context.jsx";

export function SuspenseChat({ name, ...props }) {
  return (
    <Boundary>
      <Suspense fallback={<Fallback name={name} />}>
        <Content name={name} {...props} />
      </Suspense>
    </Boundary>
  );
}

function Fallback({ name }) {
  window.note("fallback", name);
  return <p data-field="fallback">Suspended</p>;
}

function Content({ name, ...props }) {
  return <Fields name={name} stream={useSuspenseStream(useOptions(props))} />;
}
