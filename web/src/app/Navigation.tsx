import { Link, linkOptions } from "@tanstack/react-router";
import { CircleUser, Inbox, KeyRound, ListChecks, MessageSquare, ScrollText } from "lucide-react";
import { lazy, type ReactNode } from "react";
import type { Session } from "../session/session";
import { usePending, usePendingNotices } from "../reviews/pending";
import { OnDemand } from "../ui/OnDemand";
import { useWords } from "../words/words";
import css from "./Navigation.module.css";

const load = () => import("./AccountMenu");
const AccountMenu = lazy(() => load().then((m) => ({ default: m.AccountMenu })));

export function Navigation({ session }: { session: Session }) {
  const words = useWords();
  const pending = usePending();
  usePendingNotices(pending);
  return (
    <nav className={css.nav} aria-label={words.app.navigation}>
      <img className={css.logo} src="/app/parley.svg" alt="" width={32} height={32} />
      <ul className={css.list}>
        <Item link={pages.chat} icon={<MessageSquare size={20} />} text={words.app.chat} />
        <Item link={pages.reviews} icon={<Inbox size={20} />} text={words.app.reviews} badge={pending.length} />
        <Item link={pages.executions} icon={<ListChecks size={20} />} text={words.app.executions} />
        {session.can.own ? <Item link={pages.audit} icon={<ScrollText size={20} />} text={words.app.audit} /> : null}
        {session.can.own ? <Item link={pages.access} icon={<KeyRound size={20} />} text={words.app.access} /> : null}
      </ul>
      <OnDemand label={words.app.account} icon={<CircleUser size={22} />} prepare={load}><AccountMenu session={session} /></OnDemand>
    </nav>
  );
}

const pages = {
  chat: linkOptions({ to: "/app/chat/{-$threadId}", params: { threadId: undefined }, search: {} }),
  reviews: linkOptions({ to: "/reviews", search: {} }),
  executions: linkOptions({ to: "/app/executions", search: {} }),
  audit: linkOptions({ to: "/app/audit", search: {} }),
  access: linkOptions({ to: "/app/access" }),
};

interface ItemProps {
  link: (typeof pages)[keyof typeof pages];
  icon: ReactNode;
  text: string;
  badge?: number;
}

function Item({ link, icon, text, badge }: ItemProps) {
  return (
    <li>
      <Link {...link} className={css.item} activeProps={{ className: css.active, "aria-current": "page" }} activeOptions={{ exact: false, includeSearch: false }}>
        <span className={css.icon}>
          {icon}
          {badge ? <span className={css.badge}>{badge > 99 ? "99+" : badge}</span> : null}
        </span>
        <span className={css.text}>{text}</span>
      </Link>
    </li>
  );
}
