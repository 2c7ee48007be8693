// What stands around every page: the way to the others, and whose session it is.
import { Outlet } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { useSessionKeeper } from "../session/keeper";
import { useSession } from "../session/session";
import { useWords } from "../words/words";
import css from "./Frame.module.css";
import { PageFailed } from "./PageFailed";
import { Navigation } from "./Navigation";

const SignIn = lazy(() => import("../session/SignIn").then((m) => ({ default: m.SignIn })));

export function Frame() {
  const session = useSession();
  useSessionKeeper();
  const words = useWords();
  const loading = <p className={css.loading} role="status">{words.app.loading}</p>;
  if (session.isPending) return loading;
  if (session.error) return <PageFailed error={session.error} />;
  if (!session.data) return <Suspense fallback={loading}><SignIn /></Suspense>;
  return (
    <div className={css.frame}>
      <a className={css.skip} href="#content">{words.app.skip}</a>
      <Navigation session={session.data} />
      <main id="content" className={css.main} tabIndex={-1}>
        <Suspense fallback={loading}><Outlet /></Suspense>
      </main>
    </div>
  );
}
