import { Counter, Gauge, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { family } from './family.ts';
import { familyText } from './family-text.ts';

const VALUES = [0, 1, -1, 0.1, 1e21, Infinity, -Infinity];
const HOSTS = ['plain', 'with "quotes"', 'back\\slash', 'two\nlines', 'ünï', '}', ''];

it('is written as the library writes it', async () => {
  const registry = new Registry();
  const [name, help, labels] = ['a_gauge', 'Help.', ['tenant', 'host']] as const;
  const samples = VALUES.flatMap((value, at) =>
    HOSTS.map((host) => [{ tenant: `t${at}`, host }, value] as const),
  );
  const gauge = new Gauge({ name, help, labelNames: [...labels], registers: [registry] });
  for (const [of, value] of samples) gauge.set(of, value);
  const counter = new Counter({ name: 'b_total', help, registers: [registry] });
  counter.inc(3);
  const own = [
    family({ name, help, labels, read: () => samples }),
    family({ name: 'b_total', help, type: 'counter', labels: [], read: () => [[{}, 3]] }),
  ].map(familyText);
  const lines = (text: string) => text.split('\n').filter((line) => line !== '');
  expect(lines(own.join(''))).toEqual(lines(await registry.metrics()));
});

it('says NaN as the format has it', () => {
  const described = family({ name: 'a', help: 'Help.', labels: [], read: () => [[{}, Number.NaN]] });
  expect(familyText(described)).toBe('# HELP a Help.\n# TYPE a gauge\na NaN\n');
});
