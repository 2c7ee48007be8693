import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { useWords } from "../words/words";
import { IconButton } from "./Button";

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const words = useWords();
  const [copied, setCopied] = useState(false);
  async function copy() {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  }
  return (
    <IconButton label={copied ? words.app.copied : (label ?? words.app.copy)} onClick={() => void copy()}>
      {copied ? <Check size={16} /> : <Copy size={16} />}
    </IconButton>
  );
}
