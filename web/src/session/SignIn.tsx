import { useState, type FormEvent } from "react";
import { ApiError } from "../api/request";
import { Button } from "../ui/Button";
import { TextField } from "../ui/Field";
import { useWords } from "../words/words";
import css from "./SignIn.module.css";
import { useSignIn } from "./session";

/** Takes an API key or a token, and leaves the browser a cookie that its scripts can't read. */
export function SignIn() {
  const words = useWords();
  const signIn = useSignIn();
  const [secret, setSecret] = useState("");
  const [shown, setShown] = useState(false);
  const [failure, setFailure] = useState("");
  const [busy, setBusy] = useState(false);

  async function submit(event: FormEvent) {
    event.preventDefault();
    if (secret.trim() === "") return setFailure(words.form.missing);
    setBusy(true);
    setFailure("");
    try {
      await signIn(secret.trim());
    } catch (error) {
      const refused = error instanceof ApiError && (error.status === 401 || error.status === 403);
      setFailure(refused ? words.session.refused : error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  }

  return (
    <main className={css.page}>
      <form className={css.card} onSubmit={(e) => void submit(e)} noValidate>
        <img src="/app/parley.svg" alt="" width={44} height={44} />
        <h1>{words.session.title}</h1>
        <p className={css.lead}>{words.session.lead}</p>
        <TextField label={words.session.key} type={shown ? "text" : "password"} autoComplete="current-password" spellCheck={false} autoFocus
          value={secret} onChange={setSecret} error={failure || undefined} />
        <label className={css.show}><input type="checkbox" checked={shown} onChange={(e) => setShown(e.target.checked)} /> {words.session.show}</label>
        <Button kind="primary" type="submit" disabled={busy}>{words.session.submit}</Button>
      </form>
    </main>
  );
}
