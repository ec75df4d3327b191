/** Steps of a field path: `secrets[0].vault_path` → ["secrets", "0", "vault_path"]. */
export function fieldSteps(field: string): readonly string[] {
  return field
    .replaceAll(/\[([^[\]]*)\]/g, '.$1')
    .split('.')
    .filter((step) => step !== '');
}

/** Whether a rejection of `field` is shown at the input for `path`: at it, or somewhere below it. */
export function concerns(path: string, field: string): boolean {
  const wanted = fieldSteps(path);
  const actual = fieldSteps(field);
  return wanted.length <= actual.length && wanted.every((step, at) => step === actual[at]);
}
