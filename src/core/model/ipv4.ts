/** An IPv4 network, as in `10.210.3.0/24`; addresses are unsigned 32-bit numbers. */
export interface Cidr {
  readonly base: number;
  readonly bits: number;
}

const OCTET = /^(?:0|[1-9][0-9]{0,2})$/;

export function parseAddress(text: string): number | undefined {
  const parts = text.split('.');
  if (parts.length !== 4) return undefined;
  let address = 0;
  for (const part of parts) {
    if (!OCTET.test(part) || Number(part) > 255) return undefined;
    address = address * 256 + Number(part);
  }
  return address;
}

const MAPPED = '::ffff:';
const LOOPBACK = 127;
const MULTICAST = 224;

/** Whether it can be the address of another machine: not of this one alone (127.0.0.0/8), of none (0.0.0.0/8), of many (224.0.0.0 and above). */
export function isMachineAddress(text: string): boolean {
  const address = parseAddress(text);
  const first = address === undefined ? 0 : Math.floor(address / 2 ** 24);
  return first > 0 && first !== LOOPBACK && first < MULTICAST;
}

/** Of a connection's other end, by which others might reach it; undefined: it is no plain IPv4 address, or of this machine alone. */
export function reachableAddress(text: string | undefined): string | undefined {
  const plain = text?.startsWith(MAPPED) === true ? text.slice(MAPPED.length) : text;
  return isMachineAddress(plain ?? '') ? plain : undefined;
}

export function addressText(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');
}

export function addressCount({ bits }: Pick<Cidr, 'bits'>): number {
  return 2 ** (32 - bits);
}

/** Undefined for text that is no network, and for one whose host bits are set. */
export function parseCidr(text: string): Cidr | undefined {
  const [address = '', length = '', ...more] = text.split('/');
  const base = parseAddress(address);
  const bits = /^[0-9]{1,2}$/.test(length) ? Number(length) : 33;
  if (base === undefined || bits > 32 || more.length > 0) return undefined;
  return base % addressCount({ bits }) === 0 ? { base, bits } : undefined;
}

export function cidrText({ base, bits }: Cidr): string {
  return `${addressText(base)}/${bits}`;
}

export function overlap(one: Cidr, other: Cidr): boolean {
  return one.base < other.base + addressCount(other) && other.base < one.base + addressCount(one);
}

/** False for text that is no address or no network. */
export function isWithin(address: string, network: string): boolean {
  const [one, all] = [parseAddress(address), parseCidr(network)];
  return one !== undefined && all !== undefined && overlap(all, { base: one, bits: 32 });
}

/** The address at an index of the network; undefined outside of it. */
export function addressAt(network: Cidr, index: number): string | undefined {
  return index < 0 || index >= addressCount(network) ? undefined : addressText(network.base + index);
}

/** The network of `bits` at an index of a larger one; undefined outside of it. */
export function subnetAt(network: Cidr, bits: number, index: number): Cidr | undefined {
  const base = network.base + index * addressCount({ bits });
  return index < 0 || base >= network.base + addressCount(network) ? undefined : { base, bits };
}
