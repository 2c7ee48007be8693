// The pages and their addresses. Everything but the frame is loaded when it is first shown.
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { crowded } from "../chat/stream/tabs";
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
  loader: crowded,
  staleTime: Infinity, // a conversation keeps its transport
  component: lazyRouteComponent(() => import("../chat/ChatPage"), "ChatPage"),
});

/** What the list of reviews shows; absent: all open ones. */
const reviewSearch = (search: Record<string, unknown>) => ({
  status: text(search["status"]), agent: text(search["agent"]), assignee: text(search["assignee"]), min_age: text(search["min_age"]), q: text(search["q"]),
});

const reviews = createRoute({
  getParentRoute: () => root,
  path: "/reviews",
  validateSearch: (search: Record<string, unknown>): Partial<ReturnType<typeof reviewSearch>> => reviewSearch(search),
  component: lazyRouteComponent(() => import("../reviews/PendingReviews"), "PendingReviews"),
});

const review = createRoute({
  getParentRoute: () => root,
  path: "/reviews/$reviewId",
  component: lazyRouteComponent(() => import("../reviews/ReviewPage"), "ReviewPage"),
});

const executions = createRoute({
  getParentRoute: () => root,
  path: "/app/executions",
  validateSearch: (search: Record<string, unknown>): { status?: string } => ({ status: text(search["status"]) }),
  component: lazyRouteComponent(() => import("../executions/ExecutionsPage"), "ExecutionsPage"),
});

const execution = createRoute({
  getParentRoute: () => root,
  path: "/app/executions/$executionId",
  component: lazyRouteComponent(() => import("../executions/ExecutionPage"), "ExecutionPage"),
});

const audit = createRoute({
  getParentRoute: () => root,
  path: "/app/audit",
  validateSearch: (search: Record<string, unknown>): AuditSearch => ({
    action: text(search["action"]), principal: text(search["principal"]), agent: text(search["agent"]), since: text(search["since"]), until: text(search["until"]),
    review_id: text(search["review_id"]), execution_id: text(search["execution_id"]),
  }),
  component: lazyRouteComponent(() => import("../audit/AuditPage"), "AuditPage"),
});

/** Which entries of the audit log are shown. */
export interface AuditSearch {
  action?: string;
  principal?: string;
  agent?: string;
  since?: string;
  until?: string;
  review_id?: string;
  execution_id?: string;
}

const access = createRoute({
  getParentRoute: () => root,
  path: "/app/access",
  component: lazyRouteComponent(() => import("../access/AccessPage"), "AccessPage"),
});

// Addresses that people guess from those of other pages.
const keysAlias = createRoute({
  getParentRoute: () => root,
  path: "/app/keys",
  beforeLoad: () => {
    throw redirect({ to: "/app/access", replace: true });
  },
});

const reviewsAlias = createRoute({
  getParentRoute: () => root,
  path: "/app/reviews/{-$reviewId}",
  beforeLoad: ({ params: { reviewId } }) => {
    throw reviewId ? redirect({ to: "/reviews/$reviewId", params: { reviewId }, replace: true }) : redirect({ to: "/reviews", search: {}, replace: true });
  },
});

const routeTree = root.addChildren([home, chat, reviews, review, executions, execution, audit, access, keysAlias, reviewsAlias]);

export const router = createRouter({ routeTree, search: { strict: true }, defaultPreload: "intent", scrollRestoration: false });

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
