import { type IngressEntryDraft, MAX_INGRESS } from '../contract/workload/ingress.ts';
import { ingressDrafts } from '../contract/ingress-drafts.ts';
import { INGRESS_PROTOCOLS, INGRESS_PROVIDERS, ingressKey } from '../model/ingress.ts';
import { isRecord } from '../model/values.ts';
import { received, redacted } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { isPort, MAX_PORT } from './ports.ts';
import { type DeploymentInput, invalid } from './rule.ts';
import { checkVaultPath } from './secrets/path.ts';

const HOST_NAME =
  /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;
/** Its last label is a number: no certificate authority is asked for an address. */
const ADDRESS = /(?:^|\.)[0-9]+$/;
const SEGMENT = /^[A-Za-z0-9._~-]+$/;
const MAX_PATH = 255;

type Entry = IngressEntryDraft;
type EntryRule = (entry: Entry, at: string, input: DeploymentInput) => Rejection | undefined;

function wrong(field: string, value: unknown, expected: string, why: string): Rejection {
  return invalid('ingress_invalid', field, value, expected, why);
}

const wordsRule: EntryRule = ({ protocol = 'http', provider = 'caddy' }, at) => {
  if (!INGRESS_PROTOCOLS.some((known) => known === protocol))
    return wrong(`${at}.protocol`, protocol, 'http, tcp or udp', 'This protocol is not served.');
  if (!INGRESS_PROVIDERS.some((known) => known === provider))
    return wrong(`${at}.provider`, provider, 'caddy or traefik', 'There is no ingress of this name.');
  return undefined;
};

function hostWhy(host: string | undefined): string {
  if (host === undefined) return 'The proxy routes by host name.';
  if (host.startsWith('*.'))
    return 'A wildcard would take hosts that other deployments ask for later, and its certificate needs another challenge: name each host.';
  if (/[^\u0000-\u007f]/.test(host))
    return 'Names in other scripts are sent in their ASCII form, which begins with xn--.';
  return 'The proxy routes by host name: no scheme, port, path or capital letter.';
}

export function isHostName(host: string): boolean {
  return HOST_NAME.test(host);
}

const hostRule: EntryRule = ({ protocol = 'http', host, path, listen }, at) => {
  if (protocol !== 'http') return undefined;
  if (host === undefined || !isHostName(host))
    return wrong(`${at}.host`, host, 'a lowercase host name such as shop.example.com', hostWhy(host));
  if (path !== undefined && !isIngressPath(path)) {
    return wrong(
      `${at}.path`,
      path,
      'a prefix such as /api, of letters, digits, ".", "_", "~" and "-"',
      'A path is a prefix of whole segments, without a slash at its end, a query or an escape.',
    );
  }
  return listen === undefined
    ? undefined
    : wrong(`${at}.listen`, listen, 'no listen', 'HTTP comes in at the ports of the ingress nodes.');
};

export function isIngressPath(path: string): boolean {
  if (path === '/') return true;
  const [first, ...segments] = path.split('/');
  return (
    path.length <= MAX_PATH &&
    first === '' &&
    segments.length > 0 &&
    segments.every((segment) => SEGMENT.test(segment) && segment !== '.' && segment !== '..')
  );
}

/** Bytes are passed on as they are: there is no host in them that could be read. */
const listenRule: EntryRule = ({ protocol = 'http', host, path, listen, tls }, at) => {
  if (protocol === 'http') return undefined;
  if (!isPort(listen))
    return wrong(`${at}.listen`, listen, `1 to ${MAX_PORT}`, `${protocol} comes in at a port of its own.`);
  const field = host === undefined ? 'path' : 'host';
  if (host !== undefined || path !== undefined)
    return wrong(`${at}.${field}`, host ?? path, `no ${field}`, `${protocol} is routed by its port alone.`);
  return tls === undefined || tls === 'off'
    ? undefined
    : wrong(`${at}.tls`, tls, 'off, or omit it', `${protocol} is passed on as it comes, TLS or not.`);
};

const portRule: EntryRule = ({ port }, at) =>
  isPort(port)
    ? undefined
    : wrong(`${at}.port`, port, `1 to ${MAX_PORT}`, 'The container port to route to is required.');

const tlsRule: EntryRule = ({ tls, host = '', provider }, at, { limits }) => {
  if (tls === 'off') return undefined;
  if (tls === undefined || tls === 'auto') {
    return ADDRESS.test(host) && provider !== 'traefik'
      ? wrong(`${at}.host`, host, 'a host name, or tls: off', 'No certificate is issued for an address.')
      : undefined;
  }
  if (!isRecord(tls)) {
    return wrong(
      `${at}.tls`,
      tls,
      'auto, off, or { "vault_path": "<namespace>/<label>" }',
      'TLS is by a certificate that is issued, by one that is stored, or not at all.',
    );
  }
  const other = Object.keys(tls).find((key) => key !== 'vault_path');
  if (other !== undefined) {
    return reject('field_unknown', {
      field: `${at}.tls`,
      received: redacted(tls[other]),
      expected: 'vault_path',
      why: 'A certificate is referred to; it and its key are written as a secret.',
    });
  }
  const path = tls['vault_path'];
  if (path !== undefined && typeof path !== 'string')
    return wrong(`${at}.tls.vault_path`, path, '<namespace>/<label>', 'A path is a text.');
  return checkVaultPath(path, `${at}.tls.vault_path`, limits.secretPolicy);
};

/** Labels for Traefik hold a host and a port, as they always did. */
const providerRule: EntryRule = ({ provider, protocol = 'http', path, tls }, at) => {
  if (provider !== 'traefik') return undefined;
  const [field, value] =
    protocol !== 'http' ? ['protocol', protocol] : path !== undefined ? ['path', path] : ['tls', tls];
  return value === undefined
    ? undefined
    : wrong(`${at}.${field}`, value, `no ${field}`, 'Labels for Traefik say a host and a port alone.');
};

const ENTRY_RULES: readonly EntryRule[] = [wordsRule, hostRule, listenRule, portRule, tlsRule, providerRule];

/** Twice the same way in, or two routers of one name. */
function repeated(entries: readonly Entry[]): Rejection | undefined {
  if (entries.length < 2) return undefined;
  const seen = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    const field = `ingress[${index}].${entry.listen === undefined ? 'host' : 'listen'}`;
    const key = entry.provider === 'traefik' ? 'traefik' : keyOf(entry);
    if (seen.has(key)) {
      return wrong(
        field,
        entry.host ?? entry.listen,
        key === 'traefik'
          ? 'one entry with provider traefik'
          : 'each host with its path, and each port, once',
        key === 'traefik'
          ? 'The router of Traefik is named like the deployment, so there is one.'
          : 'Two entries take the same requests.',
      );
    }
    seen.add(key);
  }
  return undefined;
}

function keyOf({ host = '', path = '/', listen = 0, protocol = 'http' }: Entry): string {
  return protocol === 'tcp' || protocol === 'udp'
    ? ingressKey({ protocol, listen })
    : ingressKey({ host, path });
}

export function ingressRule(input: DeploymentInput): Rejection | undefined {
  const entries = ingressDrafts(input.draft.ingress);
  if (entries.length > MAX_INGRESS) {
    return reject('ingress_invalid', {
      field: 'ingress',
      received: received(entries.length),
      expected: `at most ${MAX_INGRESS} entries`,
      why: 'Each entry is claimed in the commit of the spec, which has room for so many.',
    });
  }
  for (const [index, entry] of entries.entries()) {
    for (const rule of ENTRY_RULES) {
      const rejection = rule(
        entry,
        Array.isArray(input.draft.ingress) ? `ingress[${index}]` : 'ingress',
        input,
      );
      if (rejection) return rejection;
    }
  }
  return repeated(entries);
}
