/** Markup that is safe to send. Only the `html` tag makes it, so that text cannot reach a page unescaped. */
export interface Html {
  readonly markup: string;
}

type Part = Html | string | number | undefined | readonly Html[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
}

function markupOf(part: Part): string {
  if (part === undefined) return '';
  if (typeof part === 'string') return escapeText(part);
  if (typeof part === 'number') return String(part);
  if ('markup' in part) return part.markup;
  return part.map((item) => item.markup).join('');
}

export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const markup = texts.map((text, index) => text + markupOf(parts[index])).join('');
  return { markup };
}

/** Text of the catalogue in which backticks mark what is code. */
export function prose(text: string): Html {
  const parts = text
    .split('`')
    .map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));
  return html`${parts}`;
}
