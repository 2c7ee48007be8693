// Lets a test mount and unmount pages of @langchain/svelte.
import { mount, unmount } from "svelte";
import { watchFrames } from "../frames.js";
import { droppable } from "../wrappers.js";
import Chat from "./Chat.svelte";

const mounted = new Map();

window.streams = {};
window.notes = [];
window.wrappers = { droppable: droppable() };
window.watchFrames = watchFrames;
window.note = (...note) => void window.notes.push(note);

window.pages = {
  mount(name, kind, props) {
    const box = document.body.appendChild(document.createElement("section"));
    box.id = name;
    mounted.set(name, { box, app: mount(Chat, { target: box, props: { name, ...props } }) });
  },
  unmount(name) {
    const { box, app } = mounted.get(name);
    unmount(app);
    box.remove();
    mounted.delete(name);
  },
};
