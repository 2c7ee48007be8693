// What a reviewer decides: everything, or only what certain agents or tools ask.
import { Plus, X } from "lucide-react";
import { useId } from "react";
import { agentTitle, useAgents } from "../chat/agents";
import { Button, IconButton } from "../ui/Button";
import { Choice } from "../ui/Choice";
import { TextField } from "../ui/Field";
import { useWords } from "../words/words";
import css from "./CreateKey.module.css";
import type { Scope } from "./roles";
import { useKnownTools } from "./tools";

interface Props {
  /** Empty: everything. */
  scopes: Scope[];
  onChange(scopes: Scope[]): void;
}

export function ScopeFields({ scopes, onChange }: Props) {
  const words = useWords();
  const w = words.access;
  const name = useId();
  const agents = useAgents().data ?? [];
  const first = agents[0]?.graph_id ?? "";
  const change = (at: number, part: Partial<Scope>) => onChange(scopes.map((s, i) => (i === at ? { ...s, ...part } : s)));
  return (
    <fieldset className={css.scopes}>
      <legend>{w.decides}</legend>
      <label className={css.role}>
        <input type="radio" name={name} checked={scopes.length === 0} onChange={() => onChange([])} /> <span>{w.decidesAll}</span>
      </label>
      <label className={css.role}>
        <input type="radio" name={name} checked={scopes.length > 0} onChange={() => onChange([{ agent: first, tool: "" }])} /> <span>{w.decidesSome}</span>
      </label>
      {scopes.length === 0 ? null : (
        <>
          <ul className={css.scopeList}>
            {scopes.map((scope, i) => (
              <li key={i} className={css.scope} aria-label={w.scope(i + 1)}>
                <Choice label={w.scopeAgent} value={scope.agent} onChange={(agent) => change(i, { agent, tool: "" })} options={agents.map((a) => [a.graph_id, agentTitle(a)] as const)} />
                <ToolField agent={scope.agent} value={scope.tool} onChange={(tool) => change(i, { tool })} />
                {scopes.length > 1 ? <IconButton label={w.dropScope(i + 1)} onClick={() => onChange(scopes.filter((_, k) => k !== i))}><X size={16} /></IconButton> : null}
              </li>
            ))}
          </ul>
          <div><Button small onClick={() => onChange([...scopes, { agent: first, tool: "" }])}><Plus size={15} aria-hidden /> {w.addScope}</Button></div>
          <small>{w.scopeHelp}</small>
        </>
      )}
    </fieldset>
  );
}

/** A tool's name; the ones that the agent has asked about are offered. */
function ToolField({ agent, value, onChange }: { agent: string; value: string; onChange(tool: string): void }) {
  const w = useWords().access;
  const list = useId();
  const tools = useKnownTools(agent);
  return (
    <>
      <TextField label={w.scopeTool} placeholder={w.allTools} value={value} onChange={onChange} list={list} spellCheck={false} autoComplete="off" />
      <datalist id={list}>{tools.map((tool) => <option key={tool} value={tool} />)}</datalist>
    </>
  );
}
