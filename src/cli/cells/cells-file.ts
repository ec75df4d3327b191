import { isIP } from 'node:net';
import { CELL_NAME, CELL_NAME_FORM } from '../../core/model/cell.ts';
import { isRejection } from '../../core/rejections/reject.ts';
import { type Draft, readBody, shape } from '../../core/schema/shape.ts';
import { usage } from '../failure.ts';

const cellsShape = shape({
  type: 'object',
  fields: {
    listen: { type: 'string' },
    baseUrl: { type: 'string' },
    certificate: { type: 'string' },
    status: { type: 'string' },
    default: { type: 'string' },
    requestsPerAddress: { type: 'integer' },
    cells: {
      type: 'list',
      items: {
        type: 'object',
        fields: {
          name: { type: 'string' },
          servers: { type: 'list', items: { type: 'string' }, orOne: true },
          ca: { type: 'string' },
        },
      },
    },
  },
});
type CellsDraft = Draft<typeof cellsShape>;
type CellDraft = NonNullable<CellsDraft['cells']>[number];

export interface Cell {
  readonly name: string;
  /** Its control planes. */
  readonly servers: readonly URL[];
  /** What their certificates are signed by; absent: an authority that the system trusts. */
  readonly ca?: string;
}

export interface Cells {
  readonly listen: string;
  readonly baseUrl: string;
  /** Certificate chain and key in one file; absent: something else ends TLS. */
  readonly certificate?: string;
  /** Where the router says how it is. */
  readonly status: string;
  /** Of requests whose credential names none. */
  readonly default: string;
  readonly requestsPerAddress: number;
  readonly cells: readonly Cell[];
}

const LISTEN = /^(?:\[[0-9a-fA-F:]+\]|[A-Za-z0-9.*-]*):\d{1,5}$/;
/** Its words are words of the router's configuration. */
const PATH = /^[A-Za-z0-9._/-]{1,255}$/;
const HOST = /^(?:\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]{1,253})$/;

function fitting(field: string, value: string | undefined, form: RegExp, meant: string): string {
  if (value !== undefined && form.test(value)) return value;
  throw usage(`${field} must be ${meant}${value === undefined ? '; it is missing' : `, not ${value}`}`);
}

function origin(field: string, value: string | undefined): URL {
  const url = value !== undefined && URL.canParse(value) ? new URL(value) : undefined;
  const isPlain = url !== undefined && /^https?:$/.test(url.protocol) && HOST.test(url.hostname);
  if (isPlain && url.pathname === '/' && url.search + url.hash + url.username + url.password === '')
    return url;
  throw usage(
    `${field} must be a URL such as https://cp1.internal:7600, without a path${value === undefined ? '; it is missing' : `, not ${value}`}`,
  );
}

function cellOf({ name, servers, ca }: CellDraft, index: number): Cell {
  const field = `cells[${index}]`;
  const named = fitting(`${field}.name`, name, CELL_NAME, CELL_NAME_FORM);
  const urls = [servers ?? []].flat().map((url, at) => origin(`${field}.servers[${at}]`, url));
  if (urls.length === 0) throw usage(`${field}.servers must name the control planes of ${named}`);
  const schemes = new Set(urls.map(({ protocol }) => protocol));
  if (schemes.size > 1) throw usage(`${field}.servers must be all https or all http`);
  const isTls = schemes.has('https:');
  // HAProxy compares names of a certificate, never the addresses in it.
  const numeric = urls.find(({ hostname }) => isIP(hostname.replaceAll(/[[\]]/g, '')) !== 0);
  if (isTls && numeric !== undefined)
    throw usage(
      `${field}.servers must name https control planes as their certificates do, not by an address such as ${numeric.hostname}`,
    );
  if (!isTls && ca !== undefined) throw usage(`${field}.ca is for https control planes; those are http`);
  return {
    name: named,
    servers: urls,
    ...(ca === undefined ? {} : { ca: fitting(`${field}.ca`, ca, PATH, 'the path of a file') }),
  };
}

const DEFAULT_STATUS = '127.0.0.1:7690';
const DEFAULT_REQUESTS = 1000;

/** The description of all cells, as it was read from its file. */
export function readCells(value: unknown): Cells {
  const draft = readBody(cellsShape, value);
  if (isRejection(draft)) throw usage(`${draft.field}: ${draft.why}`, [`expected: ${draft.expected}`]);
  const cells = (draft.cells ?? []).map(cellOf);
  const names = cells.map(({ name }) => name);
  if (cells.length === 0) throw usage('cells must name at least one cell');
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw usage(`cells names ${twice} twice`);
  const usual = draft.default ?? names[0] ?? '';
  if (!names.includes(usual)) throw usage(`default must be one of ${names.join(', ')}, not ${usual}`);
  const most = draft.requestsPerAddress ?? DEFAULT_REQUESTS;
  if (most < 1) throw usage(`requestsPerAddress must be 1 or more, not ${most}`);
  const address = 'an address and port such as 0.0.0.0:443';
  return {
    listen: fitting('listen', draft.listen, LISTEN, address),
    baseUrl: origin('baseUrl', draft.baseUrl).origin,
    ...(draft.certificate === undefined
      ? {}
      : { certificate: fitting('certificate', draft.certificate, PATH, 'the path of a file') }),
    status: fitting('status', draft.status ?? DEFAULT_STATUS, LISTEN, address),
    default: usual,
    requestsPerAddress: most,
    cells,
  };
}
