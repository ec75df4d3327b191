import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { detectInText } from './detect.ts';
import { ISSUED_EXAMPLES } from './published-examples.ts';
import { Scrubber } from './scrub.ts';
import { specimen } from './specimen.ts';

const VALUE = 'blue "horse"/7';
const HEX = [...VALUE].map((sign) => (sign.codePointAt(0) ?? 0).toString(16)).join('');
const KEY = 'PRIVATE KEY';
const scrub = (text: string, values: readonly string[] = [VALUE]) => new Scrubber(values).scrub(text);

describe('what leaves the installation', () => {
  it.each([
    ['as it is', VALUE],
    ['in JSON', JSON.stringify({ message: VALUE })],
    ['in a URL', `GET /?q=${encodeURIComponent(VALUE)}`],
    ['in base64', `>${btoa(VALUE)}<`],
    ['in base64url', btoa(VALUE).replaceAll('/', '_').replaceAll('+', '-')],
    ['in hex', HEX],
    ['twice without a space', `${VALUE}${VALUE}`],
  ])('holds no known value %s', (_how, text) => {
    const { text: left, redactions } = scrub(`first\n${text}\nlast\n`);
    for (const form of [VALUE, 'horse', HEX]) expect(left).not.toContain(form);
    expect(left).toMatch(/^first\n[^]*\nlast\n$/);
    expect(redactions).toBeGreaterThan(0);
  });

  it('holds no line of a known value that has several', () => {
    const lines = Array.from({ length: 3 }, (_none, line) => specimen(`${line}`, 40));
    const { text } = scrub(`${lines[1]}\n`, [lines.join('\n')]);
    expect(text).toBe('<redacted: known_value>\n');
  });

  it('finds every form of a value of many bytes, and the longest of those that begin alike', () => {
    const long = `${'ä€'.repeat(9000)}end`;
    const plain = 'blue horse'.repeat(3000);
    for (const form of [long, `${'c3a4e282ac'.repeat(9000)}656e64`, plain, btoa(plain)])
      expect(scrub(`>${form}<`, [long, plain]).text).toBe('><redacted: known_value><');
    expect(scrub('>horses and carts<', ['horses', 'horses and carts', 'horses and']).text).toBe(
      '><redacted: known_value><',
    );
  });

  it('takes steps where very many values begin alike', () => {
    const values = Array.from({ length: 300 }, (_none, count) => `aaaaaa-${count}`);
    const steps = [...new Scrubber(values).steps('a'.repeat(3000))];
    expect(steps.length).toBeGreaterThan(20);
  });

  it('holds no credential of a known form', () => {
    for (const [rule, example] of Object.entries(ISSUED_EXAMPLES)) {
      const { text, redactions } = scrub(`{"level":30,"msg":"got ${example}"}\nplain ${example} text\n`);
      expect(text, rule).not.toContain(example);
      expect(redactions, rule).toBeGreaterThanOrEqual(1);
    }
  });

  it('takes a private key out whole', () => {
    const body = specimen('', 64);
    const pem = `-----BEGIN ${KEY}-----\n${body}\n${body}\n-----END PRIVATE KEY-----`;
    expect(scrub(`before\n${pem}\nafter`).text).toBe('before\n<redacted: private_key>\nafter');
    expect(scrub(`before ${JSON.stringify(pem)}`).text).not.toContain(body);
    expect(scrub(`before\n-----BEGIN EC ${KEY}-----\n${body}`).text).not.toContain(body);
  });

  it('redacts only the field of a line that holds one, also by the name of its key', () => {
    const line = JSON.stringify({
      level: 30,
      time: 'now',
      msg: 'tried',
      url: 'http://joe:sesam7@h/',
      db: { password: 'x9!k' },
    });
    expect(scrub(`${line}\n`).text).toBe(
      '{"level":30,"time":"now","msg":"tried","url":"<redacted: password_in_url>","db":{"password":"<redacted: password_key>"}}\n',
    );
  });

  it('leaves ordinary lines as they are', () => {
    const text = [
      '{"level":30,"time":"2026-01-01T00:00:00.000Z","program":"berth-server","requestId":"req_01h8x","msg":"accepted"}',
      'berth_store_records{kind="tokens"} 4',
      '  "tokenKeyFile": "/var/lib/berth/keys/token.key",',
      'node/shop-1 ready',
    ].join('\n');
    expect(scrub(text)).toEqual({ text, redactions: 0 });
  });

  it('finds a value wherever it stands in a long text, whatever the lines are like', () => {
    const filler = fc.string({
      unit: fc.constantFrom('ab', ' ', '\n', ',', '"'),
      maxLength: 50_000,
      size: 'max',
    });
    fc.assert(
      fc.property(filler, filler, (before, after) => {
        const secret = specimen('k', 30);
        const { text } = scrub(`${before}${secret}${after}`, [secret]);
        expect(text.includes(secret)).toBe(false);
        expect(detectInText('', text.slice(0, 1000))).toBeUndefined();
      }),
      { numRuns: 20 },
    );
  });
});
