// Light, dark, or whatever the system says.
import { useState } from "react";

export type Theme = "system" | "light" | "dark";
const key = "parley-theme";

export function storedTheme(): Theme {
  const stored = localStorage.getItem(key);
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function applyTheme(theme: Theme = storedTheme()): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(storedTheme);
  return [
    theme,
    (next) => {
      localStorage.setItem(key, next);
      applyTheme(next);
      setTheme(next);
    },
  ];
}
