import { CELL_NAME, CELL_NAME_FORM } from '../core/model/cell.ts';
import { INGRESS_NAMESPACE } from '../core/model/ingress.ts';
import { cidrText, overlap, parseCidr } from '../core/model/ipv4.ts';
import type { NetworkPrefixes } from '../core/model/mesh.ts';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  ACCEPTED_CONTAINER_DEFAULTS,
  CONTAINER_DEFAULT_FIELDS,
  type ContainerDefaults,
} from '../core/model/container-defaults.ts';
import { parseMemory } from '../core/model/quantity.ts';
import { errnoOf, isOneOf } from '../core/model/values.ts';
import type { ConfigPath } from './config-keys.ts';
import { ConfigError } from './config-values.ts';

export function parseListen(text: string): { readonly host: string; readonly port: number } {
  const match = /^(?:(\[[0-9a-fA-F:]+\]|[^:]*):)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[2] ?? Number.NaN);
  if (match === null || !(port <= 65_535))
    throw new ConfigError(`listen must be host:port, e.g. 127.0.0.1:7600, not ${text}`);
  const host = (match[1] ?? '').replaceAll(/[[\]]/g, '');
  return { host: host === '' ? '127.0.0.1' : host, port };
}

export function advertised(url: string | undefined): { readonly advertiseUrl?: string } {
  if (url === undefined) return {};
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new ConfigError(`advertiseUrl must be a URL such as https://10.0.0.1:7600, not ${url}`);
  return { advertiseUrl: new URL(url).origin };
}

export function cellNamed(name: string | undefined): { readonly cell?: string } {
  if (name === undefined) return {};
  if (!CELL_NAME.test(name)) throw new ConfigError(`cell must be ${CELL_NAME_FORM}, not ${name}`);
  return { cell: name };
}

export function memoryOf(path: string, text: string): number {
  const bytes = text === '0' ? 0 : parseMemory(text);
  if (bytes === undefined)
    throw new ConfigError(`${path} must be bytes with a unit such as 128Mi, not ${text}`);
  return bytes;
}

export function oneOf<T extends string>(path: string, value: string, allowed: readonly T[]): T {
  if (isOneOf(allowed, value)) return value;
  throw new ConfigError(`${path} must be one of: ${allowed.join(', ')}; not ${value}`);
}

export function acceptedDefaults(given: ContainerDefaults): ContainerDefaults {
  for (const field of CONTAINER_DEFAULT_FIELDS) {
    const { fits, form } = ACCEPTED_CONTAINER_DEFAULTS[field];
    if (!fits(given[field]))
      throw new ConfigError(`containers.${field} must be ${form}; not ${given[field]}`);
  }
  return given;
}

/** Less than 13 containers and a gateway is no node. */
const SMALLEST_SUBNET = 28;

export function acmeDirectory(url: string): string {
  if (URL.canParse(url) && new URL(url).protocol === 'https:') return url;
  throw new ConfigError(`ingress.acme.directory must be an https address, not ${url}`);
}

/** What ingress nodes keep is shown to nobody. */
export function grantable(namespaces: readonly string[]): readonly string[] {
  if (!namespaces.includes(INGRESS_NAMESPACE)) return namespaces;
  throw new ConfigError(`secrets.namespaces cannot hold ${INGRESS_NAMESPACE}, which is Berth's own`);
}

/** Addresses that no machine may be given. */
const SPECIAL = [
  { network: { base: 0, bits: 8 }, what: 'addresses without a meaning of their own (0.0.0.0/8)' },
  { network: { base: 127 * 2 ** 24, bits: 8 }, what: 'the addresses of every machine itself (127.0.0.0/8)' },
  {
    network: { base: 169 * 2 ** 24 + 254 * 2 ** 16, bits: 16 },
    what: 'link-local addresses (169.254.0.0/16)',
  },
  { network: { base: 224 * 2 ** 24, bits: 3 }, what: 'multicast and reserved addresses (224.0.0.0/3)' },
] as const;

/** Both prefixes are routed on every node of a tenant: they must not meet. */
export function networkPrefixes(nodes: string, nodeBits: number, virtual: string): NetworkPrefixes {
  const form = 'an IPv4 network such as 10.210.0.0/16';
  const [all, own] = [parseCidr(nodes), parseCidr(virtual)];
  if (all === undefined) throw new ConfigError(`network.prefix must be ${form}, not ${nodes}`);
  if (own === undefined) throw new ConfigError(`network.virtualPrefix must be ${form}, not ${virtual}`);
  for (const [setting, network] of [
    ['network.prefix', all],
    ['network.virtualPrefix', own],
  ] as const) {
    const special = SPECIAL.find((one) => overlap(network, one.network));
    if (special !== undefined)
      throw new ConfigError(`${setting} ${cidrText(network)} meets ${special.what}; name ${form}`);
  }
  if (own.bits > SMALLEST_SUBNET)
    throw new ConfigError(
      `network.virtualPrefix ${virtual} has no room for deployments; name one of /${SMALLEST_SUBNET} or larger`,
    );
  if (overlap(all, own))
    throw new ConfigError(
      `network.virtualPrefix ${virtual} overlaps network.prefix ${nodes}; name another one`,
    );
  if (nodeBits < all.bits || nodeBits > SMALLEST_SUBNET)
    throw new ConfigError(`network.nodeBits must be from ${all.bits} to ${SMALLEST_SUBNET}, not ${nodeBits}`);
  return { nodes, nodeBits, virtual };
}

/** What a file of the settings holds, or a sentence that names the setting. */
export function settingFile(readFile: (path: string) => string, setting: ConfigPath, path: string): string {
  let content: string;
  try {
    content = readFile(path).trim();
  } catch (cause) {
    throw new ConfigError(`${setting}: ${path} cannot be read (${errnoOf(cause) ?? String(cause)})`, {
      cause,
    });
  }
  if (content === '') throw new ConfigError(`${setting}: ${path} is empty`);
  return content;
}

/** Where the root key of the embedded secrets store comes from: exactly one place. */
export type RootKeySource =
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'credential'; readonly file: string }
  | { readonly kind: 'command'; readonly command: readonly string[] };

export function rootKeySource(
  named: string | undefined,
  command: readonly string[],
  usual: string,
  credentials: string | undefined,
): RootKeySource {
  const credential = credentials === undefined ? undefined : join(credentials, 'root.key');
  const found: readonly (readonly [string, RootKeySource])[] = [
    ...(named === undefined ? [] : [['keys.rootKeyFile', { kind: 'file', file: named }] as const]),
    ...(command.length === 0 ? [] : [['keys.rootKeyCommand', { kind: 'command', command }] as const]),
    ...(credential === undefined || !existsSync(credential)
      ? []
      : [['the systemd credential root.key', { kind: 'credential', file: credential }] as const]),
    ...(named === undefined && existsSync(usual) ? [[usual, { kind: 'file', file: usual }] as const] : []),
  ];
  if (found.length > 1)
    throw new ConfigError(
      `root_key_ambiguous: the root key has ${found.length} sources: ${found.map(([name]) => name).join(', ')}. Keep the one that opens this store's secrets, and take the others away.`,
    );
  return found[0]?.[1] ?? { kind: 'file', file: usual };
}

/** For messages. */
export function rootKeyPlace(source: RootKeySource): string {
  return source.kind === 'command' ? `what ${source.command[0]} prints` : source.file;
}
