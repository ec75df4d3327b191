/** Shorter values occur in any text by chance. */
const SHORTEST_REDACTED = 4;

/** Engines quote what they refuse: values that may be secret are taken out of their messages. */
export function redact(message: string, values: readonly string[]): string {
  return values
    .filter((value) => value.length >= SHORTEST_REDACTED)
    .reduce((cleaned, value) => cleaned.replaceAll(value, '[redacted]'), message);
}
