/** Where a document lives inside a tenant's own mount. A pair and never a joined string, so that nothing has to be parsed back. */
export interface SecretPath {
  readonly namespace: string;
  readonly label: string;
}

const DNS_LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export function isDnsLabel(text: string): boolean {
  return DNS_LABEL.test(text);
}

/** The two segments of a stored `vault_path`; undefined when the text is not exactly two non-empty segments. */
export function splitSecretPath(text: string): SecretPath | undefined {
  const [namespace, label, ...rest] = text.split('/');
  if (!namespace || !label || rest.length > 0) return undefined;
  return { namespace, label };
}

/** For messages and for keys of in-memory maps. */
export function secretPathText(path: SecretPath): string {
  return `${path.namespace}/${path.label}`;
}
