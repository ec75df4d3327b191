import { BlockList, isIPv4, isIPv6 } from 'node:net';

/**
 * What an address may be used for. `inside`: loopback and private networks, open to listed hosts. `guarded`:
 * link-local and cloud metadata, open only when that very address is listed, so that a listed name whose DNS
 * answer is changed cannot lead there. `never`: no unicast destination.
 */
export type AddressClass = 'public' | 'inside' | 'guarded' | 'never';

const NEVER = blockList([
  '0.0.0.0/8',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/128',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '3fff::/20',
  'ff00::/8',
]);
// 168.63.129.16 and fd00:ec2::/32 are metadata services outside the link-local ranges.
const GUARDED = blockList([
  '169.254.0.0/16',
  '168.63.129.16/32',
  '100.100.100.200/32',
  'fe80::/10',
  'fd00:ec2::/32',
]);
const INSIDE = blockList([
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '::1/128',
  'fc00::/7',
  'fec0::/10',
]);
const GLOBAL_UNICAST = blockList(['2000::/3']);

/** Decides by the bytes of the address. IPv6 forms that carry an IPv4 address are judged by that address. */
export function classifyAddress(text: string): AddressClass {
  const address = text.split('%', 1)[0] ?? '';
  if (isIPv4(address)) return classify(address, 'ipv4');
  if (!isIPv6(address)) return 'never';
  const bytes = ipv6Bytes(address);
  const carried = carriedIpv4(bytes);
  if (carried === undefined) return classify(address, 'ipv6');
  return classify(carried, 'ipv4');
}

/** One spelling per address, for comparison; the text itself if it is no address. */
export function canonicalAddress(text: string): string {
  const address = text.split('%', 1)[0] ?? '';
  return isIPv6(address) ? ipv6Bytes(address).join('.') : address;
}

function classify(address: string, family: 'ipv4' | 'ipv6'): AddressClass {
  if (NEVER.check(address, family)) return 'never';
  if (GUARDED.check(address, family)) return 'guarded';
  if (INSIDE.check(address, family)) return 'inside';
  return family === 'ipv4' || GLOBAL_UNICAST.check(address, family) ? 'public' : 'never';
}

function carriedIpv4(bytes: readonly number[]): string | undefined {
  const at = (offset: number): string => bytes.slice(offset, offset + 4).join('.');
  const prefix = (length: number, value: string): boolean => bytes.slice(0, length).join('.') === value;
  if (prefix(10, '0.0.0.0.0.0.0.0.0.0') && bytes[10] === 0xff && bytes[11] === 0xff) return at(12);
  if (prefix(12, '0.0.0.0.0.0.0.0.255.255.0.0')) return at(12);
  // ::a.b.c.d, the obsolete compatible form; :: and ::1 are addresses of their own.
  if (prefix(12, '0.0.0.0.0.0.0.0.0.0.0.0') && !prefix(15, '0.0.0.0.0.0.0.0.0.0.0.0.0.0.0')) return at(12);
  // NAT64 with the well-known prefix; the local-use prefix is no global unicast and stays closed.
  if (prefix(12, '0.100.255.155.0.0.0.0.0.0.0.0')) return at(12);
  // 6to4.
  if (prefix(2, '32.2')) return at(2);
  // ISATAP interface identifier.
  if ((bytes[8] === 0 || bytes[8] === 2) && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe)
    return at(12);
  return undefined;
}

/** Only for text that isIPv6 accepts. */
function ipv6Bytes(text: string): readonly number[] {
  const dotted = text.lastIndexOf('.') === -1 ? undefined : text.slice(text.lastIndexOf(':') + 1);
  const quad = dotted?.split('.').map(Number) ?? [];
  const hex = dotted === undefined ? text : text.slice(0, -dotted.length);
  const [left = '', right] = hex.split('::');
  const head = groupBytes(left);
  const tail = [...groupBytes(right ?? ''), ...quad];
  return [...head, ...Array.from({ length: 16 - head.length - tail.length }, () => 0), ...tail];
}

function groupBytes(text: string): number[] {
  const groups = text.split(':').filter((group) => group !== '');
  return groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]);
}

function blockList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = '', length = ''] = range.split('/');
    list.addSubnet(network, Number(length), isIPv4(network) ? 'ipv4' : 'ipv6');
  }
  return list;
}
