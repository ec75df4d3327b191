/**
 * What an accepted write is answered with, as text, but for its revision, which may not be known yet. What was altered is told by the answer and by the line
 * of the request: it is written out once.
 */
export class AcceptedText {
  /** In the line of the request, after other members. */
  readonly line: string;
  /** Without the closing brace. */
  readonly #others: string;
  readonly #altered: string;

  /** With `isRevised` the text is complete with a revision only. */
  constructor(body: Readonly<Record<string, unknown>>, isRevised = false) {
    const { name, alterations, revision } = body;
    const isAltered = Array.isArray(alterations) && alterations.length > 0;
    // Members without a value are left out of the text.
    const others = JSON.stringify({
      ...body,
      alterations: isAltered ? undefined : alterations,
      revision: isRevised ? undefined : revision,
    });
    this.#others = others.slice(0, -1);
    this.#altered = isAltered ? `"alterations":${JSON.stringify(alterations)}` : '';
    const named = name === undefined ? '' : `,"name":${JSON.stringify(name)}`;
    this.line = isAltered ? `${named},${this.#altered}` : '';
  }

  text(revision?: number): string {
    let text = this.#others;
    if (revision !== undefined) text = after(text, `"revision":${revision}`);
    if (this.#altered !== '') text = after(text, this.#altered);
    return `${text}}`;
  }
}

function after(text: string, member: string): string {
  return text === '{' ? `{${member}` : `${text},${member}`;
}
