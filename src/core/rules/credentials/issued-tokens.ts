import type { CredentialFinding, EnvironmentPair } from './finding.ts';

interface TokenForm {
  readonly rule: string;
  readonly issuer: string;
  /** A fixed prefix and fixed counts: no repetition is open, so a test costs the same on every text. */
  readonly form: string;
}

/** Formats that issuers gave their tokens so that they can be recognised. The first that fits is reported. */
export const TOKEN_FORMS: readonly TokenForm[] = [
  { rule: 'berth_token', issuer: 'Berth', form: 'berth_[a-z]{2,16}_[A-Za-z0-9]{4,64}_[A-Za-z0-9_-]{16}' },
  {
    rule: 'aws_access_key',
    issuer: 'AWS',
    form: '(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AIPA|ANPA|ANVA|AROA|A3T[A-Z0-9])[A-Z0-9]{16}(?![A-Za-z0-9])',
  },
  { rule: 'aws_bedrock_key', issuer: 'AWS', form: 'ABSK[A-Za-z0-9+/]{40}' },
  {
    rule: 'github_token',
    issuer: 'GitHub',
    form: '(?:gh[oprsu]_[A-Za-z0-9_]{36}|ghs_[0-9]{1,20}_[A-Za-z0-9_-]{1,16}|github_pat_[A-Za-z0-9_]{40})',
  },
  {
    rule: 'gitlab_token',
    issuer: 'GitLab',
    form: 'gl(?:pat|ptt|dt|rt|rtr|cbt|ft|soat|agent|imt|oas|ffct)-[A-Za-z0-9_-]{20}',
  },
  {
    rule: 'slack_token',
    issuer: 'Slack',
    form: '(?:xox[abceoprs](?:\\.xox[bp])?|xapp)-[A-Za-z0-9]{1,40}-[A-Za-z0-9]',
  },
  {
    rule: 'stripe_key',
    issuer: 'Stripe',
    form: '(?:[rs]k_(?:live|test|prod)_[A-Za-z0-9]{16}|whsec_[A-Za-z0-9+/]{24})',
  },
  {
    rule: 'google_key',
    issuer: 'Google',
    form: '(?:AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28}|ya29\\.[A-Za-z0-9_-]{20}|1//0[A-Za-z0-9_-]{30})',
  },
  { rule: 'npm_token', issuer: 'npm', form: 'npm_[A-Za-z0-9_]{36}' },
  { rule: 'pypi_token', issuer: 'PyPI', form: 'pypi-[A-Za-z0-9_-]{50}' },
  { rule: 'rubygems_token', issuer: 'RubyGems', form: 'rubygems_[0-9a-f]{48}' },
  { rule: 'crates_token', issuer: 'crates.io', form: 'cio[A-Za-z0-9]{32}(?![A-Za-z0-9])' },
  { rule: 'sendgrid_key', issuer: 'SendGrid', form: 'SG\\.[A-Za-z0-9_-]{1,64}\\.[A-Za-z0-9_-]{2}' },
  { rule: 'mailgun_key', issuer: 'Mailgun', form: 'key-[0-9a-f]{32}(?![A-Za-z0-9])' },
  { rule: 'mailchimp_key', issuer: 'Mailchimp', form: '[0-9a-f]{32}-us[0-9]{1,2}(?![A-Za-z0-9])' },
  { rule: 'brevo_key', issuer: 'Brevo', form: 'x(?:keysib|smtpsib)-[0-9a-f]{64}' },
  { rule: 'twilio_key', issuer: 'Twilio', form: 'SK[0-9a-f]{32}(?![A-Za-z0-9])' },
  { rule: 'anthropic_key', issuer: 'Anthropic', form: 'sk-ant-[a-z0-9]{3,12}-[A-Za-z0-9_-]{16}' },
  {
    rule: 'openai_key',
    issuer: 'OpenAI or a compatible provider',
    form: 'sk-(?:proj-|svcacct-|admin-|or-v1-|lf-)?[A-Za-z0-9_-]{0,128}[A-Za-z0-9]{20}',
  },
  { rule: 'huggingface_token', issuer: 'Hugging Face', form: '(?:hf_|api_org_)[A-Za-z0-9]{34}' },
  { rule: 'groq_key', issuer: 'Groq', form: 'gsk_[A-Za-z0-9]{40}' },
  { rule: 'replicate_token', issuer: 'Replicate', form: 'r8_[A-Za-z0-9]{37}' },
  { rule: 'azure_credential', issuer: 'Azure', form: '[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31}' },
  {
    rule: 'azure_credential',
    issuer: 'Azure',
    form: '[A-Za-z0-9+/]{76}(?:AzCa|APIM|ACDb|\\+ASt|\\+AMC)[A-Za-z0-9+/]{5}[AQgw]==',
  },
  { rule: 'digitalocean_token', issuer: 'DigitalOcean', form: 'do[opr]_v1_[0-9a-f]{64}' },
  {
    rule: 'vault_token',
    issuer: 'HashiCorp Vault',
    form: '(?:hv[bsr]\\.[A-Za-z0-9_-]{20}|[bs]\\.[A-Za-z0-9]{24}(?![A-Za-z0-9._-]))',
  },
  {
    rule: 'terraform_token',
    issuer: 'HCP Terraform',
    form: '[A-Za-z0-9]{14}\\.atlasv1\\.[A-Za-z0-9_=-]{40}',
  },
  { rule: 'dockerhub_token', issuer: 'Docker Hub', form: 'dckr_(?:pat|oat)_[A-Za-z0-9_-]{20}' },
  {
    rule: 'cloudflare_token',
    issuer: 'Cloudflare',
    form: '(?:cf(?:k|ut|at)_[A-Za-z0-9]{40}|v1\\.0-[0-9a-f]{24}-[0-9a-f]{40})',
  },
  {
    rule: 'grafana_token',
    issuer: 'Grafana',
    form: '(?:glc_[A-Za-z0-9+/]{32}|glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8})',
  },
  { rule: 'shopify_token', issuer: 'Shopify', form: 'shp(?:at|ca|pa|ss|ua)_[A-Za-z0-9]{32}' },
  { rule: 'telegram_token', issuer: 'Telegram', form: '[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])' },
  {
    rule: 'discord_token',
    issuer: 'Discord',
    form: '[MNO][A-Za-z0-9]{23,25}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27}',
  },
  { rule: 'databricks_token', issuer: 'Databricks', form: 'dapi[0-9a-fA-F]{32}' },
  { rule: 'linear_key', issuer: 'Linear', form: 'lin_(?:api|oauth)_[A-Za-z0-9_]{32}' },
  {
    rule: 'notion_token',
    issuer: 'Notion',
    form: '(?:ntn_[0-9]{11}[A-Za-z0-9]{35}|secret_[A-Za-z0-9]{43}(?![A-Za-z0-9]))',
  },
  { rule: 'figma_token', issuer: 'Figma', form: 'fig[dou]r?_[A-Za-z0-9_-]{40}' },
  { rule: 'vercel_token', issuer: 'Vercel', form: 'vc[pairk]_[A-Za-z0-9]{20}' },
  {
    rule: 'tailscale_key',
    issuer: 'Tailscale',
    form: 'tskey-[a-z]{2,20}-[0-9A-Za-z_]{8,40}-[0-9A-Za-z_]{16}',
  },
  { rule: 'onepassword_token', issuer: '1Password', form: 'ops_ey[A-Za-z0-9+/=]{80}' },
  { rule: 'doppler_token', issuer: 'Doppler', form: 'dp\\.(?:pt|st|ct|sa|scim|audit)\\.[A-Za-z0-9_.-]{40}' },
  { rule: 'pulumi_token', issuer: 'Pulumi', form: 'pul-[0-9a-f]{40}' },
  { rule: 'postman_key', issuer: 'Postman', form: 'PMAK-[0-9a-f]{24}-[0-9a-f]{34}' },
  { rule: 'newrelic_key', issuer: 'New Relic', form: 'NR(?:AK|II|IQ|RA)-[A-Za-z0-9_-]{20}' },
  { rule: 'sentry_token', issuer: 'Sentry', form: 'sntry[su]_[A-Za-z0-9+/=_-]{40}' },
  {
    rule: 'square_token',
    issuer: 'Square',
    form: '(?:EAAA[A-Za-z0-9_-]{60}|sq0(?:atp|csp)-[A-Za-z0-9_-]{22})',
  },
  { rule: 'facebook_token', issuer: 'Facebook', form: 'EAACEdEose0cBA[A-Za-z0-9]{20}' },
  { rule: 'atlassian_token', issuer: 'Atlassian', form: 'AT(?:ATT|CTT|BB)3?[A-Za-z0-9_=-]{28}' },
  { rule: 'asana_token', issuer: 'Asana', form: '[0-9]/[0-9]{16}:[0-9a-f]{32}' },
  { rule: 'planetscale_token', issuer: 'PlanetScale', form: 'pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_.=-]{32}' },
  { rule: 'fly_token', issuer: 'Fly.io', form: '(?:fo1_[A-Za-z0-9_-]{43}|fm[12][ar]?_[A-Za-z0-9+/=_-]{60})' },
  { rule: 'nuget_key', issuer: 'NuGet', form: 'oy2[a-z0-9]{43}(?![A-Za-z0-9])' },
  {
    rule: 'artifactory_key',
    issuer: 'JFrog Artifactory',
    form: '(?:AKCp[A-Za-z0-9]{60}|cmVmdGtuO[A-Za-z0-9]{40})',
  },
  {
    rule: 'webhook_url',
    issuer: 'a chat service as a webhook address',
    form: 'hooks\\.slack\\.com/(?:services|workflows|triggers)/[A-Za-z0-9]{1,40}/[A-Za-z0-9]{1,40}/[A-Za-z0-9]',
  },
  {
    rule: 'webhook_url',
    issuer: 'a chat service as a webhook address',
    form: 'discord(?:app)?\\.com/api/webhooks/[0-9]{10,24}/[A-Za-z0-9_-]{32}',
  },
  {
    rule: 'webhook_url',
    issuer: 'a chat service as a webhook address',
    form: 'webhook\\.office\\.com/webhookb2/[0-9a-f-]{36}@',
  },
  {
    rule: 'password_hash',
    issuer: 'a password hash function',
    form: '\\$(?:2[abxy]\\$[0-9]{2}\\$[A-Za-z0-9./]{22}|apr1\\$|argon2(?:id|i|d)\\$v=|(?:1|5|6|7|y|gy|scrypt)\\$[A-Za-z0-9./=,]{1,32}\\$[A-Za-z0-9./]{16})',
  },
];

// A token starts where a word does; `xghp_…` is not one. `_` may stand before it: `registry_ghp_…` is prose.
const START = '(?<![A-Za-z0-9_])';
const ANY_TOKEN = new RegExp(`${START}(?:${TOKEN_FORMS.map(({ form }) => form).join('|')})`);
const COMPILED = TOKEN_FORMS.map(({ rule, issuer, form }) => ({
  finding: { rule, why: `The value has the form of a credential issued by ${issuer}.` },
  pattern: new RegExp(`^(?:${form})`),
}));
const SHORTEST = 8;

/** One pass with all forms together; which one it is, is only asked of the place where one was found. */
export function findIssuedToken({ value }: EnvironmentPair): CredentialFinding | undefined {
  if (value.length < SHORTEST) return undefined;
  const at = value.search(ANY_TOKEN);
  if (at === -1) return undefined;
  const text = value.slice(at, at + 400);
  return COMPILED.find(({ pattern }) => pattern.test(text))?.finding;
}
