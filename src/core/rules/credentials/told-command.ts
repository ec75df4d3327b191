import { detectInText } from './detect.ts';

const MAX_TOLD = 1024;
const REDACTED = '(redacted)';
const PLAIN = /^[\w@%+=:,./-]+$/;
const FLAG = /^--?[A-Za-z][\w.-]*$/;

/** A command as it may be written down: without arguments that hold a credential, or that follow a flag which asks for one. */
export function toldCommand(command: readonly string[]): string {
  let told = '';
  for (const [index, word] of command.entries()) {
    if (told.length > MAX_TOLD) break;
    told += index === 0 ? '' : ' ';
    if (holdsCredential(command[index - 1] ?? '', word)) told += REDACTED;
    else told += PLAIN.test(word) ? word : JSON.stringify(word);
  }
  return told.length > MAX_TOLD ? `${told.slice(0, MAX_TOLD)}…` : told;
}

function holdsCredential(before: string, word: string): boolean {
  if (detectInText('ARGUMENT', word) !== undefined) return true;
  return FLAG.test(before) && detectInText('ARGUMENT', `${before} ${word}`) !== undefined;
}
