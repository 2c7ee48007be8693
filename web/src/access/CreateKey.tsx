import { useState, type FormEvent } from "react";
import { useProject, useSession } from "../session/session";
import { Badge } from "../ui/Badge";
import { Button } from "../ui/Button";
import { CopyButton } from "../ui/CopyButton";
import { TextField } from "../ui/Field";
import { Notice } from "../ui/Notice";
import { Panel } from "../ui/Panel";
import { useWords } from "../words/words";
import css from "./CreateKey.module.css";
import { endOf, ExpiryField, type Expiry } from "./ExpiryField";
import { useCreateKey } from "./keys";
import { RoleFields } from "./RoleFields";
import { nameable, roleNames, type ChosenRoles } from "./roles";

const noRoles: ChosenRoles = { viewer: false, operator: false, reviewer: false, owner: false, scopes: [], teams: "" };

/** Makes a key, and shows it this once. */
export function CreateKey({ close }: { close(): void }) {
  const words = useWords();
  const w = words.access;
  const project = useProject();
  const session = useSession().data;
  const [first] = useState(session?.kind === "anonymous"); // with the first key access without one ends
  const own = session?.workspace_id; // an owner who is bound to a workspace makes keys for it alone
  const create = useCreateKey();
  const [name, setName] = useState("");
  const [roles, setRoles] = useState(noRoles);
  const [program, setProgram] = useState(false);
  const [workspace, setWorkspace] = useState(own ?? "");
  const [expiry, setExpiry] = useState<Expiry>({ kind: "never" });
  const [tried, setTried] = useState(false);

  const named = roleNames(roles);
  const end = endOf(expiry, Date.now());
  const bad = {
    name: name.trim() === "" ? words.form.missing : undefined,
    roles: named.length === 0 ? w.noRole : first && (!roles.owner || program) ? w.firstOwner : roles.reviewer && !roles.owner && !roles.scopes.every(nameable) ? w.badScope : undefined,
    expiry: end === undefined ? w.badDate : undefined,
  };

  function submit(event: FormEvent) {
    event.preventDefault();
    setTried(true);
    if (bad.name || bad.roles || bad.expiry) return;
    create.mutate({
      name: name.trim(), roles: named, agent: program, ...(workspace.trim() ? { workspace_id: workspace.trim() } : {}),
      ...(end ? { expires_at: end.toISOString() } : {}),
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
  return (
    <Panel open onOpenChange={close} title={w.create}>
      <form className={css.form} onSubmit={submit} noValidate>
        {first ? <Notice>{w.firstKey}</Notice> : null}
        <TextField label={w.name} help={w.nameHelp} value={name} onChange={setName} maxLength={100} error={tried ? bad.name : undefined} />
        <RoleFields chosen={roles} error={tried ? bad.roles : undefined} onChange={setRoles} />
        <label className={css.role}>
          <input type="checkbox" checked={program} onChange={(e) => setProgram(e.target.checked)} />
          <span><strong>{w.program}</strong><br /><small>{w.programHelp}</small></span>
        </label>
        {program && roles.reviewer ? <Notice kind="wait">{w.programReviewer}</Notice> : null}
        <div className={css.pair}>
          <TextField label={w.project} help={w.projectHelp} value={project} onChange={() => {}} readOnly />
          <TextField label={w.workspace} help={own ? w.workspaceOwn : w.workspaceHelp} placeholder={w.allWorkspaces} value={workspace} onChange={setWorkspace} readOnly={own !== undefined} />
        </div>
        <ExpiryField value={expiry} error={tried ? bad.expiry : undefined} onChange={setExpiry} />
        {named.length > 0 ? <p className={css.result}>{w.result} {named.map((role) => <Badge key={role} kind="accent">{role}</Badge>)}</p> : null}
        {create.error ? <Notice kind="bad" alert>{create.error.message}</Notice> : null}
        <div><Button kind="primary" type="submit" disabled={create.isPending}>{w.create}</Button></div>
      </form>
    </Panel>
  );
}
