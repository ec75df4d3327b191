import { BlockList, isIP, isIPv4 } from 'node:net';

const MAPPED = '::ffff:';
const GROUPS_OF_NETWORK = 4;

/** Of IPv4 as IPv4, whatever the listener is. */
export function plainAddress(address: string): string {
  return address.startsWith(MAPPED) && isIPv4(address.slice(MAPPED.length))
    ? address.slice(MAPPED.length)
    : address;
}

/** Whose connections are counted together: an IPv4 address, or the /64 that one machine has of IPv6. */
export function addressGroup(remote: string): string {
  const address = plainAddress(remote);
  if (isIPv4(address)) return address;
  const [front = '', back] = address.split('%', 1).join('').split('::', 2);
  const head = front === '' ? [] : front.split(':');
  const tail = back === undefined || back === '' ? [] : back.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => '0');
  return [...head, ...(back === undefined ? [] : zeros), ...tail].slice(0, GROUPS_OF_NETWORK).join(':');
}

/** Undefined: one of the texts is neither an address nor a network such as 10.0.0.0/8. */
export function addressList(texts: readonly string[]): ((remote: string) => boolean) | undefined {
  const list = new BlockList();
  for (const text of texts) {
    const [address = '', bits, ...more] = text.split('/');
    const family = isIP(address);
    const size = bits === undefined ? undefined : Number(bits);
    if (family === 0 || more.length > 0 || bits === '') return undefined;
    const type = family === 4 ? 'ipv4' : 'ipv6';
    if (size === undefined) list.addAddress(address, type);
    else if (Number.isInteger(size) && size >= 0 && size <= (family === 4 ? 32 : 128))
      list.addSubnet(address, size, type);
    else return undefined;
  }
  return (remote) => {
    const address = plainAddress(remote);
    return list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
  };
}
