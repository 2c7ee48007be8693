// Signing in with an identity provider: the server does all of it, and the page only sends people there.
import { useQuery } from "@tanstack/react-query";
import { request } from "../api/request";
import type { Session } from "./session";

export interface SignInOptions {
  /** Keys and tokens are taken. */
  credentials: boolean;
  oidc: { name: string; start: string } | null;
}

/** Why nobody was signed in, as the server says it. */
export type SignInFailure = "denied" | "expired" | "no_role" | "unavailable" | "failed";

const failures: SignInFailure[] = ["denied", "expired", "no_role", "unavailable", "failed"];
const param = "signin";

/** What the server had the browser come back with; it is taken out of the address. */
export const arrivedWith: SignInFailure | null = takeFailure();

function takeFailure(): SignInFailure | null {
  const address = new URL(location.href);
  const said = address.searchParams.get(param);
  if (said === null) return null;
  address.searchParams.delete(param);
  history.replaceState(history.state, "", address);
  return failures.find((known) => known === said) ?? "failed";
}

/** How one can sign in. */
export const readOptions = () => request<SignInOptions>("/api/v1/session/options");

export const useSignInOptions = () => useQuery({ queryKey: ["session", "options"], queryFn: readOptions, staleTime: Infinity });

/** The provider's page, from which one comes back to this one. anew has people show again who they are. */
export function startAddress(start: string, anew: boolean): string {
  const query = new URLSearchParams({ return: location.pathname + location.search + location.hash, ...(anew ? { anew: "1" } : {}) });
  return `${start}?${query}`;
}

/** Makes the session last longer, in one tab for all; null where it can't be. read reads the session that there is. */
export async function renew(known: Session | null, read: () => Promise<Session | null>): Promise<Session | null> {
  const exchange = async () => {
    const now = await read(); // another tab may have been faster
    if (now && now.expires_at !== known?.expires_at) return now;
    try {
      return await request<Session>("/api/v1/session/oidc/renew", { method: "POST", quiet: true });
    } catch {
      return now;
    }
  };
  if (!navigator.locks) return exchange();
  return navigator.locks.request("parley:renew", exchange);
}
