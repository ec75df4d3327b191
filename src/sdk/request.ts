/** Texts, numbers and flags by name; what is undefined is not sent. */
export function queryText(query: object = {}): string {
  const given = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined) given.set(key, String(value));
  const text = given.toString();
  return text === '' ? '' : `?${text}`;
}

/** The path with its parameters filled in, each of them one segment whatever it holds. */
export function pathOf(template: string, params: Readonly<Record<string, string>> = {}): string {
  return template.replaceAll(/\{([a-zA-Z]+)\}/g, (_whole, name: string) => {
    const value = params[name];
    // Dots alone lead out of the path, to another operation.
    if (value === undefined || /^\.{0,2}$/.test(value))
      throw new TypeError(`${template}: ${name} cannot be ${JSON.stringify(value)}`);
    return encodeURIComponent(value);
  });
}

/** A UUID; not from `randomUUID`, which a page has only when it came by https. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** A body typed by a user or read from a file: the control plane says what is wrong with it. */
export function unjudged<T extends object>(body: unknown): T {
  return body as T;
}
