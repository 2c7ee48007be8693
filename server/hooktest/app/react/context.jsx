// A stream that siblings share through StreamProvider.
import { StreamProvider, useStreamContext } from "@langchain/react";
import { Component } from "react";
import { View, useOptions } from "./chat.jsx";

export function ContextChat({ name, ...props }) {
  const options = useOptions(props);
  return (
    <StreamProvider {...options}>
      <Shared name={name} />
      <Label />
    </StreamProvider>
  );
}

function Shared({ name }) {
  return <View name={name} stream={useStreamContext()} />;
}

function Label() {
  return <p data-field="sibling">{useStreamContext().isLoading ? "Loading..." : "Not loading"}</p>;
}

export function OutsideProvider() {
  return <Boundary><Shared name="outside" /></Boundary>;
}

/** Shows the error that its children threw. */
export class Boundary extends Component {
  state = {};

  static getDerivedStateFromError(error) {
    return { error };
  }

  render() {
    const { error } = this.state;
    return error ? <p data-field="thrown">{String(error?.message ?? error)}</p> : this.props.children;
  }
}
