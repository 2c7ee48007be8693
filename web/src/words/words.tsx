// The texts of the app in the reader's language.
import { createContext, memo, startTransition, use, useCallback, useContext, useEffect, useState, type ReactNode } from "react";
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
  const choose = useCallback((next: Language) => {
    localStorage.setItem(key, next);
    startTransition(() => setLanguage(next));
  }, []);
  return <Dictionary language={language} choose={choose}>{children}</Dictionary>;
}

interface DictionaryProps {
  language: Language;
  choose(language: Language): void;
  children: ReactNode;
}

/** Waits for the texts. It has no other hooks: React 19.3 may mistake those behind a `use` that waits for ones of an update (its error 467). */
const Dictionary = memo(function Dictionary({ language, choose, children }: DictionaryProps) {
  const words = dictionary(language);
  return <Chosen value={{ language, words, choose }}>{children}</Chosen>;
});

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
