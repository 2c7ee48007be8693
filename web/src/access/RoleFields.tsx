// The roles of a new key, each explained for itself: none includes another one.
import { TextField } from "../ui/Field";
import { useWords } from "../words/words";
import css from "./CreateKey.module.css";
import type { ChosenRoles } from "./roles";
import { ScopeFields } from "./ScopeFields";

const names = ["viewer", "operator", "reviewer", "owner"] as const;

interface Props {
  chosen: ChosenRoles;
  /** Shown below; absent while all is well. */
  error: string | undefined;
  onChange(chosen: ChosenRoles): void;
}

export function RoleFields({ chosen, error, onChange }: Props) {
  const w = useWords().access;
  return (
    <fieldset className={css.roles}>
      <legend>{w.roles}</legend>
      <p className={css.lead}>{w.rolesLead}</p>
      {names.map((role) => (
        <div key={role}>
          <label className={css.role}>
            <input type="checkbox" checked={chosen[role] || (chosen.owner && role !== "owner")} disabled={chosen.owner && role !== "owner"} onChange={(e) => onChange({ ...chosen, [role]: e.target.checked })} />
            <span><strong>{w.roleNames[role]}</strong> <code>{role}</code><br /><small>{w.explain[role]}</small></span>
          </label>
          {role === "reviewer" && chosen.reviewer && !chosen.owner ? (
            <>
              <ScopeFields scopes={chosen.scopes} onChange={(scopes) => onChange({ ...chosen, scopes })} />
              <div className={css.teams}><TextField label={w.teams} help={w.teamsHelp} value={chosen.teams} onChange={(teams) => onChange({ ...chosen, teams })} spellCheck={false} autoComplete="off" /></div>
            </>
          ) : null}
        </div>
      ))}
      {error ? <p className={css.error} role="alert">{error}</p> : null}
    </fieldset>
  );
}
