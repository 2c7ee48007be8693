// A form for a JSON value, made from its JSON Schema: the fields are labelled controls, what
// has no control of its own is edited as JSON.
import { createContext, useContext, useId } from "react";
import { useWords } from "../words/words";
import { ArrayField } from "./ArrayField";
import { JsonField } from "./JsonField";
import { ObjectField } from "./ObjectField";
import { ScalarField } from "./ScalarField";
import { resolved, typeOf, type Json, type Schema } from "./schema";
import type { Errors } from "./validate";

interface FormContext {
  root: Schema;
  errors: Errors;
}

const Form = createContext<FormContext>({ root: {}, errors: new Map() });

export const useForm = () => useContext(Form);

interface Props {
  schema: Schema;
  value: Json;
  errors: Errors;
  onChange(value: Json): void;
}

export function SchemaForm({ schema, value, errors, onChange }: Props) {
  const id = useId();
  const words = useWords();
  return (
    <Form value={{ root: schema, errors }}>
      <FieldOf key={id} schema={schema} path="" label={typeOf(resolved(schema, schema)) === "object" ? "" : words.approval.value} value={value} onChange={(v) => onChange(v as Json)} required />
    </Form>
  );
}

export interface FieldProps {
  schema: Schema;
  /** JSON Pointer of the value in the form. */
  path: string;
  label: string;
  value: Json | undefined;
  required: boolean;
  /** undefined takes an optional value out. */
  onChange(value: Json | undefined): void;
}

/** The control for one value. */
export function FieldOf(props: FieldProps) {
  const { root } = useForm();
  const schema = resolved(props.schema, root);
  const own = { ...props, schema };
  if (schema.enum || schema.const !== undefined) return <ScalarField {...own} />;
  switch (typeOf(schema)) {
    case "object":
      return schema.properties && (props.value === undefined || isPlain(props.value)) ? <ObjectField {...own} /> : <JsonField {...own} />;
    case "array":
      return schema.items !== undefined && typeof schema.items === "object" && (props.value === undefined || Array.isArray(props.value)) ? <ArrayField {...own} /> : <JsonField {...own} />;
    case "string":
    case "number":
    case "integer":
    case "boolean":
      return <ScalarField {...own} />;
    default:
      return <JsonField {...own} />;
  }
}

const isPlain = (value: Json) => typeof value === "object" && value !== null && !Array.isArray(value);
