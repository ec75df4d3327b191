import { reject } from '../../core/rejections/reject.ts';
import { type Rejection, rejectionBody } from '../../core/rejections/rejection.ts';
import type { Cell, Cells } from './cells-file.ts';

/** In single quotes nothing of HAProxy's configuration has a meaning but their end. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`\u0027`)}'`;
}

function answer(baseUrl: string, rejection: Rejection, retryAfter: number): string {
  const body = JSON.stringify(rejectionBody(rejection, baseUrl));
  return `content-type application/json string ${quoted(body)} hdr Retry-After ${retryAfter} hdr Cache-Control no-store`;
}

const AWAY = reject('cell_unavailable', {
  field: 'cell',
  received: '(none)',
  why: 'The cell of this credential cannot be reached at the moment. The request was not sent to it; nothing was stored.',
});
const CUT = reject('cell_unavailable', {
  field: 'cell',
  received: '(none)',
  why: 'The connection to the cell ended before its answer; it is not known whether a write was stored: read the record before sending it again.',
});
const UNKNOWN = reject('cell_unknown', {
  field: 'Authorization',
  received: '(redacted)',
  why: 'The token names a cell that this router does not know.',
});
const CROWDED = reject('connection_limit_reached', {
  field: 'connection',
  received: '(none)',
  why: 'This address has too many requests under way.',
});
function serverLines({ servers, ca }: Cell): readonly string[] {
  return servers.map((url, index) => {
    const isTls = url.protocol === 'https:';
    const host = url.hostname;
    const port = url.port === '' ? (isTls ? '443' : '80') : url.port;
    const tls = isTls
      ? ` ssl verify required ca-file ${ca ?? '@system-ca'} verifyhost ${host} sni str(${host}) check-sni ${host}`
      : '';
    return `  server cp${index + 1} ${url.hostname}:${port}${tls}`;
  });
}

/** One control plane answers for itself while it starts; of several, those that are ready are asked. */
function backend(cell: Cell): string {
  const alone = cell.servers.length === 1;
  return [
    `backend cell_${cell.name}`,
    '  balance leastconn',
    '  option httpchk GET /readyz',
    `  http-check expect ${alone ? 'rstatus ^[1-5]' : 'status 200'}`,
    `  retries ${alone ? 0 : 2}`,
    ...(alone ? [] : ['  option redispatch 1']),
    `  default-server check inter 1s downinter 200ms fall ${alone ? 3 : 2} rise 1 init-addr last,libc,none`,
    ...serverLines(cell),
  ].join('\n');
}

/**
 * HAProxy in front of cells. It takes the cell's name from the credential, looks nothing up, and believes nothing: the cell that is
 * asked authenticates as ever, so that a credential with another cell's name is one that nobody has.
 */
export function haproxyConfig(cells: Cells): string {
  const { baseUrl, certificate } = cells;
  const names = cells.cells.map(({ name }) => name).join(' ');
  return `# Made by berth cells haproxy; edit the description of the cells, not this file.
global
  log stderr format raw daemon notice

defaults
  mode http
  log global
  option httplog
  option dontlog-normal
  option http-ignore-probes
  timeout http-request 10s
  timeout http-keep-alive 60s
  timeout connect 3s
  timeout check 5s
  # Agents say something every 5 s; a log that is followed may be silent for longer. The cell bounds everything shorter.
  timeout client 1h
  timeout server 1h
  timeout tunnel 1h
  http-error status 502 ${answer(baseUrl, CUT, 1)}
  http-error status 503 ${answer(baseUrl, AWAY, 1)}
  http-error status 504 ${answer(baseUrl, CUT, 1)}

frontend berth
  bind ${cells.listen}${certificate === undefined ? '' : ` ssl crt ${certificate} alpn http/1.1`}
  # What only proxies and control planes say.
  http-request del-header x-forwarded- -m beg
  http-request del-header forwarded
  http-request del-header berth-handed-on
  http-request del-header berth-control-plane
  http-request set-header X-Forwarded-For %[src]
  http-request set-header X-Forwarded-Proto ${new URL(baseUrl).protocol.slice(0, -1)}
  # The cells see one address, the router's, so that it limits the others. Agents may be many behind one.
  stick-table type ipv6 size 100k expire 1m store conn_cur
  http-request track-sc0 src if !{ path_beg /agent/ }
  http-request return status 429 ${answer(baseUrl, CROWDED, 1)} if { sc0_conn_cur gt ${cells.requestsPerAddress} }
  # Tokens end their id with the cell's name, sessions their own after a dot. A session of a cell that is gone is one that has ended.
  http-request set-var(txn.token) req.fhdr(authorization),word(2,' ')
  http-request set-var(txn.id) var(txn.token),field(3,_) if { var(txn.token) -m reg ^berth_(pat|join|node)_(tok|join)[0-9a-z]{26}[a-z][a-z0-9]{0,7}_ }
  http-request set-var(txn.cell) var(txn.id),bytes(29) if { var(txn.id) -m beg tok }
  http-request set-var(txn.cell) var(txn.id),bytes(30) if { var(txn.id) -m beg join }
  acl has_token req.fhdr(authorization) -m found
  http-request set-var(txn.session) req.cook(__Host-berth_session),field(2,.) if !has_token
  http-request set-var(txn.session) req.cook(berth_session),field(2,.) if !has_token !{ var(txn.session) -m len 1:8 }
  http-request set-var(txn.cell) var(txn.session) if { var(txn.session) -m str ${names} }
  http-request set-var(txn.cell) str(${cells.default}) if !{ var(txn.cell) -m found }
  use_backend cell_%[var(txn.cell)] if { var(txn.cell) -m str ${names} }
  default_backend unknown

backend unknown
  http-request return status 503 ${answer(baseUrl, UNKNOWN, 10)}

${cells.cells.map(backend).join('\n\n')}

frontend status
  bind ${cells.status}
  monitor-uri /healthz
  http-request use-service prometheus-exporter if { path /metrics }
  http-request return status 404
`;
}
