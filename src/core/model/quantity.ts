const BINARY: Readonly<Record<string, number>> = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 };
const DECIMAL: Readonly<Record<string, number>> = { k: 1e3, M: 1e6, G: 1e9, T: 1e12 };

/** `256Mi`, `1Gi`, `500M`, `1048576` to bytes; undefined when the text has another form. */
export function parseMemory(text: string): number | undefined {
  const match = /^(\d{1,16}(?:\.\d{1,6})?)(Ki|Mi|Gi|Ti|k|M|G|T)?$/.exec(text);
  if (!match) return undefined;
  const [, digits, unit] = match;
  const factor = unit === undefined ? 1 : (BINARY[unit] ?? DECIMAL[unit] ?? 1);
  const bytes = Math.round(Number(digits) * factor);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** `10s`, `1m30s`, `500ms`, `1h` to milliseconds; undefined when the text has another form. */
export function parseDuration(text: string): number | undefined {
  const match =
    /^(?=\d)(?:(\d{1,6})h)?(?:(\d{1,6})m(?!s))?(?:(\d{1,9}(?:\.\d{1,3})?)s)?(?:(\d{1,9})ms)?$/.exec(text);
  if (!match) return undefined;
  const [, hours, minutes, seconds, millis] = match;
  return (
    Number(hours ?? 0) * 3_600_000 +
    Number(minutes ?? 0) * 60_000 +
    Math.round(Number(seconds ?? 0) * 1000) +
    Number(millis ?? 0)
  );
}

export function formatBytes(bytes: number): string {
  for (const [unit, factor] of Object.entries(BINARY).reverse()) {
    if (bytes >= factor) return `${Number((bytes / factor).toFixed(1))} ${unit}B`;
  }
  return `${bytes} B`;
}
