import { examined, type CredentialFinding, type EnvironmentPair } from './finding.ts';
import { isPlaceholder } from './triviality.ts';

export const URL_USERINFO: CredentialFinding = {
  rule: 'password_in_url',
  why: 'The value holds an address with a user name and a password before the host.',
};

// The user may not hold a colon and neither part a slash, so two addresses never share characters and the
// search stays linear. Several hosts, any scheme, an empty user and an @ in the password all fit.
const USERINFO = /:\/\/[^\s/?#:"'<>]*:([^\s/?#"'<>]+)@/g;
// A password with an unencoded / ? or #, which ends the authority early: only when the value is one address.
const LOOSE_USERINFO = /^[A-Za-z][A-Za-z0-9+.-]{0,63}:\/\/[^\s/?#:@]*:([^\s@]+)@[^\s@]+$/;
const PORT = /^\d{1,5}(?:[/,?#]|$)/;
// `user:password@tcp(host)/db` of Go drivers, and the same with a bare host under a key that names an address.
const DRIVER_ADDRESS = /^[^\s:@/]{1,128}:([^\s]{1,256})@(?:tcp|tcp6|unix|cloudsql)?\(/;
const BARE_ADDRESS = /^[^\s:@/]{0,128}:([^\s@]{1,256})@(?!sha\d)[A-Za-z0-9.-]{1,255}(?::\d{1,5})?(?:[/?]|$)/;
const ORACLE_ADDRESS =
  /^(?:jdbc:oracle:\w{1,8}:)?[^\s:@/]{1,128}\/([^\s@/]{1,128})@(?:\/\/)?[A-Za-z0-9.-]{1,255}:\d{1,5}[:/]/;
const ADDRESS_WORDS: ReadonlySet<string> = new Set(
  'address auth broker connection conn credentials database db dsn endpoint jdbc login proxy server uri url'.split(
    ' ',
  ),
);
const NOT_A_USER = /^(?:mailto|sip|sips|xmpp|acct|npm|docker|jar|file|urn|tel|git|ssh)$/i;
const MAX_PLACEHOLDERS = 1_000;

function decoded(text: string): string {
  if (!text.includes('%') || text.length > 4_096) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function isPassword(text: string): boolean {
  // `${USER}:${PASSWORD}` and `{{secret.db.password}}` are filled in elsewhere.
  return !isPlaceholder(decoded(text));
}

function holdsUserinfo(text: string): boolean {
  let looks = 0;
  for (const [, password = ''] of text.matchAll(USERINFO)) {
    if (isPassword(password)) return true;
    looks += 1;
    if (looks === MAX_PLACEHOLDERS) break;
  }
  const loose = LOOSE_USERINFO.exec(text)?.[1];
  return loose !== undefined && !PORT.test(loose) && isPassword(loose);
}

function holdsDriverAddress({ value, words }: EnvironmentPair): boolean {
  const head = value.slice(0, 1_024);
  const driver = (DRIVER_ADDRESS.exec(head) ?? ORACLE_ADDRESS.exec(head))?.[1];
  if (driver !== undefined) return isPassword(driver);
  if (!words.some((word) => ADDRESS_WORDS.has(word)) || NOT_A_USER.test(head.slice(0, head.indexOf(':'))))
    return false;
  const bare = BARE_ADDRESS.exec(head)?.[1];
  return bare !== undefined && !bare.startsWith('//') && isPassword(bare);
}

export function findAddressPassword(pair: EnvironmentPair): CredentialFinding | undefined {
  const { value } = pair;
  if (value.includes('@') && (holdsUserinfo(value) || holdsDriverAddress(pair))) return URL_USERINFO;
  // An address that was encoded as a whole, as in a query parameter.
  const text = examined(value);
  if (/%3a%2f%2f/i.test(text) && holdsUserinfo(text.replace(/%[0-9a-f]{2}/gi, decoded))) return URL_USERINFO;
  return undefined;
}
