import { useState, type FormEvent } from "react";
import { Button } from "../ui/Button";
import { Choice } from "../ui/Choice";
import { CopyButton } from "../ui/CopyButton";
import { TextField } from "../ui/Field";
import { Notice } from "../ui/Notice";
import { Panel } from "../ui/Panel";
import { useWords } from "../words/words";
import css from "./CreateKey.module.css";
import { useCreateKey } from "./keys";

const roleNames = ["viewer", "operator", "reviewer", "owner"] as const;
type Role = (typeof roleNames)[number];

/** Makes a key, and shows it this once. */
export function CreateKey({ close }: { close(): void }) {
  const words = useWords();
  const w = words.access;
  const create = useCreateKey();
  const [name, setName] = useState("");
  const [roles, setRoles] = useState<ReadonlySet<Role>>(new Set());
  const [bound, setBound] = useState("");
  const [program, setProgram] = useState(false);
  const [workspace, setWorkspace] = useState("");
  const [days, setDays] = useState("");
  const [tried, setTried] = useState(false);

  function submit(event: FormEvent) {
    event.preventDefault();
    setTried(true);
    if (roles.size === 0) return;
    const named = [...roles].map((r) => (r === "reviewer" && bound.trim() ? `reviewer:${bound.trim()}` : r));
    create.mutate({
      name: name.trim(), roles: named, agent: program, ...(workspace.trim() ? { workspace_id: workspace.trim() } : {}),
      ...(days ? { expires_at: new Date(Date.now() + Number(days) * 86_400_000).toISOString() } : {}),
    });
  }
  if (create.data?.key) {
    return (
      <Panel open onOpenChange={close} title={create.data.name || w.create}>
        <Notice kind="wait">{w.once}</Notice>
        <p className={css.key}><code>{create.data.key}</code> <CopyButton text={create.data.key} /></p>
        <div><Button kind="primary" onClick={close}>{w.done}</Button></div>
      </Panel>
    );
  }
  const toggle = (role: Role) => {
    const next = new Set(roles);
    if (!next.delete(role)) next.add(role);
    setRoles(next);
  };
  return (
    <Panel open onOpenChange={close} title={w.create}>
      <form className={css.form} onSubmit={submit} noValidate>
        <TextField label={w.name} value={name} onChange={setName} maxLength={100} />
        <fieldset className={css.roles}>
          <legend>{w.roles}</legend>
          {roleNames.map((role) => (
            <label key={role} className={css.role}>
              <input type="checkbox" checked={roles.has(role)} onChange={() => toggle(role)} />
              <span><strong>{role}</strong><br /><small>{w.explain[role]}</small></span>
            </label>
          ))}
          {tried && roles.size === 0 ? <p className={css.error} role="alert">{w.noRole}</p> : null}
        </fieldset>
        {roles.has("reviewer") ? <TextField label={w.bound} help={w.boundHelp} value={bound} onChange={setBound} /> : null}
        <label className={css.role}>
          <input type="checkbox" checked={program} onChange={(e) => setProgram(e.target.checked)} />
          <span><strong>{w.program}</strong><br /><small>{w.programHelp}</small></span>
        </label>
        <Choice label={w.expires} value={days} onChange={setDays} options={Object.entries(w.expiries).toSorted(([a], [b]) => Number(a) - Number(b))} />
        <TextField label={w.workspace} help={w.workspaceHelp} value={workspace} onChange={setWorkspace} />
        {create.error ? <Notice kind="bad" alert>{create.error.message}</Notice> : null}
        <div><Button kind="primary" type="submit" disabled={create.isPending}>{w.create}</Button></div>
      </form>
    </Panel>
  );
}
