/** The beginning of a text; that there is more is marked. */
export const shortened = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most).trimEnd()}…` : text);
