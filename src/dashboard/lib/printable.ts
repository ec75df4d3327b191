/** Colours and cursor movements of a terminal, and characters that turn the order of a line around. */
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** What a workload prints, as plain text that stays where it is put. */
export function printable(line: string): string {
  return line.replaceAll(ESCAPES, '').replaceAll(CONTROLS, '');
}
