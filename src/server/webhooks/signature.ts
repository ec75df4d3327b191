import { createHmac } from 'node:crypto';

/** As in Standard Webhooks: such a key is the bytes that follow in base64, any other is its own text. */
const ENCODED = 'whsec_';

export function keyBytes(key: string): Buffer {
  return key.startsWith(ENCODED) ? Buffer.from(key.slice(ENCODED.length), 'base64') : Buffer.from(key);
}

/**
 * Headers by which a receiver knows who sent the body (`webhook-signature`), when (`webhook-timestamp`, Unix seconds) and whether it has it
 * already (`webhook-id`, the same with every attempt).
 */
export function signed(
  key: string,
  id: string,
  sentMs: number,
  body: string,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(sentMs / 1000));
  const mac = createHmac('sha256', keyBytes(key)).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${mac}` };
}
