import { isDnsLabel } from './secret-path.ts';

/** One `{{secret.<resource>.<key>}}`: `resource` is the label of a declared `vault_path`. */
export interface TemplateReference {
  readonly resource: string;
  readonly key: string;
}

export type TemplatePart = string | TemplateReference;

export type ParsedTemplate =
  | { readonly ok: true; readonly parts: readonly TemplatePart[] }
  | { readonly ok: false };

const OPEN = '{{';
const CLOSE = '}}';
const SECRET_KEY = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** As long as the name of a variable may be. */
const MAX_SECRET_KEY_LENGTH = 256;

/** Of a key that is written; one that is there is delivered whatever its length. */
export function isNewSecretKey(text: string): boolean {
  return text.length <= MAX_SECRET_KEY_LENGTH && isSecretKey(text);
}

export function isSecretKey(text: string): boolean {
  return SECRET_KEY.test(text);
}

function parseReference(inner: string): TemplateReference | undefined {
  const [word, resource, key, ...rest] = inner.split('.');
  if (word !== 'secret' || resource === undefined || key === undefined || rest.length > 0) return undefined;
  return isDnsLabel(resource) && isSecretKey(key) ? { resource, key } : undefined;
}

/**
 * Splits a template into literal text and references. Every `{{` must open a well-formed placeholder: text that only looks
 * like one would otherwise reach the workload unexpanded. A lone `}}` is literal, because JSON templates end with it.
 */
export function parseTemplate(template: string): ParsedTemplate {
  const parts: TemplatePart[] = [];
  let from = 0;
  for (let open = template.indexOf(OPEN); open !== -1; open = template.indexOf(OPEN, from)) {
    const close = template.indexOf(CLOSE, open);
    const reference = close === -1 ? undefined : parseReference(template.slice(open + OPEN.length, close));
    if (reference === undefined) return { ok: false };
    if (open > from) parts.push(template.slice(from, open));
    parts.push(reference);
    from = close + CLOSE.length;
  }
  if (from < template.length) parts.push(template.slice(from));
  return { ok: true, parts };
}

export function templateReferences(parts: readonly TemplatePart[]): readonly TemplateReference[] {
  return parts.filter((part) => typeof part !== 'string');
}
