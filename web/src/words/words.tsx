// The texts of the app in the reader's language.
import { createContext, startTransition, use, useContext, useEffect, useMemo, useState, type ReactNode } from "react";
import { en, type Words } from "./en";

export type Language = "en" | "zh";
const dictionaries: Partial<Record<Language, Words>> = { en };
let chinese: Promise<Words> | undefined;

/** The texts of a language; other ones than English are fetched when they are chosen. */
function dictionary(language: Language): Words {
  return dictionaries[language] ?? use((chinese ??= import("./zh").then(({ zh }) => (dictionaries.zh = zh))));
}
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
  const words = dictionary(language);
  const choice = useMemo<Choice>(
    () => ({
      language,
      words,
      choose(next) {
        localStorage.setItem(key, next);
        startTransition(() => setLanguage(next));
      },
    }),
    [language, words],
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
