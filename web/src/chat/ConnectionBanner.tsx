import { WifiOff } from "lucide-react";
import { useEffect, useState } from "react";
import { useNow } from "../ui/Time";
import { useWords } from "../words/words";
import css from "./Conversation.module.css";
import { useOnline, type Connection } from "./stream/connection";

/** Says that the page has lost the server, what it is doing about it, and when it is back. */
export function ConnectionBanner({ connection }: { connection: Connection }) {
  const words = useWords();
  const online = useOnline();
  const now = useNow();
  const lost = connection.state === "lost" || !online;
  // A stream that is replaced at once is no event worth a banner.
  const [shown, setShown] = useState<"none" | "lost" | "back">("none");
  useEffect(() => {
    if (lost && shown === "lost") return;
    if (!lost && shown === "none") return;
    const timer = setTimeout(() => setShown(lost ? "lost" : shown === "lost" ? "back" : "none"), lost ? 700 : shown === "back" ? 3000 : 0);
    return () => clearTimeout(timer);
  }, [lost, shown]);
  if (shown === "none") return <div role="status" />;
  const left = connection.state === "lost" ? Math.ceil((connection.nextTry - now) / 1000) : 0;
  const text = shown === "back" ? words.chat.back
    : !online ? words.chat.offline
    : left > 0 ? words.chat.lost(left)
    : words.chat.reconnecting(connection.state === "lost" ? connection.attempt : 1);
  return <div role="status" className={shown === "back" ? `${css.banner} ${css.back}` : css.banner}><WifiOff size={16} aria-hidden /> {text}</div>;
}
