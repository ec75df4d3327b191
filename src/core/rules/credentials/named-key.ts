import type { CredentialFinding, EnvironmentPair } from './finding.ts';
import { keyMeaning } from './key-words.ts';
import { isUuid, looksGenerated, looksLikeKeyMaterial } from './randomness.ts';
import { isNumeric, isPlaceholder, isLocation, isTrivial, isUrl } from './triviality.ts';

export const PASSWORD_KEY: CredentialFinding = {
  rule: 'password_key',
  why: 'The key ends in a word for a password and has a value.',
};
export const CREDENTIAL_KEY: CredentialFinding = {
  rule: 'credential_key',
  why: 'The key ends in a word for a secret, token or secret key and has a value.',
};
export const KEY_MATERIAL: CredentialFinding = {
  rule: 'key_material',
  why: 'The key ends in a word for a key, salt or login and the text it is set to looks generated.',
};
export const GENERATED: CredentialFinding = {
  rule: 'generated_text',
  why: 'The text is random in a way that only generated credentials are, and the key names no hash or identifier.',
};

const MECHANISM =
  /^(?:basic|bearer|digest|plain|login|cram|scram|oauth|xoauth|ntlm|md5|sha\d|gssapi|kerberos|krb5|ldap|saml|oidc|openid|jwt|mtls|tls|x509|iam|token|password|trust|peer|ident|cert|hmac)/i;
const MIN_SECRET_LENGTH = 4;

/** `PWD` and `OLDPWD` are also the working folder of every shell. */
function isWorkingFolder({ words }: EnvironmentPair, text: string): boolean {
  return (
    words.length === 1 && (words[0] === 'pwd' || words[0] === 'oldpwd') && /^(?:\/|[A-Za-z]:\\)/.test(text)
  );
}

function isLogin(text: string): boolean {
  const pair = /^[^\s:/]{1,128}:([^\s:]{3,256})$/.exec(text);
  if (pair !== null) return !isPlaceholder(pair[1] ?? '') && !/^\d{1,5}$/.test(pair[1] ?? '');
  return (
    /^\S{8,512}$/.test(text) &&
    /\d/.test(text) &&
    /[A-Za-z]/.test(text) &&
    !MECHANISM.test(text) &&
    !isUuid(text)
  );
}

export function findByKey(pair: EnvironmentPair): CredentialFinding | undefined {
  const text = pair.value.length <= 1_024 ? pair.value.trim() : pair.value;
  if (isTrivial(text) || isUrl(text)) return undefined;
  const { words } = pair;
  switch (keyMeaning(words)) {
    case 'password':
      return isWorkingFolder(pair, text) ? undefined : PASSWORD_KEY;
    case 'credential':
      if (text.length < MIN_SECRET_LENGTH || isNumeric(text) || isLocation(text)) return undefined;
      return CREDENTIAL_KEY;
    case 'key':
      return looksLikeKeyMaterial(text) && !isLocation(text) ? KEY_MATERIAL : undefined;
    case 'auth':
      return isLogin(text) && !isNumeric(text) ? KEY_MATERIAL : undefined;
    case 'hash':
      // The second half of an AppRole login of Vault is a UUID under a key that ends in ID.
      return words.at(-2) === 'secret' && words.at(-1) === 'id' && isUuid(text) ? CREDENTIAL_KEY : undefined;
    case 'about':
    case 'unknown':
      return looksGenerated(text) ? GENERATED : undefined;
  }
}
