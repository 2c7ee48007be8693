// Lets a test mount, change and unmount pages, and speak to their streams.
import { createRoot } from "react-dom/client";
import { watchFrames } from "../frames.js";
import { droppable, durableReplay } from "../wrappers.js";
import { Chat } from "./chat.jsx";
import { ContextChat, OutsideProvider } from "./context.jsx";
import { SuspenseChat } from "./suspense.jsx";

const kinds = { chat: Chat, context: ContextChat, outside: OutsideProvider, suspense: SuspenseChat };
const roots = new Map();

window.streams = {}; // name → the latest return value of useStream
window.notes = []; // what callbacks were told, in order
window.scoped = {}; // name → key of a scoped subscription → its consumers
window.wrappers = { droppable: droppable(), durableReplay: durableReplay() };
window.watchFrames = watchFrames;
window.note = (...note) => void window.notes.push(note);

window.pages = {
  mount(name, kind, props) {
    const box = document.body.appendChild(document.createElement("section"));
    box.id = name;
    const root = createRoot(box);
    const Kind = kinds[kind];
    roots.set(name, { root, box, render: (p) => root.render(<Kind name={name} {...p} />) });
    roots.get(name).render(props);
  },
  update: (name, props) => roots.get(name).render(props),
  unmount(name) {
    const { root, box } = roots.get(name);
    root.unmount();
    box.remove();
    roots.delete(name);
  },
};
