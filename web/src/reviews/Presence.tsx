// Who else looks at a review. The server forgets who says nothing for a while; nothing depends on it.
import { useQuery } from "@tanstack/react-query";
import { Eye } from "lucide-react";
import { useEffect } from "react";
import { request } from "../api/request";
import { useProject } from "../session/session";
import { useAnnounce } from "../ui/Announcements";
import { useLocale, useWords } from "../words/words";
import css from "./ReviewRequest.module.css";
import { reviewsPath } from "./reviews";

interface Reply {
  viewers: { principal: string | null }[];
}

/** Tells this tab from others of people who need not say who they are. */
const tab = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** How often the page says that it is looked at, in ms: well within the time that the server takes that for true. */
const every = 5000;

export function Presence({ id }: { id: string }) {
  const words = useWords();
  const locale = useLocale();
  const path = `${reviewsPath(useProject())}/${id}/presence`;
  const { data } = useQuery({
    queryKey: ["presence", path],
    queryFn: ({ signal }) => request<Reply>(path, { body: { tab }, signal }),
    refetchInterval: every, // not while the page is hidden: then nobody looks at it
    retry: false,
    staleTime: 0,
    gcTime: 0,
  });
  useEffect(() => {
    const leave = () => void request(path, { body: { tab, leave: true }, keepalive: true, quiet: true }).catch(() => {});
    const hidden = () => document.visibilityState === "hidden" && leave();
    document.addEventListener("visibilitychange", hidden);
    addEventListener("pagehide", leave);
    return () => {
      document.removeEventListener("visibilitychange", hidden);
      removeEventListener("pagehide", leave);
      leave();
    };
  }, [path]);
  const viewers = data?.viewers ?? [];
  const known = viewers.flatMap((v) => v.principal ?? []);
  const others = viewers.length - known.length;
  const names = others > 0 ? [...known, words.review.somebody(others)] : known;
  const text = names.length > 0 ? words.review.looking(new Intl.ListFormat(locale, { type: "conjunction" }).format(names), viewers.length) : "";
  const announce = useAnnounce();
  useEffect(() => {
    if (text) announce(text);
  }, [text, announce]);
  return text ? <p className={css.presence}><Eye size={16} aria-hidden /> {text}</p> : null;
}
