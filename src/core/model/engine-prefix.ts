/** The engine's keywords in front of a health check's command; they name a form and are no program. */
export function isEnginePrefix(word: string): boolean {
  return word === 'CMD' || word === 'CMD-SHELL';
}
