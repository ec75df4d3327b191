const ID = /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}$/;

/** Ids become names of folders and arguments of programs: only plain ones do. */
export function isPlainId(id: string): boolean {
  return ID.test(id) && !id.includes('..');
}
