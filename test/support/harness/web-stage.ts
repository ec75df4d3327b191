import { expect } from 'vitest';
import { WorkingAgent } from '../agents/working-agent.ts';
import { eventually } from '../eventually.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { deploy, NodeFlow } from './node-flow.ts';

export const WEB = '/api/v1/deployments/web';

/** A control plane, a tenant with one node whose agent does what it is told, and two healthy instances of `web`. */
export class WebStage {
  readonly plane: ControlPlane;
  readonly shop: Awaited<ReturnType<ControlPlane['tenant']>>;
  readonly #agent: WorkingAgent;
  readonly #flow: NodeFlow;

  private constructor(plane: ControlPlane, shop: WebStage['shop'], agent: WorkingAgent, flow: NodeFlow) {
    this.plane = plane;
    this.shop = shop;
    this.#agent = agent;
    this.#flow = flow;
  }

  static async start(): Promise<WebStage> {
    const plane = await startControlPlane();
    const flow = new NodeFlow(plane);
    const shop = await plane.tenant('shop');
    const agent = new WorkingAgent((await flow.connected('n1', shop)).agent);
    const stage = new WebStage(plane, shop, agent, flow);
    await deploy(shop.call, 'web', { replicas: 2, healthCheck: { type: 'exec', command: ['probe'] } });
    await stage.running();
    return stage;
  }

  async ids(): Promise<readonly string[]> {
    const { status, body } = await this.shop.call('GET', `${WEB}/instances`);
    expect(status).toBe(200);
    return body.map(({ id }: { id: string }) => id);
  }

  async running(): Promise<void> {
    await eventually(
      async () => (await this.shop.call('GET', WEB)).body,
      ({ status }) => status.phase === 'Running' && status.instances.length === 2,
    );
  }

  /** The agent is gone; what it ran is not. */
  disconnect(): void {
    this.#agent.stop();
    this.#flow.close();
  }

  async close(): Promise<void> {
    this.disconnect();
    await this.plane.close();
  }
}
