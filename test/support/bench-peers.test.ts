import { expect, it } from 'vitest';
import { besideOthers } from '../../scripts/bench-peers.ts';

it('shows what peers made in a column of each, and nothing of what was not there', () => {
  const page = besideOthers({
    creates: `cold,  1 at once: Berth 248/s, p50 3.6 ms, p99 8.7 ms, 4.15 ms CPU; Swarm 472/s, p50 1.7 ms, p99 7.9 ms, 1.88 ms CPU
 1 at once, 0 replicas: Berth 559/s, p50 1.4 ms, p99 5.1 ms, 1.69 ms CPU; Swarm 564/s, p50 1.5 ms, p99 3.6 ms, 1.84 ms CPU; Berth makes 0.98 of Swarm (by start 0.90 0.98 1.02) for 0.92 of its CPU; TLS 501/s, p50 1.7 ms, p99 4.9 ms, 1.81 ms CPU, 0.85 of plain; a bare handler 827/s, p50 1.0 ms, p99 3.2 ms, 0.83 ms CPU, 1.52 of Swarm
64 at once, etcd and TLS: Berth 1360/s, p50 45.3 ms, p99 92.3 ms, 0.65 ms CPU; kube-apiserver 689/s, p50 85.7 ms, p99 205.3 ms, 2.32 ms CPU; Berth makes 1.88 of kube-apiserver for 0.30 of its CPU`,
    engine:
      '100 instances: engine alone (4 at once) 4.2, 4.9/s, Berth 5.0, 5.4/s, Swarm 4.4, 5.0/s (on the default bridge)',
    latency: `Berth  POST to running p50 319 ms, p99 513 ms: adds 27 ms (bar 40)
Swarm  POST to running p50 612 ms, p99 708 ms: adds 315 ms`,
    events: `kube-apiserver, 50 creates/s, 100 readers      37.2 % of a core  delivered after p50 10.0 ms  p99 35.9 ms; creates
etcd with TLS, 50 creates/s, 100 readers       33.2 % of a core  delivered after p50 12.4 ms  p99 69.5 ms; creates`,
  });
  const rows = page.filter((line) => line.startsWith('|')).map((line) => line.slice(2, -2).split(' | '));
  expect(rows).toEqual([
    ['', 'Berth', 'Docker Swarm', 'Nomad', 'kube-apiserver', 'bare server on Node'],
    ['---', '---', '---', '---', '---', '---'],
    [
      'creates, 1 connection, 0 replicas',
      '559/s · p99 5.1 ms · 1.69 ms CPU',
      '564/s · p99 3.6 ms · 1.84 ms CPU',
      '–',
      '–',
      '827/s · p99 3.2 ms · 0.83 ms CPU',
    ],
    [
      'creates, 64 connections, etcd and TLS',
      '1,360/s · p99 92.3 ms · 0.65 ms CPU',
      '–',
      '–',
      '689/s · p99 205.3 ms · 2.32 ms CPU',
      '–',
    ],
    ['100 instances from POST to running', '5.0, 5.4/s', '4.4, 5.0/s', '–', '–', '–'],
    [
      'one deployment from POST to running',
      'p50 319 ms · p99 513 ms',
      'p50 612 ms · p99 708 ms',
      '–',
      '–',
      '–',
    ],
    [
      '50 creates/s with 100 readers of events, etcd and TLS',
      '33.2 % of a core · p99 69.5 ms',
      '–',
      '–',
      '37.2 % of a core · p99 35.9 ms',
      '–',
    ],
  ]);
  expect(besideOthers({ creates: 'it ended early', scheduler: 'no peers here' })).toEqual([]);
});
