import { useWords } from "../words/words";
import css from "./PendingReviews.module.css";
import { useNotifications } from "./pending";

export function NotifySwitch() {
  const words = useWords();
  const notifications = useNotifications();
  if (!notifications.available) return null;
  return (
    <div className={css.notify}>
      <label className={css.switch}>
        <input type="checkbox" role="switch" checked={notifications.on} disabled={notifications.denied} onChange={(e) => void notifications.set(e.target.checked)} />
        {words.reviews.notify}
      </label>
      {notifications.denied ? <small role="status">{words.reviews.notifyDenied}</small> : null}
    </div>
  );
}
