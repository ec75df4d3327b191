import { usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import { jsonPath } from './json-path.ts';
import { ExpressionError } from './scanner.ts';
import { template } from './template.ts';

/** What is printed of records, said by an expression of the caller. */
export interface Expression {
  /** `jsonpath` sees all that is printed, as `-o json` shows it; `template` sees one record at a time. */
  readonly lines: (printed: unknown) => readonly string[];
}

const LANGUAGES: Readonly<Record<string, (text: string) => Expression>> = {
  jsonpath: (text) => {
    const path = jsonPath(text);
    return { lines: (printed) => path(printed).map(textOf) };
  },
  template: (text) => {
    const fill = template(text);
    return {
      lines: (printed) => {
        const records: readonly unknown[] = Array.isArray(printed) ? printed : [printed];
        return records.map((record) => fill(record));
      },
    };
  },
};

/** Forms of `-o` that take an expression. */
export const EXPRESSION_FORMATS = Object.keys(LANGUAGES).map((name) => `${name}=…`);

const EXAMPLES: Readonly<Record<string, string>> = {
  jsonpath: "-o jsonpath='[*].name'",
  template: "-o template='{{.name}} {{.status.phase}}'",
};

/** Undefined: the word is no such form. A wrong expression ends the command before anything is asked of a control plane. */
export function expressionOf(word: string): Expression | undefined {
  const sign = word.indexOf('=');
  const language = sign === -1 ? word : word.slice(0, sign);
  const read = Object.hasOwn(LANGUAGES, language) ? LANGUAGES[language] : undefined;
  if (read === undefined) return undefined;
  const text = sign === -1 ? '' : word.slice(sign + 1);
  if (text === '') throw usage(`-o ${language} needs an expression`, [`such as ${EXAMPLES[language] ?? ''}`]);
  try {
    return read(text);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    throw usage(`-o ${language}, character ${error.at + 1}: ${error.message}`, [
      text,
      `${' '.repeat(error.at)}^`,
    ]);
  }
}
