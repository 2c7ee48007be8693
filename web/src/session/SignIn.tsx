import { useQuery } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { ApiError } from "../api/request";
import { Button, LinkButton } from "../ui/Button";
import { TextField } from "../ui/Field";
import { Notice } from "../ui/Notice";
import { useWords } from "../words/words";
import css from "./SignIn.module.css";
import { arrivedWith, startAddress, useSignInOptions } from "./provider";
import { endedKey, failedKey, useSignIn } from "./session";

/** With the identity provider, where there is one, or a key or token; the browser gets a cookie that its scripts can't read. */
export function SignIn() {
  const words = useWords();
  const options = useSignInOptions();
  const ended = useQuery({ queryKey: endedKey, queryFn: () => false, staleTime: Infinity }).data;
  const failure = useQuery({ queryKey: failedKey, queryFn: () => arrivedWith, initialData: arrivedWith, staleTime: Infinity }).data;
  const provider = options.data?.oidc;
  return (
    <main className={css.page}>
      <div className={css.card}>
        <img src="/app/parley.svg" alt="" width={44} height={44} />
        <h1>{words.session.title}</h1>
        {failure ? <Notice kind="bad" alert>{words.session.failures[failure]}</Notice> : ended ? <Notice kind="wait" alert>{words.session.ended}</Notice> : null}
        {provider ? (
          <>
            <LinkButton kind="primary" href={startAddress(provider.start, failure === "no_role" || failure === "denied")}>
              {provider.name ? words.session.oidcNamed(provider.name) : words.session.oidc}
            </LinkButton>
            <p className={css.or}>{words.session.or}</p>
          </>
        ) : (
          <p className={css.lead}>{words.session.lead}</p>
        )}
        {options.isPending ? null : <CredentialForm kind={provider ? "plain" : "primary"} />}
      </div>
    </main>
  );
}

/** Takes an API key or a token. */
function CredentialForm({ kind }: { kind: "plain" | "primary" }) {
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
    <form className={css.form} onSubmit={(e) => void submit(e)} noValidate>
      <TextField label={words.session.key} type={shown ? "text" : "password"} autoComplete="current-password" spellCheck={false} autoFocus={kind === "primary"}
        value={secret} onChange={setSecret} error={failure || undefined} />
      <label className={css.show}><input type="checkbox" checked={shown} onChange={(e) => setShown(e.target.checked)} /> {words.session.show}</label>
      <Button kind={kind} type="submit" disabled={busy}>{words.session.submit}</Button>
    </form>
  );
}
