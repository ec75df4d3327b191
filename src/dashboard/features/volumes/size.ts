const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

/** `10Gi` as bytes. What is no size stays as it is: the server says what it expects. */
export function sizeOrText(text: string): number | string {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)\s*([KMGT]i)?B?$/.exec(text.trim()) ?? [];
  const factor = UNITS[unit];
  return amount === undefined || factor === undefined ? text : Math.round(Number(amount) * factor);
}
