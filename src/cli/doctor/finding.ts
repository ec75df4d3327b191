export interface Finding {
  readonly state: 'good' | 'bad' | 'unknown';
  readonly text: string;
  readonly advice?: readonly string[];
}

export const good = (text: string): Finding => ({ state: 'good', text });
export const bad = (text: string, ...advice: readonly string[]): Finding => ({ state: 'bad', text, advice });
export const unknown = (text: string, ...advice: readonly string[]): Finding => ({
  state: 'unknown',
  text,
  advice,
});
