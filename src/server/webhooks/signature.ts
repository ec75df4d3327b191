import { createHmac } from 'node:crypto';

/** As in Standard Webhooks: such a key is the bytes that follow in base64, any other is its own text. */
const ENCODED = 'whsec_';

export function keyBytes(key: string): Buffer {
  return key.startsWith(ENCODED) ? Buffer.from(key.slice(ENCODED.length), 'base64') : Buffer.from(key);
}

/**
 * Headers by which a receiver knows who sent the body (`webhook-signature`), when (`webhook-timestamp`, Unix seconds) and whether it has it
 * already (`webhook-id`, the same with every attempt). A signature for each key: a receiver needs to know one of them.
 */
export function signed(
  keys: readonly string[],
  id: string,
  sentMs: number,
  body: string,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(sentMs / 1000));
  const signatures = keys.map((key) => {
    const mac = createHmac('sha256', keyBytes(key)).update(`${id}.${timestamp}.${body}`).digest('base64');
    return `v1,${mac}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
