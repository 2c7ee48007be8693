// The pages of @langchain/react.
import { createRoot } from "react-dom/client";
import { offer } from "../window.js";
import { Chat } from "./chat.jsx";
import { ContextChat, OutsideProvider } from "./context.jsx";
import { SuspenseChat } from "./suspense.jsx";

const kinds = { chat: Chat, context: ContextChat, outside: OutsideProvider, suspense: SuspenseChat };

offer((box, name, kind, props) => {
  const root = createRoot(box);
  const Kind = kinds[kind];
  const update = (next) => root.render(<Kind name={name} {...next} />);
  update(props);
  return { update, unmount: () => root.unmount() };
});
