// The texts of the app in the reader's language.
import { createContext, useContext, useEffect, useMemo, useState, type ReactNode } from "react";
import { en, type Words } from "./en";
import { zh } from "./zh";

export type Language = "en" | "zh";
const dictionaries: Record<Language, Words> = { en, zh };
const key = "parley-language";

function initial(): Language {
  const stored = localStorage.getItem(key);
  if (stored === "en" || stored === "zh") return stored;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

interface Choice {
  language: Language;
  words: Words;
  choose(language: Language): void;
}

const Chosen = createContext<Choice>({ language: "en", words: en, choose: () => {} });

export function WordsProvider({ children }: { children: ReactNode }) {
  const [language, setLanguage] = useState(initial);
  useEffect(() => {
    document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  }, [language]);
  const choice = useMemo<Choice>(
    () => ({
      language,
      words: dictionaries[language],
      choose(next) {
        localStorage.setItem(key, next);
        setLanguage(next);
      },
    }),
    [language],
  );
  return <Chosen value={choice}>{children}</Chosen>;
}

/** The texts. */
export const useWords = (): Words => useContext(Chosen).words;

/** The language, and how to change it. */
export function useLanguage(): [Language, (language: Language) => void] {
  const { language, choose } = useContext(Chosen);
  return [language, choose];
}

/** The locale for dates, numbers and amounts: the browser's own, unless another language was chosen here. */
export function useLocale(): string {
  const { language } = useContext(Chosen);
  const spoken = navigator.languages.find((l) => l.toLowerCase().startsWith(language));
  return spoken ?? (localStorage.getItem(key) ? language : navigator.language);
}
