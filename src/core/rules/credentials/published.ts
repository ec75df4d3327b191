import type { CredentialFinding } from './finding.ts';
import { AUTHORIZATION, JWT } from './web-token.ts';
import { EMBEDDED } from './assignment.ts';
import { issuedFinding } from './issued-tokens.ts';
import { PREFIXED_FORMS, WHOLE_FORMS } from './issuers.ts';
import { ISSUED_EXAMPLES } from './published-examples.ts';
import { CREDENTIAL_KEY, GENERATED, KEY_MATERIAL, PASSWORD_KEY } from './named-key.ts';
import { PRIVATE_KEY } from './private-key.ts';
import { specimen } from './specimen.ts';
import { URL_USERINFO } from './address.ts';

type Example = readonly [key: string, value: string];

/** A rule as the docs page of plaintext_credential_in_environment shows it. */
export interface PublishedRule extends CredentialFinding {
  readonly matches: string;
  readonly flagged: readonly Example[];
  readonly notFlagged: readonly Example[];
}

const KEY_RULES: readonly PublishedRule[] = [
  {
    ...PASSWORD_KEY,
    matches:
      'A key whose last word is PASSWORD, PASSWD, PASSPHRASE, PASSCODE, PWD, PW or PASS in any spelling (DB_PASSWORD, dbPassword, db.password, PGPASSWORD), with any value, numbers too. Which or in what form (…_PROD, …_2, …_BASE64) does not count as a word. Not: an empty value, a boolean, a placeholder, the path of a file, a reference to a secrets store, an address without a password.',
    flagged: [
      ['DB_PASSWORD', 'hunter2'],
      ['MYSQL_ROOT_PASSWORD', '1234'],
    ],
    notFlagged: [
      ['DB_PASSWORD', '${DB_PASSWORD}'],
      ['DB_PASSWORD_FILE', '/run/secrets/db'],
      ['PASSWORD_MIN_LENGTH', '12'],
      ['REQUIRE_PASSWORD', 'true'],
    ],
  },
  {
    ...CREDENTIAL_KEY,
    matches:
      'A key whose last words are SECRET, TOKEN, CREDENTIALS, MNEMONIC, PAT or a key that is secret (API_KEY, ACCESS_KEY, PRIVATE_KEY, SECRET_KEY, ENCRYPTION_KEY, SIGNING_KEY, AUTH_KEY, MASTER_KEY and the like), with a value of four characters or more that is not a number, a duration, the name of a file or a path in a secrets store. Words about a credential (…_FILE, …_PATH, …_URL, …_TTL, …_LENGTH, …_NAME, …_ENABLED, …_ID, …_COUNT, …_TIMEOUT, …_TYPE, …_HEADER, …_ISSUER, …_ALGORITHM and the like) end a key harmlessly.',
    flagged: [
      ['OAUTH_CLIENT_SECRET', 'b2b-portal-7781'],
      ['STRIPE_API_KEY', 'test-key'],
    ],
    notFlagged: [
      ['TOKEN_TTL', '15m'],
      ['MAX_TOKENS', '4096'],
      ['SECRET_NAME', 'shop-db'],
      ['API_KEY_HEADER', 'X-Api-Key'],
    ],
  },
  {
    ...KEY_MATERIAL,
    matches:
      'A key that ends in KEY (of a kind not named above), SALT, PEPPER, AUTH or LOGIN when the value looks generated, or for AUTH and LOGIN when it is user:password. Public, site, cache, sort, partition, primary and routing keys are none.',
    flagged: [
      ['APP_KEY', `${specimen('base64:', 43)}=`],
      ['PROXY_AUTH', 'scraper:pull-me-9'],
    ],
    notFlagged: [
      ['CACHE_KEY', 'shop:v2:products'],
      ['SORT_KEY', 'created_at'],
      ['SMTP_AUTH', 'login'],
    ],
  },
  {
    ...GENERATED,
    matches:
      'A value of 24 to 256 characters in one run with upper case, lower case and digits as mixed as only generated text is. Hexadecimal text and UUIDs are none, and neither is anything under a key that names a hash or an identifier (GIT_SHA, DIGEST, CHECKSUM, COMMIT, ETAG, …_ID, PUBLIC and the like).',
    flagged: [['UPSTREAM', specimen('', 40)]],
    notFlagged: [
      ['BUILD_COMMIT', specimen('', 40, 'hex')],
      ['ASSET_HASH', specimen('', 40)],
      ['TENANT', '7f2b9c4d-8e3a-4051-9b2c-4d8e3a6051aa'],
    ],
  },
];

const VALUE_RULES: readonly PublishedRule[] = [
  {
    ...PRIVATE_KEY,
    matches: 'A private key in PEM (also inside JSON or base64), PuTTY or age form, anywhere in the value.',
    flagged: [['TLS', `-----BEGIN PRIVATE KEY-----\n${specimen('MII', 61)}`]],
    notFlagged: [
      ['CA_CERT', `-----BEGIN CERTIFICATE-----\n${specimen('MII', 61)}`],
      ['JWT_PUBLIC_KEY', `-----BEGIN PUBLIC KEY-----\n${specimen('MII', 61)}`],
    ],
  },
  {
    ...JWT,
    matches: 'A signed JSON Web Token anywhere in the value.',
    flagged: [['SESSION', `${specimen('eyJ', 33)}.${specimen('eyJ', 60)}.${specimen('', 43)}`]],
    notFlagged: [['JWT_ALGORITHM', 'RS256']],
  },
  {
    ...AUTHORIZATION,
    matches: 'Bearer or Basic followed by what an Authorization header carries.',
    flagged: [['HEADERS', `Authorization: Bearer ${specimen('', 32)}`]],
    notFlagged: [['TOKEN_TYPE', 'Bearer']],
  },
  {
    ...URL_USERINFO,
    matches:
      'user:password@ in an address of any scheme, with one or several hosts, percent-encoded or not; also user:password@tcp(host) of database drivers. A user without a password is none, and neither is a placeholder.',
    flagged: [
      ['DATABASE_URL', 'postgres://app:s3cr%40t@db:5432/shop'],
      ['MONGO', 'mongodb://app:hunter2@m1:27017,m2:27017/shop'],
    ],
    notFlagged: [
      ['DATABASE_URL', 'postgres://app@db:5432/shop'],
      ['DATABASE_URL', 'postgres://app:${DB_PASSWORD}@db:5432/shop'],
      ['GIT_REMOTE', 'git@git.example.com:shop/api.git'],
    ],
  },
  {
    ...EMBEDDED,
    matches:
      'password=, pwd=, AccountKey=, "clientSecret": "…", --password … and the like inside a connection string, options, JSON, YAML or XML, with a value that would be flagged on its own.',
    flagged: [
      ['SQL', 'Server=db;User Id=sa;Password=hunter2'],
      ['SETTINGS', '{"smtp":{"password":"hunter2"}}'],
      ['REDIS_ARGS', '--requirepass hunter2'],
    ],
    notFlagged: [
      ['SETTINGS', '{"password":"","passwordPolicy":{"minLength":12},"tokenTtl":"15m"}'],
      ['GRANTS', 'grant_type=password&response_type=token'],
      ['WELCOME', 'Password: choose one with twelve characters'],
    ],
  },
];

function issuedRules(): readonly PublishedRule[] {
  const rules = new Map<string, PublishedRule>();
  for (const entry of [...PREFIXED_FORMS, ...WHOLE_FORMS]) {
    const known = rules.get(entry.rule);
    const form = entry.form.source;
    rules.set(entry.rule, {
      ...issuedFinding(entry),
      matches: known === undefined ? `Text of the form ${form}` : `${known.matches} or ${form}`,
      flagged: [['ANY_KEY', ISSUED_EXAMPLES[entry.rule] ?? '']],
      notFlagged: [],
    });
  }
  return [...rules.values()];
}

/** The published rules, in the order in which a reader looks for them: by key, by value, by issuer. */
export const PUBLISHED_RULES: readonly PublishedRule[] = [...KEY_RULES, ...VALUE_RULES, ...issuedRules()];
