// The pages of @langchain/svelte.
import { mount, unmount } from "svelte";
import { offer } from "../window.js";
import Chat from "./Chat.svelte";
import ContextChat from "./ContextChat.svelte";
import HydratedChat from "./HydratedChat.svelte";
import Outside from "./Outside.svelte";

const kinds = { chat: Chat, context: ContextChat, outside: Outside, hydrated: HydratedChat };

offer((box, name, kind, given) => {
  const props = $state({ name, ...given });
  const app = mount(kinds[kind], { target: box, props });
  return { update: (next) => void Object.assign(props, next), unmount: () => void unmount(app) };
});
