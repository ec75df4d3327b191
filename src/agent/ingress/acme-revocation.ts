import { createPrivateKey, createPublicKey, type KeyObject, sign, X509Certificate } from 'node:crypto';
import { request } from 'node:https';
import { type Fields, fieldsIn, nonEmpty } from '../engine/fields.ts';
import { boundedText } from './bounded-text.ts';
import type { IngressAcme, Pem } from './route.ts';

const ANSWER_MS = 5_000;
const MAX_ANSWER = 64 * 1024;
/** Authorities refuse a nonce now and then, and give another with the refusal. */
const MAX_NONCES = 5;
const MAX_PROBLEM = 300;
const ERRORS = 'urn:ietf:params:acme:error:';

interface Answer {
  readonly status: number;
  readonly nonce: string | undefined;
  readonly body: Fields;
}

/**
 * Asks the authority to revoke a certificate, as whoever has its key may: no account is needed (RFC 8555, 7.6). One that is revoked
 * already is no failure, so that what was cut off in the middle can be asked for again.
 */
export async function revokeAtAuthority({ directory, caPem }: IngressAcme, pem: Pem): Promise<void> {
  const { body } = await ask('GET', directory, caPem);
  const [revokeUrl, nonceUrl] = [nonEmpty(body['revokeCert']), nonEmpty(body['newNonce'])];
  if (revokeUrl === undefined || nonceUrl === undefined)
    throw new Error(`${directory} is no directory of ACME, or its authority revokes nothing`);
  const certificate = new X509Certificate(pem.certificate).raw.toString('base64url');
  let { nonce } = await ask('HEAD', nonceUrl, caPem);
  for (let tries = 0; nonce !== undefined && tries < MAX_NONCES; tries += 1) {
    const header = { ...keyHeader(createPrivateKey(pem.key)), nonce, url: revokeUrl };
    const answer = await ask('POST', revokeUrl, caPem, signedBody(header, { certificate }, pem.key));
    const type = nonEmpty(answer.body['type']) ?? '';
    if (answer.status === 200 || type === `${ERRORS}alreadyRevoked`) return;
    if (type !== `${ERRORS}badNonce`) throw new Error(refusal(answer));
    ({ nonce } = answer);
  }
  throw new Error('the authority takes none of the nonces that it gives');
}

function refusal({ status, body }: Answer): string {
  const words = [nonEmpty(body['type']), nonEmpty(body['detail'])].filter((one) => one !== undefined);
  return `the authority answered ${[`HTTP ${status}`, ...words].join(': ').slice(0, MAX_PROBLEM)}`;
}

const ALGORITHMS: Readonly<Record<string, { readonly alg: string; readonly digest: string }>> = {
  'P-256': { alg: 'ES256', digest: 'sha256' },
  'P-384': { alg: 'ES384', digest: 'sha384' },
  RSA: { alg: 'RS256', digest: 'sha256' },
};

function algorithmOf(key: KeyObject): { readonly alg: string; readonly digest: string } {
  const { kty, crv } = createPublicKey(key).export({ format: 'jwk' });
  const found = ALGORITHMS[crv ?? kty ?? ''];
  if (found === undefined) throw new Error(`keys of ${crv ?? kty ?? 'this kind'} sign nothing for ACME`);
  return found;
}

function keyHeader(key: KeyObject): { readonly alg: string; readonly jwk: object } {
  return { alg: algorithmOf(key).alg, jwk: createPublicKey(key).export({ format: 'jwk' }) };
}

/** A JSON Web Signature in the form that ACME takes. */
export function signedBody(header: object, payload: object, privateKey: string): string {
  const key = createPrivateKey(privateKey);
  const [head, content] = [header, payload].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const signature = sign(algorithmOf(key).digest, Buffer.from(`${head}.${content}`), {
    key,
    dsaEncoding: 'ieee-p1363',
  });
  return JSON.stringify({ protected: head, payload: content, signature: signature.toString('base64url') });
}

function ask(method: string, url: string, ca: string | undefined, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(
      url,
      {
        method,
        headers: {
          'user-agent': 'berth-agent',
          ...(body !== undefined && { 'content-type': 'application/jose+json' }),
        },
        timeout: ANSWER_MS,
        signal: AbortSignal.timeout(ANSWER_MS),
        ...(ca !== undefined && { ca }),
      },
      (response) => {
        const { statusCode: status = 0, headers } = response;
        const nonce = nonEmpty(headers['replay-nonce']);
        boundedText(response, MAX_ANSWER).then(
          (text) => resolve({ status, nonce, body: fieldsIn(text) }),
          reject,
        );
      },
    );
    asked.on('timeout', () => asked.destroy(new Error(`it did not answer in ${ANSWER_MS} ms`)));
    asked.on('error', (error) => reject(new Error(`${new URL(url).host}: ${error.message}`)));
    asked.end(body);
  });
}
