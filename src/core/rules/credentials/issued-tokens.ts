import { examined, type CredentialFinding, type EnvironmentPair } from './finding.ts';
import { PREFIXED_FORMS, WHOLE_FORMS, type IssuedForm } from './issuers.ts';
import { tokenScan } from './token-scan.ts';
import { AUTHORIZATION_FORMS } from './web-token.ts';

const MAX_WHOLE = 256;

/** Forms of one rule share their text, so a finding is known by its rule. */
export function issuedFinding({ rule, issuer }: IssuedForm): CredentialFinding {
  return { rule, why: `The value has the form of a credential issued by ${issuer}.` };
}

const scan = tokenScan([
  ...PREFIXED_FORMS.map((entry) => ({
    prefixes: entry.prefixes,
    pattern: entry.form,
    found: issuedFinding(entry),
  })),
  ...AUTHORIZATION_FORMS,
]);
const whole = WHOLE_FORMS.map((entry) => ({ form: entry.form, found: issuedFinding(entry) }));

export function findIssuedToken({ value }: EnvironmentPair): CredentialFinding | undefined {
  const found = scan(examined(value));
  if (found !== undefined || value.length > MAX_WHOLE) return found;
  return whole.find(({ form }) => form.test(value))?.found;
}
