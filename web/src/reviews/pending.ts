// How many reviews wait for this person: at the navigation, in the window's title, as notifications.
import { useEffect, useRef, useState } from "react";
import { useFeed } from "../feed/feed";
import { useProject } from "../session/session";
import { useAnnounce } from "../ui/Announcements";
import { useWords } from "../words/words";
import { reviewsFeed, useReviews, useReviewsChanged, type Review } from "./reviews";

/** The open reviews that this person may decide, kept up to date by the server's feed. */
export function usePending(): Review[] {
  useFeed(reviewsFeed(useProject()), useReviewsChanged());
  return (useReviews({ status: "open" }).data ?? []).filter((r) => r.may_decide);
}

/** Puts the count into the window's title, and tells of new ones. */
export function usePendingNotices(pending: Review[]): void {
  const words = useWords();
  const announce = useAnnounce();
  const known = useRef<Set<string> | null>(null);
  useEffect(() => {
    document.title = pending.length > 0 ? `(${pending.length}) ${words.app.name}` : words.app.name;
    const fresh = known.current ? pending.filter((r) => !known.current!.has(r.review_id)) : [];
    known.current = new Set([...(known.current ?? []), ...pending.map((r) => r.review_id)]);
    for (const review of fresh) {
      announce(words.reviews.newCard(review.suspend_reason));
      if (document.hidden && notificationsOn()) notify(review, words.reviews.notification(review.agent));
    }
  }, [pending, announce, words]);
}

function notify(review: Review, title: string) {
  const shown = new Notification(title, { body: review.suspend_reason, tag: review.review_id, icon: "/app/parley.svg" });
  shown.onclick = () => {
    window.focus();
    location.assign(`/reviews/${review.review_id}`);
  };
}

const key = "parley-notifications";
const notificationsOn = () => "Notification" in window && Notification.permission === "granted" && localStorage.getItem(key) === "on";

/** Whether this device is notified, and how to change it; the browser asks once. */
export function useNotifications(): { available: boolean; on: boolean; denied: boolean; set(on: boolean): Promise<void> } {
  const available = "Notification" in window;
  const [on, setOn] = useState(notificationsOn);
  const [denied, setDenied] = useState(available && Notification.permission === "denied");
  return {
    available, on, denied,
    async set(next) {
      if (next && (await Notification.requestPermission()) !== "granted") return setDenied(true);
      localStorage.setItem(key, next ? "on" : "off");
      setOn(next);
    },
  };
}
