// Numbers as a locale writes them.

/** The number that a text means, in the locale's writing or the one of programs; undefined for none. */
export function numberIn(text: string, locale: string): number | undefined {
  const parts = new Intl.NumberFormat(locale).formatToParts(12345678.9);
  const decimal = parts.find((p) => p.type === "decimal")?.value ?? ".";
  const group = parts.find((p) => p.type === "group")?.value ?? ",";
  const bare = text.trim().replace(/[\s\u00a0\u202f]/g, "");
  const grouped = new RegExp(`^-?\\d{1,3}(${escaped(group)}\\d{3})*(${escaped(decimal)}\\d*)?$`);
  const plain = new RegExp(`^-?\\d+(${escaped(decimal)}\\d*)?$`);
  if (grouped.test(bare) || plain.test(bare)) return Number(bare.replaceAll(group, "").replace(decimal, "."));
  return /^-?\d+(\.\d+)?$/.test(bare) ? Number(bare) : undefined;
}

const escaped = (mark: string) => mark.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

export function shownNumber(value: number, locale: string, currency: string | undefined): string {
  return new Intl.NumberFormat(locale, currency ? { minimumFractionDigits: 2, maximumFractionDigits: 2 } : { maximumFractionDigits: 20 }).format(value);
}

/** An amount with its currency, as it is read. */
export function shownAmount(value: number, locale: string, currency: string | undefined): string {
  if (!currency) return shownNumber(value, locale, undefined);
  try {
    return new Intl.NumberFormat(locale, { style: "currency", currency }).format(value);
  } catch {
    return `${shownNumber(value, locale, currency)} ${currency}`;
  }
}
