import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { REJECTIONS_TYPE } from '../../src/core/operations/queries.ts';
import { openapiDocument } from '../../src/server/api/openapi.ts';
import { apiRoutes } from '../../src/server/api/routes/index.ts';

interface Documented {
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
  readonly 'x-with-all'?: Readonly<Record<string, { readonly schema: object }>>;
  readonly 'x-codes'?: readonly string[];
}

interface Judged {
  readonly segments: readonly string[];
  readonly requestBody?: Documented;
  readonly responses: Readonly<Record<string, Documented>>;
}

export interface SeenAnswer {
  /** The body that it answers, where that was JSON; asked for when it was accepted. */
  readonly sent?: () => unknown;
  readonly status: number;
  readonly contentType: string | undefined;
  readonly text: string;
}

/** Said by the edge, whatever the route. */
const OF_THE_EDGE: ReadonlySet<string> = new Set(['route_not_found', 'method_not_allowed']);

/**
 * Holds every answer to the document that the control plane serves: a documented status, type and code, and a body of the documented
 * shape. Built on first use, because most test files ask for a few routes only.
 */
class Judge {
  readonly #operations = new Map<string, Judged[]>();
  /** By their text: most answers of the document are the same rejection. */
  readonly #schemas = new Map<string, ValidateFunction>();
  readonly #ajv: Ajv2020;

  constructor() {
    const document = openapiDocument(apiRoutes({} as never), 'test') as {
      readonly paths: Readonly<Record<string, Readonly<Record<string, Omit<Judged, 'segments'>>>>>;
    };
    this.#ajv = new Ajv2020({ strict: false, allErrors: false });
    formats.default(this.#ajv);
    this.#ajv.addSchema({ $id: 'berth:document', ...document });
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const judged = { segments: path.split('/'), ...operation };
        const known = this.#operations.get(method.toUpperCase()) ?? [];
        this.#operations.set(method.toUpperCase(), [...known, judged]);
      }
    }
  }

  problem(method: string, url: string, answer: SeenAnswer): string | undefined {
    const operation = this.#find(method, url);
    if (operation === undefined) return undefined;
    const { status, text } = answer;
    const type = answer.contentType?.split(';')[0];
    const parsed = type?.endsWith('json') === true && text !== '' ? (JSON.parse(text) as unknown) : undefined;
    const code = (parsed as { readonly code?: unknown } | undefined)?.code;
    if (status >= 400 && OF_THE_EDGE.has(String(code))) return undefined;
    const documented = operation.responses[status];
    if (documented === undefined) return `${status} (${String(code)}) is not documented`;
    if (status >= 400 && documented['x-codes']?.includes(String(code)) !== true)
      return `${status} ${String(code)} is not documented`;
    // Of a document that was only tried: what is refused in it is the answer.
    const isTaken = status < 300 && type !== REJECTIONS_TYPE;
    const refused = isTaken ? this.#refusal(operation, answer.sent?.()) : undefined;
    if (refused !== undefined) return `${status}, but the document refuses the body: ${refused}`;
    const content = Object.keys({ ...documented.content, ...documented['x-with-all'] });
    if (text === '' && content.length === 0) return undefined;
    if (type === undefined || !content.includes(type)) return `type ${String(type)} is not documented`;
    if (parsed === undefined) return undefined;
    const misshapen = this.#misfit(documented, parsed, type);
    return misshapen === undefined ? undefined : `${status} is not of its shape: ${misshapen}`;
  }

  /** What is accepted is documented as accepted: a generated client could not send it otherwise. */
  #refusal({ requestBody }: Judged, sent: unknown): string | undefined {
    return sent === undefined || requestBody === undefined ? undefined : this.#misfit(requestBody, sent);
  }

  #misfit(documented: Documented, value: unknown, type = 'application/json'): string | undefined {
    const validate = this.#schema(documented, type);
    if (validate(value)) return undefined;
    return `${this.#ajv.errorsText(validate.errors)} ${JSON.stringify(validate.errors?.[0]?.params)}`;
  }

  #find(method: string, url: string): Judged | undefined {
    const segments = (url.split('?')[0] ?? '').split('/');
    const fitting = (this.#operations.get(method) ?? []).filter(
      (one) =>
        one.segments.length === segments.length &&
        one.segments.every((part, index) => part.startsWith('{') || part === segments[index]),
    );
    // A written segment goes before a parameter, as in the router.
    return fitting.toSorted((a, b) => parameters(a) - parameters(b))[0];
  }

  #schema(documented: Documented, type: string): ValidateFunction {
    const { schema } = { ...documented.content, ...documented['x-with-all'] }[type] ?? { schema: {} };
    const text = JSON.stringify(schema).replaceAll('"#/', '"berth:document#/');
    const known = this.#schemas.get(text);
    if (known !== undefined) return known;
    const made = this.#ajv.compile(JSON.parse(text) as object);
    this.#schemas.set(text, made);
    return made;
  }
}

function parameters({ segments }: Judged): number {
  return segments.filter((part) => part.startsWith('{')).length;
}

let judge: Judge | undefined;

/** Why the answer contradicts the OpenAPI document; undefined: it does not. */
export function contradiction(method: string, url: string, answer: SeenAnswer): string | undefined {
  judge ??= new Judge();
  const problem = judge.problem(method, url, answer);
  return problem === undefined ? undefined : `${method} ${url}: ${problem}\n${answer.text.slice(0, 1500)}`;
}

export function assertDocumented(method: string, url: string, answer: SeenAnswer): void {
  const problem = contradiction(method, url, answer);
  if (problem !== undefined) throw new Error(`contradicts the OpenAPI document: ${problem}`);
}
