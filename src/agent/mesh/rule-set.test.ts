import { describe, expect, it } from 'vitest';
import { anew, inPlace, MESH_TABLES } from './rule-set.ts';

const RULES = `table bridge berth-mesh {
  chain routed {
    type filter hook prerouting priority -300; policy accept;
  }
}
table ip berth-mesh {
  set served {
    type ipv4_addr
  }
  chain to-10-211-0-2 {
  }
  map virtual {
    type ipv4_addr : verdict
  }
}
`;
/** As nft lists it. */
const THERE = `table bridge berth-mesh {
\tchain routed {
\t\ttype filter hook prerouting priority -300; policy accept;
\t}
}
table ip berth-mesh {
\tset known {
\t\ttype ipv4_addr
\t}
\tset served {
\t\ttype ipv4_addr
\t\telements = { 10.211.0.1 }
\t}
\tmap virtual {
\t\ttype ipv4_addr : verdict
\t\telements = { 10.211.0.1 : jump to-10-211-0-1 }
\t}
\tchain to-10-211-0-1 {
\t\tdnat to 10.210.0.2
\t}
}
`;

describe('rules of the mesh', () => {
  it('take the place of others without a moment in which there are none', () => {
    const script = inPlace(MESH_TABLES, RULES, THERE);
    expect(script).not.toContain('delete table');
    expect(script.endsWith(RULES)).toBe(true);
    expect(script.slice(0, -RULES.length).trim().split('\n')).toEqual([
      'table bridge berth-mesh',
      'flush table bridge berth-mesh',
      'table ip berth-mesh',
      'flush table ip berth-mesh',
      'flush set ip berth-mesh known',
      'flush set ip berth-mesh served',
      'flush map ip berth-mesh virtual',
      'delete set ip berth-mesh known',
      'delete chain ip berth-mesh to-10-211-0-1',
    ]);
  });

  it('are made where there are none, and anew where others cannot be kept', () => {
    expect(inPlace(MESH_TABLES, RULES, '')).not.toContain('delete');
    expect(anew(MESH_TABLES, RULES)).toContain('delete table ip berth-mesh\n');
  });
});
