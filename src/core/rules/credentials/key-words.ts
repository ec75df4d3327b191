const MAX_KEY_LENGTH = 256;

/** `dbPassword`, `DB_PASSWORD`, `db.password` and `db-password` are the same two words. */
export function keyWords(key: string): readonly string[] {
  return (
    key
      // A longer key keeps its end: that is where the meaning is.
      .slice(-MAX_KEY_LENGTH)
      .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
      .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
      .toLowerCase()
      .split(/[^a-z0-9]+/)
      .filter((word) => word !== '')
  );
}

/** Words that tell which or in what form, not what: `SECRET_KEY_BASE`, `PASSWORD_PROD`, `TOKEN_2`. */
const QUALIFIERS: ReadonlySet<string> = new Set(
  (
    'b64 backup base base64 current data default dev development encoded env hex json jwk live local new next old pem ' +
    'plain plaintext prev previous primary prod production qa raw ro rw sandbox secondary stage staging str string ' +
    'test text value yaml'
  ).split(' '),
);

/** Last words that name something about a credential or a place to find it. */
const NEGATIVE_LAST: ReadonlySet<string> = new Set(
  (
    'addr address age alg algo algorithm algorithms attempts attribute aud audience audiences backend bits bucket bytes ' +
    'cert certificate class claim claims column complexity context cost count days dir directory disabled domain driver ' +
    'duration enable enabled encoding endpoint endpoints engine env expiration expires expiry field file filename files ' +
    'folder format frequency grace header headers hint history host hostname hours id ids identifier interval iss issuer ' +
    'kid label leeway len length lifespan lifetime limit location manager max message method min minutes mode ms name ' +
    'names namespace param parameter path paths pattern period policy port prefix prompt protocol provider query ' +
    'realm ref reference refresh regex region required reset retries role rotation rounds rules scheme scope scopes ' +
    'seconds secs service size skew source status store strategy strength subject suffix template threshold timeout title ttl ' +
    'type uri uris url urls usage user username validity vault version window'
  ).split(' '),
);

const PASSWORD_SUFFIX = /(?:password|passwort|passwd|passphrase|passcode|pwd)s?$/;
const NOT_PASS: ReadonlySet<string> = new Set([
  'bypass',
  'compass',
  'encompass',
  'surpass',
  'trespass',
  'underpass',
  'overpass',
]);

const CREDENTIAL_SUFFIX =
  /(?:secrets?|tokens?|apikeys?|accesskeys?|secretkeys?|privatekeys?|privkeys?|authkeys?|signingkeys?|encryptionkeys?|masterkeys?|sharedkeys?|accountkeys?|credentials?|creds?|mnemonic|seedphrase|htpasswd|authorization)$/;
const CREDENTIAL_WORDS: ReadonlySet<string> = new Set(['pat', 'bearer']);

/** `<word>_KEY` that is always secret; any other `…_KEY` is judged with its value. */
const SECRET_KEY_KINDS: ReadonlySet<string> = new Set(
  (
    'access account admin aes api auth authentication cipher client consumer cookie crypto cryptography csrf decryption deploy enc ' +
    'encrypt encryption fernet hmac jwt license master priv private root secret service session shared sign signing ssh ' +
    'storage subscription symmetric tls token unseal webhook'
  ).split(' '),
);

/** What stands before `token`, `secret` or `key` and makes it something else. A map, for words such as `constructor`. */
const HARMLESS_BEFORE: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['token', new Set('bos continuation eos mask max min next pad page sep special stop sync unk'.split(' '))],
  ['secret', new Set(['pull', 'top'])],
  [
    'key',
    new Set(
      (
        'anon cache dedup exact foreign group hash hot idempotency index join label lookup map message object order partition ' +
        'primary pub public publishable range recaptcha registry routing row shard short site sort translation unique verification verify'
      ).split(' '),
    ),
  ],
]);

/** Words after which a hash or an identifier is expected. */
const HASH_CONTEXT: ReadonlySet<string> = new Set(
  (
    'arn build cert certificate checksum cid clientid commit crc crt digest etag fingerprint git guid hash id ids image integrity md5 ' +
    'nonce pin pins pub public publishable release rev revision sha sha1 sha256 sha512 sig signature site span sri tag trace uid uuid ' +
    'version'
  ).split(' '),
);

export type KeyMeaning = 'password' | 'credential' | 'key' | 'auth' | 'hash' | 'about' | 'unknown';

function stripQualifiers(words: readonly string[]): readonly string[] {
  let end = words.length;
  while (end > 1) {
    const last = words[end - 1] ?? '';
    if (!QUALIFIERS.has(last) && !/^v?\d{1,4}$/.test(last)) break;
    end -= 1;
  }
  return words.slice(0, end);
}

function isPasswordWord(word: string): boolean {
  if (word === 'pw' || PASSWORD_SUFFIX.test(word)) return true;
  return word.endsWith('pass') && !NOT_PASS.has(word);
}

/** What the last words of a key say about its value. */
export function keyMeaning(allWords: readonly string[]): KeyMeaning {
  const words = stripQualifiers(allWords);
  const last = (words.at(-1) ?? '').replace(/\d{1,4}$/, '');
  const before = words.at(-2) ?? '';
  if (NEGATIVE_LAST.has(last))
    return last === 'id' || words.some((word) => HASH_CONTEXT.has(word)) ? 'hash' : 'about';
  const singular = last.replace(/s$/, '');
  if (HARMLESS_BEFORE.get(singular)?.has(before))
    return words.some((word) => HASH_CONTEXT.has(word)) ? 'hash' : 'about';
  if (isPasswordWord(last)) return 'password';
  if (CREDENTIAL_SUFFIX.test(last) || CREDENTIAL_WORDS.has(last)) return 'credential';
  if (singular === 'key') return SECRET_KEY_KINDS.has(before) ? 'credential' : 'key';
  if (last === 'phrase' && (before === 'seed' || before === 'recovery')) return 'credential';
  if (['salt', 'pepper', 'seed', 'keyring', 'keypair', 'jwk', 'jwks'].includes(last)) return 'key';
  if (['auth', 'basicauth', 'userpass', 'login'].includes(last)) return 'auth';
  if (words.some((word) => HASH_CONTEXT.has(word))) return 'hash';
  return 'unknown';
}
