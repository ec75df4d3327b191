/** What lists say of a secret, one word for each: whether the store has it. Null: the store does not let anybody look. */
export function secretStanding(exists: boolean | null | undefined): 'written' | 'missing' | 'denied' {
  if (exists === null) return 'denied';
  return exists === false ? 'missing' : 'written';
}
