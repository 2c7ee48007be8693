// The pages and their addresses. Everything but the frame is loaded when it is first shown.
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { NotFound } from "./NotFound";
import { PageFailed } from "./PageFailed";
import { Frame } from "./Frame";

const root = createRootRoute({ component: Frame, notFoundComponent: NotFound, errorComponent: PageFailed });

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/app/chat/{-$threadId}", replace: true });
  },
});

/** What an address of the chat says beside the thread. */
export interface ChatSearch {
  agent?: string;
  /** The last checkpoint of the branch that is shown; absent: the thread's own. */
  at?: string;
}

const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);

const chat = createRoute({
  getParentRoute: () => root,
  path: "/app/chat/{-$threadId}",
  validateSearch: (search: Record<string, unknown>): ChatSearch => ({ agent: text(search["agent"]), at: text(search["at"]) }),
  component: lazyRouteComponent(() => import("../chat/ChatPage"), "ChatPage"),
});

const routeTree = root.addChildren([home, chat]);

export const router = createRouter({ routeTree, defaultPreload: "intent", scrollRestoration: false });

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
